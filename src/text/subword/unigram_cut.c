#include "text/subword/unigram_cut.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "text/subword/spm_parts.h"

#define NONE UINT32_MAX

/* Of the trie, whose root is node 0: the children follow each other by their bytes. */
struct node {
    uint32_t first, n; /* children */
    uint32_t id;       /* of the piece that ends here, or NONE */
    unsigned char byte;
};

/* A piece by which the trie is sorted. */
struct key {
    struct line text;
    uint32_t id;
};

/* The pieces below a node of the trie, which share their first bytes, among all. */
struct span {
    uint32_t lo, hi, n_shared;
};

/* A piece of the lattice. Its weight is the logarithm of the sum over all ways to where
 * it begins, plus alpha times its score. */
struct edge {
    double weight;
    uint32_t id, n_bytes;
    uint32_t next; /* edge that ends at the same place, or NONE */
};

/* Between two bytes of the text. */
struct place {
    double sum;   /* logarithm, over all ways to here */
    uint32_t top; /* edge that ends here, or NONE */
};

struct unigram_cut {
    struct spm_parts parts; /* what is never drawn is of another kind than NORMAL */
    double alpha;
    struct node *node;
    size_t n_nodes;
    struct str text;
    struct place *place;
    size_t cap_places;
    struct edge *edge;
    size_t n_edges, cap_edges;
};

/* --- the trie --- */

static int compare_keys(const void *a, const void *b)
{
    const struct line x = ((const struct key *)a)->text,
                      y = ((const struct key *)b)->text;
    const size_t n = x.n_bytes < y.n_bytes ? x.n_bytes : y.n_bytes;
    const int order = memcmp(x.text, y.text, n);

    return order ? order : (x.n_bytes > y.n_bytes) - (x.n_bytes < y.n_bytes);
}

static unsigned char byte_at(const struct key *k, size_t i)
{
    return (unsigned char)k->text.text[i];
}

/* Breadth first: a node's children are added when its turn comes. */
static void add_nodes(struct unigram_cut *u, const struct key *key, size_t n,
                      struct span *span)
{
    span[0] = (struct span){0, (uint32_t)n, 0};
    u->n_nodes = 1;
    for (size_t i = 0; i < u->n_nodes; i++) {
        struct node *node = &u->node[i];
        struct span s = span[i];
        node->first = (uint32_t)u->n_nodes;
        node->id = NONE;
        while (s.lo < s.hi && key[s.lo].text.n_bytes == s.n_shared)
            node->id = key[s.lo++].id;
        while (s.lo < s.hi) {
            const unsigned char byte = byte_at(&key[s.lo], s.n_shared);
            const uint32_t lo = s.lo;
            while (s.lo < s.hi && byte_at(&key[s.lo], s.n_shared) == byte)
                s.lo++;
            u->node[u->n_nodes].byte = byte;
            span[u->n_nodes++] = (struct span){lo, s.lo, s.n_shared + 1};
            node->n++;
        }
    }
}

static status build(struct unigram_cut *u, struct err *err)
{
    const struct spm_parts *p = &u->parts;
    RELEASED_BY(mem_release) struct key *key = NULL;
    RELEASED_BY(mem_release) struct span *span = NULL;
    size_t n = 0, n_bytes = 0;

    TRY(mem_alloc(&key, p->n_pieces, sizeof *key, err));
    for (size_t i = 0; i < p->n_pieces; i++)
        if (p->piece[i].kind == SPM_PARTS_NORMAL) {
            key[n++] = (struct key){p->piece[i].text, (uint32_t)i};
            n_bytes += p->piece[i].text.n_bytes;
        }
    TRY(mem_alloc(&span, n_bytes + 1, sizeof *span, err));
    TRY(mem_alloc(&u->node, n_bytes + 1, sizeof *u->node, err));
    qsort(key, n, sizeof *key, compare_keys);
    add_nodes(u, key, n, span);
    return OK;
}

static const struct node *child(const struct unigram_cut *u, const struct node *of,
                                char byte)
{
    const struct node *lo = u->node + of->first, *end = lo + of->n, *hi = end;

    while (lo < hi) {
        const struct node *mid = lo + (hi - lo) / 2;
        if (mid->byte < (unsigned char)byte)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < end && lo->byte == (unsigned char)byte ? lo : NULL;
}

/* --- life --- */

static status open_it(struct unigram_cut *u, const struct spm *spm, struct err *err)
{
    const struct line bytes = spm_bytes(spm);

    TRY(spm_parts_read(&u->parts, bytes.text, bytes.n_bytes, err));
    for (size_t i = 0; i < u->parts.n_pieces; i++) {
        struct spm_parts_piece *p = &u->parts.piece[i];
        if (i >= spm_known(spm) || !p->text.n_bytes ||
            !utf8_valid(p->text.text, p->text.n_bytes))
            p->kind = SPM_PARTS_UNUSED;
    }
    return build(u, err);
}

status unigram_cut_new(struct unigram_cut **u, const struct spm *spm, double alpha,
                       struct err *err)
{
    TRY(mem_alloc(u, 1, sizeof **u, err));
    (*u)->alpha = alpha;
    (*u)->text = str_new(SIZE_MAX);
    if (open_it(*u, spm, err) == OK)
        return OK;
    unigram_cut_free(*u);
    *u = NULL;
    return err->code;
}

void unigram_cut_free(struct unigram_cut *u)
{
    if (!u)
        return;
    spm_parts_release(&u->parts);
    free(u->node);
    str_release(&u->text);
    free(u->place);
    free(u->edge);
    free(u);
}

/* --- the lattice --- */

/* Of all edges that end at a place. */
static double sum_of(const struct unigram_cut *u, const struct place *to)
{
    double most = -INFINITY, sum = 0;

    for (uint32_t e = to->top; e != NONE; e = u->edge[e].next)
        most = fmax(most, u->edge[e].weight);
    for (uint32_t e = to->top; e != NONE; e = u->edge[e].next)
        sum += exp(u->edge[e].weight - most);
    return most + log(sum);
}

/* An edge for every piece that stands at byte `from` of the text. */
static status add_edges(struct unigram_cut *u, size_t from, struct err *err)
{
    const char *s = u->text.data + from;
    const size_t left = u->text.len - from;
    const struct node *node = u->node;

    for (size_t n = 1; n <= left && (node = child(u, node, s[n - 1])); n++) {
        struct place *to = &u->place[from + n];
        if (node->id == NONE)
            continue;
        TRY(mem_grow(&u->edge, &u->cap_edges, u->n_edges + 1, sizeof *u->edge, err));
        u->edge[u->n_edges] = (struct edge){
            u->place[from].sum + u->alpha * (double)u->parts.piece[node->id].score,
            node->id, (uint32_t)n, to->top};
        to->top = (uint32_t)u->n_edges++;
    }
    return OK;
}

/* Sum over all ways to each place, from the first to the last. */
static status sum_forward(struct unigram_cut *u, struct err *err)
{
    const size_t n = u->text.len;

    TRY(mem_grow(&u->place, &u->cap_places, n + 1, sizeof *u->place, err));
    for (size_t i = 0; i <= n; i++)
        u->place[i] = (struct place){0, NONE};
    u->n_edges = 0;
    TRY(add_edges(u, 0, err));
    for (size_t i = 1; i <= n; i++)
        if (u->place[i].top != NONE) {
            u->place[i].sum = sum_of(u, &u->place[i]);
            TRY(add_edges(u, i, err));
        }
    return OK;
}

/* One of the edges that end at a place. */
static const struct edge *draw(const struct unigram_cut *u, const struct place *to,
                               struct rng *draws)
{
    const struct edge *edge = &u->edge[to->top];

    for (double left = rng_unit(draws); edge->next != NONE; edge = &u->edge[edge->next]) {
        left -= exp(edge->weight - to->sum);
        if (left < 0)
            break;
    }
    return edge;
}

/* From the last place to the first; the ids come in the order of the text. */
static status draw_backward(struct unigram_cut *u, struct rng draws, struct bpe_ids *out,
                            struct err *err)
{
    const size_t start = out->n;

    for (size_t at = u->text.len; at;) {
        BUG_ON(u->place[at].top == NONE); /* the text is made of pieces */
        const struct edge *e = draw(u, &u->place[at], &draws);
        TRY(mem_grow(&out->id, &out->cap, out->n + 1, sizeof *out->id, err));
        out->id[out->n++] = (uint16_t)e->id;
        at -= e->n_bytes;
    }
    for (size_t i = start, k = out->n; i + 1 < k; i++) {
        const uint16_t last = out->id[--k];
        out->id[k] = out->id[i];
        out->id[i] = last;
    }
    return OK;
}

/* --- ids --- */

/* Whether an id is drawn again; the rest is taken as it is. */
static bool is_text(const struct unigram_cut *u, uint16_t id)
{
    return id < u->parts.n_pieces && u->parts.piece[id].kind == SPM_PARTS_NORMAL;
}

status unigram_cut_again(struct unigram_cut *u, const uint16_t *id, size_t n,
                         uint64_t key, struct bpe_ids *out, struct err *err)
{
    for (size_t at = 0; at < n;) {
        const size_t first = at;
        str_reset(&u->text);
        for (; at < n && is_text(u, id[at]); at++)
            str_add(&u->text, u->parts.piece[id[at]].text.text,
                    u->parts.piece[id[at]].text.n_bytes);
        TRY(str_check(&u->text, "a sentence", err));
        if (at > first) {
            TRY(sum_forward(u, err));
            TRY(draw_backward(u, rng_open(rng_hash(key, first)), out, err));
            continue;
        }
        TRY(mem_grow(&out->id, &out->cap, out->n + 1, sizeof *out->id, err));
        out->id[out->n++] = id[at++];
    }
    return OK;
}

/*
 * Rows are counted one at a time: the pairs that hold a source id are listed once
 * (postings), then the target tokens of these pairs are counted in an array over the
 * vocabulary, which stays in the cache of the thread that owns the row. What a row
 * becomes depends on the corpus alone, not on the thread. Memory for the postings is
 * limited too: ids are taken in ranges whose postings fit, each range with a pass over
 * the source side.
 */
#include "align/cells.h"

#include <stdlib.h>

#include "base/mem.h"

enum { CLASSES = 128, ALL = CLASSES };

struct scratch {
    uint32_t *count;           /* [vocab] target tokens beside the row's id */
    uint16_t *seen;            /* [vocab] those that are not 0, as they came */
    uint64_t n_class[CLASSES]; /* cells of all rows so far */
};

struct builder {
    const struct bitext *bitext;
    const struct bitext_count *n;
    struct pool *pool;
    struct cells *cells;
    size_t first, end;  /* source ids that are listed; none when equal */
    uint32_t *posting;  /* [n_postings] pairs, ascending for an id */
    size_t *posting_at; /* [vocab] where those of an id begin */
    size_t *posting_end;
    size_t n_postings;
    size_t n_slots;       /* the most that all rows may have */
    unsigned cut;         /* cells of this class and above are left out */
    uint32_t *row_cells;  /* [vocab] cells that a row keeps */
    struct scratch *work; /* [threads] */
    atomic_size_t next;   /* source id that no thread has taken */
};

void cells_run(struct pool *pool, pool_fn *fn, void *ctx)
{
    if (pool)
        pool_run(pool, fn, ctx);
    else
        fn(ctx, 0, 1);
}

/* List the pairs of each id of [first, end). A pair comes once, however often the id. */
static void list_postings(struct builder *b, size_t first, size_t end)
{
    size_t at = 0;

    if (b->first == first && b->end == end)
        return;
    b->first = first;
    b->end = end;
    for (size_t e = first; e < end; e++) {
        b->posting_at[e] = b->posting_end[e] = at;
        at += (size_t)b->n->source[e];
    }
    for (uint32_t i = 0; i < b->bitext->corpus->n_pairs; i++) {
        const struct sentence source = bitext_pair(b->bitext, i).source;
        for (size_t k = 0; k < source.len; k++) {
            const size_t e = source.token[k];
            if (e < first || e >= end)
                continue;
            size_t *to = &b->posting_end[e];
            if (*to == b->posting_at[e] || b->posting[*to - 1] != i)
                b->posting[(*to)++] = i;
        }
    }
}

/* Count the target tokens beside source id e. Returns how many ids they have. */
static size_t count_row(const struct builder *b, struct scratch *s, size_t e)
{
    size_t n = 0;

    for (size_t k = b->posting_at[e]; k < b->posting_end[e]; k++) {
        const struct sentence target = bitext_pair(b->bitext, b->posting[k]).target;
        for (size_t j = 0; j < target.len; j++) {
            uint32_t *count = &s->count[target.token[j]];
            if (!*count)
                s->seen[n++] = target.token[j];
            *count += *count < UINT32_MAX;
        }
    }
    return n;
}

/*
 * floor(4 log2(N/D)), nearly: 0 where every pair of the source id has the target id, 127
 * where the share is smallest.
 */
static unsigned share_class(size_t n_pairs, uint32_t n_together)
{
    const uint64_t ratio = ((uint64_t)n_pairs << 8) / n_together;

    if (ratio <= 256)
        return 0;
    const unsigned bits = 63 - (unsigned)__builtin_clzll(ratio);
    const unsigned class = (bits - 8) * 4 + (unsigned)(ratio >> (bits - 2) & 3);
    return class < CLASSES ? class : CLASSES - 1;
}

/* The share at which a class begins, from above. */
static double class_share(unsigned class)
{
    return 1 / ((1 + (class & 3) / 4.0) * (double)((uint64_t)1 << (class >> 2)));
}

static void measure_row(struct builder *b, struct scratch *s, size_t e)
{
    const size_t n = count_row(b, s, e), n_pairs = b->posting_end[e] - b->posting_at[e];

    b->row_cells[e] = 0;
    for (size_t k = 0; k < n; k++) {
        uint32_t *count = &s->count[s->seen[k]];
        const unsigned class = share_class(n_pairs, *count);
        s->n_class[class]++;
        b->row_cells[e] += class < b->cut;
        *count = 0;
    }
}

static void measure_rows(void *ctx, size_t part, size_t n_parts)
{
    struct builder *b = ctx;

    (void)n_parts;
    for (size_t e; (e = atomic_fetch_add(&b->next, 1)) < b->end;)
        measure_row(b, &b->work[part], e);
}

static void insert(struct cells_row row, uint32_t target, float prob)
{
    size_t at = cells_slot(row, target);

    while (row.cell[at].key)
        at = at + 1 < row.n ? at + 1 : 0;
    row.cell[at].key = target + 1;
    row.cell[at].prob = prob;
}

static void fill_row(struct builder *b, struct scratch *s, size_t e)
{
    const size_t n = count_row(b, s, e), n_pairs = b->posting_end[e] - b->posting_at[e];
    const struct cells_row row = cells_row(b->cells, e);
    const float uniform = 1 / (float)b->n->n_targets;

    for (size_t k = 0; k < n; k++) {
        uint32_t *count = &s->count[s->seen[k]];
        if (share_class(n_pairs, *count) < b->cut)
            insert(row, s->seen[k], uniform);
        *count = 0;
    }
}

static void fill_rows(void *ctx, size_t part, size_t n_parts)
{
    struct builder *b = ctx;

    (void)n_parts;
    for (size_t e; (e = atomic_fetch_add(&b->next, 1)) < b->end;)
        fill_row(b, &b->work[part], e);
}

/* Call fn for the rows of all ids, a range of them at a time. */
static void over_ranges(struct builder *b, pool_fn *fn)
{
    const size_t vocab = b->bitext->corpus->vocab;

    for (size_t first = 0, end; first < vocab; first = end) {
        uint64_t n = b->n->source[first];
        for (end = first + 1; end < vocab && n + b->n->source[end] <= b->n_postings;)
            n += b->n->source[end++];
        list_postings(b, first, end);
        atomic_store(&b->next, first);
        cells_run(b->pool, fn, b);
    }
}

/* Slots of a row of n cells: a fifth and at least one stay free, which ends a search. */
static size_t slots_of(size_t n)
{
    return n + n / 4 + 1;
}

/* Cells of the ids' rows that certainly fit. */
static uint64_t most_cells(const struct builder *b)
{
    const size_t taken = b->cells->n_rows + slots_of(b->n->n_targets);

    return b->n_slots > taken ? (uint64_t)(b->n_slots - taken) * 4 / 5 : 0;
}

/* Find the cells of every row and, when they are too many, what to cut. */
static void measure(struct builder *b)
{
    const uint64_t most = most_cells(b);
    uint64_t n_all = 0, n_class[CLASSES] = {0};

    b->cut = ALL;
    over_ranges(b, measure_rows);
    for (size_t part = 0; part < pool_size(b->pool); part++)
        for (unsigned class = 0; class < CLASSES; class ++) {
            n_class[class] += b->work[part].n_class[class];
            n_all += b->work[part].n_class[class];
        }
    b->cells->n_kept = n_all;
    if (n_all <= most)
        return;
    uint64_t n = 0;
    for (b->cut = 0; n + n_class[b->cut] <= most; b->cut++)
        n += n_class[b->cut];
    b->cells->n_kept = n;
    b->cells->n_cut = n_all - n;
    b->cells->share = class_share(b->cut);
    over_ranges(b, measure_rows);
}

static status place_rows(struct builder *b, struct err *err)
{
    struct cells *c = b->cells;
    const size_t vocab = c->n_rows - 1;

    for (size_t e = 0; e < vocab; e++)
        c->at[e + 1] = c->at[e] + slots_of(b->row_cells[e]);
    c->at[c->n_rows] = c->at[vocab] + slots_of(b->n->n_targets);
    TRY(mem_alloc((void *)&c->cell, c->at[c->n_rows], sizeof *c->cell, err));
    over_ranges(b, fill_rows);
    for (uint32_t f = 0; f < vocab; f++)
        if (b->n->target[f])
            insert(cells_row(c, vocab), f, 1 / (float)b->n->n_targets);
    return OK;
}

/*
 * How the memory is divided: what is needed in any case; of the rest a quarter for
 * postings, which are gone before the caller needs room for its result (6 bytes a cell,
 * less than a third of what a cell takes here), and three quarters for the cells. What
 * the threads have of their own is not counted, or the cut would depend on their number.
 */
static status divide_memory(struct builder *b, size_t most, struct err *err)
{
    const size_t vocab = b->bitext->corpus->vocab;
    const size_t fixed =
        vocab * 64 + (vocab + slots_of(b->n->n_targets)) * sizeof(struct cell);
    uint64_t n_all = 0, n_most = 0;

    for (size_t e = 0; e < vocab; e++) {
        n_all += b->n->source[e];
        n_most = b->n->source[e] > n_most ? b->n->source[e] : n_most;
    }
    const size_t least = fixed + (size_t)n_most * 4 * sizeof *b->posting;
    if (most < least)
        return err_set(
            err, ERR_USAGE,
            "%zu KiB are too little memory to align a corpus of %u pairs and a "
            "vocabulary of %zu; allow at least %zu KiB",
            most >> 10, b->bitext->corpus->n_pairs, vocab, (least >> 10) + 1);
    b->n_postings = (most - fixed) / 4 / sizeof *b->posting;
    if (b->n_postings > n_all)
        b->n_postings = (size_t)n_all;
    b->n_slots = (most - fixed) / 4 * 3 / sizeof(struct cell);
    return OK;
}

static status open_builder(struct builder *b, struct err *err)
{
    const size_t vocab = b->bitext->corpus->vocab, n_threads = pool_size(b->pool);

    TRY(mem_alloc(&b->posting, b->n_postings, sizeof *b->posting, err));
    TRY(mem_alloc(&b->posting_at, vocab, sizeof *b->posting_at, err));
    TRY(mem_alloc(&b->posting_end, vocab, sizeof *b->posting_end, err));
    TRY(mem_alloc(&b->row_cells, vocab, sizeof *b->row_cells, err));
    TRY(mem_alloc(&b->work, n_threads, sizeof *b->work, err));
    for (size_t part = 0; part < n_threads; part++) {
        struct scratch *s = &b->work[part];
        TRY(mem_alloc(&s->count, vocab, sizeof *s->count, err));
        TRY(mem_alloc(&s->seen, vocab, sizeof *s->seen, err));
    }
    return OK;
}

static void release_builder(struct builder *b)
{
    for (size_t part = 0; b->work && part < pool_size(b->pool); part++) {
        free(b->work[part].count);
        free(b->work[part].seen);
    }
    free(b->work);
    free(b->posting);
    free(b->posting_at);
    free(b->posting_end);
    free(b->row_cells);
}

status cells_open(struct cells *c, const struct bitext *b, const struct bitext_count *n,
                  size_t most, struct pool *pool, struct err *err)
{
    RELEASED_BY(release_builder)
    struct builder builder = {.bitext = b, .n = n, .pool = pool, .cells = c};

    *c = (struct cells){.n_rows = (size_t)b->corpus->vocab + 1};
    TRY(divide_memory(&builder, most, err));
    TRY(mem_alloc(&c->at, c->n_rows + 1, sizeof *c->at, err));
    TRY(open_builder(&builder, err));
    measure(&builder);
    return place_rows(&builder, err);
}

void cells_release(struct cells *c)
{
    free(c->cell);
    free(c->at);
    *c = (struct cells){0};
}

#include "recipe/buckets.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/pool.h"
#include "recipe/params.h"

/* The list index at which the layer (or other block) of tensor i begins. */
static size_t layer_start(const struct params *p, size_t i)
{
    while (i > 0 && p->list[i - 1].block == p->list[i].block &&
           p->list[i - 1].layer == p->list[i].layer)
        i--;
    return i;
}

/* [begin, end) in pieces of at most max_elements, the last one first. */
static status add_pieces(struct buckets *b, size_t *cap, size_t begin, size_t end,
                         size_t max_elements, struct err *err)
{
    const size_t n = end - begin, n_pieces = (n + max_elements - 1) / max_elements;

    TRY(mem_grow(&b->list, cap, b->n_list + n_pieces, sizeof *b->list, err));
    for (size_t i = n_pieces; i-- > 0;) {
        const struct pool_range r = pool_split(n, i, n_pieces);
        b->list[b->n_list++] = (struct bucket){begin + r.begin, r.end - r.begin};
        if (r.end - r.begin > b->n_max)
            b->n_max = r.end - r.begin;
    }
    return OK;
}

static status fill(struct buckets *b, const struct params *p, size_t max_elements,
                   struct err *err)
{
    size_t cap = 0, end = p->n_flat, begin = p->n_flat;

    for (size_t i = p->n_list; i > 0;) {
        i = layer_start(p, i - 1);
        const size_t at = p->list[i].at;
        if (begin < end && end - at > max_elements) {
            TRY(add_pieces(b, &cap, begin, end, max_elements, err));
            end = begin;
        }
        begin = at;
    }
    return add_pieces(b, &cap, begin, end, max_elements, err);
}

status buckets_open(struct buckets *b, const struct params *p, size_t max_elements,
                    struct err *err)
{
    *b = (struct buckets){0};
    if (fill(b, p, max_elements, err) != OK) {
        buckets_close(b);
        return err->code;
    }
    return OK;
}

void buckets_close(struct buckets *b)
{
    free(b->list);
    *b = (struct buckets){0};
}

size_t buckets_of_embedding(const struct buckets *b, const struct params *p)
{
    const struct param *e = params_get(p, PARAM_embed, 0);
    const size_t end = e->at + e->rows * e->stride;
    size_t n = 0;

    const bool is_alone = p->n_list == 1 || p->list[1].block != BLOCK_EMBED;
    if (e->at != 0 || b->n_max < e->stride || !is_alone)
        return 0;
    while (n < b->n_list && b->list[b->n_list - 1 - n].first < end)
        n++;
    /* the bucket before them begins with the next tensor */
    return n < b->n_list && b->list[b->n_list - 1 - n].first == p->list[1].at ? n : 0;
}

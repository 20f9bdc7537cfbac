#include "decode/forced/links.h"

#include <stdlib.h>
#include <string.h>

#include "align/viterbi.h"
#include "base/mem.h"

void links_release(struct links *l)
{
    free(l->link);
    free(l->weight);
    free(l->is_link);
    free(l->best);
    *l = (struct links){0};
}

static size_t tokens_of(const struct words *w, size_t word)
{
    size_t n = 0;

    for (size_t i = 0; i < w->n_tokens; i++)
        n += w->of[i] == word;
    return n;
}

static void weigh(struct links *l, const float *attention, const struct words *source,
                  const struct words *target)
{
    const size_t S = source->n;

    memset(l->weight, 0, S * target->n * sizeof *l->weight);
    for (size_t j = 0; j < target->n_tokens; j++) {
        const float *row = attention + j * source->n_tokens;
        if (target->of[j] == WORDS_NONE)
            continue;
        const float share = 1 / (float)tokens_of(target, target->of[j]);
        for (size_t i = 0; i < source->n_tokens; i++)
            if (source->of[i] != WORDS_NONE)
                l->weight[target->of[j] * S + source->of[i]] += share * row[i];
    }
}

/* The largest of n numbers that are so far apart; the first of equals. */
static int32_t largest(const float *x, size_t n, size_t stride)
{
    size_t best = 0;

    for (size_t i = 1; i < n; i++)
        if (x[i * stride] > x[best * stride])
            best = i;
    return (int32_t)best;
}

status links_find(struct links *l, const float *attention, const struct words *source,
                  const struct words *target, struct err *err)
{
    const size_t S = source->n, T = target->n;

    l->n = 0;
    if (!S || !T)
        return OK;
    TRY(mem_grow(&l->weight, &l->weight_cap, S * T, sizeof *l->weight, err));
    TRY(mem_grow(&l->is_link, &l->is_link_cap, S * T, 1, err));
    TRY(mem_grow(&l->best, &l->best_cap, S + T, sizeof *l->best, err));
    weigh(l, attention, source, target);
    for (size_t j = 0; j < T; j++)
        l->best[j] = largest(l->weight + j * S, S, 1);
    for (size_t i = 0; i < S; i++)
        l->best[T + i] = largest(l->weight + i, T, S);
    viterbi_grow(l->is_link, l->best, l->best + T, S, T);
    for (size_t j = 0; j < T; j++)
        for (size_t i = 0; i < S; i++)
            if (l->is_link[j * S + i]) {
                TRY(mem_grow(&l->link, &l->cap, l->n + 1, sizeof *l->link, err));
                l->link[l->n++] = (struct links_link){i, j};
            }
    return OK;
}

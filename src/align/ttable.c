#include "align/ttable.h"

#include <stdlib.h>

float ttable_prob(const struct ttable *t, uint32_t source, uint32_t target)
{
    size_t first, end;

    if (source > t->vocab || target >= t->vocab)
        return 0;
    first = t->row_at[source];
    end = t->row_at[source + 1];
    while (first < end) {
        const size_t mid = first + (end - first) / 2;
        if (t->target[mid] == target)
            return t->prob[mid];
        if (t->target[mid] < target)
            first = mid + 1;
        else
            end = mid;
    }
    return 0;
}

/* A row is in order of its ids, so that a later one must be better to go before. */
size_t ttable_best(const struct ttable *t, uint32_t source, size_t n, uint16_t *id,
                   float *prob)
{
    size_t n_found = 0;

    if (source > t->vocab || n == 0)
        return 0;
    for (size_t k = t->row_at[source]; k < t->row_at[source + 1]; k++) {
        size_t at = n_found;
        if (n_found == n && t->prob[k] <= prob[n - 1])
            continue;
        if (n_found == n)
            at--; /* the last one leaves */
        else
            n_found++;
        for (; at > 0 && t->prob[k] > prob[at - 1]; at--) {
            id[at] = id[at - 1];
            prob[at] = prob[at - 1];
        }
        id[at] = t->target[k];
        prob[at] = t->prob[k];
    }
    return n_found;
}

/* The same order as above, over counts; an id is asked for by what stands in `id`. */
size_t ttable_frequent(const struct ttable *t, size_t n, uint16_t *id)
{
    size_t n_found = 0;

    for (uint32_t f = 0; n && f < t->vocab; f++) {
        size_t at = n_found;
        if (!t->frequency[f] ||
            (n_found == n && t->frequency[f] <= t->frequency[id[n - 1]]))
            continue;
        if (n_found == n)
            at--;
        else
            n_found++;
        for (; at > 0 && t->frequency[f] > t->frequency[id[at - 1]]; at--)
            id[at] = id[at - 1];
        id[at] = (uint16_t)f;
    }
    return n_found;
}

void ttable_release(struct ttable *t)
{
    free(t->row_at);
    free(t->target);
    free(t->prob);
    free(t->frequency);
    *t = (struct ttable){0};
}

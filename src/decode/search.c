#include "decode/search.h"

#include <stdlib.h>

#include "base/rng.h"

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* How often the most frequent run of BEAM_GRAM of the n ids occurs; at least 1. */
static size_t repeats_of(uint64_t *gram, const int32_t *id, size_t n)
{
    size_t n_grams = 0, most = 1;

    _Static_assert(BEAM_GRAM == 4, "ids of 16 bits, four of which are a number");
    for (size_t i = BEAM_GRAM; i <= n; i++)
        gram[n_grams++] = (uint64_t)(uint16_t)id[i - 4] << 48 |
                          (uint64_t)(uint16_t)id[i - 3] << 32 |
                          (uint64_t)(uint16_t)id[i - 2] << 16 | (uint16_t)id[i - 1];
    qsort(gram, n_grams, sizeof *gram, by_value);
    for (size_t i = 1, same = 1; i < n_grams; i++) {
        same = gram[i] == gram[i - 1] ? same + 1 : 1;
        most = same > most ? same : most;
    }
    return most;
}

struct beam_limit search_limit(const struct search_rules *rules,
                               const struct search_job *job, uint64_t *gram)
{
    struct beam_limit limit = {.max_len = job->max_len, .guide = job->guide};

    if (rules->samples) {
        limit.key = rng_key(rules->seed, "samples");
        for (size_t i = 0; i < job->n; i++)
            limit.key = rng_hash(limit.key, (uint64_t)job->id[i]);
    }
    if (rules->max_repeats)
        limit.max_repeats = rules->max_repeats + repeats_of(gram, job->id, job->n) - 1;
    return limit;
}

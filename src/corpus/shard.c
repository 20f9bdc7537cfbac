#include "corpus/shard.h"

#include <stdlib.h>

#include "base/mem.h"

status shard_open(struct shard *s, struct shard_rule rule, struct err *err)
{
    *s = (struct shard){.rule = rule};
    if (rule.size == 0)
        s->rule.size = 1;
    BUG_ON(s->rule.rank < 0 || s->rule.rank >= s->rule.size);
    return mem_alloc(&s->load, (size_t)s->rule.size, sizeof *s->load, err);
}

void shard_close(struct shard *s)
{
    free(s->load);
    free(s->item);
    free(s->pair);
    *s = (struct shard){0};
}

/* Length above, place in the update below, so that the numbers in falling order are the
 * longest pairs first, and the earlier of two that are equally long. */
static uint64_t item_of(size_t length, size_t place)
{
    return (uint64_t)length << 32 | (UINT32_MAX - (uint32_t)place);
}

static size_t length_of(uint64_t item)
{
    return (size_t)(item >> 32);
}

static size_t place_of(uint64_t item)
{
    return UINT32_MAX - (uint32_t)item;
}

static int falling(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x < y) - (x > y);
}

static size_t least_loaded(const struct shard *s)
{
    size_t best = 0;

    for (size_t r = 1; r < (size_t)s->rule.size; r++)
        if (s->load[r] < s->load[best])
            best = r;
    return best;
}

/* owner[i] of each place of the update. */
static void assign(struct shard *s, uint64_t *owner, size_t n)
{
    qsort(s->item, n, sizeof *s->item, falling);
    for (int r = 0; r < s->rule.size; r++)
        s->load[r] = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t r = least_loaded(s);
        s->load[r] += length_of(s->item[i]);
        owner[place_of(s->item[i])] = r;
    }
}

static bool is_of_node(const struct shard_rule *rule, size_t rank)
{
    return !rule->node || rule->node[rank] == rule->node[rule->rank];
}

static size_t node_load(const struct shard *s)
{
    size_t n = 0;

    for (size_t r = 0; r < (size_t)s->rule.size; r++)
        if (is_of_node(&s->rule, r))
            n += s->load[r];
    return n;
}

status shard_take(struct shard *s, struct shard_part *part, const struct order_update *u,
                  const struct corpus *corpus, size_t max_length, struct err *err)
{
    const size_t n = u->n_pairs;

    *part = (struct shard_part){u->pair, n, n, u->n_tgt};
    if (s->rule.size == 1)
        return OK;
    TRY(mem_grow(&s->item, &s->cap, 2 * n, sizeof *s->item, err));
    TRY(mem_grow(&s->pair, &s->cap_pair, n, sizeof *s->pair, err));
    uint64_t *owner = s->item + n;
    for (size_t i = 0; i < n; i++)
        s->item[i] = item_of(
            corpus_rows(corpus, corpus_target(corpus, u->pair[i]).len, max_length), i);
    assign(s, owner, n);
    part->pair = s->pair;
    part->n_pairs = 0;
    for (size_t i = 0; i < n; i++)
        if (owner[i] == (uint64_t)s->rule.rank)
            s->pair[part->n_pairs++] = u->pair[i];
    part->n_node_pairs = part->n_pairs;
    for (size_t i = 0; i < n; i++)
        if (owner[i] != (uint64_t)s->rule.rank && is_of_node(&s->rule, owner[i]))
            s->pair[part->n_node_pairs++] = u->pair[i];
    part->node_tgt = node_load(s);
    return OK;
}

#include "train/run/unigram.h"

#include "base/mem.h"
#include "recipe/special_ids.h"

/* Tokens that cannot be are counted nowhere; batches refuse them by the pair's number. */
static void count_target(double *n, size_t V, struct sentence target, bool has_begin)
{
    n[ID_BOS] += has_begin;
    n[ID_EOS] += 1;
    n[ID_UNK] += target.len == 0; /* as an empty line is read */
    for (size_t i = 0; i < target.len; i++)
        if (target.token[i] < V)
            n[target.token[i]] += 1;
}

status unigram_set(struct model *m, const struct corpus *c, struct err *err)
{
    const size_t V = (size_t)m->config.vocab_size;
    RELEASED_BY(mem_release) double *share = NULL;
    double total = 0;

    TRY(mem_alloc(&share, V, sizeof *share, err));
    for (uint32_t i = 0; i < c->n_pairs; i++)
        count_target(share, V, corpus_target(c, i), !c->arch.has_no_begin);
    for (size_t v = 0; v < V; v++)
        total += share[v];
    for (size_t v = 0; v < V; v++)
        share[v] /= total;
    return model_set_prior(m, share, err);
}

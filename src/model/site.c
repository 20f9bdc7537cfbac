#include "model/site.h"

#include "base/rng.h"

struct drop site_drop(const struct activations *a, enum site_stack stack, int layer,
                      enum site_kind kind, double rate)
{
    const uint64_t site = ((uint64_t)layer * 2 + stack) * N_SITE_KINDS + kind;
    const bool encoder = stack == SITE_ENCODER;

    return (struct drop){.key = rng_hash(a->run.drop_key, site),
                         .rate = rate,
                         .pair = encoder ? a->src_pair : a->tgt_pair,
                         .pos = encoder ? a->src_pos : a->tgt_pos};
}

struct attend site_attend(const struct model *m, enum site_stack stack, int layer,
                          bool cross)
{
    const struct activations *a = m->act;
    const bool encoder = stack == SITE_ENCODER;
    const enum site_kind kind = cross ? SITE_CROSS_WEIGHTS : SITE_SELF_WEIGHTS;

    return (struct attend){
        .q_at = encoder ? a->src_at : a->tgt_at,
        .k_at = encoder || cross ? a->src_at : a->tgt_at,
        .n_sents = a->batch.n_sents,
        .heads = (size_t)m->config.heads,
        .max_q = encoder ? a->batch.max_src : a->batch.max_tgt,
        .max_k = encoder || cross ? a->batch.max_src : a->batch.max_tgt,
        .causal = !encoder && !cross,
        .drop = site_drop(a, stack, layer, kind, a->run.drop_attention)};
}

/*
 * packed - small packed batches for tests of the model: sentences given as ids with
 * their specials, laid out as model_batch wants them.
 */
#pragma once

#include <stdlib.h>

#include "model/model.h"

enum { PACKED_MAX_TOKENS = 1400, PACKED_MAX_SENTS = 64 };

struct packed {
    struct model_batch batch;
    int32_t src_at[PACKED_MAX_SENTS + 1], tgt_at[PACKED_MAX_SENTS + 1];
    int32_t src_id[PACKED_MAX_TOKENS], src_pos[PACKED_MAX_TOKENS];
    int32_t src_pair[PACKED_MAX_TOKENS], tgt_in[PACKED_MAX_TOKENS];
    int32_t tgt_pos[PACKED_MAX_TOKENS], tgt_pair[PACKED_MAX_TOKENS];
    int32_t tgt_label[PACKED_MAX_TOKENS];
};

static inline void packed_begin(struct packed *p)
{
    *p = (struct packed){.batch = {.src_at = p->src_at,
                                   .tgt_at = p->tgt_at,
                                   .src_id = p->src_id,
                                   .src_pos = p->src_pos,
                                   .src_pair = p->src_pair,
                                   .tgt_in = p->tgt_in,
                                   .tgt_pos = p->tgt_pos,
                                   .tgt_pair = p->tgt_pair,
                                   .tgt_label = p->tgt_label}};
}

static inline void packed_add(struct packed *p, int32_t pair, const int32_t *src,
                              size_t n_src, const int32_t *tgt, size_t n_tgt)
{
    struct model_batch *b = &p->batch;

    for (size_t i = 0; i < n_src; i++) {
        p->src_id[b->n_src + i] = src[i];
        p->src_pos[b->n_src + i] = (int32_t)i;
        p->src_pair[b->n_src + i] = pair;
    }
    for (size_t i = 0; i < n_tgt; i++) {
        p->tgt_label[b->n_tgt + i] = tgt[i];
        p->tgt_in[b->n_tgt + i] = i ? tgt[i - 1] : -1;
        p->tgt_pos[b->n_tgt + i] = (int32_t)i;
        p->tgt_pair[b->n_tgt + i] = pair;
    }
    b->n_src += n_src;
    b->n_tgt += n_tgt;
    b->max_src = n_src > b->max_src ? n_src : b->max_src;
    b->max_tgt = n_tgt > b->max_tgt ? n_tgt : b->max_tgt;
    b->n_sents++;
    p->src_at[b->n_sents] = (int32_t)b->n_src;
    p->tgt_at[b->n_sents] = (int32_t)b->n_tgt;
}

static inline struct model_shape packed_shape(const struct packed *p, bool want_grad)
{
    const struct model_batch *b = &p->batch;
    const size_t longest = b->max_src > b->max_tgt ? b->max_src : b->max_tgt;

    return (struct model_shape){b->n_sents, b->n_src, b->n_tgt, longest, want_grad};
}

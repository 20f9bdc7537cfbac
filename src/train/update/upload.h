/* upload - a batch of the corpus as the model takes it. Nothing is copied. */
#pragma once

#include "corpus/batch.h"
#include "model/model.h"

static inline struct model_batch upload_batch(const struct batch *b)
{
    return (struct model_batch){.n_sents = b->n_sents,
                                .n_src = b->n_src,
                                .n_tgt = b->n_tgt,
                                .max_src = b->max_src,
                                .max_tgt = b->max_tgt,
                                .src_at = b->src_at,
                                .tgt_at = b->tgt_at,
                                .src_id = b->src_id,
                                .src_pos = b->src_pos,
                                .src_pair = b->src_pair,
                                .tgt_in = b->tgt_in,
                                .tgt_pos = b->tgt_pos,
                                .tgt_pair = b->tgt_pair,
                                .tgt_label = b->tgt_label,
                                .weight = b->weight};
}

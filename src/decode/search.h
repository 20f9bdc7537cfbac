/*
 * search - token ids in, the likeliest target ids out: the model behind decode/beam.h.
 *
 * A batch of sources is encoded at once; then the decoder feeds all living hypotheses
 * together, one position a step.
 *
 * Owns: the decoder and the search, opened for the shape of a batch and opened again
 * when one does not fit. Borrows: the model, which outlives it and whose step memory it
 * uses (model_reserve only grows). Threads: one at a time.
 */
#pragma once

#include "base/err.h"
#include "decode/beam.h"
#include "model/decoder.h"
#include "model/model.h"

struct search_room {
    size_t n_sents, n_src, max_len; /* max_len: target positions */
};

struct search {
    struct model *model;
    struct beam_options options;
    size_t max_repeats; /* of a run in a target, beyond the source's own; 0: any */
    struct search_room room;
    struct decoder *decoder;
    struct beam *beam;
    const int32_t *src_at; /* of the batch at hand */
    int32_t *src_pos, *src_pair;
    struct beam_limit *limit;
    uint64_t *gram;        /* [n_src] */
    int32_t *first, *last; /* [rows] */
    void *top;             /* [rows,2*width] reals of the device */
};

/* Packed sources: S, pieces, EOS each. */
struct search_batch {
    size_t n_sents, n_src;
    const int32_t *at;     /* [n_sents + 1] */
    const int32_t *id;     /* [n_src] */
    const size_t *max_len; /* [n_sents] generated tokens, S and EOS counted */
};

/* Takes no memory before the first batch. Where a source repeats runs of BEAM_GRAM tokens
 * itself, its target may do so as many times more. */
void search_init(struct search *s, struct model *m, struct beam_options options,
                 size_t max_repeats);
void search_close(struct search *s);

/* The results are beam_get(s->beam, sentence, rank) until the next run. */
status search_run(struct search *s, const struct search_batch *batch, struct err *err);

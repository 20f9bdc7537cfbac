/*
 * alignment - which layer of the decoder attends to the words that it translates.
 *
 * Statistical alignments of validation pairs (room align: both directions, learnt from
 * training pairs, made one by viterbi_grow) are compared with what the attention of each
 * layer gives (decode/forced/links.h), word by word:
 *
 *   precision = common / attention's,   recall = common / statistical,
 *   F1 = 2 common / (attention's + statistical) = 1 - AER, all links being sure
 *
 * Threads: one at a time; those of a pool are used.
 */
#pragma once

#include "base/progress.h"
#include "corpus/dataset.h"
#include "infer/kernels.h"
#include "infer/network.h"
#include "text/subword/spm.h"

struct alignment_score {
    uint64_t n_found, n_wanted, n_common; /* links */
};

double alignment_f1(struct alignment_score s);

/* What was measured. Zeroed = nothing. */
struct alignment {
    struct alignment_score *layer; /* [n_layers] */
    size_t n_layers, n_pairs;
    size_t best;
};

struct alignment_options {
    const struct infer_kernels *kernels;
    size_t n_threads;  /* 0: one a core */
    size_t n_learnt;   /* training pairs at most */
    size_t n_compared; /* validation pairs at most */
    struct progress *progress;
};

status alignment_measure(struct alignment *a, const struct network *net,
                         const struct spm *spm, const struct dataset *data,
                         struct alignment_options options, struct err *err);
void alignment_release(struct alignment *a);

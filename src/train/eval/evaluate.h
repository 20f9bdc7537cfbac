/*
 * evaluate - how good a model is on a held-out set.
 *
 * Loss: without dropout, with the smoothing that training uses, as a mean over tokens;
 * and as the reference reports it, a mean over sentences of the means of its batches of
 * `group` sentences. Metrics: of translations against the raw text, and how many of these
 * repeat themselves and how long they are; and the reference's teacher-forced BLEU, which
 * feeds the model the right prefix at every position and so is no translation
 * (docs/evaluation.md).
 *
 * Ranks share a set, each sentence once; the first adds the results up in the order of
 * the sentences, as it would alone, and all learn the same numbers.
 *
 * Borrows everything. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/progress.h"
#include "corpus/dataset.h"
#include "decode/translate.h"
#include "model/model.h"
#include "train/eval/references.h"
#include "train/run/measures.h"

struct comm;

/* Sentences of held-out sets are cut here, as the reference cuts them. */
enum { EVALUATE_LENGTH = 256 };

struct evaluate_options {
    double smooth;
    size_t batch_tokens;       /* target tokens at once */
    size_t max_length;         /* longer sides are cut for the loss */
    size_t group;              /* sentences a batch of eval_loss */
    size_t text_pairs;         /* translate the first so many; 0: all */
    struct measures_text text; /* how they are compared */
    size_t n_shown;            /* of these at least the first so many on the first rank */
    const struct references *more; /* beside the set's own; NULL: none */
    struct comm *comm;             /* share the sentences with these ranks; NULL: alone */
};

struct evaluate_result {
    double valid_loss;      /* a mean over tokens */
    double eval_loss;       /* the reference's */
    double forced_bleu;     /* 0..1 */
    bool has_text;          /* the rest was measured too */
    double score[N_METRIC]; /* as sacreBLEU prints them */
    double repeating;       /* share of the translations that loop */
    double length_ratio; /* characters of the translations by those of the references */
    char name[N_METRIC][16], signature[N_METRIC][128];
    size_t n_pairs, n_tokens, n_translated;
};

/* Loss and teacher-forced BLEU. ERR_FORMAT for an empty set. */
status evaluate_loss(struct evaluate_result *r, struct model *m,
                     const struct dataset_set *set, const struct evaluate_options *o,
                     struct err *err);

/* What is measured of translations. In *out are those of all, or with several ranks the
 * first rank's, for the caller to show. A translation loops (score/loops.h) when its
 * reference does not. */
status evaluate_text(struct evaluate_result *r, struct translations *out,
                     struct translator *t, const struct dataset_set *set,
                     const struct evaluate_options *o, struct err *err);

/* NAN when it was not taken. */
double evaluate_measure(const struct evaluate_result *r, unsigned measure);

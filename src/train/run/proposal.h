/*
 * proposal - the configuration that fits a corpus: what `ferry prepare` writes into the
 * data directory and `ferry train` takes when it is given no other.
 *
 * All of it follows from the numbers of the corpus, so that the same data directory gets
 * the same proposal on every machine; only the expected time is measured.
 *
 * Owns: nothing. Threads: any.
 */
#pragma once

#include <stdint.h>

#include "train/run/config.h"

/* What is known of the data; tokens without specials. */
struct proposal_corpus {
    uint64_t n_pairs, n_source, n_target;  /* of training: pairs, tokens of each side */
    uint64_t longest;                      /* tokens of the longest side */
    uint64_t n_valid, n_valid_tokens;      /* of validation: pairs, tokens; 0: none */
    uint64_t n_pieces;                     /* of the vocabulary */
    const char *source_lang, *target_lang; /* "": unknown */
};

struct proposal {
    struct proposal_corpus corpus;
    struct train_config config;
    int64_t epochs;
    double n_parameters;
    double n_tokens;     /* both sides, of the whole run, as training counts them */
    double tokens_per_s; /* of training on this machine; 0: not measured */
    double seconds;      /* of the whole run; 0: not measured */
};

status proposal_make(struct proposal *p, struct proposal_corpus corpus, struct err *err);

/* The rate was measured: the expected time follows. */
void proposal_time(struct proposal *p, double tokens_per_s);

/* "50 seconds", "39 minutes", "7.5 hours", "12 days" in buf. */
enum { PROPOSAL_TIME = 32 };
const char *proposal_say_time(char buf[PROPOSAL_TIME], double seconds);

/* A commented YAML file of the options that differ from the defaults. */
status proposal_write(const struct proposal *p, const char *path, struct err *err);

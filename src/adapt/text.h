/*
 * text - one of the texts of an adaptation: the new one, or the general one beside it.
 *
 * It is looked at before anything is made of it: both sides must be there, long enough,
 * and in the languages that the model translates from and to. `ferry prepare` then cuts
 * it with the model's own tokenizer and holds validation and test pairs out. Which ones
 * follows from the seed and their text alone, so that general text which the model was
 * prepared from, with the same seed, holds out what was held out then.
 *
 * Owns: nothing. Threads: one.
 */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "prepare/prepare.h"

struct text {
    const char *what; /* "new" or "general" */
    struct prepare_config how;
    uint64_t n_pairs;     /* as they stand in the files */
    uint64_t fingerprint; /* of the files by name, size and age */
};

/* Is the directory how.out whole already? */
bool text_is_ready(const struct text *t);

/* The files: find them and take their fingerprint. */
status text_find(struct text *t, struct err *err);

/* Read them once: count, and compare the languages with how.source_lang and
 * how.target_lang. ERR_USAGE for swapped sides; doubts are notes. */
status text_look(struct text *t, struct progress *progress, struct err *err);

/* Make the data directory, after text_look(). */
status text_prepare(struct text *t, struct progress *progress, struct err *err);

/*
 * bench_text - subwords: learning and encoding a text, beside the SentencePiece library.
 *
 * Counts the words of a text and learns a vocabulary, then encodes every line with our
 * encoder and with SentencePiece's, on one thread and on all, and compares the ids.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

struct bench_text_options {
    const char *path;      /* text, one sentence a line */
    const char *out;       /* "" or the PREFIX of the .model and .vocab to write */
    const char *tokenizer; /* "" or a .model to encode by, instead of learning one */
    size_t threads, vocab_size;
    bool is_learning_only; /* leave the encoders out */
    bool json;
};

/* ERR_NUMERIC when an id differs. */
status bench_text(const struct bench_text_options *o, FILE *out,
                  struct err *err) MUST_CHECK;

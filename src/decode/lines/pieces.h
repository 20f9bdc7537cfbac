/*
 * pieces - what translation knows of a tokenizer's pieces: made once a model, however
 * many translate with it.
 *
 * Encoders remember words and take a while to open; those that nobody uses wait here for
 * the next who needs one.
 *
 * Owns: all of it. Borrows: the tokenizer, which outlives it. Threads: any, once open;
 * an encoder belongs to whoever took it.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "decode/steer/letters.h"
#include "text/subword/encoder.h"
#include "text/subword/spm.h"

enum pieces_side { PIECES_SOURCE, PIECES_TARGET };

/* Encoders that nobody uses. */
struct pieces_idle {
    struct encoder **encoder; /* [n] */
    size_t n, cap;
};

struct pieces {
    const struct spm *spm;
    bool *is_text; /* [n] of targets: visible */
    size_t n;
    bool *is_word;        /* of sources: with letters or digits */
    size_t cache_bytes;   /* of an encoder */
    pthread_mutex_t lock; /* of what follows */
    bool has_letters;
    struct letters letters;     /* of targets */
    struct pieces_idle idle[2]; /* by side; one tokenizer of both has the first alone */
};

/* cache_bytes: as encoder_new() takes it. ERR_FORMAT when the tokenizer's specials are
 * not ours. */
status pieces_open(struct pieces **p, const struct spm *spm, size_t cache_bytes,
                   struct err *err);
void pieces_close(struct pieces *p); /* NULL is fine */

/* Their letters, which are made when somebody needs them; they live as long as *p. */
status pieces_letters(struct pieces *p, const struct letters **letters, struct err *err);

status pieces_take_encoder(struct pieces *p, enum pieces_side side, struct encoder **e,
                           struct err *err);
/* NULL is fine. */
void pieces_give_back(struct pieces *p, enum pieces_side side, struct encoder *e);

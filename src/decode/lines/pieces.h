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

struct pieces {
    const struct spm *spm;
    bool *is_text, *is_word; /* [n] visible; with letters or digits */
    size_t n;
    size_t cache_bytes;   /* of an encoder */
    pthread_mutex_t lock; /* of what follows */
    bool has_letters;
    struct letters letters;
    struct pieces_idle {
        struct encoder *encoder;
    } * idle; /* [n_idle] */
    size_t n_idle, cap_idle;
};

/* cache_bytes: as encoder_new() takes it. ERR_FORMAT when the tokenizer's specials are
 * not ours. */
status pieces_open(struct pieces **p, const struct spm *spm, size_t cache_bytes,
                   struct err *err);
void pieces_close(struct pieces *p); /* NULL is fine */

/* Their letters, which are made when somebody needs them; they live as long as *p. */
status pieces_letters(struct pieces *p, const struct letters **letters, struct err *err);

status pieces_take_encoder(struct pieces *p, struct encoder **e, struct err *err);
void pieces_give_back(struct pieces *p, struct encoder *e); /* NULL is fine */

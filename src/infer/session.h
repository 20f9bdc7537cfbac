/*
 * session - sentences in flight: encoded sources, caches of keys and values, and one
 * target position a row at a time.
 *
 * A row is a hypothesis. Rows of any sentences and at any positions are fed together;
 * what a row gives does not depend on the others. What a row has seen is a list of
 * entries of the cache, one a position, so that a beam that continues another copies
 * integers, never keys; entries and places for encoded sources are lent and given back,
 * so that a sentence which ends makes room for the next at once.
 *
 * Owns: its memory, taken when it is opened; nothing is allocated afterwards. Borrows:
 * the network and the pool, which outlive it. Threads: one caller at a time; the pool's
 * threads divide each call among themselves.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "infer/barrier.h"
#include "infer/kernels.h"
#include "infer/network.h"

struct pool;

struct session_shape {
    size_t n_rows;    /* hypotheses at once */
    size_t n_entries; /* of the cache: one a hypothesis and position */
    size_t n_memory;  /* source tokens of all sentences, each sentence rounded up */
    size_t n_tokens;  /* source tokens encoded together */
    size_t max_len;   /* positions of a sentence, source or target */
    size_t n_top;     /* candidates of a row at most */
    size_t tells;     /* the decoder layer whose attention session_score() tells */
};

enum { SESSION_ROUND = 16 }; /* tokens of a source are rounded up to so many */

/* An encoded source; its place is lent by session_lend(). */
struct session_source {
    size_t at, n; /* n: tokens */
};

/* A lent place. */
struct session_place {
    size_t at, n; /* n: rounded up */
};

struct session {
    const struct network *net;
    const struct infer_kernels *k;
    struct pool *pool;
    struct barrier barrier;
    struct session_shape shape;
    size_t D, F, V, heads, d;             /* of the configuration; d: width of a head */
    float embed_scale;                    /* embeddings are multiplied by it */
    size_t entry_stride;                  /* floats of an entry: k|v */
    char *memory;                         /* one block for what follows */
    float *source_signal, *target_signal; /* [max_len,D] */
    float *cache;                         /* [layers][n_entries,entry_stride] */
    float *keys, *values;                 /* [layers][n_memory,D] of encoded sources */
    float *x, *f, *wide; /* [rows,D] [rows,D] [rows,3D or F] rounded up */
    float *up;           /* [rows,2F] with a gate: what it and the activation read */
    size_t up_stride;
    struct kernels_input y, h;
    size_t d_stride, wide_stride;
    float *scratch; /* of each thread */
    size_t scratch_each;
    float *top;                /* [threads][n_rows,n_top] */
    int32_t *top_id;           /* the same */
    size_t *n_found;           /* [threads][n_rows] */
    struct kernels_mass *mass; /* [rows,blocks] */
    int32_t *label;            /* [rows] of given targets */
    struct session_row *row;   /* [n_rows] those of a step that are computed */
    int32_t *free_entry;       /* a stack of the n_free entries that nobody has */
    size_t n_free;
    struct session_place *place; /* lent, by place */
    size_t n_places;
    /* Told of every product before it is computed, its n rows as floats; NULL: nobody.
     * One thread. */
    void (*observe)(void *ctx, const struct linear *w, const struct kernels_input *a,
                    size_t n);
    void *observe_ctx;
};

/* `pool` NULL: the calling thread alone. */
status session_open(struct session *s, const struct network *n,
                    const struct infer_kernels *k, struct pool *pool,
                    struct session_shape shape, struct err *err);
void session_close(struct session *s);

/* Bytes that a session of this shape takes. */
size_t session_bytes(const struct network *n, size_t n_threads,
                     struct session_shape shape);

/* A place for a source of n tokens; false: none is free now. */
bool session_lend(struct session *s, size_t n, struct session_source *source);
void session_give_back(struct session *s, struct session_source source);

/* An entry of the cache; BUG when there is none: the caller counts. */
int32_t session_take_entry(struct session *s);
void session_drop_entry(struct session *s, int32_t entry);

struct session_sentence {
    const int32_t *id; /* [to.n] S, pieces, EOS */
    struct session_source to;
};

/* Encode n sentences to their places. */
void session_encode(struct session *s, const struct session_sentence *list, size_t n);

/* The columns of the output layer that a sentence's rows are restricted to. */
struct session_columns {
    struct linear w;    /* gathered (linear_gather) */
    const uint16_t *id; /* [w.n_out] ascending */
};

/* What a row tells beside its likeliest tokens; what is NULL or 0 is not asked for. */
struct session_wish {
    const int32_t *id; /* [n] different ones of the vocabulary */
    size_t n;
    double *log_prob; /* [n] of these, in the sense of session_step() */
    float *logit;     /* [V] of the whole vocabulary, with room up to whole panels */
    double log_sum;   /* what log-probabilities are less than logits; 0 without them */
};

/* Where a row's likeliest next tokens go, best first; id -1 where there are fewer. */
struct session_best {
    double *log_prob; /* [n] */
    int32_t *id;
    size_t n;        /* at most shape.n_top */
    bool wants_prob; /* log-probabilities; else logits: the same order for less work */
};

struct session_row {
    int32_t token; /* at the position before; -1 at the start */
    size_t t;      /* position */
    struct session_source source;
    struct session_best best;
    const int32_t *entry;      /* [t+1] of the positions so far; the last one is filled */
    struct session_wish *wish; /* NULL: none */
    const struct session_columns *columns; /* of its sentence; NULL: all */
};

/* A source and a given target. */
struct session_pair {
    struct session_source source; /* encoded */
    const int32_t *label;         /* [n] S, pieces, EOS */
    size_t n;
    float *attention; /* [n,source.n] of each position to the source, the mean of the
                         heads of layer shape.tells; NULL: not asked for */
};

/* log_prob: the log-probability of every token of every target after those before it, one
 * pair behind the other, in one pass over all of them; NULL: the attention alone, which
 * takes no more layers than it must. At most shape.n_tokens tokens. */
void session_score(struct session *s, const struct session_pair *pair, size_t n,
                   double *log_prob);

/* The likeliest next tokens of each row, and what it wishes. Rows of one sentence stand
 * together. */
void session_step(struct session *s, const struct session_row *row, size_t n);

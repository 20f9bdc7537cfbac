/*
 * session_crew - the threads that work on one call of a session in step.
 *
 * Every function here is called by all of them with the same arguments: each does its
 * part and waits for the others, so that the next function may read what this one wrote.
 */
#pragma once

#include "infer/session.h"

struct session_crew {
    struct session *s;
    size_t part, n_parts;
};

/* fn(ctx, part, n_parts) on every thread; without a pool on this one alone. */
typedef void session_work(void *ctx, size_t part, size_t n_parts);
void session_run(struct session *s, session_work *work, void *ctx);

void session_wait(const struct session_crew *c);

/* This thread's share of n items. */
struct session_share {
    size_t begin, end;
};
struct session_share session_share(const struct session_crew *c, size_t n);

/* This thread's scratch memory. */
float *session_scratch(const struct session_crew *c);

/* Whoever observes the session learns of a product. */
void session_tell(const struct session_crew *c, const struct kernels_input *a,
                  const struct linear *w, size_t n);

/* to = relu?(a w + bias) for n rows. The rows of a are floats; where w wants bytes they
 * are made first. */
void session_multiply(const struct session_crew *c, float *to, size_t ldc,
                      const struct kernels_input *a, const struct linear *w, bool relu,
                      size_t n);

/*
 * Residuals and norms around the sublayers of n rows; y is what the next product reads,
 * w, as bytes too if that wants them.
 *
 *   norm in front:   enter: x += f (unless it is NULL), y = norm(x)
 *   norm behind:     begin, once: y = x; leave: y = x = norm(x + f)
 *
 * What the other kind does is not done. Behind the last sublayer session_enter() is the
 * norm at the end of the stack.
 */
void session_begin(const struct session_crew *c, const struct linear *w, size_t n);
void session_enter(const struct session_crew *c, const float *f,
                   const struct network_norm *of, const struct linear *w, size_t n);
void session_leave(const struct session_crew *c, const struct network_norm *of,
                   const struct linear *next, size_t n);

/* f = the feed-forward layer of y. */
void session_feed_forward(const struct session_crew *c, const struct network_ffn *w,
                          size_t n);

/* The same for an input that this call's threads have just normalised. */
void session_multiply_normed(const struct session_crew *c, float *to, size_t ldc,
                             const struct linear *w, bool relu, size_t n);

/* How the rows at hand attend, to themselves and to their sources. */
struct session_attention {
    void (*self)(const struct session_crew *c, const void *job, size_t layer);
    void (*cross)(const struct session_crew *c, const void *job, size_t layer);
};

/* The first n_layers of the decoder over n embedded rows; all of them: up to what the
 * output layer reads. */
void session_decode(const struct session_crew *c, const struct session_attention *how,
                    const void *job, size_t n, size_t n_layers);

/*
 * Callers speak of S, pieces, EOS on both sides. A model whose sentences begin with their
 * first piece never sees S: its positions are those of the caller less one, and the S of
 * a target is certain. This is the number of tokens that it does not see.
 */
static inline size_t session_unseen(const struct session *s)
{
    return s->net->config.arch.has_no_begin;
}

/* What is looked up for the model's position t, `token` being the one before; -1:
 * nothing. */
static inline int32_t session_token(const struct session *s, int32_t token, size_t t)
{
    return t ? token : s->net->config.arch.start - 1;
}

/* One head of n tokens that begin at row `first` of wide = q|k|v, each of which sees all,
 * or itself and those before it; into the rows of y. */
void session_attend_head(struct session *s, size_t first, size_t n, bool is_causal,
                         size_t head, float *scratch);

/* Rows [r, r + n) of one sentence, n at most KERNELS_ROWS, attend to its source with all
 * heads; q is in wide. told: [n,source.n] becomes the mean of the heads; NULL: nobody
 * asks. */
void session_attend_source(struct session *s, struct session_source source, size_t r,
                           size_t n, size_t layer, float *told, float *weights);

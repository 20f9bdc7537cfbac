/*
 * Attention without gradients.
 *
 *   s_j = q . k_j scale,   p_j = exp(s_j - max) / sum,   out = sum_j p_j v_j
 *
 * Queries that share their keys (rows of one sentence) read keys as columns: scores of
 * sixteen keys at a time, each summed over the head's channels in order. In a beam every
 * row has a history of its own: its keys are gathered, and a score is a sum by lanes.
 */
#include <math.h>

#include "infer/kernel/kernel.h"

void KERNEL(transpose)(float *kt, size_t n_round, const float *k, size_t k_stride,
                       size_t n, size_t d)
{
    for (size_t c = 0; c < d; c++) {
        float *restrict to = kt + c * n_round;
        for (size_t j = 0; j < n; j++)
            to[j] = k[j * k_stride + c];
        for (size_t j = n; j < n_round; j++)
            to[j] = 0;
    }
}

/* s[0, n) becomes exp(s - max) / sum, and zero up to n_round. */
LANES_INLINE void softmax(float *s, size_t n, size_t n_round)
{
    const size_t n_used = lanes_round(n);

    for (size_t j = n; j < n_used; j++)
        s[j] = -INFINITY;
    const struct lanes by = lanes_all(1 / lanes_exp_sum(s, lanes_top_of(s, n_used), n));
    for (size_t j = 0; j < n_used; j += LANES)
        lanes_store(s + j, lanes_mul(lanes_load(s + j), by));
    for (size_t j = n_used; j < n_round; j += LANES)
        lanes_store(s + j, lanes_all(0));
}

/* ---- queries that share their keys ---- */

/* Scores of R queries and V * 16 keys from j on. */
LANES_INLINE void scores(size_t R, size_t V, float *s, const float *const q[],
                         const struct kernels_attend *a, size_t j)
{
    struct lanes acc[KERNELS_ROWS][2];

    LANES_UNROLL
    for (size_t r = 0; r < R; r++)
        LANES_UNROLL
    for (size_t v = 0; v < V; v++)
        acc[r][v] = lanes_all(0);
    for (size_t c = 0; c < a->d; c++) {
        struct lanes k[2];
        LANES_UNROLL
        for (size_t v = 0; v < V; v++)
            k[v] = lanes_load(a->kt + c * a->n_round + j + v * LANES);
        LANES_UNROLL
        for (size_t r = 0; r < R; r++)
            LANES_UNROLL
        for (size_t v = 0; v < V; v++)
            acc[r][v] = lanes_add(acc[r][v], lanes_mul(lanes_all(q[r][c]), k[v]));
    }
    LANES_UNROLL
    for (size_t r = 0; r < R; r++)
        LANES_UNROLL
    for (size_t v = 0; v < V; v++)
        lanes_store(s + r * a->n_round + j + v * LANES,
                    lanes_mul(acc[r][v], lanes_all(a->scale)));
}

/* Channels [c, c + V * 16) of R results: sums over the n keys in order. */
LANES_INLINE void values(size_t R, size_t V, float *const out[], const float *w, size_t n,
                         const struct kernels_attend *a, size_t c)
{
    struct lanes acc[KERNELS_ROWS][2];

    LANES_UNROLL
    for (size_t r = 0; r < R; r++)
        LANES_UNROLL
    for (size_t v = 0; v < V; v++)
        acc[r][v] = lanes_all(0);
    for (size_t j = 0; j < n; j++) {
        struct lanes y[2];
        LANES_UNROLL
        for (size_t v = 0; v < V; v++)
            y[v] = lanes_load(a->v + j * a->v_stride + c + v * LANES);
        LANES_UNROLL
        for (size_t r = 0; r < R; r++)
            LANES_UNROLL
        for (size_t v = 0; v < V; v++)
            acc[r][v] =
                lanes_add(acc[r][v], lanes_mul(lanes_all(w[r * a->n_round + j]), y[v]));
    }
    LANES_UNROLL
    for (size_t r = 0; r < R; r++)
        LANES_UNROLL
    for (size_t v = 0; v < V; v++)
        lanes_store_first(out[r] + c + v * LANES, acc[r][v], a->d - c - v * LANES);
}

LANES_INLINE void attend_rows(size_t R, float *const out[], const float *const q[],
                              const struct kernels_attend *a, const size_t seen[],
                              float *w)
{
    const size_t pair = 2 * (size_t)LANES;
    size_t j = 0, most = 0, c = 0;

    for (; j + pair <= a->n_round; j += pair)
        scores(R, 2, w, q, a, j);
    if (j < a->n_round)
        scores(R, 1, w, q, a, j);
    for (size_t r = 0; r < R; r++) {
        softmax(w + r * a->n_round, seen[r], a->n_round);
        most = seen[r] > most ? seen[r] : most;
    }
    for (; c + pair <= lanes_round(a->d); c += pair)
        values(R, 2, out, w, most, a, c);
    if (c < a->d)
        values(R, 1, out, w, most, a, c);
}

void KERNEL(attend)(float *const out[], const float *const q[], size_t n_rows,
                    const struct kernels_attend *a, const size_t seen[], float *weights)
{
    _Static_assert(KERNELS_ROWS == 4, "a case for each number of rows");
    switch (n_rows) {
    case 4:
        attend_rows(4, out, q, a, seen, weights);
        return;
    case 3:
        attend_rows(3, out, q, a, seen, weights);
        return;
    case 2:
        attend_rows(2, out, q, a, seen, weights);
        return;
    default:
        attend_rows(1, out, q, a, seen, weights);
    }
}

/* ---- a row's own history ---- */

/* Scores of one head of d channels. What follows its last one is another head, or
 * another row: it is not read into a sum. */
LANES_INLINE void history_scores(size_t d, float *s, const float *q, size_t at,
                                 const struct kernels_history *h, float scale)
{
    for (size_t t = 0; t < h->n; t++) {
        const float *k = h->cache + (size_t)h->entry[t] * h->stride + at;
        struct lanes sum = lanes_mul(lanes_load_first(q, d), lanes_load_first(k, d));
        LANES_UNROLL
        for (size_t c = LANES; c < d; c += LANES)
            sum = lanes_add(sum, lanes_mul(lanes_load_first(q + c, d - c),
                                           lanes_load_first(k + c, d - c)));
        s[t] = lanes_sum(sum) * scale;
    }
}

/* The first n of V * 16 channels from `at` on; others may be another row's, which is
 * being written. */
LANES_INLINE void history_values(size_t V, float *out, size_t n, const float *w,
                                 size_t at, const struct kernels_history *h)
{
    struct lanes acc[4];

    LANES_UNROLL
    for (size_t v = 0; v < V; v++)
        acc[v] = lanes_all(0);
    for (size_t t = 0; t < h->n; t++) {
        const float *y = h->cache + (size_t)h->entry[t] * h->stride + h->v_at + at;
        LANES_UNROLL
        for (size_t v = 0; v < V; v++)
            acc[v] = lanes_add(acc[v],
                               lanes_mul(lanes_all(w[t]),
                                         lanes_load_first(y + v * LANES, n - v * LANES)));
    }
    LANES_UNROLL
    for (size_t v = 0; v < V; v++)
        lanes_store_first(out + v * LANES, acc[v], n - v * LANES);
}

LANES_INLINE void history_head(size_t d, float *out, const float *q, size_t at,
                               const struct kernels_history *h, float scale, float *s)
{
    const size_t four = 4 * (size_t)LANES;
    size_t c = 0;

    history_scores(d, s, q, at, h, scale);
    softmax(s, h->n, lanes_round(h->n));
    for (; c + four <= lanes_round(d); c += four)
        history_values(4, out + c, d - c, s, at + c, h);
    for (; c < d; c += LANES)
        history_values(1, out + c, d - c, s, at + c, h);
}

/* Usual widths of a head are constants. */
void KERNEL(attend_history)(float *out, const float *q, size_t n_heads, size_t d,
                            float scale, const struct kernels_history *h, float *scratch)
{
    for (size_t head = 0, at = 0; head < n_heads; head++, at += d)
        switch (d) {
        case 16:
            history_head(16, out + at, q + at, at, h, scale, scratch);
            break;
        case 32:
            history_head(32, out + at, q + at, at, h, scale, scratch);
            break;
        case 64:
            history_head(64, out + at, q + at, at, h, scale, scratch);
            break;
        default:
            history_head(d, out + at, q + at, at, h, scale, scratch);
        }
}

/*
 * Attention over packed sentences, forward and backward, without storing scores.
 * Formulas: device/cpu/attention.c.
 *
 * Included once for each HEAD, a width of a head rounded up to a power of two; narrower
 * heads are padded with zeros in local memory. A group takes BLOCK queries (or keys) of
 * one head of one sentence and walks over the keys (or queries) of that sentence in tiles
 * of BLOCK. Forward keeps a running maximum and sum for each query, so that a tile is
 * visited once. Backward has two kernels: one over blocks of queries adds dq, one over
 * blocks of keys adds dk and dv, so that nothing is added by two groups.
 *
 * Items form a grid of TY x TX. An item has RY rows (ty, ty + TY...) and RX columns of a
 * tile of scores, and RC channels of its rows of a result, in registers.
 */
#include "device/gpu/group.h"

#ifndef HEAD
#define HEAD 64
#endif
#ifndef HEADED
#define HEADED_PASTE(name, head)  name##_##head
#define HEADED_EXPAND(name, head) HEADED_PASTE(name, head)
#define HEADED(name)              HEADED_EXPAND(name, HEAD)
#define TX                        8
#define TY                        (ATTENTION_ITEMS / TX)
#define BLOCK                     ATTENTION_BLOCK(HEAD)
#define WIDTH                     (HEAD + 1) /* of a local row: no bank conflicts */
#define SCORES                    (BLOCK + 1)
#define RY                        (BLOCK / TY)
#define RX                        (BLOCK / TX)
#define RC                        (HEAD / TX)
#endif

/* n rows of a head, times scale, into local memory; the rest is zero. */
FN void HEADED(tile_load)(LOCAL float *to, GLOBAL const stored *x, u64 at, u32 stride,
                          u32 n, u32 d, float scale)
{
    for (u32 i = ITEM; i < BLOCK * HEAD; i += ITEMS) {
        const u32 r = i / HEAD, c = i % HEAD;
        to[r * WIDTH + c] =
            r < n && c < d ? LOAD(x, at + (u64)r * stride + c) * scale : 0.0f;
    }
}

/* s[i][j] = row ty + i TY of a times row tx + j TX of b */
FN void HEADED(tile_scores)(float s[RY][RX], LOCAL const float *a, LOCAL const float *b)
{
    const u32 ty = ITEM / TX, tx = ITEM % TX;

    for (u32 i = 0; i < RY; i++)
        for (u32 j = 0; j < RX; j++)
            s[i][j] = 0;
    for (u32 c = 0; c < HEAD; c++) {
        float x[RY];
        UNROLL
        for (u32 i = 0; i < RY; i++)
            x[i] = a[(ty + i * TY) * WIDTH + c];
        UNROLL
        for (u32 j = 0; j < RX; j++) {
            const float y = b[(tx + j * TX) * WIDTH + c];
            UNROLL
            for (u32 i = 0; i < RY; i++)
                s[i][j] += x[i] * y;
        }
    }
}

/* acc[i][j] += row ty + i TY of the scores times channel tx + j TX of x */
FN void HEADED(tile_add)(float acc[RY][RC], LOCAL const float *scores,
                         LOCAL const float *x)
{
    const u32 ty = ITEM / TX, tx = ITEM % TX;

    for (u32 k = 0; k < BLOCK; k++) {
        float w[RY];
        UNROLL
        for (u32 i = 0; i < RY; i++)
            w[i] = scores[(ty + i * TY) * SCORES + k];
        UNROLL
        for (u32 j = 0; j < RC; j++) {
            const float v = x[k * WIDTH + tx + j * TX];
            UNROLL
            for (u32 i = 0; i < RY; i++)
                acc[i][j] += w[i] * v;
        }
    }
}

FN void HEADED(tile_store)(GLOBAL stored *y, struct gmat m, u32 row, u32 n, u32 head,
                           u32 d, float acc[RY][RC], const float scale[RY])
{
    const u32 ty = ITEM / TX, tx = ITEM % TX;

    for (u32 i = 0; i < RY; i++)
        for (u32 j = 0; j < RC; j++)
            if (ty + i * TY < n && tx + j * TX < d)
                STORE(y, AT(m, row + ty + i * TY, head * d + tx + j * TX),
                      acc[i][j] * scale[i]);
}

KERNEL(ATTENTION_ITEMS)
void HEADED(attention_forward)(GLOBAL stored *out, GLOBAL float *lse,
                               GLOBAL const stored *q, GLOBAL const stored *k,
                               GLOBAL const stored *v, GLOBAL const i32 *q_at,
                               GLOBAL const i32 *k_at, GLOBAL const i32 *pair,
                               GLOBAL const i32 *pos, struct attention_args a)
/* not split further: its parts share fourteen names */
{
    SHARED(float, qt, BLOCK *WIDTH);
    SHARED(float, kt, BLOCK *WIDTH);
    SHARED(float, vt, BLOCK *WIDTH);
    SHARED(float, st, BLOCK *SCORES);
    SHARED(float, red, BLOCK *TX);
    const u32 ty = ITEM / TX, tx = ITEM % TX, b = GROUP(2), h = GROUP(1);
    const u32 q0 = (u32)q_at[a.q_at + b], n_q = (u32)q_at[a.q_at + b + 1] - q0;
    const u32 k0 = (u32)k_at[a.k_at + b], n_k = (u32)k_at[a.k_at + b + 1] - k0;
    const u32 first = GROUP(0) * BLOCK;
    float s[RY][RX], acc[RY][RC], top[RY], sum[RY], inverse[RY];
    u32 row[RY];

    if (first >= n_q)
        return;
    const u32 here = n_q - first < BLOCK ? n_q - first : BLOCK;
    const u32 seen = a.causal ? first + here : n_k;
    HEADED(tile_load)
    (qt, q, AT(a.q, q0 + first, h * a.d), a.q.stride, here, a.d, a.scale);
    for (u32 i = 0; i < RY; i++) {
        const u32 r = ty + i * TY;
        row[i] = r < here ? hash_of_row(a.drop, pair, pos, q0 + first + r) : 0;
        top[i] = -INFINITE;
        sum[i] = 0;
        for (u32 j = 0; j < RC; j++)
            acc[i][j] = 0;
    }
    for (u32 at = 0; at < seen; at += BLOCK) {
        const u32 n = n_k - at < BLOCK ? n_k - at : BLOCK;
        BARRIER;
        HEADED(tile_load)(kt, k, AT(a.k, k0 + at, h * a.d), a.k.stride, n, a.d, 1.0f);
        HEADED(tile_load)(vt, v, AT(a.v, k0 + at, h * a.d), a.v.stride, n, a.d, 1.0f);
        BARRIER;
        HEADED(tile_scores)(s, qt, kt);
        for (u32 i = 0; i < RY; i++) {
            const u32 r = ty + i * TY;
            float most = -INFINITE;
            for (u32 j = 0; j < RX; j++) {
                const u32 key = tx + j * TX;
                if (key >= n || (a.causal && at + key > first + r))
                    s[i][j] = -INFINITE;
                most = s[i][j] > most ? s[i][j] : most;
            }
            red[r * TX + tx] = most;
        }
        BARRIER;
        for (u32 i = 0; i < RY; i++) {
            const u32 r = ty + i * TY;
            float most = top[i];
            for (u32 j = 0; j < TX; j++)
                most = red[r * TX + j] > most ? red[r * TX + j] : most;
            const float old = top[i] == -INFINITE ? 0.0f : power_of_e(top[i] - most);
            top[i] = most;
            sum[i] *= old;
            for (u32 j = 0; j < RC; j++)
                acc[i][j] *= old;
            for (u32 j = 0; j < RX; j++) {
                const u32 key = tx + j * TX;
                const float p = s[i][j] == -INFINITE ? 0.0f : power_of_e(s[i][j] - most);
                sum[i] += p;
                st[r * SCORES + key] =
                    dropped(a.drop, row[i], (at + key) * a.heads + h, p);
            }
        }
        BARRIER;
        HEADED(tile_add)(acc, st, vt);
    }
    BARRIER;
    for (u32 i = 0; i < RY; i++)
        red[(ty + i * TY) * TX + tx] = sum[i];
    BARRIER;
    for (u32 i = 0; i < RY; i++) {
        const u32 r = ty + i * TY;
        float total = 0;
        for (u32 j = 0; j < TX; j++)
            total += red[r * TX + j];
        inverse[i] = 1.0f / total;
        if (tx == 0 && r < here)
            lse[AT(a.lse, q0 + first + r, h)] = top[i] + LOG(total);
    }
    HEADED(tile_store)(out, a.out, q0 + first, here, h, a.d, acc, inverse);
}

/* delta_r = dout_r . out_r of the rows of a tile, by its first items. All items make the
 * same rounds: PoCL 3.1 loses a loop that some leave at once. */
FN void HEADED(tile_delta)(LOCAL float *delta, LOCAL const float *dout,
                           GLOBAL const stored *out, u64 at, u32 stride, u32 n, u32 d)
{
    const u32 r = ITEM < n ? ITEM : 0;
    float sum = 0;

    for (u32 c = 0; c < d; c++)
        sum += dout[r * WIDTH + c] * LOAD(out, at + (u64)r * stride + c);
    if (ITEM < BLOCK)
        delta[ITEM] = ITEM < n ? sum : 0.0f;
}

KERNEL(ATTENTION_ITEMS)
void HEADED(attention_backward_q)(GLOBAL stored *dq, GLOBAL const stored *dout,
                                  GLOBAL const stored *out, GLOBAL const float *lse,
                                  GLOBAL const stored *q, GLOBAL const stored *k,
                                  GLOBAL const stored *v, GLOBAL const i32 *q_at,
                                  GLOBAL const i32 *k_at, GLOBAL const i32 *pair,
                                  GLOBAL const i32 *pos, struct attention_args a)
{
    SHARED(float, qt, BLOCK *WIDTH);
    SHARED(float, dot, BLOCK *WIDTH);
    SHARED(float, kt, BLOCK *WIDTH);
    SHARED(float, vt, BLOCK *WIDTH);
    SHARED(float, st, BLOCK *SCORES);
    SHARED(float, delta, BLOCK);
    const u32 ty = ITEM / TX, tx = ITEM % TX, b = GROUP(2), h = GROUP(1);
    const u32 q0 = (u32)q_at[a.q_at + b], n_q = (u32)q_at[a.q_at + b + 1] - q0;
    const u32 k0 = (u32)k_at[a.k_at + b], n_k = (u32)k_at[a.k_at + b + 1] - k0;
    const u32 first = GROUP(0) * BLOCK;
    float s[RY][RX], dw[RY][RX], acc[RY][RC], by[RY];
    u32 row[RY];

    if (first >= n_q)
        return;
    const u32 here = n_q - first < BLOCK ? n_q - first : BLOCK;
    const u32 seen = a.causal ? first + here : n_k;
    HEADED(tile_load)
    (qt, q, AT(a.q, q0 + first, h * a.d), a.q.stride, here, a.d, a.scale);
    HEADED(tile_load)
    (dot, dout, AT(a.dout, q0 + first, h * a.d), a.dout.stride, here, a.d, 1.0f);
    BARRIER;
    HEADED(tile_delta)
    (delta, dot, out, AT(a.out, q0 + first, h * a.d), a.out.stride, here, a.d);
    for (u32 i = 0; i < RY; i++) {
        const u32 r = ty + i * TY;
        row[i] = r < here ? hash_of_row(a.drop, pair, pos, q0 + first + r) : 0;
        by[i] = a.scale;
        for (u32 j = 0; j < RC; j++)
            acc[i][j] = 0;
    }
    for (u32 at = 0; at < seen; at += BLOCK) {
        const u32 n = n_k - at < BLOCK ? n_k - at : BLOCK;
        BARRIER;
        HEADED(tile_load)(kt, k, AT(a.k, k0 + at, h * a.d), a.k.stride, n, a.d, 1.0f);
        HEADED(tile_load)(vt, v, AT(a.v, k0 + at, h * a.d), a.v.stride, n, a.d, 1.0f);
        BARRIER;
        HEADED(tile_scores)(s, qt, kt);
        HEADED(tile_scores)(dw, dot, vt);
        for (u32 i = 0; i < RY; i++)
            for (u32 j = 0; j < RX; j++) {
                const u32 r = ty + i * TY, key = tx + j * TX;
                const u32 hidden =
                    r >= here || key >= n || (a.causal && at + key > first + r);
                const float p =
                    hidden ? 0.0f
                           : power_of_e(s[i][j] - lse[AT(a.lse, q0 + first + r, h)]);
                const float dp =
                    dropped(a.drop, row[i], (at + key) * a.heads + h, dw[i][j]);
                st[r * SCORES + key] = p * (dp - delta[r]);
            }
        BARRIER;
        HEADED(tile_add)(acc, st, kt);
    }
    HEADED(tile_store)(dq, a.dq, q0 + first, here, h, a.d, acc, by);
}

/* Rows of the grid are keys here, columns queries. */
KERNEL(ATTENTION_ITEMS)
void HEADED(attention_backward_k)(GLOBAL stored *dk, GLOBAL stored *dv,
                                  GLOBAL const stored *dout, GLOBAL const stored *out,
                                  GLOBAL const float *lse, GLOBAL const stored *q,
                                  GLOBAL const stored *k, GLOBAL const stored *v,
                                  GLOBAL const i32 *q_at, GLOBAL const i32 *k_at,
                                  GLOBAL const i32 *pair, GLOBAL const i32 *pos,
                                  struct attention_args a)
/* not split further: see attention_forward */
{
    SHARED(float, qt, BLOCK *WIDTH);
    SHARED(float, dot, BLOCK *WIDTH);
    SHARED(float, kt, BLOCK *WIDTH);
    SHARED(float, vt, BLOCK *WIDTH);
    SHARED(float, wt, BLOCK *SCORES);
    SHARED(float, st, BLOCK *SCORES);
    SHARED(float, delta, BLOCK);
    const u32 ty = ITEM / TX, tx = ITEM % TX, b = GROUP(2), h = GROUP(1);
    const u32 q0 = (u32)q_at[a.q_at + b], n_q = (u32)q_at[a.q_at + b + 1] - q0;
    const u32 k0 = (u32)k_at[a.k_at + b], n_k = (u32)k_at[a.k_at + b + 1] - k0;
    const u32 first = GROUP(0) * BLOCK;
    float s[RY][RX], dw[RY][RX], dk_acc[RY][RC], dv_acc[RY][RC], one[RY];

    if (first >= n_k)
        return;
    const u32 here = n_k - first < BLOCK ? n_k - first : BLOCK;
    HEADED(tile_load)(kt, k, AT(a.k, k0 + first, h * a.d), a.k.stride, here, a.d, 1.0f);
    HEADED(tile_load)(vt, v, AT(a.v, k0 + first, h * a.d), a.v.stride, here, a.d, 1.0f);
    for (u32 i = 0; i < RY; i++) {
        one[i] = 1.0f;
        for (u32 j = 0; j < RC; j++)
            dk_acc[i][j] = dv_acc[i][j] = 0;
    }
    for (u32 at = a.causal ? first : 0; at < n_q; at += BLOCK) {
        const u32 n = n_q - at < BLOCK ? n_q - at : BLOCK;
        BARRIER;
        HEADED(tile_load)(qt, q, AT(a.q, q0 + at, h * a.d), a.q.stride, n, a.d, a.scale);
        HEADED(tile_load)
        (dot, dout, AT(a.dout, q0 + at, h * a.d), a.dout.stride, n, a.d, 1.0f);
        BARRIER;
        HEADED(tile_delta)
        (delta, dot, out, AT(a.out, q0 + at, h * a.d), a.out.stride, n, a.d);
        HEADED(tile_scores)(s, kt, qt);
        HEADED(tile_scores)(dw, vt, dot);
        BARRIER;
        for (u32 j = 0; j < RX; j++) {
            const u32 r = tx + j * TX, row = q0 + at + r;
            const u32 hash = r < n ? hash_of_row(a.drop, pair, pos, row) : 0;
            const float log_sum = r < n ? lse[AT(a.lse, row, h)] : 0.0f;
            for (u32 i = 0; i < RY; i++) {
                const u32 key = first + ty + i * TY;
                const u32 hidden =
                    r >= n || ty + i * TY >= here || (a.causal && key > at + r);
                const float p = hidden ? 0.0f : power_of_e(s[i][j] - log_sum);
                const u32 channel = key * a.heads + h;
                const float dp = dropped(a.drop, hash, channel, dw[i][j]);
                const u32 place = (ty + i * TY) * SCORES + r;
                wt[place] = dropped(a.drop, hash, channel, p);
                st[place] = p * (dp - delta[r]);
            }
        }
        BARRIER;
        HEADED(tile_add)(dv_acc, wt, dot);
        HEADED(tile_add)(dk_acc, st, qt); /* q carries the scale */
    }
    HEADED(tile_store)(dk, a.dk, k0 + first, here, h, a.d, dk_acc, one);
    HEADED(tile_store)(dv, a.dv, k0 + first, here, h, a.d, dv_acc, one);
}

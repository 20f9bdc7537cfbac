/*
 * bench_cases - a call of every kernel at the sizes of a model: what `ferry bench
 * kernels` times and what `ferry doctor` compares with the CPU.
 *
 * Tensors have the types that a step in the device's precision gives them. Bytes and
 * operations are declared by each case: what the kernel must read and write at least
 * once, and the multiply-adds of its formula.
 *
 * Owns: a device and its memory. Threads: one at a time.
 */
#pragma once

#include "base/err.h"
#include "device/device.h"
#include "recipe/model_config.h"

struct bench_cases_options {
    const struct model_config *model;
    const char *device;
    enum precision precision;
    size_t threads, tokens, length;
    double dropout;
};

/* A model with so many layers in each stack. */
static inline struct model_config bench_model(int64_t d_model, int64_t d_ff,
                                              int64_t heads, int64_t layers,
                                              int64_t vocab_size)
{
    return (struct model_config){vocab_size, d_model, d_ff, heads, layers, layers, 1e-6};
}

enum { BENCH_TOP = 8 }; /* columns of topk */

/* name, rows, columns, storage (half: 16 bits in mixed precision), least number in it */
#define BENCH_MAT_LIST(M)             \
    M(x, N, D, half, -1)              \
    M(y, N, D, half, -1)              \
    M(f, N, D, half, -1)              \
    M(dx, N, D, half, -1)             \
    M(dy, N, D, half, -1)             \
    M(qkv, N, 3 * D, half, -1)        \
    M(dqkv, N, 3 * D, half, -1)       \
    M(h, N, F, half, -1)              \
    M(dh, N, F, half, -1)             \
    M(w, D, F, half, -1)              \
    M(bias, 1, D, half, -1)           \
    M(wide_bias, 1, F, half, -1)      \
    M(logits, chunk, V, half, -1)     \
    M(other, chunk, V, half, -1)      \
    M(embed, V, D, half, -1)          \
    M(master, V, D, mat, -1)          \
    M(dembed, V, D, mat, -1)          \
    M(moment1, V, D, mat, -1)         \
    M(moment2, V, D, mat, 0)          \
    M(dw, D, F, mat, -1)              \
    M(stats, N, 2, mat, 0)            \
    M(lse, N, H, mat, 0)              \
    M(loss, chunk, 1, mat, -1)        \
    M(gap, chunk, 1, mat, -1)         \
    M(prior, 1, V, mat, 0)            \
    M(top, chunk, BENCH_TOP, mat, -1) \
    M(gain, 1, D, mat, -1)            \
    M(shift, 1, D, mat, -1)           \
    M(dgain, 1, D, mat, -1)           \
    M(dshift, 1, D, mat, -1)          \
    M(dbias, 1, D, mat, -1)           \
    M(dwide_bias, 1, F, mat, -1)      \
    M(signal, length, D, mat, -1)

/* name, how many, value of the i-th: B sentences of `length` tokens */
#define BENCH_IDS_LIST(I)                         \
    I(at, B + 1, i * length)                      \
    I(id, N, i * 7919 % V)                        \
    I(pair, N, i / length)                        \
    I(pos, N, i % length)                         \
    I(first, N, i / length * length)              \
    I(last, N, (i / length + 1) * length)         \
    I(physical, N, (i / length + i % length) % B) \
    I(label, chunk, i * 104729 % V)               \
    I(best, chunk, 0)                             \
    I(top_id, BENCH_TOP *chunk, 0)

#define BENCH_COUNT(name, ...) +1
enum {
    BENCH_MATS = 0 BENCH_MAT_LIST(BENCH_COUNT),
    BENCH_IDS = 0 BENCH_IDS_LIST(BENCH_COUNT),
};

#define BENCH_MAT_MEMBER(name, ...) struct mat name;
#define BENCH_IDS_MEMBER(name, ...) struct ids name;

struct bench_cases {
    struct device device;
    struct device_arena arena;
    size_t N, D, F, V, H, B, length, chunk; /* H: the most heads, for its memory */
    size_t heads;                           /* of the cases with heads; may be changed */
    double dropout;
    union {
        struct {
            BENCH_MAT_LIST(BENCH_MAT_MEMBER)
        };
        struct mat mat[BENCH_MATS];
    };
    union {
        struct {
            BENCH_IDS_LIST(BENCH_IDS_MEMBER)
        };
        struct ids ids[BENCH_IDS];
    };
    double number; /* result of sumsq or maxabs */
    void *host;    /* room for the largest of them, in floats */
};

extern const char *const bench_cases_mats[BENCH_MATS]; /* their names */
extern const char *const bench_cases_ids[BENCH_IDS];

struct bench_cost {
    double reals, flops;
};

struct bench_case {
    const char *name; /* the kernel's, and which way */
    void (*run)(struct bench_cases *b);
    struct bench_cost (*cost)(const struct bench_cases *b);
    bool has_heads;
    bool is_for_doctor; /* not of a size or kind to be timed */
};

extern const struct bench_case bench_cases_list[];
extern const size_t bench_cases_n;

/* ERR_USAGE when the device has no heads of the model's width. */
status bench_cases_open(struct bench_cases *b, const struct bench_cases_options *o,
                        struct err *err);
void bench_cases_close(struct bench_cases *b);

/* The same numbers into the tensors of every device. */
void bench_cases_load(struct bench_cases *b);

/* Numbers of tensor i as floats; they last until the next call. */
const float *bench_cases_floats(struct bench_cases *b, size_t i);
const int *bench_cases_ints(struct bench_cases *b, size_t i);

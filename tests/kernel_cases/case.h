/*
 * case - one kernel's test, declared: operands, a reference, shapes.
 *
 * A case names its matrices by extents and roles; sheet.h lays them out between guards
 * and fills them. agree.h runs the kernel on every device, thread count and layout
 * against the naive reference in double; gradient.h compares a backward kernel with
 * finite differences of its forward kernel. A new kernel needs one header beside this
 * one and a row in CASE_LIST of test_kernels.c.
 */
#pragma once

/* A table row names the fields it needs. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/device.h"

/* Operands count from 1: operand 0 is "none". */
enum { CASE_OPS = 17, CASE_SENTS = 24, CASE_SHAPES = 15 };

enum extent {
    NOTHING, /* the operand does not exist */
    ONE,
    TWO,
    ROWS, /* query tokens of all sentences */
    KEYS, /* key tokens of all sentences */
    POSITIONS,
    COLS,
    INNER,
    HEADS,
    VOCAB,
    TOP,
    CACHED /* rows of a decoding cache */
};

enum role {
    IN,    /* given; must not change */
    OUT,   /* overwritten: holds NaN before */
    ADD,   /* added to */
    INOUT, /* replaced in place */
    SAVED, /* left by the forward kernel for the backward one */
    SPENT  /* given; may be destroyed */
};

struct operand {
    const char *name;
    enum extent rows, cols;
    enum role role;
    int grad_of;         /* of a result: it is the gradient of this operand */
    int seed_of;         /* of a given one: the gradient that flows into this operand */
    double scale, shift; /* values are scale * u + shift, u in [-1, 1); scale 0: 1 */
    double gap;          /* values keep this distance from 0 */
    double constant;     /* not 0: every value */
    bool half;           /* stored in 16 bits in mixed precision */
    double slack;        /* then: roundings to 16 bits that may lie between it and the
                            reference; 0: the one of what is stored itself */
};

struct shape {
    uint16_t q[CASE_SENTS], k[CASE_SENTS]; /* lengths, 0 ends; k empty: as q */
    size_t cols, inner, heads, vocab, top;
    size_t steps, beams; /* of a decoding cache */
    double rate, smooth;
    bool causal;
    enum activation act;
    unsigned none;        /* bit of an operand that is left out */
    int same[2], with[2]; /* operand same[i] is the memory of operand with[i] */
};

#define BIT(op) (1u << (op))

enum list {
    LIST_Q_AT, /* sentence offsets */
    LIST_K_AT,
    LIST_PAIR,  /* of each query token */
    LIST_POS,   /* of each query token */
    LIST_TOKEN, /* below VOCAB; -1 at the start of every other sentence */
    LIST_LABEL, /* below VOCAB, the first 0, the last VOCAB - 1 */
    LIST_FIRST, /* rows of keys of each query token's sentence */
    LIST_LAST,
    LIST_PHYSICAL, /* [ROWS, steps] below beams */
    LIST_BEST,     /* results: -7 before */
    LIST_TOP,      /* [ROWS, TOP] */
    N_LISTS
};

/* What a kernel or a reference gets; a reference's mats hold doubles on the host. */
struct args {
    struct mat m[CASE_OPS];
    struct ids list[N_LISTS];
    const struct shape *shape;
};

typedef void case_fn(struct device *d, const struct args *a);

struct kernel_case {
    const char *kernel;
    struct operand op[CASE_OPS];
    case_fn *run;       /* the kernel */
    bool has_heads;     /* devices may refuse the width of cols / heads */
    case_fn *reference; /* the same, naively, in double; its device is NULL */
    case_fn *forward;   /* of a backward kernel: the kernel it belongs to */
    case_fn *forward_reference;
    double tolerance;                /* in float; 0: 1e-5. In double always 1e-12 */
    struct shape shape[CASE_SHAPES]; /* a shape without sentences ends the list */
};

static inline size_t case_tokens(const uint16_t *lengths)
{
    size_t n = 0;

    for (size_t b = 0; b < CASE_SENTS && lengths[b]; b++)
        n += lengths[b];
    return n;
}

static inline size_t case_sents(const struct shape *s)
{
    size_t n = 0;

    while (n < CASE_SENTS && s->q[n])
        n++;
    return n;
}

static inline const uint16_t *case_keys(const struct shape *s)
{
    return s->k[0] ? s->k : s->q;
}

static inline size_t case_longest(const uint16_t *lengths)
{
    size_t longest = 0;

    for (size_t b = 0; b < CASE_SENTS && lengths[b]; b++)
        longest = lengths[b] > longest ? lengths[b] : longest;
    return longest;
}

static inline size_t case_extent(const struct shape *s, enum extent e)
{
    const size_t extent[] = {[NOTHING] = 0,
                             [ONE] = 1,
                             [TWO] = 2,
                             [ROWS] = case_tokens(s->q),
                             [KEYS] = case_tokens(case_keys(s)),
                             [POSITIONS] = case_longest(s->q),
                             [COLS] = s->cols,
                             [INNER] = s->inner,
                             [HEADS] = s->heads,
                             [VOCAB] = s->vocab,
                             [TOP] = s->top,
                             [CACHED] = s->steps * s->beams};
    return extent[e];
}

/* Dropout of a shape; a kernel and its reference get the same. */
static inline struct drop case_drop(const struct args *a)
{
    return (struct drop){.key = 0x9a17b3c455d2e861u,
                         .rate = a->shape->rate,
                         .pair = a->list[LIST_PAIR],
                         .pos = a->list[LIST_POS]};
}

/* Element (r,c) of a reference's matrix, and element i of its list. */
static inline double *at(struct mat m, size_t r, size_t c)
{
    return (double *)m.mem + m.at + r * m.stride + c;
}

static inline int32_t *id_at(struct ids x, size_t i)
{
    return (int32_t *)x.mem + x.at + i;
}

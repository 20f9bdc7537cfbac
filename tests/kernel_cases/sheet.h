/*
 * sheet - the operands of one case, laid out in one block of doubles.
 *
 * Every element that belongs to no operand is a guard: NaN, so that a kernel that reads
 * it spoils its result, and compared bit by bit afterwards, so that one that writes it is
 * found. The same holds for operands that are given. Devices get a copy in their width.
 *
 * Owns: its block and its lists.
 */
#pragma once

#include <stdlib.h>

#include "base/rng.h"
#include "device/half.h"
#include "kernel_cases/case.h"
#include "test.h"

enum layout {
    DENSE,
    STRIDED, /* rows are apart, and begin anywhere */
    BESIDE,  /* operands of equal height are columns of one matrix, as q|k|v are */
    N_LAYOUTS
};

enum { SHEET_GUARD = 24 };

struct sheet {
    const struct kernel_case *k;
    struct args args; /* over real and list, as a reference wants them */
    size_t n, n_list;
    double *real;
    bool *may_change;
    uint8_t *owner; /* the operand of an element; 0: a guard */
    int32_t *list;
};

static inline bool sheet_has(const struct sheet *s, int op)
{
    return s->k->op[op].rows != NOTHING && !(s->args.shape->none & BIT(op));
}

static inline struct mat sheet_take(struct sheet *s, size_t rows, size_t cols,
                                    size_t stride)
{
    const struct mat m = {NULL, s->n, rows, cols, stride};

    s->n += rows * stride + SHEET_GUARD;
    return m;
}

/* Columns of one wide matrix for every operand as high as `op`. */
static inline void sheet_beside(struct sheet *s, int op)
{
    const size_t rows = case_extent(s->args.shape, s->k->op[op].rows);
    size_t stride = 3, col = 1;

    for (int o = op; o < CASE_OPS; o++)
        if (sheet_has(s, o) && case_extent(s->args.shape, s->k->op[o].rows) == rows)
            stride += case_extent(s->args.shape, s->k->op[o].cols) + 1;
    const struct mat wide = sheet_take(s, rows, stride, stride);
    for (int o = op; o < CASE_OPS; o++)
        if (sheet_has(s, o) && case_extent(s->args.shape, s->k->op[o].rows) == rows) {
            const size_t cols = case_extent(s->args.shape, s->k->op[o].cols);
            s->args.m[o] = mat_cols(wide, col, cols);
            col += cols + 1;
        }
}

static inline void sheet_place(struct sheet *s, enum layout layout)
{
    s->n = SHEET_GUARD + (layout == STRIDED);
    for (int o = 1; o < CASE_OPS; o++) {
        const size_t rows = case_extent(s->args.shape, s->k->op[o].rows);
        const size_t cols = case_extent(s->args.shape, s->k->op[o].cols);
        if (!sheet_has(s, o) || s->args.m[o].rows)
            continue;
        if (layout == BESIDE)
            sheet_beside(s, o);
        else
            s->args.m[o] = sheet_take(s, rows, cols, cols + (layout == STRIDED ? 5 : 0));
    }
    for (int i = 0; i < 2; i++)
        if (s->args.shape->same[i])
            s->args.m[s->args.shape->same[i]] = s->args.m[s->args.shape->with[i]];
}

/* Values that a float holds too, so that every device starts from the same. */
static inline double sheet_value(const struct operand *op, struct rng *r)
{
    const double u = 2 * rng_unit(r) - 1;
    const double x = (op->scale != 0 ? op->scale : 1) * u + op->shift;

    return (double)(float)(op->constant != 0 ? op->constant
                                             : x + (x < 0 ? -1 : 1) * op->gap);
}

static inline void sheet_fill(struct sheet *s)
{
    struct rng r = rng_open(rng_key(test_seed(), s->k->kernel));

    for (size_t i = 0; i < s->n; i++)
        s->real[i] = (double)NAN;
    for (int o = 1; o < CASE_OPS; o++) {
        const struct operand *op = &s->k->op[o];
        const struct mat m = s->args.m[o];
        for (size_t i = 0; i < m.rows * m.cols; i++) {
            const size_t e = m.at + i / m.cols * m.stride + i % m.cols;
            const double x = sheet_value(op, &r);
            if (op->role != OUT && o != s->args.shape->same[0] &&
                o != s->args.shape->same[1])
                s->real[e] = x;
            s->may_change[e] |= op->role != IN && op->role != SAVED;
            s->owner[e] = (uint8_t)o;
        }
    }
}

static inline size_t list_length(const struct shape *s, enum list list)
{
    const size_t rows = case_tokens(s->q);

    switch (list) {
    case LIST_Q_AT:
    case LIST_K_AT:
        return case_sents(s) + 1;
    case LIST_PHYSICAL:
        return rows * s->steps;
    case LIST_TOP:
        return rows * s->top;
    default:
        return rows;
    }
}

/* Token `pos` of sentence b, row r. */
static inline void list_token(const struct args *a, size_t b, size_t pos, size_t r)
{
    *id_at(a->list[LIST_PAIR], r) = (int32_t)(7919 * b % 1000);
    *id_at(a->list[LIST_POS], r) = (int32_t)pos;
    *id_at(a->list[LIST_FIRST], r) = *id_at(a->list[LIST_K_AT], b);
    *id_at(a->list[LIST_LAST], r) = *id_at(a->list[LIST_K_AT], b + 1);
    *id_at(a->list[LIST_BEST], r) = -7;
}

static inline void list_random(const struct args *a, size_t rows, struct rng *r)
{
    const struct shape *s = a->shape;

    for (size_t i = 0; s->vocab && i < rows; i++) {
        const bool start = *id_at(a->list[LIST_POS], i) == 0 && i % 2 == 0;
        *id_at(a->list[LIST_TOKEN], i) = start ? -1 : (int32_t)rng_below(r, s->vocab);
        *id_at(a->list[LIST_LABEL], i) = (int32_t)rng_below(r, s->vocab);
    }
    if (s->vocab) {
        *id_at(a->list[LIST_LABEL], rows - 1) = (int32_t)s->vocab - 1;
        *id_at(a->list[LIST_LABEL], 0) = 0;
    }
    for (size_t i = 0; i < rows * s->steps; i++)
        *id_at(a->list[LIST_PHYSICAL], i) = (int32_t)rng_below(r, s->beams);
    for (size_t i = 0; i < rows * s->top; i++)
        *id_at(a->list[LIST_TOP], i) = -7;
}

static inline void sheet_lists(struct sheet *s)
{
    struct args *a = &s->args;
    const struct shape *shape = a->shape;
    struct rng r = rng_open(rng_key(test_seed(), "lists"));
    size_t row = 0, key = 0;

    for (int l = 0; l < N_LISTS; l++) {
        a->list[l] = (struct ids){NULL, s->n_list, list_length(shape, (enum list)l)};
        s->n_list += a->list[l].n;
    }
    s->list = calloc(s->n_list + 1, sizeof *s->list);
    for (int l = 0; l < N_LISTS; l++)
        a->list[l].mem = s->list;
    for (size_t b = 0; b < case_sents(shape); b++) {
        *id_at(a->list[LIST_Q_AT], b) = (int32_t)row;
        *id_at(a->list[LIST_K_AT], b) = (int32_t)key;
        row += shape->q[b];
        key += case_keys(shape)[b];
        *id_at(a->list[LIST_Q_AT], b + 1) = (int32_t)row;
        *id_at(a->list[LIST_K_AT], b + 1) = (int32_t)key;
        for (size_t i = 0; i < shape->q[b]; i++)
            list_token(a, b, i, row - shape->q[b] + i);
    }
    list_random(a, row, &r);
}

static inline void sheet_open(struct sheet *s, const struct kernel_case *k,
                              const struct shape *shape, enum layout layout)
{
    *s = (struct sheet){.k = k, .args = {.shape = shape}};
    sheet_place(s, layout);
    s->real = malloc(s->n * sizeof *s->real);
    s->may_change = calloc(s->n, sizeof *s->may_change);
    s->owner = calloc(s->n, sizeof *s->owner);
    for (int o = 1; o < CASE_OPS; o++)
        s->args.m[o].mem = s->args.m[o].rows ? s->real : NULL;
    sheet_fill(s);
    sheet_lists(s);
}

static inline void sheet_close(struct sheet *s)
{
    free(s->real);
    free(s->may_change);
    free(s->owner);
    free(s->list);
    *s = (struct sheet){0};
}

/* The operand that holds element e, for messages. */
static inline const char *sheet_name(const struct sheet *s, size_t e)
{
    return s->owner[e] ? s->k->op[s->owner[e]].name : "a guard";
}

static inline bool sheet_is_half(const struct sheet *s, size_t e)
{
    return s->k->op[s->owner[e]].half;
}

/* x as `precision` stores it. */
static inline double sheet_rounded(double x, enum precision precision)
{
    return precision == PRECISION_FP16   ? (double)half_to(half_from((float)x))
           : precision == PRECISION_BF16 ? (double)half_to_b(half_from_b((float)x))
                                         : x;
}

/* What is stored in 16 bits holds only such numbers, for the reference too. */
static inline void sheet_round(struct sheet *s, enum precision precision)
{
    for (size_t e = 0; e < s->n; e++)
        if (sheet_is_half(s, e))
            s->real[e] = sheet_rounded(s->real[e], precision);
}

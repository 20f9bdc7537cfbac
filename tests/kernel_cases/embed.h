/* y[r] = drop(scale * table[id[r]] + signal[pos[r]]); id < 0: a zero vector */
#pragma once

#include "kernel_cases/case.h"
#include "kernel_cases/mask.h"

enum { EMBED_Y = 1, EMBED_TABLE, EMBED_SIGNAL, EMBED_DY, EMBED_DTABLE };

#define EMBED_SCALE 2.5

static inline void embed_forward_run(struct device *d, const struct args *a)
{
    d->k->embed_forward(d, a->m[EMBED_Y], a->m[EMBED_TABLE], a->m[EMBED_SIGNAL],
                        a->list[LIST_TOKEN], EMBED_SCALE, case_drop(a));
}

static inline void embed_forward_naive(struct device *d, const struct args *a)
{
    const struct mat y = a->m[EMBED_Y];

    (void)d;
    for (size_t r = 0; r < y.rows; r++) {
        const int id = *id_at(a->list[LIST_TOKEN], r), pos = *id_at(a->list[LIST_POS], r);
        for (size_t c = 0; c < y.cols; c++) {
            const double e = id < 0 ? 0 : *at(a->m[EMBED_TABLE], (size_t)id, c);
            *at(y, r, c) = mask(case_drop(a), r, c) *
                           (EMBED_SCALE * e + *at(a->m[EMBED_SIGNAL], (size_t)pos, c));
        }
    }
}

static inline void embed_backward_run(struct device *d, const struct args *a)
{
    d->k->embed_backward(d, a->m[EMBED_DTABLE], a->m[EMBED_DY], a->list[LIST_TOKEN],
                         EMBED_SCALE, case_drop(a));
}

static inline void embed_backward_naive(struct device *d, const struct args *a)
{
    const struct mat dy = a->m[EMBED_DY];

    (void)d;
    for (size_t r = 0; r < dy.rows; r++) {
        const int id = *id_at(a->list[LIST_TOKEN], r);
        for (size_t c = 0; id >= 0 && c < dy.cols; c++)
            *at(a->m[EMBED_DTABLE], (size_t)id, c) +=
                EMBED_SCALE * mask(case_drop(a), r, c) * *at(dy, r, c);
    }
}

/* One token; odd widths; a vocabulary so small that ids repeat; 300 tokens. */
#define EMBED_SHAPES                                                 \
    .shape = {{.q = {1}, .cols = 1, .vocab = 1},                     \
              {.q = {1, 1, 1}, .cols = 7, .vocab = 3, .rate = 0.4},  \
              {.q = {4, 1, 6}, .cols = 13, .vocab = 5},              \
              {.q = {3, 9, 2}, .cols = 33, .vocab = 4, .rate = 0.1}, \
              {.q = {2, 5}, .cols = 300, .vocab = 3, .rate = 0.1},   \
              {.q = {300}, .cols = 45, .vocab = 11, .rate = 0.25}}

static const struct kernel_case embed_forward_case = {
    .kernel = "embed_forward",
    .op = {[EMBED_Y] = {"y", ROWS, COLS, OUT, .half = true},
           [EMBED_TABLE] = {"table", VOCAB, COLS, IN, .half = true},
           [EMBED_SIGNAL] = {"signal", POSITIONS, COLS, IN}},
    .run = embed_forward_run,
    .reference = embed_forward_naive,
    EMBED_SHAPES,
};

static const struct kernel_case embed_backward_case = {
    .kernel = "embed_backward",
    .op = {[EMBED_Y] = {"y", ROWS, COLS, SAVED, .half = true},
           [EMBED_TABLE] = {"table", VOCAB, COLS, IN, .half = true},
           [EMBED_SIGNAL] = {"signal", POSITIONS, COLS, IN},
           [EMBED_DY] = {"dy", ROWS, COLS, IN, .seed_of = EMBED_Y, .half = true},
           [EMBED_DTABLE] = {"dtable", VOCAB, COLS, ADD, .grad_of = EMBED_TABLE}},
    .run = embed_backward_run,
    .reference = embed_backward_naive,
    .forward = embed_forward_run,
    .forward_reference = embed_forward_naive,
    EMBED_SHAPES,
};

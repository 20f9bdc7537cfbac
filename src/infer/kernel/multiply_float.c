/*
 * c = a w + bias for panels of floats: tiles in registers, with fused multiply-adds where
 * the processor has them (this file alone is compiled with contraction). An element is
 * summed over the inputs in order, DEPTH of them at a time, as the products of training
 * are (device/cpu/gemm.c).
 */
#include "infer/kernel/kernel.h"

#if defined(__AVX512F__)
enum { ROWS = 6, PANELS = 4 };
#elif defined(__aarch64__)
enum { ROWS = 6, PANELS = 1 };
#elif defined(__AVX2__)
enum { ROWS = 6, PANELS = 1 };
#else
enum { ROWS = 2, PANELS = 1 };
#endif
enum { DEPTH = 512 };

struct job {
    float *c;
    size_t ldc;
    const struct kernels_input *a;
    const struct linear *w;
    bool relu;
    size_t first, p0; /* of c */
};

LANES_INLINE void finish(const struct job *j, struct lanes x, size_t row, size_t col,
                         bool add, bool is_last)
{
    float *c = j->c + (row - j->first) * j->ldc + col - j->p0 * LINEAR_PANEL;

    if (add)
        x = lanes_add(x, lanes_load(c));
    if (is_last && j->w->bias)
        x = lanes_add(x, lanes_load(j->w->bias + col));
    if (is_last && j->relu)
        x = lanes_max(lanes_all(0), x);
    lanes_store(c, x);
}

LANES_INLINE void tile(const struct job *j, size_t R, size_t P, size_t row, size_t panel,
                       size_t k0, size_t depth)
{
    const size_t n_in = j->w->n_in, size = n_in * LINEAR_PANEL, lda = j->a->stride;
    const float *a = j->a->real + row * lda + k0;
    const float *b = (const float *)j->w->panel + panel * size + k0 * LINEAR_PANEL;
    struct lanes acc[ROWS][PANELS];

    LANES_UNROLL
    for (size_t r = 0; r < R; r++)
        LANES_UNROLL
    for (size_t p = 0; p < P; p++)
        acc[r][p] = lanes_all(0);
    _Pragma("GCC unroll 2") for (size_t k = 0; k < depth; k++)
    {
        struct lanes y[PANELS];
        LANES_UNROLL
        for (size_t p = 0; p < P; p++)
            y[p] = lanes_load(b + p * size + k * LINEAR_PANEL);
        LANES_UNROLL
        for (size_t r = 0; r < R; r++) {
            const float x = a[r * lda + k];
            LANES_UNROLL
            for (size_t p = 0; p < P; p++)
                LANES_UNROLL
            for (int v = 0; v < LANES_VECS; v++)
                acc[r][p].v[v] += x * y[p].v[v];
        }
    }
    LANES_UNROLL
    for (size_t r = 0; r < R; r++)
        LANES_UNROLL
    for (size_t p = 0; p < P; p++)
        finish(j, acc[r][p], row + r, (panel + p) * LINEAR_PANEL, k0 > 0,
               k0 + depth == n_in);
}

#define TILE_OF(R)                                        \
    if (R <= ROWS && n_rows == R) {                       \
        if (PANELS > 1 && n_panels == PANELS)             \
            tile(j, R, PANELS, row, panel, k0, depth);    \
        else                                              \
            for (size_t p = 0; p < n_panels; p++)         \
                tile(j, R, 1, row, panel + p, k0, depth); \
        return;                                           \
    }

static void some_rows(const struct job *j, size_t row, size_t n_rows, size_t panel,
                      size_t n_panels, size_t k0, size_t depth)
{
    TILE_OF(6)
    TILE_OF(5)
    TILE_OF(4)
    TILE_OF(3)
    TILE_OF(2)
    TILE_OF(1)
}

void KERNEL(multiply_float)(float *c, size_t ldc, const struct kernels_input *a,
                            const struct linear *w, bool relu, size_t first, size_t n,
                            size_t p0, size_t p1)
{
    const struct job j = {c, ldc, a, w, relu, first, p0};

    for (size_t panel = p0; panel < p1; panel += PANELS)
        for (size_t k0 = 0; k0 < w->n_in; k0 += DEPTH)
            for (size_t row = 0; row < n; row += ROWS)
                some_rows(&j, first + row, kernel_smaller(ROWS, n - row), panel,
                          kernel_smaller(PANELS, p1 - panel), k0,
                          kernel_smaller(DEPTH, w->n_in - k0));
}

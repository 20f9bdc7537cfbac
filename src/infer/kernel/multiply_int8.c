/*
 * Products of int8 (product.h) as tiles of DOT_ROWS x DOT_PANELS * 16 in registers
 * (dot.h). The columns of a tile are read from the cache once for DOT_ROWS rows; all rows
 * visit them before the next columns come.
 *
 * Where dot.h reads rows as numbers of 16 bits, as many rows and inputs are copied at a
 * time as stay in the nearest cache. Between two slices of the inputs, c holds the sums.
 * One row alone is read as bytes where dot.h can.
 */
#include "infer/kernel/product.h"

/* Some rows and inputs of a product, as dot_step() reads them. */
struct slice {
    const char *a;          /* input k0 of the first row */
    size_t lda;             /* bytes */
    size_t first, n_rows;   /* of the product's rows */
    size_t k0, depth;       /* inputs */
    size_t p1;              /* behind the last panel */
    bool is_first, is_last; /* of the slices of a row */
};

/* The inputs of R rows and P panels, whose bytes are ldb apart. */
LANES_INLINE void sum_inputs(const struct slice *s, size_t R, size_t P,
                             struct dot_sum acc[][DOT_PANELS], const char *a,
                             const int8_t *b, size_t ldb, bool ahead)
{
    for (size_t k = 0; k < s->depth; k += 4, a += DOT_DEEP, b += 64) {
        LANES_UNROLL
        for (size_t i = 0; ahead && i < P; i++)
            __builtin_prefetch(b + (P + i) * ldb, 0, 2);
        dot_step(R, P, acc, a, s->lda, b, ldb);
    }
}

LANES_INLINE float *place(const struct product *p, size_t row, size_t panel)
{
    return p->c + (row - p->first) * p->ldc + (panel - p->p0) * LINEAR_PANEL;
}

/* The next panels' lines, if there are such, are asked for while these are multiplied by
 * the first rows: weights come from far, since a step of decoding reads all of them. One
 * row alone has no time for that. */
LANES_INLINE void tile(const struct product *p, const struct slice *s, size_t R, size_t P,
                       size_t row, size_t panel)
{
    const char *a = s->a + (row - s->first) * s->lda;
    const int8_t *b =
        (const int8_t *)p->w->panel + panel * p->panel_bytes + s->k0 * LINEAR_PANEL;
    struct dot_sum acc[DOT_ROWS][DOT_PANELS];

    LANES_UNROLL
    for (size_t i = 0; i < P; i++) {
        const struct dot_sum start = product_start(p, (panel + i) * LINEAR_PANEL);
        LANES_UNROLL
        for (size_t r = 0; r < R; r++)
            acc[r][i] = !DOT_IS_WIDE || s->is_first
                            ? start
                            : dot_load(place(p, row + r, panel + i));
    }
    if (R > 1 && row == s->first && panel + 2 * P <= s->p1)
        sum_inputs(s, R, P, acc, a, b, p->panel_bytes, true);
    else
        sum_inputs(s, R, P, acc, a, b, p->panel_bytes, false);
    LANES_UNROLL
    for (size_t r = 0; r < R; r++)
        LANES_UNROLL
    for (size_t i = 0; i < P; i++)
        if (!DOT_IS_WIDE || s->is_last)
            product_finish(p, acc[r][i], row + r, (panel + i) * LINEAR_PANEL);
        else
            dot_store(place(p, row + r, panel + i), acc[r][i]);
}

/* Fewer than DOT_ROWS rows or DOT_PANELS panels at the edges. */
#define TILE_OF(R)                                    \
    if (R <= DOT_ROWS && n_rows == R) {               \
        if (DOT_PANELS > 1 && n_panels == DOT_PANELS) \
            tile(p, s, R, DOT_PANELS, row, panel);    \
        else                                          \
            for (size_t i = 0; i < n_panels; i++)     \
                tile(p, s, R, 1, row, panel + i);     \
        return;                                       \
    }

static void some_rows(const struct product *p, const struct slice *s, size_t row,
                      size_t n_rows, size_t panel, size_t n_panels)
{
    TILE_OF(8)
    TILE_OF(7)
    TILE_OF(6)
    TILE_OF(5)
    TILE_OF(4)
    TILE_OF(3)
    TILE_OF(2)
    TILE_OF(1)
}

static void multiply_slice(const struct product *p, const struct slice *s)
{
    for (size_t panel = p->p0; panel < s->p1; panel += DOT_PANELS)
        for (size_t row = 0; row < s->n_rows; row += DOT_ROWS)
            some_rows(p, s, s->first + row, kernel_smaller(DOT_ROWS, s->n_rows - row),
                      panel, kernel_smaller(DOT_PANELS, s->p1 - panel));
}

#if DOT_IS_BYTE

LANES_INLINE void one_row_of(const struct product *p, size_t P, size_t panel)
{
    const char *a = (const char *)p->a->byte + p->first * p->a->byte_stride;
    const int8_t *b = (const int8_t *)p->w->panel + panel * p->panel_bytes;
    struct dot_sum acc[DOT_BYTE_PANELS];

    LANES_UNROLL
    for (size_t i = 0; i < P; i++)
        acc[i] = product_start(p, (panel + i) * LINEAR_PANEL);
    for (size_t k = 0; k < p->n_deep; k++)
        dot_bytes(acc, P, a + 4 * k, b + 64 * k, p->panel_bytes);
    LANES_UNROLL
    for (size_t i = 0; i < P; i++)
        product_finish(p, acc[i], p->first, (panel + i) * LINEAR_PANEL);
}

static bool multiply_row(const struct product *p, size_t n, size_t p1)
{
    size_t panel = p->p0;

    if (n != 1)
        return false;
    for (; panel + DOT_BYTE_PANELS <= p1; panel += DOT_BYTE_PANELS)
        one_row_of(p, DOT_BYTE_PANELS, panel);
    for (; panel < p1; panel++)
        one_row_of(p, 1, panel);
    return true;
}

#else

static bool multiply_row(const struct product *p, size_t n, size_t p1)
{
    (void)p, (void)n, (void)p1;
    return false;
}

#endif

#if DOT_IS_WIDE

static void multiply_rows(const struct product *p, size_t n, size_t p1)
{
    enum { DEPTH = 2048, MOST = 16384 }; /* inputs of a row, and of all in a slice */
    int16_t wide[MOST] __attribute__((aligned(64)));
    const size_t deep = kernel_smaller(DEPTH, 4 * p->n_deep);
    const size_t most = MOST / deep / DOT_ROWS * DOT_ROWS;

    for (size_t k0 = 0; k0 < 4 * p->n_deep; k0 += deep)
        for (size_t row = 0; row < n; row += most) {
            const struct slice s = {.a = (const char *)wide,
                                    .lda = deep * sizeof *wide,
                                    .first = p->first + row,
                                    .n_rows = kernel_smaller(most, n - row),
                                    .k0 = k0,
                                    .depth = kernel_smaller(deep, 4 * p->n_deep - k0),
                                    .p1 = p1,
                                    .is_first = k0 == 0,
                                    .is_last = k0 + deep >= 4 * p->n_deep};
            for (size_t r = 0; r < s.n_rows; r++)
                dot_widen(wide + r * deep,
                          p->a->byte + (s.first + r) * p->a->byte_stride + k0, s.depth);
            multiply_slice(p, &s);
        }
}

#else

static void multiply_rows(const struct product *p, size_t n, size_t p1)
{
    const struct slice s = {.a = (const char *)p->a->byte + p->first * p->a->byte_stride,
                            .lda = p->a->byte_stride,
                            .first = p->first,
                            .n_rows = n,
                            .depth = 4 * p->n_deep,
                            .p1 = p1};

    multiply_slice(p, &s);
}

#endif

void KERNEL(multiply_int8)(float *c, size_t ldc, const struct kernels_input *a,
                           const struct linear *w, bool relu, size_t first, size_t n,
                           size_t p0, size_t p1)
{
    const struct product p = {.c = c,
                              .ldc = ldc,
                              .a = a,
                              .w = w,
                              .relu = relu,
                              .first = first,
                              .p0 = p0,
                              .panel_bytes = linear_panel_bytes(LINEAR_INT8, w->n_in),
                              .n_deep = linear_round(w->n_in, LINEAR_DEPTH) / 4};

    if (!KERNEL(multiply_amx)(&p, n, p1) && !multiply_row(&p, n, p1))
        multiply_rows(&p, n, p1);
}

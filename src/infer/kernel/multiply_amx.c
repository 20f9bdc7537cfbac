/*
 * Products of int8 (product.h) on the matrix unit, which multiplies sixteen rows by
 * sixteen columns, 64 inputs deep, at once: rows of bytes and panels of weights are its
 * tiles as they lie in memory.
 *
 * Four sums are under way, so that none waits for the one before it: two tiles of rows by
 * two panels, or one by four. The rows are cut into tiles of equal height, of which the
 * last begin earlier where they do not divide: a row that is computed twice gets the same
 * numbers twice, and the unit is configured once a call. It is released before the call
 * ends, because what a thread leaves in it is saved whenever the thread is interrupted.
 */
#include "infer/kernel/product.h"

#include "infer/kernel/amx_tile.h"

#if !defined(INFER_AMX_EMULATED) && !defined(__AMX_INT8__)

bool KERNEL(multiply_amx)(const struct product *p, size_t n, size_t p1)
{
    (void)p, (void)n, (void)p1;
    return false;
}

#else

enum {
    LEAST = 8, /* rows; fewer are as fast in vector registers */
    GROUP = 4  /* panels that all rows visit before the next come */
};

/* R tiles of rows by P panels. */
struct block {
    const uint8_t *a[2];
    const int8_t *b;
    size_t row[2], panel;
};

/* The next 64 inputs; the sums of rows r and panel i are in tile 2r + i. */
LANES_INLINE void step(struct amx_unit *u, size_t R, size_t P, const struct product *p,
                       const struct block *t, size_t k)
{
    const size_t lda = p->a->byte_stride;
    const int8_t *b = t->b + k * LINEAR_PANEL;

    (void)u;
    AMX_LOAD(u, 4, t->a[0] + k, lda);
    AMX_LOAD(u, 6, b, AMX_BYTES);
    AMX_MULTIPLY(u, 0, 4, 6);
    if (R == 2) {
        AMX_LOAD(u, 5, t->a[1] + k, lda);
        AMX_MULTIPLY(u, 2, 5, 6);
    }
    if (P == 1)
        return;
    AMX_LOAD(u, 7, b + p->panel_bytes, AMX_BYTES);
    AMX_MULTIPLY(u, 1, 4, 7);
    if (R == 2)
        AMX_MULTIPLY(u, 3, 5, 7);
    if (P == 2)
        return;
    AMX_LOAD(u, 6, b + 2 * p->panel_bytes, AMX_BYTES);
    AMX_MULTIPLY(u, 2, 4, 6);
    AMX_LOAD(u, 7, b + 3 * p->panel_bytes, AMX_BYTES);
    AMX_MULTIPLY(u, 3, 4, 7);
}

/* Sums of one tile, in memory, to c. */
static void finish(const struct product *p, const int32_t *sums, size_t row,
                   size_t n_rows, size_t panel)
{
    const size_t col = panel * LINEAR_PANEL;
    const struct dot_sum start = product_start(p, col);

    for (size_t r = 0; r < n_rows; r++) {
        struct dot_sum sum = dot_load(sums + r * LINEAR_PANEL);
        sum.v[0] = (dot_vec)((dot_bits)sum.v[0] + (dot_bits)start.v[0]);
        product_finish(p, sum, row + r, col);
    }
}

LANES_INLINE void block(struct amx_unit *u, size_t R, size_t P, const struct product *p,
                        struct block t, size_t n_rows)
{
    int32_t sums[4][AMX_ROWS * LINEAR_PANEL] __attribute__((aligned(64)));

    t.b = (const int8_t *)p->w->panel + t.panel * p->panel_bytes;
    for (size_t r = 0; r < R; r++)
        t.a[r] = p->a->byte + t.row[r] * p->a->byte_stride;
    AMX_SETTLE_MEMORY();
    AMX_ZERO(u, 0);
    AMX_ZERO(u, 1);
    AMX_ZERO(u, 2);
    AMX_ZERO(u, 3);
    for (size_t k = 0; k < 4 * p->n_deep; k += AMX_BYTES)
        step(u, R, P, p, &t, k);
    AMX_STORE(u, 0, sums[0], AMX_BYTES);
    AMX_STORE(u, 1, sums[1], AMX_BYTES);
    AMX_STORE(u, 2, sums[2], AMX_BYTES);
    AMX_STORE(u, 3, sums[3], AMX_BYTES);
    AMX_SETTLE_MEMORY();
    for (size_t r = 0; r < R; r++)
        for (size_t i = 0; i < P; i++)
            finish(p, sums[2 * r + i], t.row[r], n_rows, t.panel + i);
}

/* One or two tiles of rows with a group of panels. */
static void group(struct amx_unit *u, const struct product *p, struct block t, size_t R,
                  size_t n_rows, size_t n_panels)
{
    const size_t end = t.panel + n_panels;

    for (; R == 2 && t.panel + 2 <= end; t.panel += 2)
        block(u, 2, 2, p, t, n_rows);
    for (; R == 2 && t.panel < end; t.panel++)
        block(u, 2, 1, p, t, n_rows);
    for (; R == 1 && t.panel + 4 <= end; t.panel += 4)
        block(u, 1, 4, p, t, n_rows);
    for (; R == 1 && t.panel < end; t.panel++)
        block(u, 1, 1, p, t, n_rows);
}

bool KERNEL(multiply_amx)(const struct product *p, size_t n, size_t p1)
{
    const size_t n_tiles = (n + AMX_ROWS - 1) / AMX_ROWS;
    const size_t high = n_tiles ? (n + n_tiles - 1) / n_tiles : 0;
    struct amx_unit unit, *u = &unit;

    if (n < LEAST)
        return false;
    amx_open(u, high);
    for (size_t panel = p->p0; panel < p1; panel += GROUP)
        for (size_t i = 0; i < n_tiles; i += 2) {
            const struct block t = {
                .row = {p->first + kernel_smaller(i * high, n - high),
                        p->first + kernel_smaller((i + 1) * high, n - high)},
                .panel = panel};
            group(u, p, t, i + 1 < n_tiles ? 2 : 1, high,
                  kernel_smaller(GROUP, p1 - panel));
        }
    amx_close(u);
    return true;
}

#endif

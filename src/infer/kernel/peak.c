/*
 * The instruction of a product alone, in loops that touch no memory: as many independent
 * sums as hide its latency. Where a product needs further instructions for each of these
 * (additions, widening, loads), it stays below.
 *
 * Like multiply_float.c, compiled with contraction.
 */
#include "infer/kernel/dot.h"

#include "infer/kernel/amx_tile.h"

enum { SUMS = 12 };

/* The compiler takes x for read and changed. */
#define FORGET(x) __asm__ volatile("" : "+" PEAK_REGISTER(x))
#if defined(__aarch64__)
#define PEAK_REGISTER "w"
#elif defined(__AVX512F__)
#define PEAK_REGISTER "v"
#elif defined(__SSE2__)
#define PEAK_REGISTER "x"
#else
#define PEAK_REGISTER "m"
#endif

static double peak_float(size_t n)
{
    lanes_vec sum[SUMS], x = {0}, y = {0}; /* sum = sum x + y */

    FORGET(x);
    FORGET(y);
    LANES_UNROLL
    for (int i = 0; i < SUMS; i++)
        sum[i] = (lanes_vec){0};
    for (size_t k = 0; k < n; k++)
        LANES_UNROLL
    for (int i = 0; i < SUMS; i++) {
        sum[i] = sum[i] * x + y;
        FORGET(sum[i]);
    }
    return 2.0 * SUMS * LANES_EACH * (double)n;
}

#if defined(INFER_AMX_EMULATED) || defined(__AMX_INT8__)

static double peak_int8(size_t n)
{
    struct amx_unit unit, *u = &unit;

    amx_open(u, AMX_ROWS);
    AMX_ZERO(u, 0);
    AMX_ZERO(u, 1);
    AMX_ZERO(u, 2);
    AMX_ZERO(u, 3);
    AMX_ZERO(u, 4);
    AMX_ZERO(u, 6);
    for (size_t k = 0; k < n; k++) {
        AMX_MULTIPLY(u, 0, 4, 6);
        AMX_MULTIPLY(u, 1, 4, 6);
        AMX_MULTIPLY(u, 2, 4, 6);
        AMX_MULTIPLY(u, 3, 4, 6);
    }
    amx_close(u);
    return 2.0 * 4 * AMX_ROWS * LINEAR_PANEL * AMX_BYTES * (double)n;
}

#else

/* Multiplications and additions of one lane. */
#if DOT_IS_WIDE
enum { OPERATIONS = 4 };
#elif defined(DOT_IS_FOUR)
enum { OPERATIONS = 8 };
#else
enum { OPERATIONS = 2 };
#endif

LANES_INLINE dot_vec multiply(dot_vec sum, dot_vec x)
{
#if DOT_IS_WIDE
    return dot_pairs((dot_half)sum, (dot_half)x);
#elif defined(DOT_IS_FOUR)
    return dot_four(sum, x, x);
#else
    return sum * x + x;
#endif
}

static double peak_int8(size_t n)
{
    dot_vec sum[SUMS], x = {0};

    FORGET(x);
    LANES_UNROLL
    for (int i = 0; i < SUMS; i++)
        sum[i] = (dot_vec){0};
    for (size_t k = 0; k < n; k++)
        LANES_UNROLL
    for (int i = 0; i < SUMS; i++) {
        sum[i] = multiply(sum[i], x);
        FORGET(sum[i]);
    }
    return (double)OPERATIONS * SUMS * LANES_EACH * (double)n;
}

#endif

void KERNEL(peak)(enum linear_type type, size_t n, double *n_ops)
{
    *n_ops = type == LINEAR_INT8 ? peak_int8(n) : peak_float(n);
}

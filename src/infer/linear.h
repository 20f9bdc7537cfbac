/*
 * linear - the matrix of a linear layer as products read it: y = x w + bias.
 *
 * Columns (outputs) stand in panels of sixteen, so that one layout serves every
 * instruction set and a file is mapped as it is:
 *
 *   float  [n_out/16][n_in][16]                    value (k, n) at n/16, k, n%16
 *   int8   [n_out/16][n_in/4][16][4]               n_in rounded up to a multiple of 64
 *
 * The second is what dot products of four bytes and the tiles of a matrix unit read
 * ("four deep, sixteen wide"). What rounding up adds is zero.
 *
 * int8 is symmetric with one scale an output: w[k,n] = scale[n] q[k,n], q in -127..127.
 * sum[n] is the sum of q over k: processors that multiply unsigned by signed bytes read
 * x + 128 and take 128 sum[n] away.
 *
 * Owns nothing: the memory is a mapped file's or the network's. Threads: read by any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { LINEAR_PANEL = 16, LINEAR_DEPTH = 64 };

enum linear_type { LINEAR_FLOAT, LINEAR_INT8 };

struct linear {
    enum linear_type type;
    size_t n_in, n_out;
    const void *panel;
    const float *scale; /* [n_out rounded up to panels]; int8 alone */
    const int32_t *sum; /* the same */
    const float *bias;  /* the same; NULL: none */
};

static inline size_t linear_round(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static inline size_t linear_panels(const struct linear *w)
{
    return (w->n_out + LINEAR_PANEL - 1) / LINEAR_PANEL;
}

/* Bytes of one panel, and of all. */
static inline size_t linear_panel_bytes(enum linear_type type, size_t n_in)
{
    return type == LINEAR_FLOAT ? n_in * LINEAR_PANEL * sizeof(float)
                                : linear_round(n_in, LINEAR_DEPTH) * LINEAR_PANEL;
}
size_t linear_bytes(enum linear_type type, size_t n_in, size_t n_out);

/* A matrix of floats somewhere: value (k, n) is at[k * in + n * out]. */
struct linear_source {
    const float *at;
    size_t in, out; /* distance between inputs, and between outputs */
};

/* Write the panels of a matrix [n_in,n_out]; gaps become zero. */
void linear_pack_float(float *panel, struct linear_source w, size_t n_in, size_t n_out);
void linear_pack_int8(int8_t *panel, float *scale, int32_t *sum, struct linear_source w,
                      size_t n_in, size_t n_out);

/* Bytes of n gathered outputs of a matrix, all that belongs to them. */
size_t linear_gather_bytes(const struct linear *w, size_t n);

/* The matrix of outputs id[0, n) of w, in `memory` of so many bytes, aligned to 64. */
struct linear linear_gather(void *memory, const struct linear *w, const uint16_t *id,
                            size_t n);

/* What was packed at (k, n), as a float. For tests, calibration and whoever reads a
 * file. */
float linear_value(const struct linear *w, size_t k, size_t n);

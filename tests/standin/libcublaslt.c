/*
 * A stand-in for libcublasLt: products by three loops, put into the stand-in driver's
 * streams. Refuses what the real one refuses of what we use: operands that are less
 * aligned than the preference said, shapes that do not fit, a bias of another type than
 * the result's.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/driver.h"
#include "device/half.h"
#include "standin/libcuda.h"

enum {
    FAILED = 7,
    EXECUTION_FAILED = 13,
    VERSION = 130000,
    NOT_SUPPORTED = DRIVER_NOT_SUPPORTED
};

struct layout {
    unsigned type;
    uint64_t rows, cols;
    int64_t ld;
};

struct desc {
    int32_t op[2], bias_type;
    uint32_t epilogue;
    const void *bias;
};

struct pref {
    uint32_t align[4];
};

struct product {
    struct layout a, b, c;
    bool ta, tb, has_relu;
    float alpha, beta;
    const void *pa, *pb, *bias;
    void *pc;
};

#define API __attribute__((visibility("default"))) unsigned
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static void *make(const void *value, size_t n)
{
    void *p = malloc(n);

    if (p)
        memcpy(p, value, n);
    return p;
}

API cublasLtCreate(struct cublasLtContext **h)
{
    *h = malloc(1);
    return *h ? 0 : FAILED;
}

__attribute__((visibility("default"))) size_t cublasLtGetVersion(void)
{
    return VERSION;
}

API cublasLtDestroy(struct cublasLtContext *h)
{
    free(h);
    return 0;
}

API cublasLtMatmulDescCreate(void **desc, unsigned compute, unsigned scale)
{
    *desc = make(&(struct desc){0}, sizeof(struct desc));
    return *desc && compute == DRIVER_COMPUTE_32F && scale == DRIVER_R_32F ? 0 : FAILED;
}

API cublasLtMatmulDescDestroy(void *desc)
{
    free(desc);
    return 0;
}

/* Where an attribute is kept, if it is n bytes long. */
static void *place_of(struct desc *d, unsigned what, size_t n)
{
    switch (what) {
    case DRIVER_TRANS_A:
    case DRIVER_TRANS_B:
        return n == sizeof *d->op ? &d->op[what - DRIVER_TRANS_A] : NULL;
    case DRIVER_EPILOGUE:
        return n == sizeof d->epilogue ? &d->epilogue : NULL;
    case DRIVER_BIAS:
        return n == sizeof(void *) ? (void *)&d->bias : NULL;
    case DRIVER_BIAS_TYPE:
        return n == sizeof d->bias_type ? &d->bias_type : NULL;
    default:
        return NULL;
    }
}

API cublasLtMatmulDescSetAttribute(void *desc, unsigned what, const void *value, size_t n)
{
    void *place = place_of(desc, what, n);

    if (!place)
        return FAILED;
    memcpy(place, value, n);
    return 0;
}

API cublasLtMatrixLayoutCreate(void **layout, unsigned type, uint64_t rows, uint64_t cols,
                               int64_t ld)
{
    *layout = make(&(struct layout){type, rows, cols, ld}, sizeof(struct layout));
    return *layout && ld >= (int64_t)rows ? 0 : FAILED;
}

API cublasLtMatrixLayoutDestroy(void *layout)
{
    free(layout);
    return 0;
}

API cublasLtMatmulPreferenceCreate(void **pref)
{
    *pref = make(&(struct pref){{256, 256, 256, 256}}, sizeof(struct pref));
    return *pref ? 0 : FAILED;
}

API cublasLtMatmulPreferenceDestroy(void *pref)
{
    free(pref);
    return 0;
}

API cublasLtMatmulPreferenceSetAttribute(void *pref, unsigned what, const void *value,
                                         size_t n)
{
    if (what == DRIVER_PREF_WORKSPACE)
        return n == sizeof(size_t) ? 0 : FAILED;
    if (what == DRIVER_PREF_REDUCTIONS)
        return n == sizeof(uint32_t) ? 0 : FAILED;
    if (what - DRIVER_PREF_ALIGN_A > 3 || n != sizeof(uint32_t))
        return FAILED;
    memcpy(&((struct pref *)pref)->align[what - DRIVER_PREF_ALIGN_A], value, n);
    return 0;
}

/* The algorithm remembers the alignment that it was chosen for. */
API cublasLtMatmulAlgoGetHeuristic(struct cublasLtContext *h, void *desc, void *a,
                                   void *b, void *c, void *d, void *pref, int n,
                                   struct driver_choice *choice, int *found)
{
    const struct pref *p = pref;
    const struct desc *how = desc;
    const struct layout *to = d;

    (void)h, (void)a, (void)b, (void)c, (void)n;
    if (standin_failure(__func__))
        return EXECUTION_FAILED;
    *choice = (struct driver_choice){0};
    *found = 0;
    if (how->epilogue && (unsigned)how->bias_type != to->type)
        return NOT_SUPPORTED;
    for (int i = 0; i < 4; i++)
        choice->algorithm[i] = p->align[i];
    *found = 1;
    return 0;
}

static float get(const struct layout *l, const void *p, uint64_t r, uint64_t c)
{
    const uint64_t at = c * (uint64_t)l->ld + r;

    if (l->type == DRIVER_R_32F)
        return ((const float *)p)[at];
    const uint16_t h = ((const uint16_t *)p)[at];
    return l->type == DRIVER_R_16F ? half_to(h) : half_to_b(h);
}

static void put(const struct layout *l, void *p, uint64_t r, uint64_t c, float x)
{
    const uint64_t at = c * (uint64_t)l->ld + r;

    if (l->type == DRIVER_R_32F)
        ((float *)p)[at] = x;
    else
        ((uint16_t *)p)[at] = l->type == DRIVER_R_16F ? half_from(x) : half_from_b(x);
}

static void run_product(void *ctx)
{
    const struct product *p = ctx;
    const uint64_t inner = p->ta ? p->a.rows : p->a.cols;

    for (uint64_t r = 0; r < p->c.rows; r++)
        for (uint64_t c = 0; c < p->c.cols; c++) {
            double sum = 0;
            for (uint64_t k = 0; k < inner; k++)
                sum += (double)get(&p->a, p->pa, p->ta ? k : r, p->ta ? r : k) *
                       (double)get(&p->b, p->pb, p->tb ? c : k, p->tb ? k : c);
            const double old =
                p->beta != 0 ? (double)p->beta * (double)get(&p->c, p->pc, r, c) : 0;
            double x = (double)p->alpha * sum + old;
            if (p->has_relu) {
                x += (double)get(&(struct layout){.type = p->c.type}, p->bias, r, 0);
                x = x > 0 ? x : 0; /* a NaN too, as fmax would have it */
            }
            put(&p->c, p->pc, r, c, (float)x);
        }
    if (standin_is_spoilt("product"))
        put(&p->c, p->pc, 0, 0, 100);
}

API cublasLtMatmul(struct cublasLtContext *h, void *desc, const void *alpha,
                   const void *pa, void *a, const void *pb, void *b, const void *beta,
                   const void *pc, void *c, void *pd, void *d, const void *algorithm,
                   void *workspace, size_t n_workspace, struct CUstream_st *s)
{
    const struct desc *how = desc;
    const uint64_t *align = algorithm;
    struct product p = {.a = *(struct layout *)a,
                        .b = *(struct layout *)b,
                        .c = *(struct layout *)c,
                        .ta = how->op[0],
                        .tb = how->op[1],
                        .has_relu = how->epilogue == DRIVER_RELU_BIAS,
                        .bias = how->bias,
                        .alpha = *(const float *)alpha,
                        .beta = *(const float *)beta,
                        .pa = pa,
                        .pb = pb,
                        .pc = pd};

    (void)h, (void)d, (void)workspace, (void)n_workspace;
    if (standin_failure(__func__))
        return EXECUTION_FAILED;
    if (how->epilogue && !p.has_relu)
        return FAILED;
    if (pc != pd || (uintptr_t)pa % align[0] || (uintptr_t)pb % align[1] ||
        (uintptr_t)pd % align[3])
        return NOT_SUPPORTED;
    if ((p.ta ? p.a.rows : p.a.cols) != (p.tb ? p.b.cols : p.b.rows) ||
        (p.ta ? p.a.cols : p.a.rows) != p.c.rows ||
        (p.tb ? p.b.rows : p.b.cols) != p.c.cols)
        return FAILED;
    standin_queue(s, run_product, &p, sizeof p);
    return 0;
}

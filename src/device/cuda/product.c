/*
 * Products by cuBLASLt. What it does not take, of these types or on this card, is left to
 * our own kernel.
 */
#include "device/cuda/state.h"

static unsigned type_of(const struct cuda *c, struct mat m)
{
    if (m.type == MAT_REAL)
        return DRIVER_R_32F;
    return c->precision == PRECISION_FP16 ? DRIVER_R_16F : DRIVER_R_16BF;
}

static uintptr_t address(struct mat m)
{
    const size_t width = m.type == MAT_REAL ? sizeof(float) : sizeof(uint16_t);

    return (uintptr_t)m.mem + m.at * width;
}

/* The largest power of two, up to 256, that both the address and the rows keep to. */
static uint32_t alignment(struct mat m)
{
    const size_t width = m.type == MAT_REAL ? sizeof(float) : sizeof(uint16_t);
    const uintptr_t bits = address(m) | m.stride * width | 256;

    return (uint32_t)(bits & (~bits + 1));
}

static const char *name_of(unsigned code)
{
    switch (code) {
#define X(name, value) \
    case value:        \
        return #name;
        DRIVER_BLAS_CODES(X)
#undef X
    default:
        return "an error without a name";
    }
}

static void fail(struct cuda *c, unsigned code)
{
    if (code == DRIVER_ALLOC_FAILED)
        gpu_fail(&c->gpu, ERR_MEMORY, "device = cuda: %s ran out of memory in a product",
                 c->name);
    else
        gpu_fail(&c->gpu, ERR_DEVICE,
                 "device = cuda: cuBLASLt failed in a product on %s (%s, code %u)",
                 c->name, name_of(code), code);
}

/* As CALL of state.h, with cuBLASLt's own codes. */
#define BLAS(c, call)                              \
    do {                                           \
        if ((c)->gpu.failure.code == OK) {         \
            const unsigned code_ = (c)->api->call; \
            if (code_)                             \
                fail(c, code_);                    \
        }                                          \
    } while (0)

struct product {
    void *desc, *pref, *layout[3]; /* of a, b, c as cuBLASLt sees them */
    struct driver_choice choice;
};

static void describe(struct cuda *c, struct product *p, const struct mat m[3], bool ta,
                     bool tb)
{
    const int32_t op[2] = {ta, tb};
    const size_t workspace = CUDA_WORKSPACE;
    const uint32_t reductions = DRIVER_REDUCE_IN_32F; /* not in the 16 bits of c */

    BLAS(c, cublasLtMatmulDescCreate(&p->desc, DRIVER_COMPUTE_32F, DRIVER_R_32F));
    BLAS(c, cublasLtMatmulDescSetAttribute(p->desc, DRIVER_TRANS_A, &op[0], sizeof *op));
    BLAS(c, cublasLtMatmulDescSetAttribute(p->desc, DRIVER_TRANS_B, &op[1], sizeof *op));
    BLAS(c, cublasLtMatmulPreferenceCreate(&p->pref));
    BLAS(c, cublasLtMatmulPreferenceSetAttribute(p->pref, DRIVER_PREF_WORKSPACE,
                                                 &workspace, sizeof workspace));
    if (c->gpu.failure.code == OK) /* a library without that choice does it its own way */
        (void)c->api->cublasLtMatmulPreferenceSetAttribute(
            p->pref, DRIVER_PREF_REDUCTIONS, &reductions, sizeof reductions);
    for (unsigned i = 0; i < 4; i++) { /* a, b, c and d, which is c */
        const struct mat one = m[i < 3 ? i : 2];
        const uint32_t align = alignment(one);
        BLAS(c, cublasLtMatmulPreferenceSetAttribute(p->pref, DRIVER_PREF_ALIGN_A + i,
                                                     &align, sizeof align));
        if (i < 3)
            BLAS(c, cublasLtMatrixLayoutCreate(&p->layout[i], type_of(c, one), one.cols,
                                               one.rows, (int64_t)one.stride));
    }
}

/* Its rows are our columns, so that its bias of a row is ours of a column. */
static void add_relu(struct cuda *c, struct product *p, struct mat bias)
{
    const uint32_t what = DRIVER_RELU_BIAS;
    const int32_t type = (int32_t)type_of(c, bias);
    const uintptr_t at = address(bias);

    BLAS(c, cublasLtMatmulDescSetAttribute(p->desc, DRIVER_EPILOGUE, &what, sizeof what));
    BLAS(c,
         cublasLtMatmulDescSetAttribute(p->desc, DRIVER_BIAS_TYPE, &type, sizeof type));
    BLAS(c, cublasLtMatmulDescSetAttribute(p->desc, DRIVER_BIAS, &at, sizeof at));
}

static void forget(struct cuda *c, struct product *p)
{
    for (int i = 0; i < 3; i++)
        if (p->layout[i])
            (void)c->api->cublasLtMatrixLayoutDestroy(p->layout[i]);
    if (p->pref)
        (void)c->api->cublasLtMatmulPreferenceDestroy(p->pref);
    if (p->desc)
        (void)c->api->cublasLtMatmulDescDestroy(p->desc);
}

/* It has no algorithm for these types, or none for this card. */
static bool is_refused(unsigned code)
{
    return code == DRIVER_NOT_SUPPORTED || code == DRIVER_ARCH_MISMATCH;
}

/* cuBLASLt counts columns first: our c = op(a) op(b) is its c' = op(b)' op(a)'. False: it
 * does not do that here. */
static bool multiply(struct cuda *cu, struct product *p, const struct mat m[3],
                     float alpha, float beta)
{
    void *to = (void *)address(m[2]);
    int found = 0;
    unsigned code = cu->api->cublasLtMatmulAlgoGetHeuristic(
        cu->blas, p->desc, p->layout[0], p->layout[1], p->layout[2], p->layout[2],
        p->pref, 1, &p->choice, &found);

    if (!code && (!found || p->choice.state != 0))
        return false;
    cuda_compute_after_copy(cu);
    if (!code && cu->gpu.failure.code == OK)
        code = cu->api->cublasLtMatmul(
            cu->blas, p->desc, &alpha, (void *)address(m[0]), p->layout[0],
            (void *)address(m[1]), p->layout[1], &beta, to, p->layout[2], to,
            p->layout[2], p->choice.algorithm, (void *)(uintptr_t)cu->workspace,
            CUDA_WORKSPACE, cu->compute);
    if (code && !is_refused(code))
        fail(cu, code);
    return !is_refused(code);
}

bool cuda_gemm(struct gpu *g, struct mat c, struct mat a, struct mat b, bool ta, bool tb,
               float alpha, float beta)
{
    struct cuda *cu = (struct cuda *)g;
    const struct mat m[3] = {b, a, c};
    struct product p = {0};

    describe(cu, &p, m, tb, ta);
    const bool is_done = g->failure.code != OK || multiply(cu, &p, m, alpha, beta);
    forget(cu, &p);
    return is_done; /* otherwise by our own kernel */
}

bool cuda_gemm_relu(struct gpu *g, struct mat h, struct mat a, struct mat b,
                    struct mat bias)
{
    struct cuda *cu = (struct cuda *)g;
    const struct mat m[3] = {b, a, h};
    struct product p = {0};

    describe(cu, &p, m, false, false);
    add_relu(cu, &p, bias);
    const bool is_done = g->failure.code != OK || multiply(cu, &p, m, 1, 0);
    forget(cu, &p);
    return is_done;
}

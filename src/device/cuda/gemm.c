/*
 * Products by cuBLASLt. What it does not take, of these types or on this card, is left to
 * our own kernel.
 */
#include <string.h>

#include "device/cuda/cuda.h"

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

#define NAME(name, code) [code] = #name,

static const char *name_of(unsigned code)
{
    static const char *const names[] = {DRIVER_BLAS_CODES(NAME)};
    const char *name = code < sizeof names / sizeof *names ? names[code] : NULL;

    return name ? name : "an error without a name";
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

/* As CALL of cuda.h, with cuBLASLt's own codes. */
#define BLAS(c, call)                              \
    do {                                           \
        if ((c)->gpu.failure.code == OK) {         \
            const unsigned code_ = (c)->api->call; \
            if (code_)                             \
                fail(c, code_);                    \
        }                                          \
    } while (0)

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
    BLAS(c, cublasLtMatmulPreferenceSetAttribute(p->pref, DRIVER_PREF_REDUCTIONS,
                                                 &reductions, sizeof reductions));
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

    BLAS(c, cublasLtMatmulDescSetAttribute(p->desc, DRIVER_EPILOGUE, &what, sizeof what));
    BLAS(c,
         cublasLtMatmulDescSetAttribute(p->desc, DRIVER_BIAS_TYPE, &type, sizeof type));
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
    *p = (struct product){0};
}

void cuda_forget_products(struct cuda *c)
{
    for (int i = 0; i < CUDA_PRODUCTS; i++)
        forget(c, &c->product[i]);
}

/* It has no algorithm for these types, or none for this card. */
static bool is_refused(unsigned code)
{
    return code == DRIVER_NOT_SUPPORTED || code == DRIVER_ARCH_MISMATCH;
}

/* bias without memory: none. */
static void key_of(uint64_t *key, const struct mat m[3], bool ta, bool tb,
                   struct mat bias)
{
    uint64_t rest = (uint64_t)ta | (uint64_t)tb << 1 | (uint64_t) !!bias.mem << 2;

    for (int i = 0; i < 3; i++) {
        *key++ = m[i].rows;
        *key++ = m[i].cols;
        *key++ = m[i].stride;
        rest = rest << 1 | m[i].type;
    }
    *key++ = rest << 1 | bias.type;
    *key = (uint64_t)alignment(m[0]) | (uint64_t)alignment(m[1]) << 12 |
           (uint64_t)alignment(m[2]) << 24 | (uint64_t)alignment(bias) << 36;
}

/* The product of that key, or an empty one in the place of what was used longest ago. */
static struct product *find(struct cuda *c, const uint64_t *key)
{
    struct product *oldest = c->product;

    for (int i = 0; i < CUDA_PRODUCTS; i++) {
        struct product *p = &c->product[i];
        if (p->desc && memcmp(p->key, key, sizeof p->key) == 0)
            return p;
        oldest = p->used < oldest->used ? p : oldest;
    }
    forget(c, oldest);
    memcpy(oldest->key, key, sizeof oldest->key);
    return oldest;
}

/* Ask cuBLASLt how it will do it. */
static void choose(struct cuda *c, struct product *p)
{
    int found = 0;

    if (c->gpu.failure.code != OK)
        return;
    const unsigned code = c->api->cublasLtMatmulAlgoGetHeuristic(
        c->blas, p->desc, p->layout[0], p->layout[1], p->layout[2], p->layout[2], p->pref,
        1, &p->choice, &found);
    if (code && !is_refused(code))
        fail(c, code);
    p->is_refused = code || !found || p->choice.state != 0;
}

/* cuBLASLt counts columns first: our c = op(a) op(b) is its c' = op(b)' op(a)'. False: it
 * does not do that here. */
static bool multiply(struct cuda *cu, struct product *p, const struct mat m[3],
                     float alpha, float beta)
{
    /* NOLINTBEGIN(performance-no-int-to-ptr): addresses on the card */
    void *to = (void *)address(m[2]);
    const void *a = (void *)address(m[0]), *b = (void *)address(m[1]);
    void *workspace = (void *)(uintptr_t)cu->workspace;
    /* NOLINTEND(performance-no-int-to-ptr) */

    if (p->is_refused)
        return false;
    cuda_compute_after_copy(cu);
    if (cu->gpu.failure.code != OK)
        return true;
    const unsigned code = cu->api->cublasLtMatmul(
        cu->blas, p->desc, &alpha, a, p->layout[0], b, p->layout[1], &beta, to,
        p->layout[2], to, p->layout[2], p->choice.algorithm, workspace, CUDA_WORKSPACE,
        cu->compute);
    p->is_refused = is_refused(code);
    if (code && !p->is_refused)
        fail(cu, code);
    return !p->is_refused;
}

static bool product(struct cuda *c, const struct mat m[3], bool ta, bool tb, float alpha,
                    float beta, struct mat bias)
{
    const uintptr_t at = address(bias);
    uint64_t key[PRODUCT_KEY];

    key_of(key, m, ta, tb, bias);
    struct product *p = find(c, key);
    const bool is_new = !p->desc;
    p->used = ++c->n_products;
    if (is_new)
        describe(c, p, m, ta, tb);
    if (is_new && bias.mem)
        add_relu(c, p, bias);
    if (bias.mem)
        BLAS(c, cublasLtMatmulDescSetAttribute(p->desc, DRIVER_BIAS, &at, sizeof at));
    if (is_new)
        choose(c, p);
    return c->gpu.failure.code != OK || multiply(c, p, m, alpha, beta);
}

bool cuda_gemm(struct gpu *g, struct mat c, struct mat a, struct mat b, bool ta, bool tb,
               float alpha, float beta)
{
    const struct mat m[3] = {b, a, c};

    return product((struct cuda *)g, m, tb, ta, alpha, beta, (struct mat){0});
}

bool cuda_gemm_relu(struct gpu *g, struct mat h, struct mat a, struct mat b,
                    struct mat bias)
{
    const struct mat m[3] = {b, a, h};

    return product((struct cuda *)g, m, false, false, 1, 0, bias);
}

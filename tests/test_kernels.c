/*
 * Every kernel of KERNEL_LIST: a declared case in tests/kernel_cases, run against a naive
 * reference in double on every device and in every precision (agree.h) and, for backward
 * kernels, against finite differences of the forward kernel (gradient.h).
 */
#include "base/rng.h"
#include "device/device.h"
#include "kernel_cases/activate.h"
#include "kernel_cases/attend.h"
#include "kernel_cases/attention.h"
#include "kernel_cases/bias.h"
#include "kernel_cases/embed.h"
#include "kernel_cases/gemm.h"
#include "kernel_cases/gradient.h"
#include "kernel_cases/norm.h"
#include "kernel_cases/optim.h"
#include "kernel_cases/relu.h"
#include "kernel_cases/topk.h"
#include "kernel_cases/vector.h"
#include "kernel_cases/xent.h"
#include "kernel_cases/xent_views.h"
#include "test.h"

/* Kernels that store something in 16 bits where the precision says so. */
#define STORING_CASES(C) \
    C(gemm_nn)           \
    C(gemm_nt)           \
    C(gemm_tn)           \
    C(gemm_tn_add)       \
    C(gemm_tt_add)       \
    C(gemm_tt_tall)      \
    C(embed_forward)     \
    C(norm_forward)      \
    C(relu_forward)      \
    C(activate_forward)  \
    C(bias_forward)      \
    C(attention_forward) \
    C(xent_loss)         \
    C(xent_scaled)       \
    C(fill)              \
    C(scale)             \
    C(cast)              \
    C(attend_cache)      \
    C(attend_memory)     \
    C(topk)              \
    C(topk_ties)

#define FORWARD_CASES(C) \
    STORING_CASES(C)     \
    C(gemm_relu)         \
    C(average)           \
    C(sumsq)             \
    C(maxabs)            \
    C(adam)              \
    C(novograd)

#define BACKWARD_CASES(C) \
    C(embed_backward)     \
    C(norm_backward)      \
    C(relu_backward)      \
    C(activate_backward)  \
    C(bias_backward)      \
    C(attention_backward) \
    C(xent)               \
    C(xent_prior)         \
    C(xent_views)         \
    C(xent_cut)

#define C(name)                                                       \
    TEST(name##_agrees_with_its_reference_on_every_device_and_layout) \
    {                                                                 \
        case_agree(&name##_case, PRECISION_FP32);                     \
    }
FORWARD_CASES(C)
BACKWARD_CASES(C)
#undef C

#define HALF_CASES(C) \
    STORING_CASES(C)  \
    C(gemm_wide)      \
    BACKWARD_CASES(C)

#define C(name)                                      \
    TEST(name##_agrees_with_its_reference_in_half)   \
    {                                                \
        case_agree(&name##_case, PRECISION_FP16);    \
    }                                                \
    TEST(name##_agrees_with_its_reference_in_bfloat) \
    {                                                \
        case_agree(&name##_case, PRECISION_BF16);    \
    }
HALF_CASES(C)
#undef C

#define C(name)                                          \
    TEST(name##_is_the_derivative_of_its_forward_kernel) \
    {                                                    \
        case_gradient(&name##_case);                     \
    }
BACKWARD_CASES(C)
#undef C

TEST(every_kernel_of_the_list_has_a_case)
{
#define C(name) name##_case.kernel,
    const char *const cases[] = {FORWARD_CASES(C) BACKWARD_CASES(C)};
#undef C
#define K(name, args) #name,
    const char *const kernels[] = {KERNEL_LIST(K)};
#undef K

    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        bool found = false;
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
            found |= strcmp(kernels[k], cases[c]) == 0;
        if (!found)
            test_fail(__FILE__, __LINE__, "kernel %s has no case", kernels[k]);
    }
}

TEST(a_device_with_a_hole_in_its_table_is_refused_by_the_name_of_the_kernel)
{
    struct kernels k = cpu_f64_kernels;
    struct device d;
    struct err err;

    k.attend_memory = NULL;
    CHECK_FAILS(device_open_cpu(&d, &k, "holed", sizeof(double),
                                (struct device_options){.threads = 1}, &err),
                &err, ERR_DEVICE, "device holed lacks kernel attend_memory");
    device_close(&d);
}

TEST(an_unknown_device_is_refused_with_those_that_there_are)
{
    struct device d;
    struct err err;

    CHECK_FAILS(device_open(&d, "abacus", (struct device_options){0}, &err), &err,
                ERR_USAGE, "device = abacus: this build has " DEVICE_KINDS);
    device_close(&d);
}

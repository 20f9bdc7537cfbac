/*
 * The OpenCL device. test_kernels.c compares its kernels with all others'; here is the
 * rest: transfers and errors. Without a platform every test is skipped.
 */
#include "device/device.h"

#include <stdlib.h>

#include "reals.h"
#include "test.h"

/* Skips the test where there is no device. */
static void open_device(struct device *d)
{
    struct err err;

    if (device_open(d, "opencl", (struct device_options){0}, &err) != OK)
        test_skip("%s", err.msg);
}

TEST(what_is_uploaded_comes_back_whole_and_in_its_place)
{
    enum { N = 3000000 };
    struct device d;
    struct err err;
    struct mat m = {NULL, 0, 1, N, N};

    open_device(&d);
    float *host = malloc(N * sizeof *host), *back = malloc(N * sizeof *back);
    for (size_t i = 0; i < N; i++)
        host[i] = (float)i;
    CHECK_OK(device_alloc(&d, &m.mem, N * sizeof *host, &err), &err);
    device_upload(&d, m, host); /* more than the pinned memory holds */
    device_download(&d, back, m);
    CHECK(memcmp(host, back, N * sizeof *host) == 0);
    const struct mat inner = {m.mem, 5, 7, 11, 100};
    device_download(&d, back, inner);
    CHECK(back[11] == 105 && back[76] == 615);
    CHECK_OK(device_sync(&d, &err), &err);
    device_free(&d, m.mem);
    device_close(&d);
    free(host);
    free(back);
}

TEST(new_memory_is_zero)
{
    struct device d;
    double back[6];

    open_device(&d);
    struct mat m = reals_mat(&d, 2, 3, NULL);
    reals_read(&d, back, m);
    for (size_t i = 0; i < 6; i++)
        CHECK(back[i] == 0);
    device_free(&d, m.mem);
    device_close(&d);
}

TEST(memory_that_no_device_has_is_refused_with_a_sentence)
{
    struct device d;
    struct err err;
    void *mem;

    open_device(&d);
    CHECK_FAILS(device_alloc(&d, &mem, (size_t)1 << 50, &err), &err, ERR_MEMORY,
                "cannot allocate 1073741824.0 MiB for tensors on");
    device_close(&d);
}

TEST(heads_that_are_too_wide_are_refused_before_the_first_step)
{
    struct device d;
    struct err err;

    open_device(&d);
    CHECK_FAILS(device_reserve_attention(&d, 129, 10, &err), &err, ERR_USAGE,
                "d_model / heads = 129");
    device_close(&d);
}

/* Partial sums in float, as on devices without doubles. */
TEST(sums_without_doubles_are_right)
{
    enum { N = 100000 };
    struct device d;
    struct err err;
    double want = 0, sum, most;

    setenv("FERRY_OPENCL_FP64", "0", 1);
    open_device(&d);
    unsetenv("FERRY_OPENCL_FP64");
    double *x = malloc(N * sizeof *x);
    for (size_t i = 0; i < N; i++) {
        x[i] = (double)(i % 7) - 3;
        want += x[i] * x[i];
    }
    const struct mat m = reals_mat(&d, 100, N / 100, x);
    d.k->sumsq(&d, &sum, m);
    d.k->maxabs(&d, &most, m);
    CHECK_OK(device_sync(&d, &err), &err);
    CHECK_NEAR(sum, want, 1e-5 * want);
    CHECK(most == 3);
    device_free(&d, m.mem);
    device_close(&d);
    free(x);
}

TEST(a_device_name_that_nobody_has_is_refused)
{
    struct device d;
    struct err err;

    open_device(&d);
    device_close(&d);
    setenv("FERRY_OPENCL", "no such card", 1);
    CHECK_FAILS(device_open(&d, "opencl", (struct device_options){0}, &err), &err,
                ERR_USAGE, "FERRY_OPENCL = no such card: no OpenCL device has that");
    unsetenv("FERRY_OPENCL");
}

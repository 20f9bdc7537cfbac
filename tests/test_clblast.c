/*
 * Products by CLBlast on an OpenCL device. Without either the test is skipped.
 * ctest: slow (PoCL compiles CLBlast's kernels for a minute or more, once on a machine)
 */
#include <stdlib.h>

#include "device/device.h"
#include "device/half.h"
#include "test.h"

/* Skips the test where there is none. */
static void open_device(struct device *d, enum precision precision, const char *clblast)
{
    const struct device_options options = {.precision = precision};
    struct err err;

    setenv("FERRY_CLBLAST", clblast, 1);
    const status result = device_open(d, "opencl", options, &err);
    unsetenv("FERRY_CLBLAST");
    if (result != OK)
        test_skip("%s", err.msg);
    if (*clblast == '1' && !strstr(d->name, "CLBlast")) {
        device_close(d);
        test_skip("CLBlast is not installed");
    }
}

enum { M = 70, K = 33, L = 40 };

/* c = 2 a' b + c/2 with numbers of few bits; its first column is too large for a half. */
static void multiply(struct device *d, enum mat_type type, double *got)
{
    const size_t width = device_width(d, type);
    struct device_arena arena = {.device = d, .bytes = 1 << 17};
    uint16_t half[M * L];
    float host[M * L];
    struct err err;

    CHECK_OK(device_alloc(d, &arena.mem, arena.bytes, &err), &err);
    const struct mat from = device_arena_mat(&arena, M, L);
    struct mat m[3]; /* of c, a, b */
    for (size_t i = 0; i < 3; i++) {
        const size_t rows = i ? K : M, cols = i == 1 ? M : L;
        struct mat x = from;
        x.rows = rows, x.cols = cols, x.stride = cols;
        for (size_t j = 0; j < rows * cols; j++)
            host[j] = (float)(j * 37 % 23) - 11;
        for (size_t r = 0; i == 2 && r < rows; r++)
            host[r * cols] = 16384;
        device_upload(d, x, host);
        m[i] = device_arena_half(&arena, rows, cols);
        if (width == sizeof(float))
            m[i] = device_arena_mat(&arena, rows, cols);
        d->k->cast(d, m[i], x);
    }
    d->k->gemm(d, m[0], m[1], m[2], true, false, 2, 0.5);
    device_download(d, width == sizeof(float) ? (void *)host : (void *)half, m[0]);
    CHECK_OK(device_sync(d, &err), &err);
    for (size_t i = 0; i < M * L; i++)
        got[i] = (double)(width == sizeof(float) ? host[i] : half_to(half[i]));
    device_free(d, arena.mem);
}

/* The same by our own kernel and by CLBlast, which has to widen what is in 16 bits. */
TEST(products_of_clblast_are_ours)
{
    static double own[M * L], theirs[M * L];
    struct device d;

    for (int p = PRECISION_FP32; p <= PRECISION_FP16; p++) {
        const enum mat_type type = p == PRECISION_FP32 ? MAT_REAL : MAT_HALF;
        open_device(&d, (enum precision)p, "0");
        multiply(&d, type, own);
        device_close(&d);
        open_device(&d, (enum precision)p, "1");
        multiply(&d, type, theirs);
        device_close(&d);
        for (size_t i = 0; i < M * L; i++)
            CHECK(theirs[i] == own[i]); /* all sums are exact */
        CHECK(type == MAT_REAL ? fabs(own[0]) > 65504 : isinf(own[0]));
    }
}

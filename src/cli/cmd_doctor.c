#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "bench/doctor_exchange.h"
#include "bench/doctor_kernels.h"
#include "bench/doctor_libraries.h"
#include "bench/doctor_model.h"
#include "cli/cmd.h"
#include "device/device.h"
#include "dist/comm/comm.h"
#include "dist/comm/comm_nccl.h"
#include "train/log/roof.h"

/* kind, field, default, help, limits */
#define DOCTOR_OPTIONS(X) \
    X(CHOICE, device, "auto", "what to examine", ONE_OF(DEVICE_KINDS))

struct doctor_options {
    DOCTOR_OPTIONS(OPT_FIELD)
};

static const struct opt rows[] = {
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct doctor_options, field), field, __VA_ARGS__)
    DOCTOR_OPTIONS(X)
#undef X
};

const struct opt_table cmd_doctor_options = {rows, sizeof rows / sizeof *rows};

/* Kernels add in other orders than the CPU, and 16 bits round to the next number or the
 * one beside it; more than this is a mistake. By precision. */
static const char *const precisions[] = {"fp32", "fp16", "bf16"};
static const double kernel_limits[] = {2e-4, 6e-3, 5e-2};
static const double loss_limits[] = {1e-4, 5e-3, 2e-2};
static const double weight_limits[] = {1e-4, 3e-3, 5e-3};
static const double slope_limit = 2e-2;

static int n_bad;

static const char *verdict(bool is_good)
{
    n_bad += !is_good;
    return is_good ? "ok  " : "BAD ";
}

static void tell_kernel(const char *name, size_t width, const struct doctor_gap *g)
{
    char label[64];
    bool is_good = true;

    snprintf(label, sizeof label, width ? "%s, %zu wide" : "%s", name, width);
    if (!g) {
        printf("  none  %-28s  wider than this device's heads\n", label);
        return;
    }
    for (int p = 0; p < DOCTOR_PRECISIONS; p++)
        is_good &= g->gap[p] <= kernel_limits[p];
    printf("  %s  %-28s", verdict(is_good), label);
    for (int p = 0; p < DOCTOR_PRECISIONS; p++) {
        printf("  %7.1e", g->gap[p]);
        if (!(g->gap[p] <= kernel_limits[p]))
            printf(" in %s", g->where[p]);
    }
    putchar('\n');
    fflush(stdout); /* what was well, if the next one never ends */
}

static status examine_kernels(const char *device, struct err *err)
{
    printf("%-36s  %7s  %7s  %7s\n", "every kernel, how far from the CPU", precisions[0],
           precisions[1], precisions[2]);
    fflush(stdout);
    return doctor_kernels(device, tell_kernel, err);
}

static status examine_model(const char *device, enum precision p, struct err *err)
{
    struct doctor_model r;

    printf("a small model in %s\n", precisions[p]);
    TRY(doctor_model(&r, device, p, err));
    const double slope = fabs(r.slope - r.slope_wanted) / (1 + fabs(r.slope_wanted));
    if (p == PRECISION_FP32) /* differences are too small for 16 bits */
        printf("  %s  slope of the loss      %.5g by gradient, %.5g by differences\n",
               verdict(slope <= slope_limit), r.slope, r.slope_wanted);
    for (int i = 0; i < 2; i++)
        printf("  %s  loss of update %d       %.6f, on the CPU %.6f\n",
               verdict(fabs(r.loss[i] - r.loss_cpu[i]) <= loss_limits[p] * r.loss_cpu[i]),
               i + 1, r.loss[i], r.loss_cpu[i]);
    printf("  %s  weights after them     %.1e from the CPU's, which moved by %.1e\n",
           verdict(r.distance <= weight_limits[p]), r.distance, r.moved);
    return OK;
}

static double gb_per_s(double n_bytes, double t)
{
    return n_bytes / t * 1e-9;
}

static status measure(struct device *d, struct mat m, float *host, struct err *err)
{
    const double n_bytes = (double)m.cols * sizeof *host;

    device_upload(d, m, host); /* what is new costs extra once */
    TRY(device_sync(d, err));
    double t = clock_now();
    device_upload(d, m, host);
    TRY(device_sync(d, err));
    printf("  to the device    %7.2f GB/s\n", gb_per_s(n_bytes, clock_now() - t));
    t = clock_now();
    device_download(d, host, m);
    TRY(device_sync(d, err));
    printf("  from the device  %7.2f GB/s\n", gb_per_s(n_bytes, clock_now() - t));
    d->k->scale(d, m, 1.0);
    TRY(device_sync(d, err));
    t = clock_now();
    d->k->scale(d, m, 1.0);
    TRY(device_sync(d, err));
    printf("  its memory       %7.2f GB/s\n", gb_per_s(2 * n_bytes, clock_now() - t));
    return OK;
}

static status examine_speed(const char *device, struct err *err)
{
    enum { N = 8 << 20 };
    struct device d;
    struct mat m = {NULL, 0, 1, N, N};
    float *host = NULL;
    double gflops = 0;

    puts("speed");
    TRY(device_open(&d, device, (struct device_options){0}, err));
    status result = mem_alloc(&host, N, sizeof *host, err);
    if (result == OK)
        result = device_alloc(&d, &m.mem, N * sizeof *host, err);
    if (result == OK)
        result = measure(&d, m, host, err);
    device_free(&d, m.mem);
    device_close(&d);
    free(host);
    TRY(result);
    TRY(roof_shape(&gflops, device, 0, (struct roof_shape){.M = 512, .N = 512, .K = 512},
                   0.2, err));
    printf("  products         %7.1f GFLOP/s\n", gflops);
    return OK;
}

/* The first rank speaks. */
static status examine_exchange(struct comm *c, const char *device, struct err *err)
{
    struct doctor_exchange r;

    TRY(doctor_exchange(&r, c, device, err));
    if (c->rank != 0 || !r.is_gpu)
        return OK;
    puts("a sum over cards");
    if (!r.library[0])
        printf("  none  %s\n", r.why_not);
    else
        printf("  %s  %d rank%s by %-12s %.1e from the right sum, %.2f GB/s\n",
               verdict(r.furthest == 0), c->size, c->size == 1 ? "" : "s", r.library,
               r.furthest, gb_per_s((double)r.n_bytes, r.seconds));
    return OK;
}

static status examine_card(const char *device, struct err *err)
{
    struct device d;

    TRY(device_open(&d, device, (struct device_options){0}, err));
    doctor_libraries(stdout);
    printf("\nexamining %s\n", d.name);
    device_close(&d);
    TRY(examine_kernels(device, err));
    for (int p = 0; p < DOCTOR_PRECISIONS; p++)
        TRY(examine_model(device, (enum precision)p, err));
    return examine_speed(device, err);
}

static void tell_found(void)
{
    struct str found = str_new(0);

    device_describe(&found);
    comm_nccl_describe(&found);
    puts("ferry " FERRY_VERSION "\ndevices");
    fputs(str_text(&found), stdout);
    str_release(&found);
}

static status conclude(const char *device, struct err *err)
{
    if (n_bad)
        return err_set(err, ERR_CHECK, "%d of these checks failed on device = %s", n_bad,
                       device);
    puts("all checks passed");
    return OK;
}

/* Of several ranks (mpirun) the first examines its device and speaks; all add up. */
static status examine(struct comm *c, const char *device, struct err *err)
{
    status result = OK;

    if (c->rank == 0) {
        tell_found();
        result = examine_card(device, err);
    }
    TRY(comm_agree(c, result, err));
    TRY(examine_exchange(c, device, err));
    return c->rank == 0 ? conclude(device, err) : OK;
}

status cmd_doctor(int argc, char **argv, struct err *err)
{
    struct doctor_options o;
    struct opt_words words = {0};
    struct comm comm;

    TRY(opt_read(cmd_doctor_options, &o, &words, argc, argv, err));
    TRY(comm_open(&comm, (struct comm_options){.kind = "auto", .poll_us = 50}, err));
    const status result = examine(&comm, o.device, err);
    comm_close(&comm);
    return result;
}

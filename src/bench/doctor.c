#include "bench/doctor.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/str.h"
#include "bench/bench.h"
#include "device/device.h"
#include "dist/comm/comm.h"
#include "dist/comm/comm_nccl.h"

const char *const doctor_precision[] = {"fp32", "fp16", "bf16"};

const char *doctor_verdict(struct doctor *d, bool is_good)
{
    d->n_bad += !is_good;
    return is_good ? "ok  " : "BAD ";
}

/* ---- what is there ---- */

static int print_library(struct dl_phdr_info *info, size_t n_bytes, void *out)
{
    static const char *const prefixes[] = {
        "libcuda.so",   "libcublasLt.so", "libnccl.so", "libnvidia-ml.so",
        "libOpenCL.so", "libclblast.so",  "libpocl"};
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;

    (void)n_bytes;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) != 0)
            continue;
        char *path = realpath(info->dlpi_name, NULL); /* its name has the version */
        fprintf(out, "  %s\n", path ? path : info->dlpi_name);
        free(path);
    }
    return 0;
}

/* Which of the libraries that are opened at run time are open, from which files. The
 * versions of the driver and of NCCL are printed with the devices. */
static void print_libraries(FILE *out)
{
    size_t (*version)(void);
    void *all = dlopen(NULL, RTLD_NOW);

    fputs("libraries\n", out);
    dl_iterate_phdr(print_library, out);
    if (os_symbol(all, "cublasLtGetVersion", &version))
        fprintf(out, "  cuBLASLt says %zu\n", version());
    if (all)
        dlclose(all);
}

/* ---- speed ---- */

enum { N = 8 << 20 };

static void print_rate(FILE *out, const char *what, double n_bytes, double t_begin)
{
    fprintf(out, "  %-15s  %7.2f GB/s\n", what, n_bytes / (clock_now() - t_begin) * 1e-9);
}

static status time_copies(struct device *d, struct mat m, float *host, FILE *out,
                          struct err *err)
{
    const double n_bytes = N * (double)sizeof *host;

    device_upload(d, m, host); /* the first use of memory costs extra */
    TRY(device_sync(d, err));
    double t = clock_now();
    device_upload(d, m, host);
    TRY(device_sync(d, err));
    print_rate(out, "to the device", n_bytes, t);
    t = clock_now();
    device_download(d, host, m);
    TRY(device_sync(d, err));
    print_rate(out, "from the device", n_bytes, t);
    d->k->scale(d, m, 1.0);
    TRY(device_sync(d, err));
    t = clock_now();
    d->k->scale(d, m, 1.0);
    TRY(device_sync(d, err));
    print_rate(out, "its memory", 2 * n_bytes, t);
    return OK;
}

static status examine_speed(const struct doctor *doctor, struct err *err)
{
    struct device d;
    struct mat m = {0};
    float *host = NULL;
    double gflops = 0;

    fputs("speed\n", doctor->out);
    TRY(device_open(&d, doctor->device, (struct device_options){0}, err));
    status result = mem_alloc(&host, N, sizeof *host, err);
    THEN(result, device_alloc_row(&d, &m, N, err));
    THEN(result, time_copies(&d, m, host, doctor->out, err));
    device_free(&d, m.mem);
    device_close(&d);
    free(host);
    TRY(result);
    TRY(bench_product_rate(&gflops, doctor->device, 0,
                           (struct bench_shape){.M = 512, .N = 512, .K = 512}, 0.2, err));
    fprintf(doctor->out, "  products         %7.1f GFLOP/s\n", gflops);
    return OK;
}

/* ---- all of it ---- */

static status examine(struct doctor *doctor, struct err *err)
{
    struct str found = str_new(0);
    struct device d;

    device_describe(&found);
    comm_nccl_describe(&found);
    fprintf(doctor->out, "ferry " FERRY_VERSION "\ndevices\n%s", str_text(&found));
    str_release(&found);
    TRY(device_open(&d, doctor->device, (struct device_options){0}, err));
    print_libraries(doctor->out);
    fprintf(doctor->out, "\nexamining %s\n", d.name);
    device_close(&d);
    TRY(doctor_kernels(doctor, err));
    TRY(doctor_model(doctor, err));
    return examine_speed(doctor, err);
}

status doctor_run(struct comm *c, const char *device, FILE *out, struct err *err)
{
    struct doctor d = {.device = device, .out = out};

    TRY(comm_agree(c, c->rank == 0 ? examine(&d, err) : OK, err));
    TRY(doctor_exchange(&d, c, err));
    if (d.n_bad)
        return err_set(err, ERR_CHECK, "%d of these checks failed on device = %s",
                       d.n_bad, device);
    if (c->rank == 0)
        fputs("all checks passed\n", out);
    return OK;
}

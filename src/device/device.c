#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/pool.h"
#include "base/str.h"
#include "device/cuda/cuda.h"
#include "device/gpu/gpu.h"
#include "device/opencl/opencl.h"
#include "device/processor.h"
#include "device/rounding.h"

enum { ALIGN = 64, HUGE_PAGE = 2 << 20 };

extern const struct kernels cpu_plain_kernels;

static bool runs_anywhere(void)
{
    return true;
}

#ifdef FERRY_CPU_X86
extern const struct kernels cpu_v3_kernels, cpu_v4_kernels, cpu_amx_kernels;
#endif

/* GPUs, in the order in which "auto" tries them. */
static const struct opener {
    const char *kind;
    bool (*has_card)(void); /* a quick check whether opening may succeed */
    status (*open)(struct device *d, struct device_options options, struct err *err);
} openers[] = {
    {"cuda", driver_is_here, cuda_open},
#ifdef FERRY_OPENCL
    {"opencl", opencl_has_gpu, opencl_open},
#else
    {"opencl", NULL, NULL},
#endif
};

/* The same kernels for several instruction sets, the best first. A kind is a ceiling: it
 * takes the first variant from its own on that runs here. */
static const struct variant {
    const char *kind, *name;
    bool (*runs_here)(void);
    const struct kernels *kernels;
    size_t vector_bytes;
} variants[] = {
#ifdef FERRY_CPU_X86
    {"cpu", "cpu, AMX", processor_has_amx_bf16, &cpu_amx_kernels, 64},
    {"cpu-avx512", "cpu, AVX-512", processor_has_avx512, &cpu_v4_kernels, 64},
    {"cpu-avx2", "cpu, AVX2", processor_has_avx2, &cpu_v3_kernels, 32},
#else
    {"cpu", "cpu", runs_anywhere, &cpu_plain_kernels, 16},
    {"cpu-avx512", "cpu", runs_anywhere, &cpu_plain_kernels, 16},
    {"cpu-avx2", "cpu", runs_anywhere, &cpu_plain_kernels, 16},
#endif
    {"cpu-plain", "cpu, plain", runs_anywhere, &cpu_plain_kernels, 16},
};

static status open_variant(struct device *d, const struct variant *v,
                           struct device_options options, struct err *err)
{
    TRY(device_open_cpu(d, v->kernels, v->name, sizeof(float), options, err));
    d->vector_bytes = v->vector_bytes;
    return OK;
}

static status open_other(struct device *d, const struct opener *o,
                         struct device_options options, struct err *err)
{
    if (!o->open)
        return err_set(err, ERR_USAGE,
                       "device = %s: this program was built without it; see docs/gpu.md",
                       o->kind);
    TRY(o->open(d, options, err));
    d->kind = o->kind;
    return OK;
}

/* The first GPU that opens. If none does, *why says why the last one present failed. */
static bool open_card(struct device *d, struct device_options options, struct err *why)
{
    for (size_t i = 0; i < sizeof openers / sizeof *openers; i++) {
        const struct opener *o = &openers[i];
        if (!o->open || !o->has_card() || open_other(d, o, options, why) != OK)
            continue;
        if (d->card)
            return true;
        device_close(d); /* FERRY_OPENCL has chosen a CPU */
    }
    return false;
}

static status open_auto(struct device *d, struct device_options options, struct err *err)
{
    struct err why = {0};

    if (open_card(d, options, &why))
        return OK;
    TRY(device_open(d, "cpu", options, err));
    snprintf(d->skipped, sizeof d->skipped, "%.255s", why.msg);
    return OK;
}

status device_open(struct device *d, const char *kind, struct device_options options,
                   struct err *err)
{
    bool allowed = false;

    *d = (struct device){0};
    if (strcmp(kind, "auto") == 0)
        return open_auto(d, options, err);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        const struct variant *v = &variants[i];
        allowed |= strcmp(kind, v->kind) == 0;
        if (allowed && v->runs_here())
            return open_variant(d, v, options, err);
    }
    for (size_t i = 0; i < sizeof openers / sizeof *openers; i++)
        if (strcmp(kind, openers[i].kind) == 0)
            return open_other(d, &openers[i], options, err);
    return err_set(err, ERR_USAGE, "device = %s: this build has " DEVICE_KINDS, kind);
}

void device_describe(struct str *out)
{
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        if (variants[i].runs_here())
            str_printf(out, "cpu     %s\n", variants[i].name);
#ifdef FERRY_OPENCL
    opencl_describe(out);
#endif
    cuda_describe(out);
}

static status check_kernels(const struct kernels *k, const char *device, struct err *err)
{
#define K(name, args) \
    if (!k->name)     \
        return err_set(err, ERR_DEVICE, "device %s lacks kernel %s", device, #name);
    KERNEL_LIST(K)
#undef K
    return OK;
}

/* Scratch memory of at least n_bytes a thread. */
static status reserve(struct device *d, size_t n_bytes, struct err *err)
{
    const size_t each = (n_bytes + ALIGN - 1) / ALIGN * ALIGN;

    if (each <= d->scratch_bytes)
        return OK;
    void *p = aligned_alloc(ALIGN, each * pool_size(d->pool));
    if (!p)
        return err_set(err, ERR_MEMORY, "cannot allocate %zu bytes of scratch memory",
                       each * pool_size(d->pool));
    free(d->scratch);
    d->scratch = p;
    d->scratch_bytes = each;
    return OK;
}

status device_open_cpu(struct device *d, const struct kernels *k, const char *name,
                       size_t real_bytes, struct device_options options, struct err *err)
{
    *d = (struct device){.kind = "cpu",
                         .k = k,
                         .real_bytes = real_bytes,
                         .half_bytes = real_bytes,
                         .precision = options.precision};
    TRY(check_kernels(k, name, err));
    TRY(pool_open(&d->pool, options.threads, options.pin, err));
    if (reserve(d, DEVICE_SCRATCH_BYTES, err) != OK) {
        device_close(d);
        return err->code;
    }
    if (options.precision != PRECISION_FP32)
        rounding_begin(d);
    snprintf(d->name, sizeof d->name, "%s, %zu thread%s", name, pool_size(d->pool),
             pool_size(d->pool) == 1 ? "" : "s");
    return OK;
}

void device_close(struct device *d)
{
    if (d->gpu)
        gpu_close(d->gpu);
    pool_close(d->pool);
    free(d->scratch);
    *d = (struct device){0};
}

/*
 * Six padded copies of a head's rows and two blocks of 36 rows of scores; padding is at
 * most 16 reals on either side (cpu/attention.c, cpu/tile.h).
 */
status device_reserve_attention(struct device *d, size_t head_width, size_t max_len,
                                struct err *err)
{
    const size_t width = head_width + 16, length = max_len + 16;

    if (d->gpu)
        return gpu_check_head(d->gpu, head_width, d->name, err);
    return reserve(d, (6 * width * length + 74 * length + 108 * width) * d->real_bytes,
                   err);
}

status device_alloc(struct device *d, void **mem, size_t n_bytes, struct err *err)
{
    const size_t unit = n_bytes >= HUGE_PAGE ? HUGE_PAGE : ALIGN;
    const size_t n = (n_bytes + unit - 1) / unit * unit;

    if (d->gpu)
        return d->gpu->api->alloc(d->gpu, mem, n_bytes, err);
    *mem = aligned_alloc(unit, n ? n : ALIGN);
    if (!*mem)
        return err_set(err, ERR_MEMORY, "cannot allocate %.1f MiB for tensors",
                       (double)n_bytes / 1048576);
    mem_large_pages(*mem, n);
    if (unit == HUGE_PAGE)
        mem_zero_pages(*mem, n); /* a step's memory is planned for its largest batch */
    else
        memset(*mem, 0, n ? n : ALIGN);
    return OK;
}

void device_free(struct device *d, void *mem)
{
    if (d->gpu)
        d->gpu->api->free(d->gpu, mem);
    else
        free(mem);
}

status device_alloc_row(struct device *d, struct mat *row, size_t n, struct err *err)
{
    *row = (struct mat){.rows = 1, .cols = n, .stride = n};
    return device_alloc(d, &row->mem, n * d->real_bytes, err);
}

static void copy_in(struct device *d, void *mem, size_t at, const void *host,
                    size_t n_bytes)
{
    if (d->gpu)
        gpu_copy_in(d->gpu, mem, at, host, n_bytes);
    else
        memcpy((char *)mem + at, host, n_bytes);
}

static void copy_out(struct device *d, void *host, void *mem, size_t at, size_t n_bytes)
{
    if (d->gpu)
        gpu_copy_out(d->gpu, host, mem, at, n_bytes);
    else
        memcpy(host, (const char *)mem + at, n_bytes);
}

/* A dense matrix is one long row. */
static struct mat unrolled(struct mat m)
{
    if (m.stride != m.cols)
        return m;
    return (struct mat){m.mem, m.at, 1, m.rows * m.cols, m.rows * m.cols, m.type};
}

void device_upload(struct device *d, struct mat to, const void *host)
{
    const size_t width = device_width(d, to.type);
    const struct mat m = unrolled(to);

    for (size_t r = 0; r < m.rows; r++)
        copy_in(d, m.mem, (m.at + r * m.stride) * width,
                (const char *)host + r * m.cols * width, m.cols * width);
}

void device_download(struct device *d, void *host, struct mat from)
{
    const size_t width = device_width(d, from.type);
    const struct mat m = unrolled(from);

    for (size_t r = 0; r < m.rows; r++)
        copy_out(d, (char *)host + r * m.cols * width, m.mem,
                 (m.at + r * m.stride) * width, m.cols * width);
}

void device_upload_ids(struct device *d, struct ids to, const int *host)
{
    copy_in(d, to.mem, to.at * sizeof *host, host, to.n * sizeof *host);
}

void device_download_ids(struct device *d, int *host, struct ids from)
{
    copy_out(d, host, from.mem, from.at * sizeof *host, from.n * sizeof *host);
}

status device_sync(struct device *d, struct err *err)
{
    return d->gpu ? gpu_sync(d->gpu, err)
                  : OK; /* CPU kernels have finished when they return, and cannot fail */
}

size_t device_free_bytes(struct device *d)
{
    return d->gpu ? d->gpu->api->free_bytes(d->gpu) : mem_free_bytes();
}

bool device_read_usage(struct device *d, struct device_usage *u)
{
    return d->gpu && d->gpu->api->usage && d->gpu->api->usage(d->gpu, u);
}

/* Advance by n_bytes; the offset of the block in bytes. */
static size_t take(struct device_arena *a, size_t n_bytes)
{
    const size_t at = a->at;

    a->at += (n_bytes + ALIGN - 1) / ALIGN * ALIGN;
    a->peak = a->at > a->peak ? a->at : a->peak;
    BUG_ON(a->mem && a->at > a->bytes);
    return at;
}

static struct mat arena_mat(struct device_arena *a, size_t rows, size_t cols,
                            enum mat_type type)
{
    const size_t width = device_width(a->device, type);
    const size_t at = take(a, rows * cols * width);

    return (struct mat){a->mem, at / width, rows, cols, cols, type};
}

struct mat device_arena_mat(struct device_arena *a, size_t rows, size_t cols)
{
    return arena_mat(a, rows, cols, MAT_REAL);
}

struct mat device_arena_half(struct device_arena *a, size_t rows, size_t cols)
{
    const bool mixed = a->device->precision != PRECISION_FP32;

    return arena_mat(a, rows, cols, mixed ? MAT_HALF : MAT_REAL);
}

struct ids device_arena_ids(struct device_arena *a, size_t n)
{
    return (struct ids){a->mem, take(a, n * sizeof(int)) / sizeof(int), n};
}

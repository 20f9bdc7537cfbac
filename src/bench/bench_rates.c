#include "bench/bench_rates.h"

#include "base/clock.h"
#include "device/device.h"

/* Operands and result of one product on a device of their own. */
struct product {
    struct device device;
    struct device_arena arena;
    struct mat a, b, c;
};

static void place(struct product *p, struct bench_rates_shape s)
{
    p->arena.at = 0;
    p->a = s.ta ? device_arena_mat(&p->arena, s.K, s.M)
                : device_arena_mat(&p->arena, s.M, s.K);
    p->b = s.tb ? device_arena_mat(&p->arena, s.N, s.K)
                : device_arena_mat(&p->arena, s.K, s.N);
    p->c = device_arena_mat(&p->arena, s.M, s.N);
}

static status open_product(struct product *p, const char *device, size_t threads,
                           struct bench_rates_shape s, struct err *err)
{
    *p = (struct product){0};
    TRY(device_open(&p->device, device,
                    (struct device_options){.threads = threads, .pin = true}, err));
    p->arena.device = &p->device;
    place(p, s);
    const size_t n_bytes = p->arena.peak;
    if (device_alloc(&p->device, &p->arena.mem, n_bytes, err) != OK) {
        device_close(&p->device);
        return err->code;
    }
    p->arena.bytes = n_bytes;
    place(p, s);
    p->device.k->fill(&p->device, p->a, 0.5);
    p->device.k->fill(&p->device, p->b, 0.25);
    return OK;
}

static void close_product(struct product *p)
{
    device_free(&p->device, p->arena.mem);
    device_close(&p->device);
}

status bench_rates_product(double *gflops, const char *device, size_t threads,
                           struct bench_rates_shape s, double t_budget, struct err *err)
{
    const double work = 2.0 * (double)s.M * (double)s.N * (double)s.K;
    struct product p;
    double best = 1e30;

    TRY(open_product(&p, device, threads, s, err));
    const double t_end = clock_now() + t_budget;
    for (int i = 0; i < 2 || clock_now() < t_end; i++) {
        const double t = clock_now();
        p.device.k->gemm(&p.device, p.c, p.a, p.b, s.ta, s.tb, 1, 0);
        if (device_sync(&p.device, err) != OK) {
            close_product(&p);
            return err->code;
        }
        const double took = clock_now() - t;
        best = took < best ? took : best;
    }
    close_product(&p);
    *gflops = work / best * 1e-9;
    return OK;
}

status bench_rates_memory(double *gb_per_s, const char *device, size_t threads,
                          struct err *err)
{
    enum { ROWS = 4096, COLS = 4096 }; /* 64 MiB each: beyond every cache */
    const struct bench_rates_shape s = {ROWS, COLS, COLS, 0, 0};
    struct product p;
    double best = 1e30;

    TRY(open_product(&p, device, threads, s, err));
    status result = device_sync(&p.device, err); /* GPUs only queue until then */
    for (int i = 0; i < 5 && result == OK; i++) {
        const double t = clock_now();
        p.device.k->average(&p.device, p.c, p.a, 0.5); /* c = (c + a) / 2 */
        result = device_sync(&p.device, err);
        const double took = clock_now() - t;
        best = took < best ? took : best;
    }
    close_product(&p);
    TRY(result);
    *gb_per_s = 3.0 * ROWS * COLS * sizeof(float) / best * 1e-9;
    return OK;
}

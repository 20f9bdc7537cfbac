#include <math.h>
#include <stdlib.h>

#include "bench/bench_cases.h"
#include "bench/doctor.h"

enum { WIDE = 128, NARROW = 32 }; /* heads: the widest, and some that every device has */

/* Kernels add in another order than the CPU, and 16 bits may round to the number beside;
 * more than this, by precision, is a mistake. */
static const double limits[DOCTOR_PRECISIONS] = {2e-4, 6e-3, 5e-2};

/* By precision: the largest |device - cpu| / (1 + |cpu|) of anything that the kernel
 * wrote, and the tensor where that is. */
struct gaps {
    double gap[DOCTOR_PRECISIONS];
    const char *where[DOCTOR_PRECISIONS];
};

/* The device and the CPU in one precision. */
struct pair {
    struct bench_cases it, cpu;
};

static void note(struct gaps *g, int p, double gap, const char *where)
{
    if (gap <= g->gap[p])
        return; /* not so for NaN */
    g->gap[p] = isnan(gap) ? INFINITY : gap;
    g->where[p] = where;
}

/* Equal infinities are equal. */
static double gap_of(double got, double want)
{
    return got == want || (isnan(got) && isnan(want))
               ? 0
               : fabs(got - want) / (1 + fabs(want));
}

static void compare(struct pair *pair, int p, struct gaps *g)
{
    struct bench_cases *it = &pair->it, *cpu = &pair->cpu;

    for (size_t i = 0; i < BENCH_MATS; i++) {
        const size_t n = it->mat[i].rows * it->mat[i].cols;
        const float *got = bench_cases_floats(it, i), *want = bench_cases_floats(cpu, i);
        for (size_t at = 0; at < n; at++)
            note(g, p, gap_of((double)got[at], (double)want[at]), bench_cases_mats[i]);
    }
    for (size_t i = 0; i < BENCH_IDS; i++) {
        const int *got = bench_cases_ints(it, i), *want = bench_cases_ints(cpu, i);
        for (size_t at = 0; at < it->ids[i].n; at++)
            note(g, p, abs(got[at] - want[at]), bench_cases_ids[i]);
    }
    note(g, p, gap_of(it->number, cpu->number), "number");
}

/* A card that fails in a kernel says so when somebody waits, and not in which. */
static status sync(struct device *d, const char *name, struct err *err)
{
    struct err why;

    if (device_sync(d, &why) == OK)
        return OK;
    return err_set(err, why.code, "%s in %s: %.400s", name,
                   doctor_precision[d->precision], why.msg);
}

static status run_case(struct pair *pairs, const struct bench_case *c, size_t width,
                       struct gaps *g, struct err *err)
{
    *g = (struct gaps){0};
    for (int p = 0; p < DOCTOR_PRECISIONS; p++) {
        struct bench_cases *both[] = {&pairs[p].it, &pairs[p].cpu};
        for (int i = 0; i < 2; i++) {
            both[i]->heads = both[i]->D / (width ? width : NARROW);
            bench_cases_load(both[i]);
            c->run(both[i]);
            TRY(sync(&both[i]->device, c->name, err));
        }
        compare(&pairs[p], p, g);
        TRY(sync(&pairs[p].it.device, c->name, err));
    }
    return OK;
}

/* Width 0: the kernel has no heads. g NULL: the device has none so wide. */
static void report(struct doctor *d, const char *name, size_t width, const struct gaps *g)
{
    char label[64];
    bool is_good = true;

    snprintf(label, sizeof label, width ? "%s, %zu wide" : "%s", name, width);
    if (!g) {
        fprintf(d->out, "  none  %-28s  wider than this device's heads\n", label);
        return;
    }
    for (int p = 0; p < DOCTOR_PRECISIONS; p++)
        is_good &= g->gap[p] <= limits[p];
    fprintf(d->out, "  %s  %-28s", doctor_verdict(d, is_good), label);
    for (int p = 0; p < DOCTOR_PRECISIONS; p++) {
        fprintf(d->out, "  %7.1e", g->gap[p]);
        if (!(g->gap[p] <= limits[p]))
            fprintf(d->out, " in %s", g->where[p]);
    }
    fputc('\n', d->out);
    fflush(d->out); /* the next kernel may hang */
}

static status run_all(struct doctor *d, struct pair *pairs, struct err *err)
{
    static const size_t widths[] = {16, 32, 64, WIDE};
    struct gaps g;
    struct err why;

    for (size_t i = 0; i < bench_cases_n; i++) {
        const struct bench_case *c = &bench_cases_list[i];
        for (size_t w = 0; w < (c->has_heads ? sizeof widths / sizeof *widths : 1); w++) {
            const size_t width = c->has_heads ? widths[w] : 0;
            if (device_reserve_attention(&pairs->it.device, width, pairs->it.length,
                                         &why) != OK) {
                report(d, c->name, width, NULL);
                continue;
            }
            TRY(run_case(pairs, c, width, &g, err));
            report(d, c->name, width, &g);
        }
    }
    return OK;
}

static status open_pairs(struct pair *pairs, const char *device, struct err *err)
{
    const struct model_config model = bench_model(WIDE, 192, WIDE / NARROW, 1, 499);
    struct bench_cases_options o = {
        .model = &model, .threads = 1, .tokens = 165, .length = 33, .dropout = 0.1};

    for (int p = 0; p < DOCTOR_PRECISIONS; p++) {
        o.precision = (enum precision)p;
        o.device = device;
        TRY(bench_cases_open(&pairs[p].it, &o, err));
        o.device = "cpu";
        TRY(bench_cases_open(&pairs[p].cpu, &o, err));
        TRY(device_reserve_attention(&pairs[p].cpu.device, pairs[p].cpu.D, o.length,
                                     err));
    }
    return OK;
}

status doctor_kernels(struct doctor *d, struct err *err)
{
    struct pair pairs[DOCTOR_PRECISIONS] = {0};

    fprintf(d->out, "%-36s  %7s  %7s  %7s\n", "every kernel, how far from the CPU",
            doctor_precision[0], doctor_precision[1], doctor_precision[2]);
    fflush(d->out);
    status result = open_pairs(pairs, d->device, err);
    THEN(result, run_all(d, pairs, err));
    for (int p = 0; p < DOCTOR_PRECISIONS; p++) {
        bench_cases_close(&pairs[p].it);
        bench_cases_close(&pairs[p].cpu);
    }
    return result;
}

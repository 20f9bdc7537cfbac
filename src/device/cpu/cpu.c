#include "device/cpu/cpu.h"

struct job {
    const struct mat *m;
    size_t n_mats;
    cpu_each_fn *fn;
    void *how;
};

void CPU(each_of)(const struct mat *m, size_t n_mats, size_t begin, size_t end,
                  cpu_each_fn *fn, void *how)
{
    real *at[CPU_EACH_MATS];

    for (size_t i = begin, n; i < end; i += n) {
        const size_t row = i / m->cols, col = i % m->cols;
        n = cpu_smaller(m->cols - col, end - i);
        for (size_t k = 0; k < n_mats; k++)
            at[k] = cpu_row(m[k], row) + col;
        fn(at, n, how);
    }
}

static void each_part(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const struct pool_range r = pool_split(j->m->rows * j->m->cols, part, n_parts);

    CPU(each_of)(j->m, j->n_mats, r.begin, r.end, j->fn, j->how);
}

void CPU(each)(struct device *d, const struct mat *m, size_t n_mats, cpu_each_fn *fn,
               void *how)
{
    struct job j = {m, n_mats, fn, how};

    pool_run(d->pool, each_part, &j);
}

extern const struct kernels CPU(kernels);

#define MEMBER(name, args) .name = CPU(name),
const struct kernels CPU(kernels) = {KERNEL_LIST(MEMBER)};

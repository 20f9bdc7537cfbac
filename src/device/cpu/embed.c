/*
 * Embedding with position signal.
 *
 *   y[r]       = drop(scale * table[id[r]] + signal[pos[r]])
 *   dtable[id] += scale * drop'(dy[r])   over all rows r with that id
 *
 * id < 0 is the vector before the first target token: zero, with no gradient. Backward
 * gives each thread a slice of columns and all rows, so that rows with the same id are
 * added in one order whatever the number of threads; and it multiplies by the mask, so
 * that every column is a fused multiply-add wherever a slice or a vector loop ends.
 */
#include "device/cpu/cpu.h"
#include "device/cpu/hash.h"

struct job {
    struct mat y, table, signal;
    const int32_t *id;
    real scale;
    struct drop drop;
};

/* Without dropout no mask is made, and pair may be none. */
static uint32_t row_hash(const struct drop *drop, size_t r, uint32_t limit)
{
    return limit ? hash_drop(drop, r) : 0;
}

static void forward_part(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const struct pool_range rows = pool_split(j->y.rows, part, n_parts);
    const uint32_t limit = hash_threshold(j->drop.rate);
    const real keep = (real)(1 / (1 - j->drop.rate));
    const int32_t *pos = cpu_ids(j->drop.pos);
    const size_t D = j->y.cols;

    for (size_t r = rows.begin; r < rows.end; r++) {
        const real *e = j->id[r] < 0 ? NULL : cpu_row(j->table, (size_t)j->id[r]);
        const real *s = cpu_row(j->signal, (size_t)pos[r]);
        const uint32_t row = row_hash(&j->drop, r, limit);
        real *y = cpu_row(j->y, r);
        for (size_t c = 0; c < D; c++)
            y[c] = s[c] + (e ? j->scale * e[c] : 0);
        if (limit)
            for (size_t c = 0; c < D; c++)
                y[c] = hash_channel(row, (uint32_t)c) >= limit ? y[c] * keep : 0;
    }
}

void CPU(embed_forward)(struct device *d, struct mat y, struct mat table,
                        struct mat signal, struct ids id, double scale, struct drop drop)
{
    struct job j = {y, table, signal, cpu_ids(id), (real)scale, drop};

    pool_run(d->pool, forward_part, &j);
}

static void backward_part(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    const struct pool_range cols = cpu_columns(j->y.cols, part, n_parts);
    const uint32_t limit = hash_threshold(j->drop.rate);
    const real keep = j->scale * (real)(1 / (1 - j->drop.rate));

    for (size_t r = 0; r < j->y.rows; r++) {
        if (j->id[r] < 0)
            continue;
        const uint32_t row = row_hash(&j->drop, r, limit);
        const real *dy = cpu_row(j->y, r);
        real *dt = cpu_row(j->table, (size_t)j->id[r]);
        for (size_t c = cols.begin; c < cols.end; c++) {
            const real mask = hash_channel(row, (uint32_t)c) >= limit ? keep : 0;
            dt[c] += mask * dy[c];
        }
    }
}

void CPU(embed_backward)(struct device *d, struct mat dtable, struct mat dy,
                         struct ids id, double scale, struct drop drop)
{
    struct job j = {
        .y = dy, .table = dtable, .id = cpu_ids(id), .scale = (real)scale, .drop = drop};

    pool_run(d->pool, backward_part, &j);
}

#include <sched.h>
#include <stdlib.h>

#include "base/mem.h"
#include "train/run/peers.h"

struct pool_range affinity_part(size_t cores, size_t i, size_t n, size_t threads)
{
    const struct pool_range even = pool_split(cores, i, n);

    if (threads && threads * n <= cores)
        return (struct pool_range){i * threads, (i + 1) * threads};
    if (even.end > even.begin)
        return even;
    return (struct pool_range){i % cores, i % cores + 1}; /* more ranks than cores */
}

/* Only this part of the cores allowed. */
static void narrow(const struct pool_cpus *allowed, struct pool_range part)
{
    struct pool_cpus mine = {0};
    size_t seen = 0;

    for (size_t core = 0; core < POOL_MOST_CORES; core++)
        if (CPU_ISSET_S(core, sizeof *allowed, allowed->set)) {
            if (seen >= part.begin && seen < part.end)
                CPU_SET_S(core, sizeof mine, mine.set);
            seen++;
        }
    /* a wish: costs speed when refused */
    (void)sched_setaffinity(0, sizeof mine, mine.set);
}

/* How many ranks of this host may run on the very same cores, and which of them is this
 * one. */
static void count_sharers(const struct comm *c, const struct pool_cpus *all, size_t *i,
                          size_t *n)
{
    *i = *n = 0;
    for (int r = 0; r < c->size; r++)
        if (c->peer[r].node == c->node &&
            CPU_EQUAL_S(sizeof *all, all[r].set, all[c->rank].set)) {
            *i += r < c->rank;
            ++*n;
        }
}

status affinity_choose(struct affinity *p, struct comm *c, size_t threads, bool pin,
                       struct err *err)
{
    struct pool_cpus allowed, *all;
    size_t i, n;

    *p = (struct affinity){.threads = threads ? threads : pool_cores(),
                           .cores = pool_cores()};
    p->is_crowded = p->threads > p->cores;
    if (c->size == 1)
        return OK;
    const bool is_known = pool_allowed(&allowed); /* without it a rank still gathers */
    TRY(mem_alloc(&all, (size_t)c->size, sizeof *all, err));
    const status result = comm_allgather(c, all, &allowed, sizeof allowed, err);
    if (result == OK && is_known) {
        count_sharers(c, all, &i, &n);
        const struct pool_range part = affinity_part(p->cores, i, n, threads);
        p->is_crowded = n * (threads ? threads : 1) > p->cores;
        p->cores = part.end - part.begin;
        p->threads = threads ? threads : p->cores;
        if (pin && !p->is_crowded)
            narrow(&allowed, part);
    }
    free(all);
    return result;
}

#include "train/place.h"

#include <sched.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/pool.h"
#include "dist/comm.h"

struct place_part place_part(size_t cores, size_t i, size_t n, size_t threads)
{
    const struct pool_range even = pool_split(cores, i, n);

    if (threads && threads * n <= cores)
        return (struct place_part){i * threads, threads};
    if (even.end > even.begin)
        return (struct place_part){even.begin, even.end - even.begin};
    return (struct place_part){i % cores, 1}; /* more ranks than cores */
}

/* Only the cores [first, first + n) of those allowed. */
static void narrow(const cpu_set_t *allowed, struct place_part part)
{
    cpu_set_t mine;
    size_t seen = 0;

    CPU_ZERO(&mine);
    for (size_t core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, allowed)) {
            if (seen >= part.first && seen < part.first + part.n)
                CPU_SET(core, &mine);
            seen++;
        }
    (void)sched_setaffinity(0, sizeof mine, &mine); /* a wish: costs speed when refused */
}

/* How many ranks of this host may run on the very same cores, and which of them is this
 * one. */
static void count_sharers(const struct comm *c, const cpu_set_t *all, size_t *i,
                          size_t *n)
{
    *i = *n = 0;
    for (int r = 0; r < c->size; r++)
        if (c->peer[r].node == c->node && CPU_EQUAL(&all[r], &all[c->rank])) {
            *i += r < c->rank;
            ++*n;
        }
}

status place_choose(struct place *p, struct comm *c, size_t threads, bool pin,
                    struct err *err)
{
    cpu_set_t allowed, *all;
    size_t i, n;

    *p = (struct place){.threads = threads ? threads : pool_cores(),
                        .cores = pool_cores()};
    p->is_crowded = p->threads > p->cores;
    if (c->size == 1 || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return OK;
    TRY(mem_alloc(&all, (size_t)c->size, sizeof *all, err));
    const status result = comm_allgather(c, all, &allowed, sizeof allowed, err);
    if (result == OK) {
        count_sharers(c, all, &i, &n);
        const struct place_part part = place_part(p->cores, i, n, threads);
        p->is_crowded = n * (threads ? threads : 1) > p->cores;
        p->cores = part.n;
        p->threads = threads ? threads : part.n;
        if (pin && !p->is_crowded)
            narrow(&allowed, part);
    }
    free(all);
    return result;
}

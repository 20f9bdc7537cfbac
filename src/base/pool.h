/*
 * pool - the threads of one process: a static partition of the work, or a queue of it.
 *
 * pool_run(pool, fn, ctx) calls fn(ctx, part, n_parts) once for each part, part 0 on
 * the calling thread, and returns when all are done. The same part always goes to the
 * same thread, so results depend on the number of threads but never on timing.
 *
 * Owns: n_threads - 1 threads. Threads: pool_run from one thread at a time; not from
 * inside a part.
 */
#pragma once

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct pool;
typedef void pool_fn(void *ctx, size_t part, size_t n_parts);

/* More than 16 threads a core, which would wait for each other all day, are refused.
 * `option`: that says how many; `advice`: what else to say, as in POOL_ONE_A_CORE. */
#define POOL_ONE_A_CORE "threads=0 takes one per core"
status pool_check(size_t n_threads, const char *option, const char *advice,
                  struct err *err);

/* n_threads 0 means one for each core this process may use. */
status pool_open(struct pool **pool, size_t n_threads, bool pin, struct err *err);
void pool_close(struct pool *pool); /* NULL is fine */

size_t pool_size(const struct pool *pool); /* without a pool 1: the caller alone */
void pool_run(struct pool *pool, pool_fn *fn, void *ctx);

/* Cores this process may run on. A cpu_set_t alone ends at core 1,023, and a larger
 * machine refuses to fill it; Linux knows 8,192. */
enum { POOL_MOST_CORES = 8 * CPU_SETSIZE };
struct pool_cpus {
    cpu_set_t set[POOL_MOST_CORES / CPU_SETSIZE]; /* for CPU_ISSET_S and the like */
};
bool pool_allowed(struct pool_cpus *allowed); /* false: unknown, and empty */
size_t pool_cores(void);                      /* how many; 1 when unknown */

/* What a person should know before it takes hours: "more threads than cores: ..." when
 * n_ranks processes of n_threads threads each have to share this process's cores; false
 * when each thread has a core. */
enum { POOL_NOTE = 96 };
bool pool_crowded(char note[POOL_NOTE], size_t n_ranks, size_t n_threads);

/* The half-open range of items that belongs to `part`. */
struct pool_range {
    size_t begin, end;
};
struct pool_range pool_split(size_t n_items, size_t part, size_t n_parts);

/*
 * Items for whichever thread is free, for work whose result does not depend on who does
 * it. Early takes are large and the last ones small: all threads end together even when
 * one of them is slower.
 */
struct pool_queue {
    size_t n;
    atomic_size_t next;
};
/* The next items, at least `least` while there are so many; false: none left. */
bool pool_take(struct pool_queue *q, size_t least, size_t n_threads,
               struct pool_range *r);

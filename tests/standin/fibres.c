#include "standin/fibres.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "device/gpu/dialect.h"

enum { STACK = 64 << 10, MOST = 1024 };

struct dialect_place dialect_place;

static struct fibre {
    ucontext_t context;
    bool is_done;
} fibre[MOST];

static ucontext_t scheduler;
static char *stacks;
static fibres_fn *job;
static void *job_ctx;
static unsigned current;

static void body(void)
{
    job(job_ctx);
    fibre[current].is_done = true;
    swapcontext(&fibre[current].context, &scheduler);
}

void dialect_barrier(void)
{
    const unsigned me = current;

    swapcontext(&fibre[me].context, &scheduler);
}

static void start(unsigned item)
{
    struct fibre *f = &fibre[item];

    f->is_done = false;
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = stacks + (size_t)item * STACK;
    f->context.uc_stack.ss_size = STACK;
    f->context.uc_link = NULL;
    makecontext(&f->context, body, 0);
}

/* Every item to its next barrier or its end; how many ended. */
static unsigned round_of(unsigned items)
{
    unsigned n_done = 0;

    for (unsigned i = 0; i < items; i++) {
        current = i;
        dialect_place.item = i;
        if (!fibre[i].is_done)
            swapcontext(&scheduler, &fibre[i].context);
        n_done += fibre[i].is_done;
    }
    return n_done;
}

static void run_group(unsigned items)
{
    unsigned n_done;

    for (unsigned i = 0; i < items; i++)
        start(i);
    while ((n_done = round_of(items)) < items)
        if (n_done > 0) {
            fprintf(stderr, "fibres: %u of %u items left before a barrier\n", n_done,
                    items);
            abort();
        }
}

void fibres_run(fibres_fn *fn, void *ctx, const unsigned group[3], unsigned items)
{
    if (!stacks)
        stacks = malloc((size_t)MOST * STACK);
    if (!stacks || items > MOST)
        abort();
    job = fn;
    job_ctx = ctx;
    dialect_place.items = items;
    for (unsigned z = 0; z < group[2]; z++)
        for (unsigned y = 0; y < group[1]; y++)
            for (unsigned x = 0; x < group[0]; x++) {
                dialect_place.group[0] = x;
                dialect_place.group[1] = y;
                dialect_place.group[2] = z;
                run_group(items);
            }
}

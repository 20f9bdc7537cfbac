#include "standin/fibres.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "device/gpu/dialect.h"

enum { STACK = 64 << 10, MOST = 1024 };

struct dialect_place dialect_place;

/*
 * Where a fibre stopped. ucontext asks the kernel about signals at every switch, which is
 * most of the time of a test, so that x86-64 has a switch of its own: the registers that
 * a call keeps, on the stack that is left. The address sanitizer knows only the former.
 */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
struct place {
    void *stack;
};

void fibres_switch(void **from, void *to);
__asm__(".text\n.globl fibres_switch\n.hidden fibres_switch\n"
        "fibres_switch:\n"
        "push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
        "mov %rsp, (%rdi); mov %rsi, %rsp\n"
        "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\n"
        "ret\n");

static void place_switch(struct place *from, struct place *to)
{
    fibres_switch(&from->stack, to->stack);
}

/* As if fn had called fibres_switch: six registers, then where it goes on. */
static void place_make(struct place *p, char *stack, void (*fn)(void))
{
    void **top = (void **)(void *)(stack + STACK) - 2;

    memcpy(top, &fn, sizeof fn);
    top[1] = NULL;
    p->stack = top - 6;
}
#else
struct place {
    ucontext_t context;
};

static void place_switch(struct place *from, struct place *to)
{
    swapcontext(&from->context, &to->context);
}

static void place_make(struct place *p, char *stack, void (*fn)(void))
{
    getcontext(&p->context);
    p->context.uc_stack.ss_sp = stack;
    p->context.uc_stack.ss_size = STACK;
    p->context.uc_link = NULL;
    makecontext(&p->context, fn, 0);
}
#endif

static struct fibre {
    struct place place;
    bool is_done;
} fibre[MOST];

static struct place scheduler;
static char *stacks;
static fibres_fn *job;
static void *job_ctx;
static unsigned current;
static bool is_plain; /* items are called one after the other: the first met no barrier */

__attribute__((noreturn)) static void disagree(unsigned n_done, unsigned items)
{
    fprintf(stderr, "fibres: %u of %u items left before a barrier\n", n_done, items);
    abort();
}

static void body(void)
{
    job(job_ctx);
    fibre[current].is_done = true;
    place_switch(&fibre[current].place, &scheduler);
}

void dialect_barrier(void)
{
    const unsigned me = current;

    if (is_plain)
        disagree(me, dialect_place.items);
    place_switch(&fibre[me].place, &scheduler);
}

static void start(unsigned item)
{
    struct fibre *f = &fibre[item];

    f->is_done = false;
    place_make(&f->place, stacks + (size_t)item * STACK, body);
}

/* Items from `first` on to their next barrier or their end; how many of all ended. They
 * rise or fall by chance: a barrier may be needed in one order only. */
static unsigned round_of(unsigned first, unsigned items)
{
    static unsigned chance;
    unsigned n_done = 0;

    chance = chance * 1664525u + 1013904223u;
    for (unsigned n = first; n < items; n++) {
        const unsigned i = chance >> 31 ? first + items - 1 - n : n;
        current = i;
        dialect_place.item = i;
        if (!fibre[i].is_done)
            place_switch(&scheduler, &fibre[i].place);
    }
    for (unsigned i = 0; i < items; i++)
        n_done += fibre[i].is_done;
    return n_done;
}

/* The first item shows whether there are barriers; without them no fibre is needed. */
static void run_group(unsigned items)
{
    unsigned n_done;

    start(0);
    is_plain = false;
    is_plain = round_of(0, 1) == 1;
    for (unsigned i = 1; i < items; i++) {
        current = i;
        dialect_place.item = i;
        if (is_plain)
            job(job_ctx);
        else
            start(i);
    }
    if (is_plain)
        return;
    for (n_done = round_of(1, items); n_done < items; n_done = round_of(0, items))
        if (n_done > 0)
            disagree(n_done, items);
}

void fibres_run(fibres_fn *fn, void *ctx, const unsigned group[3], unsigned items)
{
    if (!stacks)
        stacks = aligned_alloc(64, (size_t)MOST * STACK);
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

/*
 * phase - what a rank is doing now; the training thread publishes it in one store.
 *
 * The heartbeat thread reads it several times a second and reports it over the control
 * channel, so that a hung job can say which rank was where. A rank in a phase that waits
 * is blocked by others; one in another phase is working and may be the one waited for.
 *
 * Threads: one writes (phase_set), any read (phase_get).
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* name, text, does a rank in it wait for others? */
#define PHASE_LIST(P)              \
    P(START, "start", false)       \
    P(DATA, "data", false)         \
    P(COMPUTE, "compute", false)   \
    P(EXCHANGE, "exchange", true)  \
    P(UPDATE, "update", false)     \
    P(EVALUATE, "evaluate", false) \
    P(SAVE, "save", false)         \
    P(BARRIER, "wait", true)       \
    P(END, "end", false)

enum phase_id {
#define P(name, ...) PHASE_##name,
    PHASE_LIST(P) N_PHASES
#undef P
};

struct phase {
    _Atomic uint64_t word; /* step << 24 | phase << 16 | count of stores */
    uint16_t n_stores;     /* the writer's own */
};

struct phase_now {
    uint64_t step;
    enum phase_id phase;
    uint64_t word; /* differs whenever something was published in between */
};

static inline void phase_set(struct phase *p, uint64_t step, enum phase_id phase)
{
    atomic_store_explicit(&p->word, step << 24 | (uint64_t)phase << 16 | ++p->n_stores,
                          memory_order_relaxed);
}

static inline struct phase_now phase_get(struct phase *p)
{
    const uint64_t word = atomic_load_explicit(&p->word, memory_order_relaxed);

    return (struct phase_now){word >> 24, (enum phase_id)(word >> 16 & 0xFF), word};
}

/* "exchange" of a number below N_PHASES. */
static inline const char *phase_text(unsigned phase)
{
#define P(name, text, ...) text,
    static const char *const texts[] = {PHASE_LIST(P)};
#undef P
    return texts[phase];
}

static inline bool phase_waits(unsigned phase)
{
#define P(name, text, waits) waits,
    static const bool all[] = {PHASE_LIST(P)};
#undef P
    return all[phase];
}

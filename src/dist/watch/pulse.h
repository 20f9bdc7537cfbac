/*
 * pulse - what a rank is doing now, as the training thread publishes it: one store.
 *
 * The heartbeat thread reads it several times a second and reports it over the control
 * channel, so that a hung job can say who was where. A rank in a phase that waits is
 * blocked by others; one in another phase is working and may be the one waited for.
 *
 * Threads: one writes (pulse_set), any read (pulse_get).
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* name, text, does a rank in it wait for others? */
#define PULSE_PHASES(P)            \
    P(START, "start", false)       \
    P(DATA, "data", false)         \
    P(COMPUTE, "compute", false)   \
    P(EXCHANGE, "exchange", true)  \
    P(UPDATE, "update", false)     \
    P(EVALUATE, "evaluate", false) \
    P(SAVE, "save", false)         \
    P(BARRIER, "wait", true)       \
    P(END, "end", false)

enum pulse_phase {
#define P(name, ...) PULSE_##name,
    PULSE_PHASES(P) PULSE_N_PHASES
#undef P
};

struct pulse {
    _Atomic uint64_t word; /* step << 24 | phase << 16 | count of stores */
    uint16_t n_stores;     /* the writer's own */
};

struct pulse_now {
    uint64_t step;
    enum pulse_phase phase;
    uint64_t word; /* differs whenever something was published in between */
};

static inline void pulse_set(struct pulse *p, uint64_t step, enum pulse_phase phase)
{
    atomic_store_explicit(&p->word, step << 24 | (uint64_t)phase << 16 | ++p->n_stores,
                          memory_order_relaxed);
}

static inline struct pulse_now pulse_get(struct pulse *p)
{
    const uint64_t word = atomic_load_explicit(&p->word, memory_order_relaxed);

    return (struct pulse_now){word >> 24, (enum pulse_phase)(word >> 16 & 0xFF), word};
}

/* "exchange"; "?" for a number that is no phase. */
const char *pulse_text(unsigned phase);
bool pulse_waits(unsigned phase);

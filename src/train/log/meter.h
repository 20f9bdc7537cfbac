/*
 * meter - what a process uses: processor time, memory, network cards, its GPU.
 *
 * Laps: each reading is the difference to the one before. Cards are those of the host
 * (/sys/class/net), the loopback left out; counters that fall (a card that was reset)
 * count as nothing.
 *
 * A GPU says how it is doing at a moment: it is asked once a second, and a lap has means,
 * but of its memory the most.
 *
 * Owns nothing but its numbers. Borrows: the device. Threads: one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "device/device.h"

enum { METER_CARDS = 8, METER_NAME = 16 };

struct meter_card {
    char name[METER_NAME];
    uint64_t sent_bytes, received_bytes;
    uint64_t n_errors; /* packets that the card found damaged, either way */
};

struct meter_cards {
    struct meter_card card[METER_CARDS];
    size_t n; /* more cards than METER_CARDS are left out */
};

struct meter {
    const char *net_dir; /* "/sys/class/net"; tests bring their own */
    double t_last, cpu_last;
    struct meter_cards cards;
    struct device *device;   /* or NULL */
    struct device_usage gpu; /* sums over n_gpu moments of the lap */
    size_t n_gpu;
    double t_gpu; /* of the last one */
};

struct meter_lap {
    double seconds;
    double cores; /* processor seconds a second, all threads */
    double memory_mib;
    struct meter_cards cards; /* bytes of the lap */
    struct device_usage gpu;  /* NAN where unknown, and everywhere without a GPU */
};

/* device: NULL, or what computes. */
void meter_start(struct meter *m, const char *net_dir, struct device *device);
/* Called often; looks at the GPU when a second has passed. */
void meter_look(struct meter *m);
struct meter_lap meter_next(struct meter *m);

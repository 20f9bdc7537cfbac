/*
 * meter - what a process uses: processor time, memory, network cards.
 *
 * Laps: each reading is the difference to the one before. Cards are those of the host
 * (/sys/class/net), the loopback left out; counters that fall (a card that was reset)
 * count as nothing.
 *
 * Owns nothing but its numbers. Threads: one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

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
};

struct meter_lap {
    double seconds;
    double cores; /* processor seconds a second, all threads */
    double memory_mib;
    struct meter_cards cards; /* bytes of the lap */
};

void meter_start(struct meter *m, const char *net_dir);
struct meter_lap meter_next(struct meter *m);

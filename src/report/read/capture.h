/*
 * capture - what people recorded beside a run: nmon's files (network cards, processors,
 * GPUs where it was built for them) and what nvidia-smi printed, as CSV or as its table.
 * docs/formats/captures.md tells them apart.
 *
 * Samples are summed, not kept, so memory does not depend on the file. Means and maxima
 * are of the stretch that was busy (capture_stretch.h): what was recorded before the run
 * began and after it ended does not count. What the file does not say is NAN; values
 * that cannot be (negative, no number, 300 %) count as not said.
 *
 * Owns: its arrays. Threads: one at a time.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

enum capture_kind { CAPTURE_NONE, CAPTURE_NMON, CAPTURE_GPU };

/* More of them are left out: no host has so many, a hostile file may. */
enum { CAPTURE_GPUS_MAX = 64, CAPTURE_CARDS_MAX = 256 };

struct capture_gpu {
    char name[64]; /* "" when not said; nvidia-smi's table cuts long ones */
    double index;
    double n, n_all;             /* samples counted, of how many */
    double busy;                 /* utilisation, 0 to 1 */
    double power_w, power_max_w; /* mean, and highest sample */
    double power_limit_w;        /* in force */
    double low_power;            /* share of samples busy for 90 % and more of the time,
                                  * yet drawing less than half of the limit */
    double clock_mhz;            /* of the multiprocessors */
    double clock_max_mhz;        /* what they could do */
    double memory_mib, memory_all_mib;
    double temperature_c;
};

struct capture_card {
    char name[32];
    double n, n_all;               /* as above; the same for every card */
    double received, sent;         /* bytes a second */
    double received_max, sent_max; /* of the highest sample */
};

struct capture {
    enum capture_kind kind;
    char host[64];           /* "" when not said */
    double t_first, t_last;  /* seconds since 1970 as the host's clock showed them */
    double n;                /* samples of the whole file */
    struct capture_gpu *gpu; /* in the order of the file */
    size_t n_gpu;
    struct capture_card *card; /* the busiest first; loopback is that only if alone */
    size_t n_card;
    double cpu_busy, cpus; /* 0 to 1 of all processors, and how many */
};

/* By the first lines, unpacked; CAPTURE_NONE also for what cannot be read. A console log
 * that begins with nvidia-smi's table looks like one: ask foreign_console() first. */
enum capture_kind capture_sniff(const char *path);

/* A regular file, compressed or not. ERR_FORMAT when it is no capture or holds no whole
 * sample. On failure *c is closed. */
status capture_open(struct capture *c, const char *path, struct err *err);
void capture_close(struct capture *c);

/*
 * capture_reader - what the files of capture share while they read one: the sums, and how
 * text becomes a number, a name or a time. Nobody else includes it.
 *
 * The lines pass by three times (capture_stretch.h). The first time finds GPUs and cards;
 * what only a later time shows, because the file grows, is left out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/read/capture.h"
#include "report/read/capture_stretch.h"

enum capture_pass { CAPTURE_LEVELS, CAPTURE_STRETCHES, CAPTURE_SUMS, CAPTURE_PASSES };

enum { CAPTURE_CELLS_MAX = 1024 }; /* of a line; more are left out */

/* What is known of a GPU in a sample. */
enum capture_field {
    CAPTURE_BUSY, /* percent */
    CAPTURE_POWER,
    CAPTURE_LIMIT,
    CAPTURE_ENFORCED, /* the limit in force, where it is told apart */
    CAPTURE_CLOCK,
    CAPTURE_CLOCK_MAX,
    CAPTURE_MEMORY,
    CAPTURE_MEMORY_ALL,
    CAPTURE_TEMPERATURE,
    CAPTURE_FIELDS
};

struct capture_mean {
    double n, sum, max;
};

struct capture_gpu_sums {
    char key[64], name[64];
    double index;
    enum capture_field by; /* busy, or power where that is all: what makes a stretch */
    struct capture_stretch stretch[CAPTURE_POWER + 1];
    uint64_t at[CAPTURE_FIELDS]; /* samples of this pass */
    struct capture_mean mean[CAPTURE_FIELDS], low_power;
};

struct capture_card_sums {
    char name[32];
    double total;                  /* bytes of the first pass, to find the busiest */
    double received_now, sent_now; /* of the line at hand */
    struct capture_stretch stretch;
    struct capture_mean received, sent;
};

/* What the columns of nmon's sections are, by their headers. */
struct capture_nmon {
    struct capture_nmon_column {
        int card; /* -1: none */
        bool is_sent;
    } net[CAPTURE_CELLS_MAX];
    size_t user, sys, cpus; /* columns of CPU_ALL, 0: none */
    bool is_memory_mib;     /* GPU_MEM counts memory and not its use in percent */
    char date[32];          /* for time stamps without one */
    uint64_t n_net, n_cpu;  /* samples of this pass */
};

/* What the columns of the CSV are, and which GPU the table's next row is of. */
struct capture_smi {
    int column[CAPTURE_CELLS_MAX]; /* its place in the list of names, -1: not known */
    size_t n_columns;              /* 0: no header yet */
    struct capture_gpu_sums *gpu;
};

struct capture_reader {
    struct capture *out;
    enum capture_pass pass;
    struct capture_gpu_sums gpu[CAPTURE_GPUS_MAX];
    size_t n_gpu;
    struct capture_card_sums card[CAPTURE_CARDS_MAX];
    size_t n_card, busiest;
    struct capture_stretch cpu_stretch;
    struct capture_mean cpu;
    struct capture_nmon nmon;
    struct capture_smi smi;
};

/* One line, which they may cut into pieces. Lines that are none of theirs are skipped. */
void capture_nmon_line(struct capture_reader *r, char *line);
void capture_smi_line(struct capture_reader *r, char *line);
/* True when the line is a header of the CSV. */
bool capture_smi_is_header(char *line);

/* The cells of a line in place, without blanks around them; those beyond are lost. */
size_t capture_cells(char *line, const char *separator, char *cell[CAPTURE_CELLS_MAX]);
/* NAN unless the text begins with a number that can be: "45.2 W", not "-1", not "nan". */
double capture_number(const char *text);
/* Bytes that a page could not show become question marks. */
void capture_name(char *to, size_t n_to, const char *text);
/* A time of the host's clock was seen: parts as they are printed, month in English or as
 * a number. What is no time is left out. */
void capture_time(struct capture_reader *r, const char *year, const char *month,
                  const char *day, const char *clock);

void capture_mean_add(struct capture_mean *m, double x);

/* The GPU of this key, made in the first pass; NULL when there is no room. */
struct capture_gpu_sums *capture_gpu_find(struct capture_reader *r, const char *key);
/* The next sample's value of one field, NAN when it does not say. True when the sample
 * counts. */
bool capture_gpu_add(struct capture_reader *r, struct capture_gpu_sums *g,
                     enum capture_field field, double x);

/*
 * progress - how long work shows that it lives.
 *
 * On a terminal one line is redrawn at most ten times a second; elsewhere a plain line
 * is written at most every ten seconds. The caller (a command) chooses the stream; a
 * zeroed struct shows nothing, so rooms report unconditionally.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *out; /* NULL: silent */
    bool is_terminal;
    const char *label, *unit;
    uint64_t total; /* 0 when it is not known */
    double t_start, t_shown;
    bool is_open; /* a redrawn line stands unfinished on the terminal */
};

/* A display on `out`, not yet of any work. */
struct progress progress_to(FILE *out);

/* "label  12345 unit  4567 unit/s   37 %  ETA 1:23" from here on. */
void progress_begin(struct progress *p, const char *label, const char *unit,
                    uint64_t total);
void progress_update(struct progress *p, uint64_t done);
/* Close the line with totals and rate. */
void progress_end(struct progress *p, uint64_t done);

/* A line of the caller's own, redrawn in place on a terminal; `due` says whether it is
 * time for one. Used by the training loop, whose line has other columns. */
bool progress_due(struct progress *p);
void progress_line(struct progress *p, const char *text);
/* A line that stays; text of foreign files in it is spelled (utf8_spell). */
void progress_note(struct progress *p, const char *text);

/* "1:02:03" or "4:05" in buf (at least 24 bytes). */
const char *progress_duration(char *buf, double seconds);

/*
 * pairs - parallel text: files side by side, or files that hold both sides, in order.
 *
 * Opening finds the files; counting reads each one once, refuses files that cannot be
 * parallel before anything is made of them, and says where they seem to diverge. After
 * that the pairs can be read again and again: a pipe is copied to a nameless file first.
 *
 * Owns:     the open files; one at a time.
 * Borrows:  the languages of the options.
 * Threads:  one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "base/lines.h"
#include "base/progress.h"
#include "prepare/source/source.h"

enum { PAIRS_SOURCE, PAIRS_TARGET, PAIRS_SIDES };

/* The files of a text: its sides, and how much each pair counts. */
enum { PAIRS_WEIGHTS = PAIRS_SIDES, PAIRS_FILES };

/* What the user named: comma-separated paths, or @FILE with one path a line. */
struct pairs_lists {
    const char *source, *target; /* as many files each */
    const char *both;            /* files with both sides */
    struct source_options reading;
    const char *weights; /* as many as there are texts; "" or NULL: none */
};

struct pairs_file {
    /* The same one twice: it holds both sides. No path of weights: all pairs count 1. */
    char path[PAIRS_FILES][FILE_PATH_MAX];
    enum source_kind kind[PAIRS_FILES];
    bool is_both;
    int spool[PAIRS_FILES];        /* copy of a pipe, or -1 */
    int64_t changed[PAIRS_FILES];  /* when the file was, in nanoseconds */
    uint64_t n_bytes[PAIRS_FILES]; /* as they lie on disk */
    uint64_t n_lines;              /* pairs, once counted */
    uint64_t n_skipped;            /* units without both languages */
};

struct pairs {
    struct pairs_file *file;
    size_t n_files, cap;
    struct source_options reading;
    uint64_t n_lines; /* pairs of all files, once counted */
    size_t at;        /* the file being read */
    bool is_open;
    struct source source[PAIRS_FILES];
    uint64_t n_read;
};

/* A pair where it was read, valid until the next call. */
struct pairs_row {
    struct line side[PAIRS_SIDES];
    uint64_t line[PAIRS_SIDES]; /* 1-based line of the file */
    size_t file;
    float weight; /* how much it counts; 0: it is to be left out */
    bool is_cut;  /* a side is longer than LINE_READER_MAX; only its beginning is here */
};

/* Find the files. On failure *p is closed. */
status pairs_open(struct pairs *p, const struct pairs_lists *lists, struct err *err);
void pairs_close(struct pairs *p);

/* Read everything once. ERR_FORMAT for a file without lines and for two that are not of
 * the same length. */
status pairs_count(struct pairs *p, struct progress *progress, struct err *err);

/* Whether its pairs have weights; then all of them have. */
bool pairs_have_weights(const struct pairs *p);

/* Bytes of all texts on disk. */
uint64_t pairs_bytes(const struct pairs *p);

/* The next pair; *has is false after the last one of the last file. */
status pairs_next(struct pairs *p, struct pairs_row *row, bool *has, struct err *err);
void pairs_rewind(struct pairs *p);

/* Between the files of this module: open side `s` of a file, or its weights, from the
 * start, */
status pairs_open_side(const struct pairs *p, const struct pairs_file *f, int s,
                       struct source *out, struct err *err);
/* and the error that file `at` has n_source and n_target lines, with the first line from
 * which on the lengths of the two sides fit each other better when one is moved. */
status pairs_diverge(const struct pairs *p, size_t at, uint64_t n_source,
                     uint64_t n_target, struct err *err);

/*
 * fold - tells mpirun's own traces from what the ranks print.
 *
 * When a rank dies, Open MPI prints boxes between rules of dashes and lines that begin
 * with [host:pid], MPICH a box of "=": a page that says less than one line of ours. Such
 * lines go to `keep`, all others to `pass`, unchanged and in their order. A box counts as
 * a trace by the first line inside it, so that a program may print rules and boxes too;
 * what mpirun says about a start that failed (no slots, no such host) is passed.
 *
 * The first error that a rank printed is remembered: it says why the job ended.
 *
 * Only the beginning of what may become a trace is held back, until fold_idle.
 *
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { FOLD_TELLING = 256, FOLD_LINE = 1 << 14, FOLD_RULE = 200, FOLD_SAID = 1024 };

struct fold_sink {
    void (*pass)(void *ctx, const char *text, size_t n);
    bool (*keep)(void *ctx, const char *text, size_t n); /* false: it must be passed */
    void *ctx;
};

struct fold {
    struct fold_sink sink;
    char line[FOLD_LINE + 2]; /* the newest, not yet whole */
    size_t n_line;
    char held[FOLD_RULE + 4]; /* an empty line, a rule, or both: they may begin a trace */
    size_t n_held;
    char rule;     /* of the box that we are in; 0: in none */
    bool is_stack; /* in the stack of a rank that crashed */
    bool is_mpich; /* a box of MPICH's was seen: lines follow it */
    size_t n_kept; /* lines, since the caller set it to 0 */
    int telling_rank;
    char telling[FOLD_TELLING]; /* the line of them that says most */
    char said[FOLD_SAID];       /* the first error of a rank: "ferry train: ..." */
};

void fold_feed(struct fold *f, const char *text, size_t n);
/* Nothing came for a while, or nothing more will: what was held back is no trace. */
void fold_idle(struct fold *f);

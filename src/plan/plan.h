/*
 * plan - what `ferry plan` shows: a forecast as text, as JSON and as a page.
 *
 * Borrows everything it is given. Threads: one at a time.
 */
#pragma once

#include "base/opt.h"
#include "plan/sweep.h"

/* kind, field, default, help, limits */
#define PLAN_OPTIONS(X)                                                           \
    X(BOOL, json, "false", "print one JSON object instead of text", ANY)          \
    X(STR, html, "", "also write a page with tables and plots to this file", ANY) \
    X(BOOL, tables, "true", "also predict 1 to 1,000 machines, and failures", ANY)

struct plan_options {
    struct forecast_options forecast;
    PLAN_OPTIONS(OPT_FIELD)
};

extern const struct opt_table plan_options_table;

/* Predict and print to `out`; `config` is what the user calls the training options. */
status plan_run(const struct plan_options *o, const struct forecast_training *training,
                const char *config, FILE *out, struct err *err);

/* ---- for the views ---- */

struct plan {
    const struct forecast *forecast;
    const char *config; /* as the user typed it */
    struct forecast_step step;
    struct forecast_step alone; /* the same update on one machine */
    struct forecast_limits limits;
    struct sweep_cell way[SWEEP_N_WAYS]; /* on the cluster as given */
    const struct sweep *sweep;           /* NULL: no tables wanted */
};

status plan_text(struct str *out, const struct plan *p, struct err *err);
status plan_json(struct str *out, const struct plan *p, struct err *err);
status plan_page(struct str *out, const struct plan *p, struct err *err);
/* Its figures: step time over nodes and links, time lost over intervals of saving. */
status plan_curves_nodes(struct str *out, const struct sweep *s, struct err *err);
status plan_curves_failures(struct str *out, const struct plan *p, struct err *err);

extern const char *const plan_text_remedy[FORECAST_N_LIMITS]; /* of each limit */

/* How many times as fast as one machine the cluster is. */
double plan_speedup(const struct plan *p);

/* The verdict in a sentence: are several machines worth it? */
void plan_text_headline(struct str *out, const struct plan *p);
/* What the numbers rest on, in a sentence: was such a device ever measured? */
void plan_text_basis(struct str *out, const struct plan *p);
/* For how long, and what decides that. */
void plan_text_run(struct str *out, const struct plan *p);

/* Shared by text and page: who runs where, over which link, and what limits it. */
void plan_text_cluster(struct str *out, const struct plan *p);
void plan_text_link(struct str *out, const struct plan *p);
void plan_text_verdict(struct str *out, const struct plan *p);

/*
 * plan_views - a forecast as text, as JSON and as a page.
 *
 * Borrows everything it is given. Threads: one at a time.
 */
#pragma once

#include "base/str.h"
#include "plan/sweep.h"

struct plan_views {
    const struct forecast *forecast;
    const char *config; /* as the user typed it */
    struct forecast_step step;
    struct forecast_limits limits;
    struct sweep_cell way[SWEEP_N_WAYS]; /* on the cluster as given */
    const struct sweep *sweep;           /* NULL: no tables wanted */
};

status plan_views_text(struct str *out, const struct plan_views *v,
                       struct err *err) MUST_CHECK;
status plan_views_json(struct str *out, const struct plan_views *v,
                       struct err *err) MUST_CHECK;
status plan_views_page(struct str *out, const struct plan_views *v,
                       struct err *err) MUST_CHECK;

/* Shared by text and page: who runs where, and what limits it, each as a sentence. */
void plan_views_cluster(struct str *out, const struct plan_views *v);
void plan_views_verdict(struct str *out, const struct plan_views *v);
void plan_views_link(struct str *out, const struct plan_views *v);

#include "report/show/compare.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "page/fmt.h"
#include "report/judge/judgement.h"
#include "report/judge/network.h"
#include "report/show/report.h"

enum { CELL_MAX = 1 << 14, VALUE_SHOWN = 40, OPTIONS_TOLD = 8 };

status compare_add(struct compare_table *t, const char *text, struct err *err)
{
    TRY(mem_grow(&t->cell, &t->cap, t->n_cells + 1, sizeof *t->cell, err));
    t->cell[t->n_cells] = strdup(text);
    if (!t->cell[t->n_cells])
        return err_set(err, ERR_MEMORY, "no memory for a comparison of runs");
    t->n_rows = ++t->n_cells / t->n_columns;
    return OK;
}

status compare_say(struct compare_table *t, struct err *err, const char *fmt, ...)
{
    char text[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap); /* longer text is cut: it is a sentence */
    va_end(ap);
    return compare_add(t, text, err);
}

/* ---- facts ---- */

static const char *const labels[] = {"state",
                                     "steps",
                                     "wall time",
                                     "time per step",
                                     "tokens per second",
                                     "best validation loss",
                                     "best validation BLEU",
                                     "test BLEU",
                                     "fully trained?",
                                     "overfitting?",
                                     "network the bottleneck?",
                                     "parameters",
                                     "ranks",
                                     "findings"};

enum { FACTS = sizeof labels / sizeof *labels };

/* "2.031 at 4,000": the point i of a curve, if it is one. */
static struct fmt best_of(const struct series *s, size_t i, const char *mark)
{
    if (i == s->n)
        return fmt_number(NAN, 4);
    return fmt_printf("%s at %s%s", fmt_number(s->y[i], 4).s, fmt_count(s->x[i]).s, mark);
}

/* The cells below a run's name, one for each label. */
static void facts_of(struct fmt cell[FACTS], const struct judgement *j)
{
    const struct run *r = &j->run;
    const struct learning *l = &r->learning;
    const struct runlog_start *s = runlog_latest(&r->log);
    const struct runlog_test *test = runlog_tested(&r->log);
    const double tokens = r->pace.tokens_per_s;
    struct network w;

    network_judge(&w, r);
    *cell++ = fmt_printf("%s", run_state_words[r->state]);
    *cell++ = fmt_count(r->step);
    *cell++ = fmt_seconds(r->times.wall);
    *cell++ = fmt_seconds(r->pace.mean);
    *cell++ = fmt_count(isfinite(tokens) ? tokens : r->log.foreign.tokens_per_s);
    *cell++ = best_of(&l->loss, l->best, "");
    *cell++ = best_of(&l->bleu, series_best(&l->bleu, -1),
                      l->bleu_is_forced ? " (forced)" : "");
    *cell++ = test ? fmt_printf("%s at %s", fmt_number(test->bleu, 4).s,
                                fmt_count(test->step).s)
                   : fmt_printf("not scored");
    *cell++ = fmt_printf("%s", learning_trends[l->trend].text);
    *cell++ = fmt_printf("%s", learning_overfits[l->overfit].text);
    *cell++ = fmt_printf("%s", network_verdicts[w.verdict].text);
    *cell++ = fmt_count(s ? s->parameters : NAN);
    *cell++ = fmt_count(r->ranks);
    *cell++ = fmt_count((double)j->health.n);
}

static status fill_heading(struct compare_table *t, const char *corner,
                           const struct judgement *runs, size_t n, struct err *err)
{
    t->n_columns = n + 1;
    TRY(compare_add(t, corner, err));
    for (size_t i = 0; i < n; i++)
        TRY(compare_add(t, runs[i].run.name, err));
    return OK;
}

static status fill_facts(struct compare_table *t, const struct judgement *runs, size_t n,
                         struct err *err)
{
    struct fmt cell[REPORT_RUNS_MAX][FACTS];

    for (size_t i = 0; i < n; i++)
        facts_of(cell[i], &runs[i]);
    TRY(fill_heading(t, "", runs, n, err));
    for (size_t r = 0; r < FACTS; r++) {
        TRY(compare_add(t, labels[r], err));
        for (size_t i = 0; i < n; i++)
            TRY(compare_add(t, cell[i][r].s, err));
    }
    return OK;
}

/* ---- options ---- */

static const char *value_in(const struct judgement *t, const char *key)
{
    const char *v = runlog_config(&t->run.log, key);

    return !v ? "missing" : v[0] ? v : "(empty)";
}

static bool differs(const struct judgement *runs, size_t n, const char *key)
{
    for (size_t i = 1; i < n; i++)
        if (strcmp(value_in(&runs[0], key), value_in(&runs[i], key)) != 0)
            return true;
    return false;
}

static status fill_options(struct compare_table *t, const struct judgement *runs,
                           size_t n, struct err *err)
{
    TRY(fill_heading(t, "option", runs, n, err));
    for (size_t i = 0; i < n; i++) {
        const struct runlog_start *s = runlog_latest(&runs[i].run.log);
        for (size_t k = 0; s && k < s->n_options; k++) {
            const char *key = s->option[k].key;
            /* where things lie is not how a run trains */
            bool is_told = strcmp(key, "run") == 0 || strcmp(key, "data") == 0 ||
                           !differs(runs, n, key);
            for (size_t j = 0; j < i && !is_told; j++) /* its row stands already */
                is_told = runlog_config(&runs[j].run.log, key) != NULL;
            if (is_told)
                continue;
            TRY(compare_add(t, key, err));
            for (size_t j = 0; j < n; j++)
                TRY(compare_add(t, value_in(&runs[j], key), err));
        }
    }
    return OK;
}

/* ---- differences ---- */

struct phase_change {
    const char *name;
    double seconds;
};

static int by_size(const void *a, const void *b)
{
    const double x = fabs(((const struct phase_change *)a)->seconds),
                 y = fabs(((const struct phase_change *)b)->seconds);

    return (x < y) - (x > y);
}

/* "0.40 s longer: waiting for the network +0.35 s, computing +0.05 s". */
static status explain_step(struct compare *c, const struct run *a, const struct run *b,
                           struct err *err)
{
    const struct run_pace *p = &a->pace, *q = &b->pace;
    const double all = q->mean - p->mean;
    struct phase_change change[] = {
        {"waiting for data", q->t_data - p->t_data},
        {"computing", q->t_compute - p->t_compute},
        {"waiting for other ranks and the network", q->t_comm - p->t_comm},
        {"updating weights", q->t_update - p->t_update},
    };
    struct str parts = str_new(CELL_MAX);

    if (!isfinite(all))
        return compare_say(&c->sentences, err,
                           "%s: the time of a step is missing in one of the two.",
                           b->name);
    if (fabs(all) < 0.02 * p->mean)
        return compare_say(&c->sentences, err,
                           "%s takes as long for a step as %s: %s and %s.", b->name,
                           a->name, fmt_seconds(q->mean).s, fmt_seconds(p->mean).s);
    qsort(change, sizeof change / sizeof *change, sizeof *change, by_size);
    for (size_t i = 0; i < sizeof change / sizeof *change; i++)
        if (fabs(change[i].seconds) > 0.05 * fabs(all))
            str_printf(&parts, "%s%s %s%s", parts.len ? ", " : "", change[i].name,
                       change[i].seconds < 0 ? "\u2212" : "+",
                       fmt_seconds(fabs(change[i].seconds)).s);
    const status result = compare_say(
        &c->sentences, err, "A step of %s is %s %s than one of %s (%s against %s)%s%s.",
        b->name, fmt_seconds(fabs(all)).s, all > 0 ? "longer" : "shorter", a->name,
        fmt_seconds(q->mean).s, fmt_seconds(p->mean).s, parts.len ? ": " : "",
        parts.len ? str_text(&parts) : "; the phases are not logged in both");
    str_release(&parts);
    return result;
}

static status explain_tokens(struct compare *c, const struct run *a, const struct run *b,
                             struct err *err)
{
    const double x = a->pace.tokens_per_s * a->pace.mean,
                 y = b->pace.tokens_per_s * b->pace.mean;

    if (!isfinite(x + y) || fabs(y / x - 1) < 0.03)
        return OK;
    return compare_say(
        &c->sentences, err,
        "%s trains on %s tokens per step, %s on %s: per token it is %s %s.", b->name,
        fmt_count(y).s, a->name, fmt_count(x).s,
        fmt_percent(fabs(b->pace.tokens_per_s / a->pace.tokens_per_s - 1)).s,
        b->pace.tokens_per_s > a->pace.tokens_per_s ? "faster" : "slower");
}

/* Value of a curve at x, between its points; NAN outside, and where they lie too far
 * apart for a straight line between them. */
static double value_at(const struct series *s, double x)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->x[i] == x)
            return s->y[i];
    for (size_t i = 1; i < s->n; i++)
        if (s->x[i - 1] < x && x < s->x[i] && s->x[i] - s->x[i - 1] <= 0.5 * x)
            return s->y[i - 1] +
                   (s->y[i] - s->y[i - 1]) * (x - s->x[i - 1]) / (s->x[i] - s->x[i - 1]);
    return NAN;
}

static status explain_loss(struct compare *c, const struct run *a, const struct run *b,
                           struct err *err)
{
    const struct series *p = &a->learning.loss, *q = &b->learning.loss;

    if (!p->n || !q->n || !compare_data_losses_compare(a, b))
        return OK;
    const double at = fmin(p->x[p->n - 1], q->x[q->n - 1]);
    const double x = value_at(p, at), y = value_at(q, at);
    /* few evaluations cannot tell scatter from the bend of the curve */
    const double noise = p->n >= 8 && q->n >= 8
                             ? 2 * fmax(a->learning.noise, b->learning.noise)
                             : 0.01 * x;
    if (!isfinite(x - y))
        return compare_say(
            &c->sentences, err,
            "%s and %s have no evaluations at about the same step, so their "
            "losses are not compared.",
            b->name, a->name);
    if (fabs(y - x) < noise)
        return compare_say(
            &c->sentences, err,
            "At step %s both have the same validation loss within its scatter: "
            "%s and %s.",
            fmt_count(at).s, fmt_number(x, 4).s, fmt_number(y, 4).s);
    return compare_say(&c->sentences, err,
                       "At step %s the validation loss of %s is %s, %s %s than %s.",
                       fmt_count(at).s, b->name, fmt_number(y, 4).s,
                       fmt_number(fabs(y - x), 3).s, y < x ? "lower" : "higher", a->name);
}

/* The options that differ between the first run and run i, into `list`; those that only
 * one of the two names are counted, not guessed. */
static size_t list_options(struct str *list, const struct compare *c,
                           const struct judgement *runs, size_t i, size_t *n_alone)
{
    const struct compare_table *t = &c->options;
    size_t n = 0;

    *n_alone = 0;
    for (size_t r = 1; r < t->n_rows; r++) {
        const char *key = t->cell[r * t->n_columns];
        const char *x = runlog_config(&runs[0].run.log, key),
                   *y = runlog_config(&runs[i].run.log, key);
        if (!x || !y)
            *n_alone += x || y ? 1 : 0;
        else if (strcmp(x, y) != 0 && n++ < OPTIONS_TOLD)
            str_printf(list, "%s%s %s instead of %s", list->len ? ", " : "",
                       fmt_text(key, VALUE_SHOWN).s,
                       fmt_text(value_in(&runs[i], key), VALUE_SHOWN).s,
                       fmt_text(value_in(&runs[0], key), VALUE_SHOWN).s);
    }
    return n;
}

static status explain_options(struct compare *c, const struct judgement *runs, size_t i,
                              struct err *err)
{
    const char *a = runs[0].run.name, *b = runs[i].run.name;
    struct str list = str_new(CELL_MAX);
    status result = OK;
    size_t n_alone;

    const size_t n = list_options(&list, c, runs, i, &n_alone);
    if (n)
        result =
            compare_say(&c->sentences, err, "%s was configured otherwise than %s: %s%s.",
                        b, a, str_text(&list), n > OPTIONS_TOLD ? ", and more" : "");
    else if (!n_alone)
        result =
            compare_say(&c->sentences, err, "%s and %s have the same options.", b, a);
    if (result == OK && n_alone)
        result =
            compare_say(&c->sentences, err,
                        "%zu option%s in the log of only one of %s and %s; whether they "
                        "differ is not known.",
                        n_alone, n_alone == 1 ? " is" : "s are", b, a);
    str_release(&list);
    return result;
}

static status fill(struct compare *c, const struct judgement *runs, size_t n,
                   struct err *err)
{
    TRY(fill_facts(&c->facts, runs, n, err));
    TRY(fill_options(&c->options, runs, n, err));
    TRY(compare_data_samples(&c->samples, runs, n, err));
    for (size_t i = 1; i < n; i++) {
        TRY(compare_data_warn(c, &runs[0].run, &runs[i].run, err));
        TRY(explain_step(c, &runs[0].run, &runs[i].run, err));
        TRY(explain_tokens(c, &runs[0].run, &runs[i].run, err));
        TRY(explain_loss(c, &runs[0].run, &runs[i].run, err));
        TRY(explain_options(c, runs, i, err));
    }
    return OK;
}

status compare_open(struct compare *c, const struct judgement *runs, size_t n,
                    struct err *err)
{
    BUG_ON(n > REPORT_RUNS_MAX);
    *c = (struct compare){.sentences.n_columns = 1, .warnings.n_columns = 1};
    const status result = fill(c, runs, n, err);
    if (result != OK)
        compare_close(c);
    return result;
}

static void release_table(struct compare_table *t)
{
    for (size_t i = 0; i < t->n_cells; i++)
        free(t->cell[i]);
    free(t->cell);
}

void compare_close(struct compare *c)
{
    release_table(&c->facts);
    release_table(&c->options);
    release_table(&c->sentences);
    release_table(&c->warnings);
    release_table(&c->samples);
    *c = (struct compare){0};
}

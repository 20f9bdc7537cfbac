#include "report/read/foreign_attempt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "format/json_text.h"
#include "page/series.h"

enum {
    SAMPLES_MAX = 24,
    GAPS_MAX = 64 /* loss lines after which the interval is taken as seen */
};

double foreign_attempt_config(const struct foreign_attempt *a, const char *key)
{
    const char *text = json_string_value(json_object_get(a->config, key));
    char *end;

    if (!text)
        return NAN;
    const double v = strtod(text, &end);
    return end != text ? v : NAN;
}

static void put(struct foreign_attempt *a, json_t *o)
{
    foreign_parts_put(a->log, o, &a->failed, a->err);
}

/* Before the first entry of a session, when what stands before it was read. */
static void put_start(struct foreign_attempt *a)
{
    struct foreign_session *s = &a->session;

    if (s->is_started)
        return;
    json_t *o = foreign_parts_entry("start", a->t, s->start_step);
    json_object_set_new(o, "resumed", json_boolean(s->is_resumed));
    foreign_parts_set(o, "parameters", a->parameters);
    foreign_place_put(&a->place, o);
    json_object_set(o, "config", a->config);
    put(a, o);
    s->is_started = true;
    s->first_step = a->log->n_step;
    s->first_eval = a->log->n_eval;
    const double every = foreign_attempt_config(a, "print_loss_steps");
    s->every = every >= 1 ? every : a->every;
}

/* The evaluations printed before a loss line came at multiples of eval_steps, which the
 * configuration tells; without it the loss line's own step must do. `upto` is INFINITY
 * when no loss line follows. */
static void put_evals(struct foreign_attempt *a, double upto)
{
    const struct foreign_session *s = &a->session;
    const double before = isfinite(s->printed) ? s->printed : s->start_step - 1;
    const double every = foreign_attempt_config(a, "eval_steps");

    for (size_t i = 0; i < a->n_evals; i++) {
        double step = isfinite(upto) ? upto : fmax(0, before); /* fmax ignores a NAN */
        if (every >= 1 && isfinite(before))
            step = fmin(upto, (floor(before / every) + 1 + (double)i) * every);
        json_t *o = foreign_parts_entry("eval", a->t, step);
        foreign_parts_set(o, "eval_loss", a->valid[i]);
        foreign_parts_set(o, "forced_bleu", a->bleu[i]);
        put(a, o);
    }
    a->n_evals = 0;
}

/* Steps that no entry covers. */
static void add_hole(struct runlog_foreign *f, double steps)
{
    if (!(steps > 0))
        return;
    f->steps_missing += steps;
    f->n_holes++;
}

/* The first loss line of a session; `wall` is what it tells of time. */
static void time_first(struct foreign_attempt *a, struct runlog_step *e, double wall)
{
    const struct foreign_session *s = &a->session;
    struct runlog_foreign *f = &a->log->foreign;

    if (s->has_start && e->step < s->start_step + s->every) {
        f->t_startup = isfinite(f->t_startup) ? f->t_startup + wall : wall;
        e->t_step = NAN;
        e->steps = 1;
        return;
    }
    e->steps = s->every;
    if (s->has_start)
        add_hole(f, e->step - s->start_step - s->every);
    else if (!isfinite(f->begins_at))
        f->begins_at = fmax(0, e->step - s->every);
}

/* What a loss line tells of time; `before` is the step of the line before, or NAN. The
 * entry holds the printed time until then. */
static void time_step(struct foreign_attempt *a, struct runlog_step *e, double before)
{
    const double every = a->session.every, wall = e->t_step * every,
                 gap = e->step - before;

    e->t_step = wall;
    e->steps = fmin(every, gap);
    if (isnan(before))
        time_first(a, e, wall);
    else
        add_hole(&a->log->foreign, gap - every);
    a->t += isfinite(wall) ? wall : 0;
    e->t = a->t;
}

/* The interval between loss lines as seen: the median of the session's first ones. */
static double seen_interval(const struct foreign_attempt *a)
{
    const struct runlog *log = a->log;
    double gap[GAPS_MAX];
    size_t n = 0;

    for (size_t i = a->session.first_step; i + 1 < log->n_step && n < GAPS_MAX; i++)
        gap[n++] = log->step[i + 1].step - log->step[i].step;
    if (!n)
        return 1;
    series_sort(gap, n);
    return fmax(1, gap[n / 2]);
}

/* The interval is known now: the entries of the session get their times. */
static void settle(struct foreign_attempt *a)
{
    struct runlog *log = a->log;
    double before = NAN;
    size_t e = a->session.first_eval;

    if (!a->session.is_started || isfinite(a->session.every) || a->failed != OK)
        return;
    a->session.every = a->every = seen_interval(a);
    for (size_t i = a->session.first_step; i < log->n_step; i++) {
        for (; e < log->n_eval && log->eval[e].step < log->step[i].step; e++)
            log->eval[e].t = a->t;
        time_step(a, &log->step[i], before);
        before = log->step[i].step;
    }
    for (; e < log->n_eval; e++)
        log->eval[e].t = a->t;
}

static void put_step(struct foreign_attempt *a, double t_a_step)
{
    struct foreign_session *s = &a->session;

    if (!a->has_loss)
        return;
    a->has_loss = false;
    json_t *o = foreign_parts_entry("step", NAN, a->step);
    foreign_parts_set(o, "loss", a->loss);
    foreign_parts_set(o, "t_step", t_a_step);
    put(a, o);
    if (a->failed != OK)
        return;
    if (isfinite(s->every))
        time_step(a, &a->log->step[a->log->n_step - 1], s->printed);
    else if (a->log->n_step - s->first_step == GAPS_MAX)
        settle(a);
    s->printed = a->step;
    if (isfinite(s->every))
        foreign_clock_entry(&a->clock, a->t);
}

/* The newest samples are kept. */
static void put_sample(struct foreign_attempt *a)
{
    if (!a->sample)
        return;
    runlog_drop_samples(a->log, SAMPLES_MAX - 1);
    put(a, a->sample);
    a->sample = NULL;
}

static void end_session(struct foreign_attempt *a)
{
    const double last = foreign_attempt_config(a, "max_steps") - 1;

    put_step(a, NAN);
    put_evals(a, a->is_finished ? fmax(last, a->session.printed) : INFINITY);
    put_sample(a);
    settle(a);
}

void foreign_attempt_session(struct foreign_attempt *a, double step, bool is_resumed)
{
    end_session(a);
    a->session = (struct foreign_session){.has_start = isfinite(step),
                                          .is_resumed = is_resumed,
                                          .start_step = step,
                                          .every = NAN,
                                          .printed = NAN};
    a->is_finished = false;
}

void foreign_attempt_configure(struct foreign_attempt *a)
{
    json_decref(a->config);
    a->config = json_object();
}

void foreign_attempt_begin(struct foreign_attempt *a, struct runlog *log, struct err *err)
{
    runlog_init(log);
    *a = (struct foreign_attempt){
        .log = log, .config = json_object(), .parameters = NAN, .every = NAN, .err = err};
    foreign_clock_init(&a->clock);
    foreign_attempt_session(a, NAN, false);
}

/* A terminal's copy of a log may tell lines twice, as `tail -f` does. Steps ascend within
 * a session. */
static bool is_repeated(const struct foreign_attempt *a, double step, double loss)
{
    const struct runlog *log = a->log;
    const size_t at = runlog_find(log, a->session.first_step, log->n_step, step);

    return at < log->n_step && log->step[at].step == step &&
           (log->step[at].loss == loss || (isnan(log->step[at].loss) && isnan(loss)));
}

/* Steps went back, and no line told why: a session that began just before this one. The
 * evaluations just printed belong to it. */
static void go_back(struct foreign_attempt *a, double step)
{
    const size_t n_evals = a->n_evals;

    a->n_evals = 0;
    foreign_attempt_session(a, NAN, true);
    a->n_evals = n_evals;
    a->session.start_step = fmax(0, step - (a->every >= 1 ? a->every : 1));
}

void foreign_attempt_loss(struct foreign_attempt *a, double step, double loss)
{
    put_step(a, NAN);
    if (step <= a->session.printed &&
        (is_repeated(a, step, loss) || a->log->n_start >= FOREIGN_SESSIONS_MAX)) {
        a->n_evals = 0;
        return;
    }
    if (step <= a->session.printed)
        go_back(a, step);
    foreign_trouble_survived(&a->log->foreign);
    put_start(a);
    put_evals(a, step);
    put_sample(a);
    a->has_loss = true;
    a->step = step;
    a->loss = loss;
}

void foreign_attempt_time(struct foreign_attempt *a, double t_a_step)
{
    put_step(a, t_a_step >= 0 ? t_a_step : NAN);
}

void foreign_attempt_eval(struct foreign_attempt *a, double loss)
{
    put_step(a, NAN);
    put_start(a);
    if (a->n_evals == FOREIGN_EVALS_MAX)
        return;
    a->valid[a->n_evals] = loss;
    a->bleu[a->n_evals++] = NAN;
}

void foreign_attempt_bleu(struct foreign_attempt *a, double bleu)
{
    if (a->n_evals)
        a->bleu[a->n_evals - 1] = bleu;
}

/* U+2581, SentencePiece's mark of a word's beginning. */
#define WORD "\xE2\x96\x81"

/* One piece behind the others; "@@" at its end says that the word goes on. */
static void add_piece(struct str *out, const char *piece, size_t n, bool is_joined)
{
    const bool begins = n >= 3 && memcmp(piece, WORD, 3) == 0;
    const bool goes_on = n >= 2 && memcmp(piece + n - 2, "@@", 2) == 0;

    if (out->len && (begins || !is_joined))
        str_putc(out, ' ');
    str_add(out, piece + (begins ? 3 : 0), n - (begins ? 3 : 0) - (goes_on ? 2 : 0));
}

/* The text of pieces that blanks separate, up to the end symbol. */
static void join_pieces(struct str *out, const char *pieces)
{
    const bool is_spm = strstr(pieces, WORD) != NULL;
    bool goes_on = false;

    for (size_t n; *pieces; pieces += n) {
        pieces += strspn(pieces, " ");
        n = strcspn(pieces, " ");
        if (strncmp(pieces, "</s>", 4) == 0)
            break;
        if (n == 0 || strncmp(pieces, "<s>", 3) == 0)
            continue;
        add_piece(out, pieces, n, is_spm || goes_on);
        goes_on = n >= 2 && memcmp(pieces + n - 2, "@@", 2) == 0;
    }
}

void foreign_attempt_sample(struct foreign_attempt *a, const char *kind, const char *key,
                            const char *pieces)
{
    struct str text = str_new(0);

    if (strcmp(key, "source") == 0) {
        json_decref(a->sample);
        a->sample = foreign_parts_entry("sample", NAN, fmax(0, a->session.printed));
        json_object_set_new(a->sample, "kind", json_string(kind));
    }
    if (a->sample) {
        join_pieces(&text, pieces);
        json_object_set_new(a->sample, key, json_text(str_text(&text)));
    }
    str_release(&text);
}

/* Seconds since the beginning become dates, if lines told any. */
static void set_clock(struct foreign_attempt *a)
{
    const bool is_one = a->log->n_start < 2; /* others have gaps that no line times */
    const double zero = foreign_clock_zero(&a->clock, is_one);

    a->log->foreign.has_no_clock = !isfinite(zero);
    a->log->foreign.has_no_zone = isfinite(zero);
    if (isfinite(zero))
        runlog_shift(a->log, zero);
}

/* First and last moment and the longest silence, of times that are known only now. How
 * long nothing ran between sessions is not told. */
static void find_ends(struct runlog *log)
{
    double before = log->t_first = log->n_start ? log->start[0].t : NAN;

    log->t_gap = log->t_idle = 0;
    for (size_t i = 0; i < log->n_step; i++) {
        log->t_gap = fmax(log->t_gap, log->step[i].t - before);
        before = log->step[i].t;
    }
    log->t_last = before;
}

/* A run that says it finished within an interval of max_steps took the steps up to it;
 * one that says so long before ran out of data. */
static void put_stop(struct foreign_attempt *a)
{
    const double most = foreign_attempt_config(a, "max_steps"),
                 printed = a->session.printed;
    const bool is_whole = most - printed <= fmax(a->session.every, 1);

    json_t *o = foreign_parts_entry("stop", a->t, is_whole ? most : printed);
    json_object_set_new(
        o, "reason",
        json_string(is_whole || !isfinite(most) ? "max_steps" : "early_end"));
    put(a, o);
}

status foreign_attempt_end(struct foreign_attempt *a)
{
    end_session(a);
    put_start(a); /* of an attempt that failed before its first step */
    if (a->is_finished)
        put_stop(a);
    if (a->failed == OK) {
        find_ends(a->log);
        set_clock(a);
    }
    json_decref(a->config);
    json_decref(a->sample);
    a->config = a->sample = NULL;
    return a->failed;
}

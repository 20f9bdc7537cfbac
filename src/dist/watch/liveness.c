#include "dist/watch/liveness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dist/watch/phase.h"

const struct liveness_limits liveness_limits_default = {.t_silence = 8,
                                                        .t_closed = 2,
                                                        .t_start = 60,
                                                        .t_late = 10,
                                                        .t_stall = 60,
                                                        .t_join = 3};

/* The waiting for ranks is told so often. */
static const double t_tell = 15;
/* Updates that a rank may keep others waiting, and that all may wait, before it is told;
 * where they are long, that is longer than the limits in seconds. */
static const double late_updates = 2, stall_updates = 5;

/*
 * Seconds for each rank, and for each of those that share a core: 300 ranks on two cores
 * that other programs used as well reported after 271 s, of 373 that they have. Up to
 * four a core get their turn soon enough for the heartbeat to be on time.
 */
struct liveness_limits liveness_limits_for(struct liveness_limits l, size_t n_ranks,
                                           double per_core)
{
    const double crowd = fmax(per_core - 4, 0);

    l.t_start += 0.05 * (double)n_ranks + 2 * fmax(per_core - 1, 0);
    l.t_silence += 0.1 * crowd;
    l.t_closed += 0.1 * crowd;
    l.t_join += 0.1 * crowd;
    return l;
}

/* Messages of a thousand ranks wake the caller as often; judging takes a look at all. */
static const double t_judge = 0.1;
/* A caller that judges more rarely than this was asleep. */
static const double t_asleep = 2;
/* A late rank is not reported again sooner than this. */
static const double t_quiet = 60;
/* Others wait for a rank when their share of waiting exceeds its own by so much. */
static const double late_share = 0.35;

status liveness_open(struct liveness *w, size_t n_ranks, struct liveness_limits limits,
                     double now, struct err *err)
{
    *w = (struct liveness){.limits = limits,
                           .n_ranks = n_ranks,
                           .t_open = now,
                           .t_judged = now,
                           .t_waiting = now};
    return mem_alloc(&w->rank, n_ranks, sizeof *w->rank, err);
}

void liveness_close(struct liveness *w)
{
    free(w->rank);
    *w = (struct liveness){0};
}

void liveness_joined(struct liveness *w, const struct channel_join *j, double now)
{
    struct liveness_rank *r = &w->rank[j->rank];

    if (!r->has_joined) {
        r->t_joined = r->t_moved = now;
        w->n_joined++;
    }
    r->has_joined = r->is_open = true;
    r->t_beat = now;
    memcpy(r->host, j->host, sizeof r->host);
}

void liveness_heard(struct liveness *w, uint32_t rank, const struct channel_beat *b,
                    double now)
{
    struct liveness_rank *r = &w->rank[rank];
    const double span = b->span_ms * 1e-3;

    if (b->step != r->last.step || b->phase != r->last.phase ||
        b->age_ms < r->last.age_ms)
        r->t_moved = now - b->age_ms * 1e-3;
    if (span > 0) {
        const double share = fmin(b->waited_ms * 1e-3 / span, 1);
        r->waits += (share - r->waits) * (1 - exp(-span / w->limits.t_late));
    }
    r->last = *b;
    r->t_beat = now;
    w->n_done += b->is_last && !r->is_done;
    r->is_done |= b->is_last;
    if (b->step > w->step) {
        const double each = (now - w->t_stepped) / (double)(b->step - w->step);
        const bool is_known = w->t_stepped > 0; /* a start is no update */
        w->t_update += is_known ? (each - w->t_update) * (w->t_update > 0 ? 0.2 : 1) : 0;
        w->step = b->step;
        w->t_stepped = now;
    }
    w->has_worked |= b->phase >= PHASE_DATA && b->phase <= PHASE_UPDATE;
}

void liveness_hung_up(struct liveness *w, uint32_t rank, double now)
{
    w->rank[rank].is_open = false;
    w->rank[rank].t_closed = now;
}

static bool is_silent(const struct liveness *w, const struct liveness_rank *r, double now)
{
    if (!r->has_joined || r->is_done || r->is_dead)
        return false;
    return now - r->t_beat > w->limits.t_silence ||
           (!r->is_open && now - r->t_closed > w->limits.t_closed);
}

/* It ended with an error that the others have not come to know. */
static bool has_failed_alone(const struct liveness *w, const struct liveness_rank *r,
                             double now)
{
    return r->is_done && !r->is_dead && r->last.result != OK && w->n_done < w->n_ranks &&
           now - r->t_beat > w->limits.t_silence;
}

/* Of all ranks, for the judgement of each. */
struct waiting {
    double sum;   /* of their shares */
    bool is_long; /* one of them waits for t_late */
    double t_late;
};

static struct waiting sum_waiting(const struct liveness *w, double now)
{
    struct waiting x = {.t_late = fmax(w->limits.t_late, late_updates * w->t_update)};

    for (size_t i = 0; i < w->n_ranks; i++) {
        const struct liveness_rank *r = &w->rank[i];
        x.sum += r->waits;
        x.is_long |= phase_waits(r->last.phase) && now - r->t_moved > x.t_late;
    }
    return x;
}

/* How much more of their time the other ranks wait than rank i does. */
static double others_wait(const struct liveness *w, const struct waiting *x, size_t i)
{
    const double mine = w->rank[i].waits;

    return (x->sum - mine) / (double)(w->n_ranks - 1) - mine;
}

/* Has this rank worked for t_late while another waited as long? */
static bool holds_up(const struct liveness_rank *r, const struct waiting *x, double now)
{
    return x->is_long && !phase_waits(r->last.phase) && now - r->t_moved >= x->t_late;
}

static bool is_late(const struct liveness *w, const struct waiting *x, size_t i,
                    double now)
{
    const struct liveness_rank *r = &w->rank[i];

    if (w->n_ranks < 2 || r->is_done || now - r->t_joined < 2 * w->limits.t_late)
        return false;
    /* Hysteresis: once late, it has caught up at half the limit. */
    return holds_up(r, x, now) ||
           others_wait(w, x, i) > (r->is_late ? 0.5 * late_share : late_share);
}

static bool judge_late(struct liveness *w, const struct waiting *x, size_t i, double now,
                       struct liveness_event *e)
{
    struct liveness_rank *r = &w->rank[i];
    const bool late = is_late(w, x, i, now);

    if (late == r->is_late || (late && r->t_named > 0 && now - r->t_named < t_quiet))
        return false;
    *e = (struct liveness_event){late ? LIVENESS_LATE : LIVENESS_CAUGHT_UP, (uint32_t)i,
                                 late ? now - r->t_moved : now - r->t_named};
    r->is_late = late;
    if (late)
        r->t_named = now;
    return true;
}

/* All ranks wait: the exchange itself hangs. */
static void judge_stall(struct liveness *w, double now, struct liveness_event *e)
{
    double moved = w->t_open;

    for (size_t i = 0; i < w->n_ranks; i++) {
        const struct liveness_rank *r = &w->rank[i];
        const bool waits = r->has_joined && !r->is_done && phase_waits(r->last.phase);
        moved = fmax(moved, waits ? r->t_moved : now);
    }
    const bool stalled =
        now - moved > fmax(w->limits.t_stall, stall_updates * w->t_update);
    if (stalled != w->is_stalled)
        *e = (struct liveness_event){stalled ? LIVENESS_STALLED : LIVENESS_MOVING, 0,
                                     now - moved};
    w->is_stalled = stalled;
}

/* This process was asleep, and heartbeats have waited unread. */
static void forgive(struct liveness *w, double gap)
{
    for (size_t i = 0; i < w->n_ranks; i++) {
        w->rank[i].t_beat += gap;
        w->rank[i].t_closed += gap;
    }
    w->t_open += gap;
    w->t_stepped += w->t_stepped > 0 ? gap : 0;
}

static bool judge_rank(struct liveness *w, const struct waiting *x, size_t i, double now,
                       struct liveness_event *e)
{
    struct liveness_rank *r = &w->rank[i];

    if (is_silent(w, r, now) || has_failed_alone(w, r, now))
        *e = (struct liveness_event){LIVENESS_DEAD, (uint32_t)i, now - r->t_beat};
    else
        return r->has_joined && judge_late(w, x, i, now, e);
    r->is_dead = true;
    return true;
}

/* Ranks that have not joined: all of them are one verdict. */
static bool judge_start(struct liveness *w, double now, struct liveness_event *e)
{
    const double t = now - w->t_open;
    const bool is_over = t > w->limits.t_start;
    size_t first = w->n_ranks;

    if (w->n_joined == w->n_ranks || (!is_over && now - w->t_waiting < t_tell))
        return false;
    for (size_t i = w->n_ranks; i-- > 0;)
        if (!w->rank[i].has_joined && !w->rank[i].is_dead) {
            first = i;
            w->rank[i].is_dead = is_over;
        }
    w->t_waiting = now;
    *e = (struct liveness_event){is_over ? LIVENESS_MISSING : LIVENESS_WAITING,
                                 (uint32_t)first, t};
    return first < w->n_ranks;
}

struct liveness_event liveness_judge(struct liveness *w, double now)
{
    struct liveness_event e = {0};

    if (w->is_settled && now > w->t_judged && now - w->t_judged < t_judge)
        return e;
    w->is_settled = false;
    if (now - w->t_judged > t_asleep)
        forgive(w, now - w->t_judged);
    w->t_judged = now;
    if (judge_start(w, now, &e))
        return e;
    e = (struct liveness_event){0};
    const struct waiting x = sum_waiting(w, now);
    for (size_t i = 0; i < w->n_ranks; i++)
        if (judge_rank(w, &x, i, now, &e))
            return e;
    judge_stall(w, now, &e);
    w->is_settled = e.verdict == LIVENESS_NOTHING;
    return e;
}

static void say_rank(const struct liveness *w, struct liveness_event e, char *out,
                     size_t n)
{
    const struct liveness_rank *r = &w->rank[e.rank];
    const char *phase = phase_text(r->last.phase);
    const unsigned long long step = r->last.step;

    if (e.verdict == LIVENESS_DEAD && r->is_done)
        snprintf(out, n, "rank %u on %s failed at step %llu: %s", e.rank, r->host, step,
                 status_text(r->last.result));
    else if (e.verdict == LIVENESS_DEAD)
        snprintf(out, n, "rank %u on %s is dead: %s %.1f s, last at step %llu in %s",
                 e.rank, r->host, r->is_open ? "silent for" : "gone since", e.seconds,
                 step, phase);
    else if (e.verdict == LIVENESS_LATE)
        snprintf(out, n,
                 "rank %u on %s is late: the others wait for it (step %llu, in %s for "
                 "%.1f s); training goes on",
                 e.rank, r->host, step, phase, e.seconds);
    else
        snprintf(out, n, "rank %u on %s caught up after %.0f s (step %llu)", e.rank,
                 r->host, e.seconds, step);
}

void liveness_say(const struct liveness *w, struct liveness_event e, char *out, size_t n)
{
    const size_t n_away = w->n_ranks - w->n_joined;

    if (e.verdict == LIVENESS_WAITING)
        snprintf(out, n,
                 "waiting for %zu of %zu ranks to report, %.0f s of at most %.0f s",
                 n_away, w->n_ranks, e.seconds, w->limits.t_start);
    else if (e.verdict == LIVENESS_MISSING && n_away == 1)
        snprintf(out, n, "rank %u did not report within %.0f s of the start", e.rank,
                 e.seconds);
    else if (e.verdict == LIVENESS_MISSING)
        snprintf(out, n,
                 "%zu of %zu ranks, rank %u the first of them, did not report within "
                 "%.0f s of the start",
                 n_away, w->n_ranks, e.rank, e.seconds);
    else if (e.verdict == LIVENESS_STALLED)
        snprintf(out, n,
                 "every rank waits for the others since %.0f s at step %llu; is the "
                 "network between the hosts whole?",
                 e.seconds, (unsigned long long)liveness_step(w));
    else if (e.verdict == LIVENESS_MOVING)
        snprintf(out, n, "the ranks move again, step %llu",
                 (unsigned long long)liveness_step(w));
    else
        say_rank(w, e, out, n);
}

bool liveness_agreed(const struct liveness *w, status *result)
{
    *result = w->rank[0].last.result;
    for (size_t i = 0; i < w->n_ranks; i++)
        if (!w->rank[i].is_done || w->rank[i].last.result != *result)
            return false;
    return true;
}

const struct liveness_rank *liveness_failed(const struct liveness *w)
{
    const struct liveness_rank *first = NULL;

    for (size_t i = 0; i < w->n_ranks; i++) {
        const struct liveness_rank *r = &w->rank[i];
        const status result = r->last.result;
        const bool is_own = result != OK && result != ERR_COMM && result != ERR_LOST;
        if (r->is_done && is_own && (!first || r->t_beat < first->t_beat))
            first = r;
    }
    return first;
}

uint64_t liveness_step(const struct liveness *w)
{
    return w->step;
}

double liveness_gone_at(const struct liveness *w)
{
    double t = 0;

    for (size_t i = 0; i < w->n_ranks; i++)
        if (w->rank[i].has_joined && w->rank[i].is_open && !w->rank[i].is_done)
            t = fmax(t, w->rank[i].t_beat + w->limits.t_silence);
    return t;
}

#include "report/judge/network.h"

#include <math.h>
#include <string.h>

#include "report/judge/estimate.h"
#include "report/judge/run.h"

#define T(code, text) {#code, text},
const struct network_name network_verdicts[] = {NETWORK_VERDICT_LIST(T)};
#undef T

static bool is_same_host(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool has_cards(const struct rank_means *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (isfinite(r->of[i].card_sent))
            return true;
    return false;
}

/* Of the host of rank i: by its cards, or else by its ranks' payload. */
static void bytes_of_host(const struct rank_means *r, size_t i, bool by_cards,
                          double *sent, double *received)
{
    *sent = by_cards ? r->of[i].card_sent : 0;
    *received = by_cards ? r->of[i].card_received : 0;
    for (size_t j = 0; j < r->n && !by_cards; j++)
        if (is_same_host(r->of[i].host, r->of[j].host)) {
            *sent += r->of[j].sent_bytes;
            *received += r->of[j].received_bytes;
        }
}

static void find_bytes(struct network *w, const struct rank_means *r)
{
    const bool by_cards = has_cards(r);
    double sent, received;

    w->sent = w->received = NAN;
    for (size_t i = 0; i < r->n; i++) {
        bytes_of_host(r, i, by_cards, &sent, &received);
        if (isfinite(sent) && !(fmax(sent, received) <= fmax(w->sent, w->received))) {
            w->sent = sent;
            w->received = received;
        }
    }
}

/* Ranks of one host share memory: nothing of theirs passes a card. */
static bool is_one_host(const struct run *run)
{
    const struct runlog_start *s = runlog_latest(&run->log);

    if (run->ranks == 1 || (s && s->nodes == 1))
        return true;
    for (size_t i = 1; i < run->by_rank.n; i++)
        if (!is_same_host(run->by_rank.of[0].host, run->by_rank.of[i].host))
            return false;
    return run->by_rank.n > 1;
}

/* What halving the bandwidth would add: all of the wire time where the network already
 * shows, less what backward could still hide where it does not. */
static double more_on_half(const struct network *w, double t_compute)
{
    enum { SHOWS = 2 }; /* percent of the step */
    const double wire = isfinite(w->wire) ? w->wire : w->exposed + w->hidden;
    const double backward = 2.0 / 3 * t_compute; /* of forward and backward */

    if (w->exposed > SHOWS * 0.01 * w->t_step || !isfinite(backward))
        return wire;
    return fmax(0, wire - fmax(0, backward - w->hidden));
}

static void find_elasticity(struct network *w, double t_compute)
{
    const double wire = isfinite(w->wire) ? w->wire : w->exposed + w->hidden;

    w->t_twice = w->t_step - fmin(w->exposed, wire / 2);
    w->t_half = w->t_step + more_on_half(w, t_compute);
    w->elasticity = log2(w->t_half / w->t_step);
}

static enum network_verdict verdict_of(const struct network *w)
{
    if (!isfinite(w->share))
        return NETWORK_UNKNOWN;
    if (w->share > 0.25 && w->duty < 0.3 && w->elasticity < 0.25)
        return NETWORK_LATENCY;
    if (w->share > 0.25 && w->elasticity > 0.25)
        return NETWORK_BOUND;
    if (w->share < 0.1 && w->elasticity < 0.1)
        return NETWORK_COMPUTE_BOUND;
    return NETWORK_MIXED;
}

/* The busiest card of all captures, whose bytes a second become those of a step. */
static void find_captured(struct network *w, const struct run *run)
{
    for (size_t i = 0; i < run->n_captures; i++) {
        const struct capture_card *c = run->capture[i].card;
        if (!run->capture[i].n_card ||
            fmax(c->sent, c->received) * w->t_step <= fmax(w->sent, w->received))
            continue;
        w->card = c->name;
        w->sent = c->sent * w->t_step;
        w->received = c->received * w->t_step;
    }
}

/* The wait is what exceeds the computed time of a step; on a link twice as fast it halves
 * at best. */
static void compute(struct network *w, const struct run *run)
{
    const struct estimate *e = &run->estimate;

    w->is_computed = true;
    w->t_alone = e->t_alone;
    w->sent = w->received = NAN;
    find_captured(w, run);
    if (!w->card)
        w->sent = w->received = e->bytes;
    w->rate = fmax(w->sent, w->received) / w->t_step;
    w->exposed = fmax(0, w->t_step - e->t_alone);
    if (!isfinite(e->t_alone))
        w->exposed = NAN;
    w->share = w->exposed / w->t_step;
    w->t_twice = w->t_step - w->exposed / 2;
    w->t_half = w->t_step + w->exposed;
    w->elasticity = log2(w->t_half / w->t_step);
}

void network_judge(struct network *w, const struct run *run)
{
    const struct runlog_start *s = runlog_latest(&run->log);
    const struct rank_means *r = &run->by_rank;

    *w = (struct network){
        .t_step = run->pace.mean, .straggling = r->straggling, .t_alone = NAN};
    w->exposed = isfinite(r->exposed) ? r->exposed : run->pace.t_comm;
    w->hidden = isfinite(run->pace.t_hidden) ? run->pace.t_hidden : 0;
    w->share = w->exposed / w->t_step;
    find_bytes(w, r);
    w->rate = fmax(w->sent, w->received) / w->t_step;
    w->capacity = s ? 1e6 * s->mb_per_s : NAN;
    /* a small all-reduce measures too little on a long link: what passed did fit */
    w->capacity = fmax(w->capacity, isfinite(w->capacity) ? w->rate : NAN);
    w->duty = w->rate / w->capacity;
    w->wire = fmin(fmax(w->sent, w->received) / w->capacity, w->exposed + w->hidden);
    if (!isfinite(w->capacity))
        w->wire = NAN;
    find_elasticity(w, run->pace.t_compute);
    if (!isfinite(w->share) && run->log.foreign.origin)
        compute(w, run);
    w->verdict = is_one_host(run) ? NETWORK_NONE : verdict_of(w);
}

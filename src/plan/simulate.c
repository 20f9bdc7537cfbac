#include "plan/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "plan/workload.h"

/* The state of all ranks in one step. */
struct step {
    const struct workload *w;
    const struct simulate_way *way;
    struct rounds *x;
    double *start, *factor; /* [ranks] begin of the step, slowness in it */
    double *free;           /* [ranks] when the communication thread is idle */
    double *t;              /* [ranks] scratch of one exchange */
    double t_exchange;
    struct simulate_result *out;
    bool is_first;
};

static double ready_on(const struct step *s, size_t rank, double t_ready)
{
    const double at = s->way->overlaps ? t_ready : s->w->t_forward + s->w->t_backward;

    return s->start[rank] + s->factor[rank] * at;
}

static double ready_everywhere(const struct step *s, double t_ready)
{
    double last = 0;

    for (size_t r = 0; r < s->x->n_ranks; r++)
        last = fmax(last, ready_on(s, r, t_ready));
    return last;
}

static void note(struct step *s, double elements, double ready, double begin, double end)
{
    struct simulate_result *out = s->out;

    s->t_exchange += end - begin;
    if (!s->is_first)
        return;
    if (out->n_buckets < SIMULATE_BUCKETS_MAX)
        out->bucket[out->n_buckets] = (struct simulate_bucket){
            elements, ready - s->start[0], begin - s->start[0], end - s->start[0]};
    out->n_buckets++;
}

/* Exchange `elements` that rank r may begin at t[r]. */
static void exchange(struct step *s, double elements, double ready)
{
    const size_t n = (size_t)elements;
    const double part = s->way->is_sharded ? 0.5 : 1; /* sums do not travel back */
    const struct rounds_load load = {part * (double)wire_segment_bytes(s->way->wire, n),
                                     4 * elements};
    const double begin = s->t[0];

    rounds_run(s->x, load, s->t);
    memcpy(s->free, s->t, s->x->n_ranks * sizeof *s->t);
    note(s, elements, ready, begin, s->free[0]);
}

static void run_ferry(struct step *s)
{
    for (size_t i = 0; i < s->w->n_buckets; i++) {
        const double t_ready = s->w->bucket[i].t_ready;
        for (size_t r = 0; r < s->x->n_ranks; r++)
            s->t[r] = fmax(ready_on(s, r, t_ready), s->free[r]);
        exchange(s, s->w->bucket[i].elements, ready_on(s, 0, t_ready));
    }
    double last = 0; /* what the ranks count is summed over all of them */
    for (size_t r = 0; r < s->x->n_ranks; r++)
        last = fmax(last,
                    fmax(s->free[r], ready_on(s, r, s->w->t_forward + s->w->t_backward)));
    for (size_t r = 0; r < s->x->n_ranks; r++)
        s->free[r] = last + s->way->t_tree;
}

/* Horovod's next tick at or after `t`. */
static double tick(const struct step *s, double t)
{
    const double cycle = s->way->cycle;

    return cycle > 0 ? ceil(t / cycle - 1e-9) * cycle : t;
}

static void run_horovod(struct step *s)
{
    const struct workload *w = s->w;
    size_t i = 0;

    while (i < w->n_pieces) {
        const double ready = ready_everywhere(s, w->piece[i].t_ready);
        double idle = 0, elements = 0;
        for (size_t r = 0; r < s->x->n_ranks; r++)
            idle = fmax(idle, s->free[r]);
        const double begin = tick(s, fmax(ready, idle));
        do
            elements += w->piece[i++].elements;
        while (i < w->n_pieces &&
               4 * (elements + w->piece[i].elements) <= s->way->fusion_bytes &&
               ready_everywhere(s, w->piece[i].t_ready) <= begin);
        for (size_t r = 0; r < s->x->n_ranks; r++)
            s->t[r] = begin;
        exchange(s, elements, ready);
    }
}

/* How slow each rank is in this step: log-normal of mean 1. */
static void draw_factors(struct step *s, int step)
{
    const double sigma = sqrt(log1p(s->way->jitter * s->way->jitter));
    const uint64_t key = rng_key(s->way->seed, "jitter");
    const size_t p = s->x->n_ranks;

    for (size_t r = 0; r < p; r++) {
        struct rng draw = rng_open(rng_hash(key, (uint64_t)step * p + r));
        s->factor[r] = 1;
        if (sigma > 0)
            s->factor[r] = exp(sigma * rng_normal(&draw) - sigma * sigma / 2);
    }
    s->factor[p - 1] *= s->way->slow_factor;
}

/* Weights are updated when backward and the last exchange are done; sums for the means.
 */
static void end_step(struct step *s, double *compute, double *exposed)
{
    const struct workload *w = s->w;

    for (size_t r = 0; r < s->x->n_ranks; r++) {
        const double busy = s->factor[r] * (w->t_forward + w->t_backward);
        const double end = s->start[r] + busy;
        const double wait = fmax(0, s->free[r] - end);
        *compute += busy;
        *exposed += wait;
        s->start[r] = end + wait + w->t_update;
    }
}

/* Weights in fp32 from those who updated them to all: half of what an all-reduce of them
 * sends. */
static void gather_weights(struct step *s, double *exposed)
{
    const double bytes = 4 * (double)s->w->n_parameters;

    memcpy(s->t, s->start, s->x->n_ranks * sizeof *s->t);
    rounds_run(s->x, (struct rounds_load){bytes / 2, bytes / 2}, s->t);
    for (size_t r = 0; r < s->x->n_ranks; r++) {
        *exposed += s->t[r] - s->start[r];
        s->start[r] = s->t[r];
    }
}

static void run_steps(struct step *s, int n_steps)
{
    const double n = (double)s->x->n_ranks * n_steps;
    double compute = 0, exposed = 0, last = 0;

    for (int i = 0; i < n_steps; i++) {
        s->is_first = i == 0;
        draw_factors(s, i);
        memcpy(s->free, s->start, s->x->n_ranks * sizeof *s->free);
        if (s->x->n_ranks > 1 && s->way->is_horovod)
            run_horovod(s);
        else if (s->x->n_ranks > 1)
            run_ferry(s);
        end_step(s, &compute, &exposed);
        if (s->x->n_ranks > 1 && s->way->is_sharded)
            gather_weights(s, &exposed);
    }
    for (size_t r = 0; r < s->x->n_ranks; r++)
        last = fmax(last, s->start[r]);
    s->out->seconds = last / n_steps;
    s->out->t_compute = compute / n;
    s->out->t_exposed = exposed / n;
    s->out->t_update = s->w->t_update;
    s->out->t_exchange = s->t_exchange / n_steps;
    s->out->card_bytes = s->x->card_bytes / n_steps;
}

status simulate_steps(struct simulate_result *out, const struct workload *w,
                      struct rounds *x, const struct simulate_way *way, int n_steps,
                      struct err *err)
{
    struct step s = {.w = w, .way = way, .x = x, .out = out};
    double *all;

    *out = (struct simulate_result){0};
    TRY(mem_alloc(&all, 4 * x->n_ranks, sizeof *all, err));
    s.start = all;
    s.factor = all + x->n_ranks;
    s.free = all + 2 * x->n_ranks;
    s.t = all + 3 * x->n_ranks;
    run_steps(&s, n_steps);
    free(all);
    return OK;
}

#include "plan/sweep.h"

#include <math.h>

enum { FAILURES_PLAYED = 20000 };

#define ROW(id, name, method, wire, topology, overlap) \
    {name, method, wire, topology, overlap},

static const struct {
    const char *name;
    enum forecast_method method;
    enum wire wire;
    enum rounds_kind topology;
    bool overlaps;
} ways[SWEEP_N_WAYS] = {SWEEP_WAYS(ROW)};

const char *sweep_way_name(enum sweep_way way)
{
    return ways[way].name;
}

enum sweep_way sweep_own_way(const struct forecast *f)
{
    for (int i = 0; i < SWEEP_N_WAYS; i++)
        if (ways[i].method == f->variant.method && ways[i].wire == f->variant.wire &&
            ways[i].topology == f->variant.topology &&
            ways[i].overlaps == f->variant.overlaps)
            return (enum sweep_way)i;
    return SWEEP_N_WAYS;
}

static status cell_of(struct sweep_cell *out, const struct forecast *f,
                      const struct forecast_variant *v, struct err *err)
{
    struct forecast_step s;

    TRY(forecast_step(&s, f, v, err));
    *out = (struct sweep_cell){.seconds = s.sim.seconds,
                               .tokens_per_s = s.tokens / s.sim.seconds,
                               .card_bytes = s.sim.card_bytes,
                               .card_load = s.card_load,
                               .exposed = s.sim.t_exposed,
                               .efficiency = s.t_alone / s.sim.seconds,
                               .n_rows = s.n_rows,
                               .t_tree = s.t_tree};
    return OK;
}

status sweep_ways(struct sweep_cell out[SWEEP_N_WAYS], const struct forecast *f,
                  struct forecast_variant v, struct err *err)
{
    for (int i = 0; i < SWEEP_N_WAYS; i++) {
        v.method = ways[i].method;
        v.wire = ways[i].wire;
        v.topology = ways[i].topology;
        v.overlaps = ways[i].overlaps;
        v.is_sharded = v.method == FORECAST_FERRY && f->variant.is_sharded;
        TRY(cell_of(&out[i], f, &v, err));
    }
    return OK;
}

static status sweep_nodes(struct sweep *s, const struct forecast *f, struct err *err)
{
    static const size_t list[SWEEP_N_NODES] = {1,  2,   4,   8,   16,  32,
                                               64, 128, 256, 512, 1000};
    struct forecast_variant v = f->variant;

    for (int n = 0; n < SWEEP_N_NODES; n++) {
        v.n_nodes = s->nodes[n] = list[n];
        TRY(sweep_ways(s->by_nodes[n], f, v, err));
        struct forecast_variant before = v;
        before.method = FORECAST_FERRY;
        before.wire = WIRE_BF16;
        before.topology = ROUNDS_NODE;
        before.overlaps = before.is_direct = true;
        TRY(cell_of(&s->before[n], f, &before, err));
    }
    return OK;
}

/* 10 Mb/s to 100 Gb/s, three per decade. */
static status sweep_rates(struct sweep *s, const struct forecast *f, struct err *err)
{
    struct forecast_variant v = f->variant;

    for (int r = 0; r < SWEEP_N_RATES; r++) {
        s->rates[r] = 1e7 * pow(10, r / 3.0);
        v.rate = s->rates[r] / 8 * f->link.payload_share;
        TRY(sweep_ways(s->by_rate[r], f, v, err));
    }
    return OK;
}

static status sweep_jitter(struct sweep *s, const struct forecast *f, struct err *err)
{
    static const double list[SWEEP_N_JITTER] = {0, 0.01, 0.02, 0.05, 0.1, 0.2};

    for (int j = 0; j < SWEEP_N_JITTER; j++) {
        s->jitter[j] = list[j];
        for (int n = 0; n < SWEEP_N_NODES; n++) {
            struct forecast_variant v = f->variant;
            struct sweep_cell c;
            v.n_nodes = s->nodes[n];
            v.jitter = list[j];
            TRY(cell_of(&c, f, &v, err));
            s->by_jitter[j][n] = c.seconds;
        }
    }
    return OK;
}

static void sweep_failures(struct sweep *s, const struct forecast *f, double n_parameters)
{
    const uint64_t seed = (uint64_t)f->options.seed;
    const struct failures own = forecast_failures(f, f->variant.n_nodes, n_parameters);

    for (int n = 0; n < SWEEP_N_NODES; n++) {
        const struct failures x = forecast_failures(f, s->nodes[n], n_parameters);
        s->failures[n] = x;
        s->young[n] = failures_young(&x);
        s->daly[n] = failures_daly(&x);
        s->played[n] = failures_best_played(&x, FAILURES_PLAYED, seed);
        s->overhead[n] = failures_overhead(&x, s->daly[n]);
        s->lost[n] = failures_lost_work(&x, s->daly[n]);
    }
    for (int i = 0; i < SWEEP_N_INTERVALS; i++) {
        s->interval[i] = failures_young(&own) * pow(8, (i - 20) / 20.0);
        s->by_formula[i] = failures_overhead(&own, s->interval[i]);
        s->by_play[i] = failures_played(&own, s->interval[i], FAILURES_PLAYED, seed);
    }
}

status sweep_run(struct sweep *s, const struct forecast *f, struct err *err)
{
    struct forecast_step own;

    TRY(forecast_step(&own, f, &f->variant, err));
    TRY(sweep_nodes(s, f, err));
    TRY(sweep_rates(s, f, err));
    TRY(sweep_jitter(s, f, err));
    sweep_failures(s, f, own.n_parameters);
    return OK;
}

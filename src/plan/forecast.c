#include "plan/forecast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "plan/amount.h"
#include "plan/workload.h"
#include "recipe/flops.h"
#include "recipe/grid.h"

static const double SAVE_BYTES_PER_S = 0.5e9;
/* Horovod 0.15's defaults. */
static const double FUSION_MIB = 64, CYCLE = 5e-3;
static const double BUCKET_MIB = 25;
/* Work of a simulation with chance in it, in operations. */
static const double WORK_MAX = 1e8;
enum { STEPS_MAX = 40 };

static double ranks_of(const struct forecast *f, const struct forecast_variant *v)
{
    double n_ranks = 0;

    for (size_t i = 0; i < v->n_nodes; i++)
        n_ranks += f->per_node[i % f->n_given];
    return n_ranks;
}

/* Tokens of all ranks, when the embedding goes out in two parts
 * (dist/exchange/embed_rows.h).
 */
static double naming_tokens(const struct forecast *f, const struct forecast_variant *v)
{
    if (!f->device.is_host || v->n_nodes == 1 || v->wire == WIRE_INT8)
        return 0;
    return ranks_of(f, v) * 2 * v->batch * f->mean_length;
}

static double bucket_mib(const struct forecast *f)
{
    const double own = f->options.bucket_mib, config = f->training.bucket_mib;

    return own > 0 ? own : config > 0 ? config : BUCKET_MIB;
}

static status open_workload(struct workload *w, const struct forecast *f,
                            const struct forecast_variant *v, struct err *err)
{
    const struct workload_batch batch = {
        .pairs = v->batch,
        .mean_length = f->mean_length,
        .max_length = f->training.max_length,
        .views = f->training.views,
        .is_padded = v->method == FORECAST_REFERENCE,
        .is_mixed = v->is_mixed,
        .bucket_bytes = bucket_mib(f) * 0x1p20,
        .n_naming = naming_tokens(f, v),
        .t_taken = v->n_nodes > 1 ? f->options.exchange_cpu : 0};
    struct hardware_device d = f->device;

    d.fp32_tflops *= v->faster;
    d.mixed_tflops *= v->faster;
    d.step_gflops *= v->faster;
    d.memory_gb_per_s *= v->faster;
    /* a measured time is of the batch and the method of the options */
    const double measured =
        f->options.compute_seconds / v->faster * (v->batch / f->variant.batch);
    return workload_open(w, &f->training.model, &d, &batch, measured, err);
}

static struct grid_link link_of(const struct forecast *f,
                                const struct forecast_variant *v)
{
    return (struct grid_link){.latency = v->latency,
                              .message = fmin(1e-6 * f->link.message_us, v->latency),
                              .rate = v->rate};
}

/* Rows of nodes, as training chooses them. */
static size_t rows_of(const struct forecast *f, const struct forecast_variant *v)
{
    const char *how = f->training.exchange;
    const size_t n = (size_t)(bucket_mib(f) * 0x1p20 / sizeof(float));

    if (v->is_direct || v->topology != ROUNDS_NODE || (how && strcmp(how, "direct") == 0))
        return 1;
    if (how && strcmp(how, "grid") == 0)
        return grid_square(v->n_nodes);
    return grid_choose(v->n_nodes, (double)wire_segment_bytes(v->wire, n), link_of(f, v));
}

/* What the ranks sum behind the last bucket. Through the first rank, which is how it
 * was: a message from and to everybody, and what each said to all. */
static double tree_seconds(const struct forecast *f, const struct forecast_variant *v)
{
    static const double FACTS_BYTES = 152, OF_EACH_BYTES = 120;
    const struct grid_link across = link_of(f, v);
    const struct grid_link inside = {1e-6 * f->link.inside_latency_us, 0,
                                     1e9 * f->device.inside_gb_per_s};
    const double n_ranks = ranks_of(f, v);
    const size_t n_local = (size_t)ceil(n_ranks / (double)v->n_nodes);

    if (v->is_direct)
        return 2 * (n_ranks - 1) * across.message + 2 * across.latency +
               n_ranks * n_ranks * OF_EACH_BYTES / across.rate;
    return grid_tree_seconds(v->n_nodes, FACTS_BYTES, across) +
           (n_local > 1 ? grid_tree_seconds(n_local, FACTS_BYTES, inside) : 0);
}

static status simulate(struct forecast_step *out, const struct forecast *f,
                       const struct forecast_variant *v, const struct workload *w,
                       const int *per_node, struct err *err)
{
    const struct simulate_way way = {.is_horovod = v->method == FORECAST_REFERENCE,
                                     .overlaps = v->overlaps,
                                     .fusion_bytes = FUSION_MIB * 0x1p20,
                                     .cycle = CYCLE,
                                     .wire = v->wire,
                                     .is_sharded = v->is_sharded,
                                     .t_tree = out->t_tree,
                                     .jitter = v->jitter,
                                     .slow_factor = v->slow_factor,
                                     .seed = (uint64_t)f->options.seed};
    struct rounds x = {.kind = v->topology,
                       .per_node = per_node,
                       .n_nodes = v->n_nodes,
                       .n_rows = out->n_rows,
                       .rate = v->rate,
                       .latency = v->latency,
                       .message = link_of(f, v).message,
                       .inside_rate = 1e9 * f->device.inside_gb_per_s * v->inside_faster,
                       .inside_latency = 1e-6 * f->link.inside_latency_us,
                       .sum_rate = 1e9 * f->device.memory_gb_per_s / 3};

    TRY(rounds_open(&x, err));
    /* chance needs several steps to show its mean; as many as are quickly simulated */
    const double work = (double)x.n_ranks * 600; /* of a step: buckets and rounds */
    const int n_steps =
        v->jitter > 0 ? (int)fmin(STEPS_MAX, fmax(2, WORK_MAX / work)) : 1;
    const status result = simulate_steps(&out->sim, w, &x, &way, n_steps, err);
    out->n_nodes = v->n_nodes;
    out->n_ranks = x.n_ranks;
    rounds_close(&x);
    return result;
}

static status simulate_variant(struct forecast_step *out, const struct forecast *f,
                               const struct forecast_variant *v, struct err *err)
{
    struct workload w;
    int *per_node;

    *out = (struct forecast_step){0};
    TRY(mem_alloc(&per_node, v->n_nodes, sizeof *per_node, err));
    for (size_t i = 0; i < v->n_nodes; i++)
        per_node[i] = f->per_node[i % f->n_given];
    status result = open_workload(&w, f, v, err);
    if (result == OK) {
        if (v->is_sharded)
            w.t_update /= ranks_of(f, v);
        out->n_rows = rows_of(f, v);
        out->t_tree = tree_seconds(f, v);
        result = simulate(out, f, v, &w, per_node, err);
        out->t_alone = workload_seconds(&w);
        out->tokens = w.tokens * (double)out->n_ranks;
        out->useful = w.useful;
        out->operations = w.operations;
        out->n_parameters = (double)w.n_parameters;
        out->card_load = out->sim.card_bytes / v->rate / out->sim.seconds;
        workload_close(&w);
    }
    free(per_node);
    return result;
}

/*
 * Local SGD: H - 1 updates of a node by itself, then one after which the nodes average
 * what they have become, which nothing hides.
 */
status forecast_step(struct forecast_step *out, const struct forecast *f,
                     const struct forecast_variant *v, struct err *err)
{
    struct forecast_variant own = *v, meeting = *v;
    struct forecast_step by_itself;
    const double H = v->local_steps;

    if (!(H > 1) || v->n_nodes < 2 || v->method == FORECAST_REFERENCE)
        return simulate_variant(out, f, v, err);
    own.n_nodes = 1;
    meeting.overlaps = false;
    TRY(simulate_variant(&by_itself, f, &own, err));
    TRY(simulate_variant(out, f, &meeting, err));
    const struct simulate_result *a = &by_itself.sim;
    struct simulate_result *b = &out->sim;
    b->seconds = ((H - 1) * a->seconds + b->seconds) / H;
    b->t_exposed = ((H - 1) * a->t_exposed + b->t_exposed) / H;
    b->t_exchange = ((H - 1) * a->t_exchange + b->t_exchange) / H;
    b->card_bytes /= H;
    out->card_load = b->card_bytes / v->rate / b->seconds;
    return OK;
}

status forecast_alone(struct forecast_step *out, const struct forecast *f,
                      struct err *err)
{
    struct forecast one = *f;
    struct forecast_variant v = f->variant;
    int most = 1;

    for (size_t i = 0; i < f->n_given; i++)
        most = f->per_node[i] > most ? f->per_node[i] : most;
    one.per_node = &most;
    one.n_given = v.n_nodes = 1;
    v.batch *= (double)f->n_ranks / most;
    return forecast_step(out, &one, &v, err);
}

/* The forecast's variant with one resource doubled, or chance taken away. */
static struct forecast_variant doubled(const struct forecast *f,
                                       enum forecast_limit which)
{
    struct forecast_variant v = f->variant;

    v.faster = which == FORECAST_COMPUTE ? 2 : 1;
    v.rate *= which == FORECAST_NETWORK ? 2 : 1;
    v.latency /= which == FORECAST_LATENCY ? 2 : 1;
    v.inside_faster = which == FORECAST_INSIDE ? 2 : 1;
    if (which == FORECAST_STRAGGLERS) {
        v.jitter = 0;
        v.slow_factor = 1;
    }
    return v;
}

status forecast_limits(struct forecast_limits *out, const struct forecast *f,
                       const struct forecast_step *now, struct err *err)
{
    *out = (struct forecast_limits){0};
    for (int i = 0; i < FORECAST_N_LIMITS; i++) {
        const struct forecast_variant v = doubled(f, (enum forecast_limit)i);
        struct forecast_step s;
        if (i == FORECAST_STRAGGLERS && v.jitter == f->variant.jitter &&
            v.slow_factor == f->variant.slow_factor) {
            out->seconds[i] = now->sim.seconds;
            continue;
        }
        TRY(forecast_step(&s, f, &v, err));
        out->seconds[i] = s.sim.seconds;
        if (out->seconds[i] < out->seconds[out->limit])
            out->limit = (enum forecast_limit)i;
    }
    return OK;
}

const char *const forecast_limit_words[] = {"compute", "network", "latency", "inside",
                                            "stragglers"};

struct forecast_bill forecast_bill(const struct forecast *f,
                                   const struct forecast_step *s)
{
    const double busy = fmin(s->sim.seconds, s->sim.t_compute + s->sim.t_update);
    const double joules =
        busy * f->device.busy_watts + (s->sim.seconds - busy) * f->device.wait_watts;
    struct forecast_bill b = {.hours = s->sim.seconds * f->steps / 3600,
                              .kwh = joules * (double)s->n_ranks * f->steps / 3.6e6};

    b.machines = b.hours * (double)s->n_nodes * f->options.price;
    b.energy = b.kwh * f->options.price_kwh;
    b.total = b.machines + b.energy;
    return b;
}

/* Checked when the forecast was opened. */
static double seconds_of(const char *text)
{
    struct err ignored;
    double t = 0;

    BUG_ON(amount_seconds(&t, "", text, &ignored) != OK);
    return t;
}

struct failures forecast_failures(const struct forecast *f, size_t n_nodes,
                                  double n_parameters)
{
    const struct forecast_options *o = &f->options;
    const double bytes = flops_bytes((size_t)n_parameters).checkpoint;

    return (struct failures){.mtbf = seconds_of(o->mtbf) / (double)n_nodes,
                             .save = *o->save_time ? seconds_of(o->save_time)
                                                   : bytes / SAVE_BYTES_PER_S,
                             .restart = seconds_of(o->restart_time)};
}

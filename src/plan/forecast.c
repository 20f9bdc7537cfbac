#include "plan/forecast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "plan/amount.h"
#include "plan/workload.h"
#include "recipe/flops.h"

/* A pair of the reference's corpus has 60.95 tokens, both sides and specials. */
static const double MEAN_LENGTH = 60.95 / 2;
static const double SAVE_BYTES_PER_S = 0.5e9;
/* Horovod 0.15's defaults. */
static const double FUSION_MIB = 64, CYCLE = 5e-3;
static const double BUCKET_MIB = 25;
/* Work of a simulation with chance in it, in operations. */
static const double WORK_MAX = 1e8;
enum { STEPS_MAX = 40, RANKS_MAX = 100000 };

static double pairs_of(const struct forecast_batch *b, double mean_length)
{
    return b->pairs > 0 ? b->pairs : b->tokens / mean_length;
}

static status resolve_batch(struct forecast *f, struct err *err)
{
    const struct forecast_training *t = &f->training;

    f->mean_length = f->options.mean_length > 0 ? f->options.mean_length
                                                : fmin(MEAN_LENGTH, t->max_length);
    if (f->mean_length > t->max_length)
        return err_set(err, ERR_USAGE,
                       "mean_length = %.15g is above the config's max_length = %.15g",
                       f->mean_length, t->max_length);
    if (t->batch.pairs > 0 && t->batch.tokens > 0)
        return err_set(err, ERR_USAGE,
                       "batch_tokens = %.15g and batch_sentences = %.15g: one of them "
                       "must be 0",
                       t->batch.tokens, t->batch.pairs);
    const double pairs = pairs_of(&t->batch, f->mean_length);
    f->variant.batch =
        f->options.batch > 0 ? f->options.batch : pairs / (double)f->n_ranks;
    if (!(f->variant.batch > 0))
        return err_set(err, ERR_USAGE,
                       "the config sets no batch; give batch=PAIRS per device");
    return OK;
}

/* As many tokens as were asked for, whatever the batch. */
static status resolve_run(struct forecast *f, struct err *err)
{
    const struct forecast_training *t = &f->training;
    const double own = f->variant.batch * (double)f->n_ranks;
    const double planned = pairs_of(&t->planned, f->mean_length);
    double pairs = t->max_steps * (planned > 0 ? planned : own);

    if (t->max_epochs > 0 && !(f->options.pairs > 0))
        return err_set(err, ERR_USAGE,
                       "max_epochs = %.15g: the length of the run depends on the corpus; "
                       "give pairs=N, its number of sentence pairs, or max_epochs=0",
                       t->max_epochs);
    if (t->max_epochs > 0)
        pairs = fmin(pairs, t->max_epochs * f->options.pairs);
    if (f->options.tokens > 0)
        pairs = f->options.tokens / (2 * f->mean_length);
    f->tokens = 2 * f->mean_length * pairs;
    f->steps = pairs / own;
    return OK;
}

static status resolve_model(struct forecast *f, struct err *err)
{
    if (f->options.vocab_size > 0)
        f->training.model.vocab_size = f->options.vocab_size;
    if (f->training.model.vocab_size == 0)
        return err_set(err, ERR_USAGE,
                       "the config leaves vocab_size to the data; give vocab_size=N");
    return model_config_check(&f->training.model, err);
}

/* The planner's own option, or else what the config says. */
static const char *chosen(const char *own, const char *config, const char *neither)
{
    return strcmp(own, "auto") != 0 ? own : config ? config : neither;
}

static bool is_mixed(const struct forecast *f)
{
    return strcmp(chosen(f->options.precision, f->training.precision, "fp32"), "fp32") !=
           0;
}

static status resolve_hardware(struct forecast *f, struct err *err)
{
    const struct forecast_options *o = &f->options;

    TRY(hardware_device(&f->device, o->device, err));
    if (*o->bench)
        TRY(hardware_bench(&f->device, o->bench, err));
    if (is_mixed(f) && !(f->device.mixed_tflops > 0) && !(o->compute_seconds > 0))
        return err_set(err, ERR_USAGE,
                       "precision is 16 bits, but %s has no 16-bit units in its "
                       "description; want precision=fp32",
                       f->device.title);
    return hardware_link(&f->link, o->link, err);
}

static status resolve_way(struct forecast *f, struct err *err)
{
    const struct forecast_options *o = &f->options;
    struct forecast_variant *v = &f->variant;
    static const char *const shapes[] = {"flat", "node", "tree"};

    const bool is_reference = strcmp(o->method, "reference") == 0;
    v->method = is_reference ? FORECAST_REFERENCE : FORECAST_FERRY;
    v->wire = is_reference ? WIRE_FP32 : WIRE_BF16;
    const char *wire = chosen(o->wire, is_reference ? NULL : f->training.wire, "");
    if (wire_find(wire) != N_WIRES)
        v->wire = wire_find(wire);
    v->topology = is_reference ? ROUNDS_FLAT : ROUNDS_NODE;
    for (int i = 0; i < 3; i++)
        if (strcmp(o->topology, shapes[i]) == 0)
            v->topology = (enum rounds_kind)i;
    if (is_reference && v->wire != WIRE_FP32)
        return err_set(err, ERR_USAGE,
                       "method = reference always sends fp32; wire = %s belongs to "
                       "method = ferry",
                       o->wire);
    if (is_reference && v->topology != ROUNDS_FLAT)
        return err_set(err, ERR_USAGE,
                       "method = reference is one flat ring; topology = %s belongs to "
                       "method = ferry",
                       o->topology);
    v->overlaps = o->overlap;
    v->is_mixed = is_mixed(f);
    v->is_sharded = !is_reference && f->training.shard_optimizer;
    v->local_steps = is_reference ? 1 : fmax(1, f->training.local_steps);
    v->n_nodes = (size_t)o->nodes;
    v->jitter = o->jitter;
    v->slow_factor = o->slow_factor;
    v->faster = v->inside_faster = 1;
    return OK;
}

/*
 * A card that showed R on average carried its bytes in bytes / R seconds, so that is how
 * long a step takes if the network is what it waits for. The link's own rate is higher,
 * since nothing is sent during forward: it is the one at which the simulated step shows
 * R. When even an endless link would show less than R, the network is no limit.
 */
static status rate_from_seen(struct forecast *f, struct err *err)
{
    struct forecast_variant v = f->variant;
    struct forecast_step s;
    double slow = f->rate_seen, fast = 1e3 * f->rate_seen;

    v.rate = fast;
    TRY(forecast_step(&s, f, &v, err));
    if (s.sim.card_bytes / s.sim.seconds < f->rate_seen) {
        f->variant.rate = fast;
        return OK;
    }
    for (int i = 0; i < 40; i++) {
        v.rate = sqrt(slow * fast);
        TRY(forecast_step(&s, f, &v, err));
        if (s.sim.card_bytes / s.sim.seconds < f->rate_seen)
            slow = v.rate;
        else
            fast = v.rate;
    }
    f->variant.rate = fast;
    return OK;
}

static status resolve_network(struct forecast *f, struct err *err)
{
    const struct forecast_options *o = &f->options;
    struct amount_rate rate;

    TRY(amount_rate(&rate, o->network, err));
    f->variant.latency = 1e-6 * f->link.latency_us;
    if (*o->latency)
        TRY(amount_seconds(&f->variant.latency, "latency", o->latency, err));
    f->variant.rate = rate.bytes_per_s * (rate.is_bits ? f->link.payload_share : 1);
    f->is_seen =
        strcmp(o->rate, "seen") == 0 || (strcmp(o->rate, "auto") == 0 && !rate.is_bits &&
                                         f->variant.method == FORECAST_REFERENCE);
    f->rate_seen = f->variant.rate;
    if (f->is_seen && f->variant.n_nodes > 1)
        return rate_from_seen(f, err);
    f->is_seen = false;
    return OK;
}

/* The times are read once more where they are used; here to refuse bad ones. */
static status check_times(const struct forecast_options *o, struct err *err)
{
    double t;

    TRY(amount_seconds(&t, "mtbf", o->mtbf, err));
    if (!(t > 0))
        return err_set(err, ERR_USAGE, "mtbf = 0: want a time above 0, such as 260d");
    if (*o->save_time)
        TRY(amount_seconds(&t, "save_time", o->save_time, err));
    if (!(t > 0))
        return err_set(err, ERR_USAGE,
                       "save_time = 0: want the time that training waits for a save");
    return amount_seconds(&t, "restart_time", o->restart_time, err);
}

static status resolve(struct forecast *f, struct err *err)
{
    TRY(mem_alloc(&f->per_node, f->n_given, sizeof *f->per_node, err));
    TRY(amount_per_node(f->per_node, f->n_given, f->options.per_node, err));
    for (size_t i = 0; i < f->n_given; i++)
        f->n_ranks += (size_t)f->per_node[i];
    if (f->n_ranks > RANKS_MAX)
        return err_set(
            err, ERR_USAGE,
            "nodes = %zu with per_node = %.64s are %zu devices; at most %d are simulated",
            f->n_given, f->options.per_node, f->n_ranks, RANKS_MAX);
    TRY(check_times(&f->options, err));
    TRY(resolve_model(f, err));
    TRY(resolve_hardware(f, err));
    TRY(resolve_way(f, err));
    TRY(resolve_batch(f, err));
    TRY(resolve_run(f, err));
    return resolve_network(f, err);
}

status forecast_open(struct forecast *f, const struct forecast_training *training,
                     const struct forecast_options *options, struct err *err)
{
    *f = (struct forecast){
        .options = *options, .training = *training, .n_given = (size_t)options->nodes};
    const status result = resolve(f, err);
    if (result != OK)
        forecast_close(f);
    return result;
}

void forecast_close(struct forecast *f)
{
    free(f->per_node);
    f->per_node = NULL;
}

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
                                     .jitter = v->jitter,
                                     .slow_factor = v->slow_factor,
                                     .seed = (uint64_t)f->options.seed};
    struct rounds x = {.kind = v->topology,
                       .per_node = per_node,
                       .n_nodes = v->n_nodes,
                       .rate = v->rate,
                       .latency = v->latency,
                       .message = fmin(1e-6 * f->link.message_us, v->latency),
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

/* A forecast is opened: what names and numbers of the options stand for. */
#include "plan/forecast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "plan/amount.h"

/* A pair of the reference's corpus has 60.95 tokens, both sides and specials. */
static const double MEAN_LENGTH = 60.95 / 2;
enum { RANKS_MAX = 100000 };

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
                       "the config leaves vocab_size to the data; give data=DIR or "
                       "vocab_size=N");
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

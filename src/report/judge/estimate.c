#include "report/judge/estimate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plan/hardware.h"
#include "plan/workload.h"
#include "recipe/model_config.h"
#include "recipe/params.h"
#include "report/judge/run.h"

/* Of TCP over Ethernet with frames of 1,500 bytes. */
static const double PAYLOAD = 0.949;
/* Tokens a sentence, both specials included, of the reference's corpus: 62,410 of 1,024
 * pairs in four runs. */
static const double MEAN_LENGTH = 60.95 / 2;

double estimate_payload(double bits_per_s)
{
    return PAYLOAD * bits_per_s / 8;
}

/* Ours, or the name that the reference has for it. */
static double option(const struct run *run, const char *ours, const char *theirs)
{
    const double v = run_config(run, ours);

    return isfinite(v) ? v : run_config(run, theirs);
}

static double parameters_of(const struct model_config *c)
{
    struct params p;
    struct err ignored;

    if (params_open(&p, c, &ignored) != OK)
        return NAN;
    const double n = (double)p.n_elements;
    params_close(&p);
    return n;
}

/* Sets of weights that layers share; in which order does not change their number. */
static int64_t sets_of(const struct run *run, const char *key, double layers)
{
    const double n = run_config(run, key);

    return n >= 1 && n < layers ? (int64_t)n : 0;
}

/* The shape, as configured; the vocabulary is what the number of parameters leaves. */
static bool find_model(struct model_config *c, const struct run *run)
{
    const double d = option(run, "d_model", "hidden_size"),
                 ff = option(run, "d_ff", "filter_size"),
                 heads = option(run, "heads", "num_heads"),
                 decoder = option(run, "decoder_layers", "num_hidden_layers"),
                 encoder = run_config(run, "encoder_layers");
    const double most = d + ff + heads + decoder + encoder;
    struct err ignored;

    if (!(fmin(fmin(d, ff), fmin(heads, fmin(decoder, encoder))) >= 1 && most < 1e5))
        return false;
    *c = (struct model_config){.vocab_size = 1,
                               .d_model = (int64_t)d,
                               .d_ff = (int64_t)ff,
                               .heads = (int64_t)heads,
                               .encoder_layers = (int64_t)encoder,
                               .decoder_layers = (int64_t)decoder,
                               .norm_epsilon = 1e-6,
                               .tying = {sets_of(run, "unique_encoder_layers", encoder),
                                         sets_of(run, "unique_decoder_layers", decoder),
                                         ""}};
    const double rows = 1 + (run_parameters(run) - parameters_of(c)) / d;
    if (!(rows >= 1 && rows <= 65536))
        return false;
    c->vocab_size = (int64_t)rows;
    return model_config_check(c, &ignored) == OK;
}

/* The description whose name the card's name holds: "Tesla V100-PCIE-16GB" is a V100. */
static bool find_device(struct hardware_device *d, const struct run *run)
{
    const struct runlog_start *s = runlog_latest(&run->log);
    struct err ignored;

    for (const struct hardware_text *t = hardware_texts; *t->name; t++)
        if (s && s->device && strcmp(t->kind, "device") == 0 &&
            strstr(s->device, t->name))
            return hardware_device(d, t->name, &ignored) == OK;
    return false;
}

static double seconds_alone(const struct model_config *model,
                            const struct hardware_device *device, const struct run *run)
{
    const char *precision = runlog_config(&run->log, "dtype");
    const double longest = run_config(run, "max_length");
    const struct workload_batch batch = {
        .pairs = run_config(run, "batch_size_per_gpu"),
        .mean_length = fmin(MEAN_LENGTH, longest >= 1 ? longest : MEAN_LENGTH),
        .max_length = longest >= 1 ? longest : 56,
        .is_padded = true,
        .is_mixed =
            precision && strcmp(precision, "mixed") == 0 && device->mixed_tflops > 0,
        .bucket_bytes = 25 * 0x1p20};
    struct workload w;
    struct err ignored;

    if (!(batch.pairs >= 1) ||
        workload_open(&w, model, device, &batch, 0, &ignored) != OK)
        return NAN;
    const double t = workload_seconds(&w);
    workload_close(&w);
    return t;
}

void estimate_make(struct estimate *e, const struct run *run)
{
    struct model_config model;
    struct hardware_device device;
    const double n = run->ranks;

    *e = (struct estimate){.t_alone = NAN};
    e->bytes = n > 1 ? 2 * (n - 1) / n * 4 * run_parameters(run) : NAN;
    if (!find_device(&device, run))
        e->missing = "a card whose speed the planner knows";
    else if (!find_model(&model, run))
        e->missing = "the shape of the model";
    else if (!(run_config(run, "batch_size_per_gpu") >= 1))
        e->missing = "the size of a batch";
    if (e->missing)
        return;
    e->t_alone = seconds_alone(&model, &device, run);
    snprintf(e->device, sizeof e->device, "%.63s", device.title);
}

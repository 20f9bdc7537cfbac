/*
 * made_console - console logs of OpenSeq2Seq that nobody printed, with a truth that is
 * known: how the loss moves, how long steps, evaluations and start-up take, which lines
 * are missing, where it crashed.
 */
#pragma once

#include <math.h>
#include <time.h>

#include "base/file.h"
#include "base/rng.h"
#include "base/str.h"
#include "test.h"

struct made_console {
    int max_steps, every, eval_every;
    int ranks, hosts;
    int batch; /* pairs a card */
    double step_seconds, eval_seconds, startup;
    double floor, height, bend, exponent, noise; /* as in made_run.h */
    bool has_config, has_dates, has_nccl, has_samples;
    const char *device, *tag; /* of the cards; before every line */
    double zero;              /* date of the beginning */

    struct str log;
    struct rng noise_of;
    double t; /* seconds since the beginning */
};

static inline double made_console_curve(const struct made_console *m, double s)
{
    return m->floor + m->height * pow(1 + s / m->bend, -m->exponent);
}

static inline void made_console_line(struct made_console *m, const char *fmt, ...)
    PRINTF(2, 3);
static inline void made_console_line(struct made_console *m, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    str_printf(&m->log, "%s%s\n", m->tag ? m->tag : "", text);
}

/* A line of TensorFlow, with the date. */
static inline void made_console_dated(struct made_console *m, const char *text)
{
    const double now = m->zero + m->t;
    const time_t whole = (time_t)now;
    struct tm tm;
    char date[40];

    if (!m->has_dates)
        return;
    gmtime_r(&whole, &tm);
    strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &tm);
    made_console_line(m, "%s.%06d: I tensorflow/core/common_runtime/%s", date,
                      (int)(1e6 * (now - floor(now))), text);
}

static inline void made_console_config(struct made_console *m)
{
    made_console_line(m, "*** Training config:");
    made_console_line(m, "{'batch_size_per_gpu': %d,", m->batch);
    made_console_line(m, " 'data_layer_params': {'max_length': 56,");
    made_console_line(m, "                       'source_file': "
                         "'/data/wmt16_de_en/train.clean.en.shuffled.tok'},");
    made_console_line(m, " 'decoder_params': {'filter_size': 2048,");
    made_console_line(m, "                    'hidden_size': 512,");
    made_console_line(m, "                    'num_heads': 8,");
    made_console_line(m, "                    'num_hidden_layers': 6},");
    made_console_line(m, " 'dtype': 'mixed',");
    made_console_line(m, " 'encoder_params': {'encoder_layers': 6,");
    made_console_line(m, "                    'filter_size': 2048},");
    made_console_line(m, " 'eval_steps': %d,", m->eval_every);
    made_console_line(m,
                      " 'lr_policy': <function transformer_policy at 0x7f4899ef1ae8>,");
    made_console_line(m, " 'lr_policy_params': {'d_model': 512,");
    made_console_line(m, "                      'learning_rate': 2.0,");
    made_console_line(m, "                      'warmup_steps': 8000},");
    made_console_line(m, " 'max_steps': %d,", m->max_steps);
    made_console_line(m, " 'print_loss_steps': %d,", m->every);
    made_console_line(m, " 'use_horovod': True}");
    made_console_line(m, "*** Evaluation config:");
    made_console_line(m, "{'batch_size_per_gpu': 16}");
}

static inline void made_console_nccl(struct made_console *m)
{
    for (int r = 0; m->has_nccl && r < m->ranks; r++) {
        const int host = r * m->hosts / m->ranks;
        made_console_line(m,
                          "node%d:%d:284 [%d] NCCL INFO NET : Using interface "
                          "eth%d:10.0.0.%d<0>",
                          host, 200 + r, r % 2, 1, host + 1);
        made_console_line(m, "node%d:%d:284 [%d] NCCL INFO rank %d nranks %d", host,
                          200 + r, r % 2, r, m->ranks);
    }
}

/* What stands before the first loss line; from > 0: a resumption. */
static inline void made_console_begin(struct made_console *m, int from)
{
    made_console_line(m, "*** Using horovod");
    if (from)
        made_console_line(m,
                          "*** Restored checkpoint from /data/t/model.ckpt-%d. "
                          "Resuming training",
                          from);
    else
        made_console_line(m, "*** Starting training from scratch");
    if (m->has_config)
        made_console_config(m);
    for (int r = 0; r < m->ranks; r++)
        made_console_line(m, "*** Building graph in Horovod rank: %d", r);
    made_console_line(m, "*** Total trainable parameters: 60880896");
    made_console_dated(m, "gpu/gpu_device.cc:1432] Found device 0 with properties: ");
    if (m->device)
        made_console_line(m, "name: %s major: 7 minor: 0 memoryClockRate(GHz): 1.38",
                          m->device);
    made_console_nccl(m);
}

static inline void made_console_sample(struct made_console *m, const char *what)
{
    if (!m->has_samples)
        return;
    made_console_line(m,
                      "***     %sSource[0]:     <s> \u2581The \u2581sh ip \u2581was "
                      "\u2581Killed . </s>",
                      what);
    made_console_line(m, "***     %sTarget[0]:     <s> \u2581Das \u2581Schiff . </s>",
                      what);
    made_console_line(m, "***     %sPrediction[0]: \u2581Das \u2581Sch iff . </s> . .",
                      what);
}

static inline void made_console_eval(struct made_console *m, int step)
{
    const double loss =
        made_console_curve(m, step) - 0.03 + m->noise * rng_normal(&m->noise_of);

    made_console_line(m, "*** Running evaluation on a validation set:");
    made_console_sample(m, "*****EVAL ");
    made_console_line(m, "***     Validation loss: %.4f ", loss);
    made_console_line(m, "***     Eval BLUE score: %.4f",
                      step ? 0.6 * exp(-0.3 * loss) : 0.95);
}

/* Loss lines of steps from..to, with the evaluations between them. `wall` is the time
 * since the line before. */
static inline void made_console_steps(struct made_console *m, int from, int to,
                                      bool is_first)
{
    for (int s = from; s <= to; s += m->every) {
        double wall = is_first && s == from ? m->startup : m->every * m->step_seconds;
        wall *= 1 + 0.005 * rng_normal(&m->noise_of);
        for (int e = is_first && s == from ? s : s - m->every + 1; e <= s; e++)
            if (e % m->eval_every == 0) {
                made_console_eval(m, e);
                wall += e && !(is_first && s == from) ? m->eval_seconds : 0;
            }
        m->t += wall;
        made_console_line(m, "*** Global step %d: ***     Train loss: %.4f ", s,
                          made_console_curve(m, s) + 0.05 * rng_normal(&m->noise_of));
        made_console_line(m, "time per step = 0:%02d:%.3f", (int)(wall / m->every / 60),
                          fmod(wall / m->every, 60));
        made_console_sample(m, "Train ");
        if (s % (50 * m->every) == 0)
            made_console_dated(m, "bfc.cc:1] a line in between");
    }
}

static inline void made_console_finish(struct made_console *m)
{
    made_console_line(m, "*** Finished training");
    made_console_line(m, "*** Avg time per step: %.3fs", m->step_seconds);
    made_console_line(m, "*** Avg objects per second: %.3f", 62410 / m->step_seconds);
}

/* A whole run that ended as it should. */
static inline void made_console_whole(struct made_console *m)
{
    made_console_begin(m, 0);
    made_console_steps(m, 0, m->max_steps - m->every, true);
    made_console_finish(m);
}

static inline struct made_console made_console(uint64_t seed)
{
    struct made_console m = {.max_steps = 50000,
                             .every = 100,
                             .eval_every = 4001,
                             .ranks = 4,
                             .hosts = 2,
                             .batch = 256,
                             .eval_seconds = 21,
                             .startup = 90,
                             .bend = 900,
                             .exponent = 1,
                             .has_config = true,
                             .has_dates = true,
                             .has_nccl = true,
                             .has_samples = true,
                             .device = "Tesla V100-PCIE-16GB",
                             .zero = 1582660000,
                             .log = str_new(0),
                             .noise_of = rng_open(rng_key(seed, "made console"))};

    m.floor = 1.4 + 0.2 * rng_unit(&m.noise_of);
    m.height = 7.5 + rng_unit(&m.noise_of);
    m.noise = 0.002 + 0.003 * rng_unit(&m.noise_of);
    m.step_seconds = 0.7 + 1.5 * rng_unit(&m.noise_of);
    return m;
}

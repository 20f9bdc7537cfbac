/*
 * made_run - run.jsonl of runs that never ran, with a truth that is known: how the loss
 * moves, where a step's time goes, which rank is slow, when it crashed.
 */
#pragma once

#include <math.h>

#include "base/file.h"
#include "base/rng.h"
#include "base/str.h"
#include "test.h"

struct made_run {
    /* what the run is */
    int steps, log_every, eval_every;
    int ranks;
    bool on_one_host;
    double floor, height, bend, exponent; /* loss = floor + height (1 + s/bend)^-e */
    double noise;                         /* of an evaluation */
    int turns_at;                         /* validation rises after; 0: never */
    double rises_by;                      /* that part of it by the end */
    int blows_up_at;                      /* training loss explodes after; 0: never */
    double compute, update, data;         /* seconds a step */
    double exposed, hidden;
    double link_mb_per_s, bytes_a_step;
    int slow_rank; /* -1: none */
    double slow_by;
    int resume_from[2], resume_at[2]; /* died at, went on from; 0: never */
    int resume_ranks[2];              /* with so many ranks; 0: as before */
    bool has_no_end;

    /* what may be wrong with it */
    int spike_at; /* the loss of this one entry is so many times as high; 0: none */
    double spike_by;
    int skip_every;        /* one update of so many is skipped; 0: none */
    double rate_is;        /* logged rate, times */
    int warmup;            /* of the configuration */
    bool learns_nothing;   /* the loss stays where it began */
    double repeating;      /* of the translations of every evaluation */
    double length_ratio;   /* of these; 0: not logged */
    double bleu_falls;     /* points over the run, while the loss goes on falling */
    int errors_of, errors; /* rank whose card counts so many in every entry */
    double clock_spread;
    int threads;    /* of each rank */
    int processors; /* of each host; 0: not logged */
    double cores;   /* that each rank was given */
    double eval_seconds;
    int save_every;
    double save_seconds;
    int grows;       /* rank whose memory grows, -1: none */
    double grows_by; /* MiB a step */

    /* while it is written */
    struct str log;
    struct rng noise_of;
    double t;
};

static inline double made_curve(const struct made_run *m, double s)
{
    return m->floor + m->height * pow(1 + s / m->bend, -m->exponent);
}

static inline double made_valid(const struct made_run *m, double s)
{
    const double k = m->turns_at;

    if (!m->turns_at || s < k)
        return made_curve(m, s);
    return made_curve(m, k) * (1 + m->rises_by * (s - k) / (m->steps - k));
}

static inline void made_start(struct made_run *m, int step)
{
    str_printf(&m->log,
               "{\"event\":\"start\",\"t\":%.3f,\"step\":%d,\"version\":\"0.1.0\","
               "\"resumed\":%s,\"host\":\"n0\",\"device\":\"cpu\",\"threads\":%d,"
               "\"ranks\":%d,\"nodes\":%d,\"parameters\":1000,\"roof_gflops\":100,"
               "\"config\":{\"max_steps\":%d,\"d_model\":512,\"learning_rate\":2,"
               "\"lr_policy\":\"transformer_policy\",\"warmup_steps\":%d},"
               "\"data\":{\"train_pairs\":5000}",
               m->t, step, step ? "true" : "false", m->threads, m->ranks,
               m->on_one_host ? 1 : m->ranks, m->steps, m->warmup);
    if (m->processors)
        str_printf(&m->log, ",\"processors\":%d", m->processors);
    if (m->ranks > 1 && !m->on_one_host)
        str_printf(&m->log,
                   ",\"network\":{\"library\":\"made\",\"latency_s\":1e-4,"
                   "\"mb_per_s\":%.6f,\"clock_spread_s\":%.3f}",
                   m->link_mb_per_s, m->clock_spread);
    str_puts(&m->log, "}\n");
}

static inline double made_jitter(struct made_run *m)
{
    return 1 + 0.01 * rng_normal(&m->noise_of);
}

/* Phases of a rank over n steps; a slow one keeps the others waiting. */
static inline void made_phases(struct made_run *m, int rank, int n, double t_step)
{
    const bool is_slow = rank == m->slow_rank;
    const double compute = m->compute * (is_slow ? 1 + m->slow_by : 1) * made_jitter(m);
    const double comm = t_step / n - compute - m->update - m->data;

    str_printf(&m->log,
               "\"t_step\":%.6f,\"t_data\":%.6f,\"t_compute\":%.6f,\"t_comm\":%.6f,"
               "\"t_hidden\":%.6f,\"t_update\":%.6f",
               t_step, n * m->data, n * compute, n * (comm > 0 ? comm : 0), n * m->hidden,
               n * m->update);
}

/* Held by a rank; a leak shows from the first step on. */
static inline double made_memory(const struct made_run *m, int rank, int step)
{
    return 500 + (rank == m->grows ? m->grows_by * step : 0);
}

static inline void made_ranks(struct made_run *m, int step, int n, double t_step)
{
    str_printf(&m->log, "{\"event\":\"ranks\",\"t\":%.3f,\"step\":%d,\"ranks\":[", m->t,
               step);
    for (int r = 0; r < m->ranks; r++) {
        str_printf(&m->log, "%s{\"rank\":%d,\"host\":\"n%d\",", r ? "," : "", r,
                   m->on_one_host ? 0 : r);
        made_phases(m, r, n, t_step);
        str_printf(&m->log,
                   ",\"cores\":%.3f,\"memory_mib\":%.1f,\"sent_bytes\":%.0f,"
                   "\"received_bytes\":%.0f",
                   m->cores, made_memory(m, r, step), n * m->bytes_a_step,
                   n * m->bytes_a_step);
        if (!m->on_one_host)
            str_printf(&m->log,
                       ",\"cards\":{\"eth0\":{\"sent\":%.0f,\"received\":%.0f,"
                       "\"errors\":%d}}",
                       n * m->bytes_a_step, n * m->bytes_a_step,
                       r == m->errors_of ? m->errors : 0);
        str_puts(&m->log, "}");
    }
    str_puts(&m->log, "]}\n");
}

static inline double made_rate(const struct made_run *m, double t)
{
    return m->rate_is * 2 / sqrt(512) *
           fmin((t + 1) * pow(m->warmup, -1.5), 1 / sqrt(t + 1));
}

static inline void made_step(struct made_run *m, int step, int n)
{
    const double slow = m->slow_rank >= 0 ? m->slow_by * m->compute : 0;
    const double t_step =
        n * (m->compute + slow + m->update + m->data + m->exposed) * made_jitter(m);
    double loss =
        made_curve(m, step) + 0.3 * m->noise + m->noise * rng_normal(&m->noise_of);

    if (m->blows_up_at && step > m->blows_up_at)
        loss = made_curve(m, m->blows_up_at) + 0.01 * (step - m->blows_up_at);
    if (m->learns_nothing)
        loss = made_curve(m, 0) + m->noise * rng_normal(&m->noise_of);
    if (step == m->spike_at)
        loss *= m->spike_by;
    m->t += t_step;
    if (m->ranks > 1)
        made_ranks(m, step, n, t_step);
    str_printf(&m->log,
               "{\"event\":\"step\",\"t\":%.3f,\"step\":%d,\"epoch\":0,\"loss\":%.6f,"
               "\"rate\":%.9g,\"grad_norm\":0.5,\"source_tokens\":%d,"
               "\"target_tokens\":%d,\"sentences\":%d,\"steps\":%d,",
               m->t, step, loss, made_rate(m, step - 1), 900 * n, 1000 * n, 40 * n, n);
    made_phases(m, 0, n, t_step);
    const int skipped =
        m->skip_every ? step / m->skip_every - (step - n) / m->skip_every : 0;
    str_printf(&m->log, ",\"gflops\":80,\"memory_mib\":%.1f,\"skipped\":%d}\n",
               made_memory(m, 0, step), skipped);
}

static inline void made_eval(struct made_run *m, int step)
{
    const double loss = made_valid(m, step) + m->noise * rng_normal(&m->noise_of);
    double bleu = 60 * exp(-0.5 * loss) + 0.1 * rng_normal(&m->noise_of);

    bleu -= m->bleu_falls * step / m->steps;
    m->t += m->eval_seconds;
    str_printf(&m->log,
               "{\"event\":\"eval\",\"t\":%.3f,\"step\":%d,\"valid_loss\":%.6f,"
               "\"eval_loss\":%.6f,\"forced_bleu\":0.4,\"bleu\":%.4f,",
               m->t, step, loss, loss, bleu);
    if (m->length_ratio > 0)
        str_printf(&m->log, "\"repeating\":%.4f,\"length_ratio\":%.4f,", m->repeating,
                   m->length_ratio);
    str_printf(&m->log, "\"seconds\":%.3f}\n", m->eval_seconds);
}

static inline void made_save(struct made_run *m, int step)
{
    m->t += m->save_seconds;
    str_printf(&m->log,
               "{\"event\":\"save\",\"t\":%.3f,\"step\":%d,\"path\":\"model.ckpt-%d\","
               "\"bytes\":12000,\"seconds\":%.3f,\"total_seconds\":%.3f}\n",
               m->t, step, step, m->save_seconds, m->save_seconds);
}

static inline void made_train(struct made_run *m, int from, int to)
{
    made_start(m, from);
    for (int s = from + m->log_every; s <= to; s += m->log_every) {
        made_step(m, s, m->log_every);
        if (s % m->eval_every == 0)
            made_eval(m, s);
        if (m->save_every && s % m->save_every == 0)
            made_save(m, s);
    }
}

/* A healthy run of one process; the caller changes what it wants to be true. */
static inline struct made_run made_healthy(uint64_t seed)
{
    struct made_run m = {.steps = 4000,
                         .log_every = 20,
                         .eval_every = 200,
                         .ranks = 1,
                         .on_one_host = true,
                         .floor = 1.5,
                         .height = 6,
                         .bend = 300,
                         .exponent = 0.6,
                         .noise = 0.004,
                         .rises_by = 0.12,
                         .compute = 0.2,
                         .update = 0.01,
                         .data = 0.001,
                         .slow_rank = -1,
                         .rate_is = 1,
                         .warmup = 400,
                         .errors_of = -1,
                         .clock_spread = 0.01,
                         .threads = 2,
                         .cores = 1.95,
                         .eval_seconds = 1,
                         .grows = -1,
                         .log = str_new(0),
                         .noise_of = rng_open(rng_key(seed, "made run")),
                         .t = 1e9};

    m.floor = 1.2 + rng_unit(&m.noise_of);
    m.height = 5 + 2 * rng_unit(&m.noise_of);
    m.noise = 0.002 + 0.006 * rng_unit(&m.noise_of);
    m.compute = 0.05 + 0.3 * rng_unit(&m.noise_of);
    return m;
}

/* Four ranks on four hosts whose exchange hides behind computing. */
static inline void made_distributed(struct made_run *m)
{
    m->ranks = 4;
    m->on_one_host = false;
    m->link_mb_per_s = 117;
    m->hidden = 0.3 * m->compute;
    m->exposed = 0.02 * m->compute;
    m->bytes_a_step = 0.3 * m->compute * 117e6;
}

/* RUN/run.jsonl of it; RUN is a directory of the running test. */
static inline void made_write(struct made_run *m, const char *dir)
{
    struct err err;
    char path[FILE_PATH_MAX];
    int from = 0;

    for (int i = 0; i < 2 && m->resume_at[i]; i++) {
        made_train(m, from, m->resume_at[i]);
        from = m->resume_from[i];
        m->ranks = m->resume_ranks[i] ? m->resume_ranks[i] : m->ranks;
        m->t += 500;
    }
    made_train(m, from, m->steps);
    if (!m->has_no_end)
        str_printf(&m->log,
                   "{\"event\":\"stop\",\"t\":%.3f,\"step\":%d,\"reason\":\"max_steps\","
                   "\"message\":\"\"}\n",
                   m->t, m->steps);
    CHECK_OK(file_make_dirs(dir, &err), &err);
    CHECK_OK(file_join(path, sizeof path, dir, "run.jsonl", &err), &err);
    CHECK_OK(file_write(path, m->log.data, m->log.len, &err), &err);
    str_release(&m->log);
}

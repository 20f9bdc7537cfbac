#include <inttypes.h>
#include <math.h>

#include "base/clock.h"
#include "base/pool.h"
#include "train/log/record.h"
#include "train/run/peers.h"

double record_console_loss(const struct record_step *s)
{
    return s->target_tokens > 0 ? s->loss / s->target_tokens : NAN;
}

double record_console_speed(const struct record_step *s)
{
    return s->t_step > 0 ? (s->source_tokens + s->target_tokens) / s->t_step : 0;
}

/* "0:00:1.234": the reference's time a step is all the time since it printed the last. */
static void put_reference_step(struct record *r, const struct record_step *s)
{
    const bool is_first = r->step_printed <= r->first_step;
    const int64_t step = (int64_t)s->step,
                  n = step - (is_first ? r->first_step : r->step_printed);
    const double now = clock_now(),
                 t = (now - (is_first ? r->t_begin : r->t_printed)) / (double)n;
    const int64_t minutes = (int64_t)(t / 60);

    record_note(r, "*** Global step %" PRId64 ": ***     Train loss: %.4f ", step - 1,
                record_console_loss(s));
    record_note(r, "time per step = %" PRId64 ":%02d:%.3f", minutes / 60,
                (int)(minutes % 60), t - 60 * (double)minutes);
    r->t_printed = now;
    r->step_printed = step;
}

/* "64 GFLOP/s (71 % of roof)  net 3 %": the part of a step spent waiting for it. */
static void describe_speed(const struct record *r, const struct record_step *s, char *out,
                           size_t n)
{
    const double gflops = s->t_step > 0 ? s->flops / s->t_step * 1e-9 : 0;
    char share[32] = "", net[24] = "";

    if (r->roof_gflops > 0)
        snprintf(share, sizeof share, " (%.0f %% of roof)",
                 100 * gflops / r->roof_gflops);
    if (s->t_comm + s->t_hidden > 0 && s->t_step > 0)
        snprintf(net, sizeof net, "  net %.0f %%", 100 * s->t_comm / s->t_step);
    snprintf(out, n, "%.0f tok/s  %.0f GFLOP/s%s%s", record_console_speed(s), gflops,
             share, net);
}

static void put_console(struct record *r, const struct record_step *s, bool stays)
{
    const int64_t last = r->config->max_steps;
    const double done = s->step - (double)r->first_step;
    const double left = (clock_now() - r->t_begin) / done * ((double)last - s->step);
    char line[300], eta[24], speed[100];

    describe_speed(r, s, speed, sizeof speed);
    snprintf(line, sizeof line,
             "step %" PRId64 "/%" PRId64 "  epoch %" PRIu64 "  loss %.4f  rate %.2e  "
             "norm %.2f  %s  ETA %s",
             (int64_t)s->step, last, (uint64_t)s->epoch + 1, record_console_loss(s),
             s->rate, s->grad_norm, speed, progress_duration(eta, left));
    if (stays)
        progress_note(&r->console, line);
    else
        progress_line(&r->console, line);
}

void record_console_update(struct record *r, const struct record_step *s, bool due)
{
    if (!(s->target_tokens > 0))
        return;
    if (r->is_reference && ((int64_t)s->step - 1) % r->config->log_every == 0)
        put_reference_step(r, s);
    else if (!r->is_reference && due && !r->console.is_terminal)
        put_console(r, &r->since_log, true);
    else if (!r->is_reference && r->console.is_terminal && progress_due(&r->console))
        put_console(r, &r->since_log, false);
}

void record_console_start(struct record *r, const struct runlog_start *s,
                          const struct peers *p)
{
    enum { CLOCKS_APART = 5 };
    const struct comm *c = p->comm;
    const struct preflight *found = &p->preflight;
    char ranks[64] = ""; /* "4 ranks on 2 nodes, each " or nothing */

    if (c->size > 1)
        snprintf(ranks, sizeof ranks, "%d ranks on %d node%s, each ", c->size, c->n_nodes,
                 c->n_nodes == 1 ? "" : "s");
    if (r->is_reference) {
        record_note(r,
                    s->resumed ? "*** Restored checkpoint from %s. Resuming training"
                               : "*** Starting training from scratch",
                    r->config->run);
        record_note(r, "*** Total trainable parameters: %.0f", s->parameters);
    } else {
        record_note(r, "%s %s: %.0f parameters, %.0f pairs, %s%s",
                    s->resumed ? "resuming" : "training", r->config->run, s->parameters,
                    s->train_pairs, ranks, s->device);
    }
    /* What a person should know before it takes hours. */
    if (p->affinity.is_crowded) {
        char note[POOL_NOTE];
        (void)pool_crowded(note, (size_t)c->local_size, (size_t)s->threads);
        record_note(r, "%s", note);
    }
    if (c->size > 1 && found->clock_spread > CLOCKS_APART)
        record_note(r,
                    "the clocks of the hosts differ by %.0f s, host %s is furthest from "
                    "the others; times in logs will differ too",
                    found->clock_spread, c->peer[found->clock_rank].host);
}

void record_console_evaluated(struct record *r, const struct runlog_eval *e)
{
    char bleu[64] = "";

    if (r->is_reference) {
        record_note(r, "***     Validation loss: %.4f ", e->eval_loss);
        record_note(r, "***     Eval BLUE score: %.4g", e->forced_bleu);
        return;
    }
    if (isfinite(e->bleu))
        snprintf(bleu, sizeof bleu, "  BLEU %.2f  chrF %.2f", e->bleu, e->chrf);
    record_note(r, "evaluated at step %.0f: valid loss %.4f%s  (%.1f s)", e->step,
                e->valid_loss, bleu, e->seconds);
}

void record_console_also(struct record *r, const struct runlog_valid *e)
{
    char bleu[64] = "";

    if (isfinite(e->bleu))
        snprintf(bleu, sizeof bleu, "  BLEU %.2f  chrF %.2f", e->bleu, e->chrf);
    record_note(r, "  on %s: loss %.4f%s  (%.1f s)", e->name, e->valid_loss, bleu,
                e->seconds);
}

void record_console_sample(struct record *r, const struct runlog_sample *s)
{
    if (!r->is_reference)
        return;
    record_note(r, "***     *****EVAL Source[0]:     %s", s->source);
    record_note(r, "***     *****EVAL Target[0]:     %s", s->reference);
    record_note(r, "***     *****EVAL Prediction[0]: %s", s->translation);
}

void record_console_stop(struct record *r, int64_t step, const char *message)
{
    char took[24];

    if (!r->is_reference) {
        record_note(r, "%s at step %" PRId64 " after %s", message, step,
                    progress_duration(took, clock_now() - r->t_begin));
        return;
    }
    record_note(r, "*** Finished training");
    if (r->t_objects > 0) {
        record_note(r, "*** Avg time per step: %.3fs",
                    r->t_objects / (double)(step - r->first_step - RECORD_WARM_UP));
        record_note(r, "*** Avg objects per second: %.3f", r->objects / r->t_objects);
    } else {
        record_note(r, "*** Not enough steps for benchmarking");
    }
}

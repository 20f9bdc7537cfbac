#include "train/run/proposal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "recipe/params.h"

/*
 * A model by the number of pairs. Small data wants a small model that passes over it
 * often and drops much; from about a million pairs on a Transformer-base has enough to
 * learn from. `rate` is the highest learning rate, at the end of the warm-up.
 */
static const struct size {
    uint64_t below; /* pairs */
    int64_t d_model, d_ff, heads, layers, batch_tokens, epochs;
    double dropout, rate;
} sizes[] = {
    {40000, 128, 512, 4, 3, 2048, 20, 0.2, 0.003},
    {800000, 256, 1024, 4, 3, 2048, 8, 0.1, 0.002},
    {UINT64_MAX, 512, 2048, 8, 6, 8192, 10, 0.1, 0.001},
};

enum {
    EVALUATIONS = 24,  /* of a run, about */
    LINES = 200,       /* of its log, about */
    STEPS_LEAST = 200, /* a corpus of some sentences is passed over more often */
    BLEU_PAIRS = 200,
    SPECIALS = 2, /* of a side, which training counts as tokens */
    LENGTH_MOST = 256
};

/* The nearest of 1, 2, 3, 5, 10, 20, 30, 50, ... from below. */
static int64_t round_number(double x)
{
    double unit = 1;

    for (; unit * 10 <= x; unit *= 10)
        ;
    return (int64_t)(unit * (x >= 5 * unit   ? 5
                             : x >= 3 * unit ? 3
                             : x >= 2 * unit ? 2
                                             : 1));
}

/* Two digits. */
static double two_digits(double x)
{
    const double unit = pow(10, floor(log10(x)) - 1);

    return round(x / unit) * unit;
}

static void choose_model(struct train_config *c, const struct size *z)
{
    c->model.d_model = z->d_model;
    c->model.d_ff = z->d_ff;
    c->model.heads = z->heads;
    c->model.encoder_layers = c->model.decoder_layers = z->layers;
    c->residual_dropout = z->dropout;
    c->attention_dropout = c->relu_dropout = 0.1;
}

/* Updates of the whole run, by the tokens of a pass: one update has batch_tokens. */
static void choose_steps(struct proposal *p, const struct size *z)
{
    const struct proposal_corpus *k = &p->corpus;
    struct train_config *c = &p->config;
    const double target = (double)(k->n_target + SPECIALS * k->n_pairs);

    c->batch_tokens = z->batch_tokens;
    while (c->batch_tokens > 256 && target / (double)c->batch_tokens < 50)
        c->batch_tokens /= 2;
    const double a_pass = ceil(target / (double)c->batch_tokens);
    double steps = a_pass * (double)z->epochs;
    steps = ceil(fmax(steps, STEPS_LEAST) / 100) * 100;
    c->max_steps = (int64_t)steps;
    p->epochs = (int64_t)fmax(1, round(steps / a_pass));
    p->n_tokens =
        (target + (double)(k->n_source + SPECIALS * k->n_pairs)) * steps / a_pass;
    c->schedule.warmup_steps =
        round_number(fmin(steps / 6, 1000 * (double)z->d_model / 256));
    c->schedule.learning_rate =
        two_digits(z->rate * sqrt((double)z->d_model * (double)c->schedule.warmup_steps));
    c->moving_average = steps >= 5000 ? 0.999 : steps >= 2000 ? 0.998 : 0.99;
}

static void choose_cadence(struct proposal *p)
{
    struct train_config *c = &p->config;

    c->eval_every = c->save_every =
        round_number(fmax(10, (double)c->max_steps / EVALUATIONS));
    c->log_every = c->summary_every = round_number(fmax(5, (double)c->max_steps / LINES));
    c->eval_bleu_pairs = BLEU_PAIRS;
    c->keep_last = c->keep_best = 3;
    c->patience = EVALUATIONS / 4;
}

status proposal_make(struct proposal *p, struct proposal_corpus corpus, struct err *err)
{
    const struct size *z = sizes;
    struct train_config *c = &p->config;
    struct params params;

    *p = (struct proposal){.corpus = corpus};
    TRY(train_config_defaults(c, err));
    while (corpus.n_pairs >= z->below)
        z++;
    choose_model(c, z);
    c->optim.beta2 = 0.98;
    choose_steps(p, z);
    choose_cadence(p);
    const uint64_t length = (corpus.longest + 2 + 15) / 16 * 16;
    c->max_length = (int64_t)(length < LENGTH_MOST ? length : LENGTH_MOST);
    struct model_config known = c->model;
    known.vocab_size = (int64_t)corpus.n_pieces;
    TRY(params_open(&params, &known, err));
    p->n_parameters = (double)params.n_elements;
    params_close(&params);
    return OK;
}

/* Beside its updates a run computes the validation loss, a third of an update's work for
 * each token, and translates some sentences, for which each token of each hypothesis
 * costs about four times as much as a token of training. */
void proposal_time(struct proposal *p, double tokens_per_s)
{
    const struct train_config *c = &p->config;
    const struct proposal_corpus *k = &p->corpus;
    const double n_evals = k->n_valid ? (double)c->max_steps / (double)c->eval_every : 0;
    const double n_bleu = fmin((double)c->eval_bleu_pairs, (double)k->n_valid);
    const double a_pair = k->n_valid ? (double)k->n_valid_tokens / (double)k->n_valid : 0;
    const double an_eval =
        (double)k->n_valid_tokens / 3 + n_bleu * a_pair / 2 * (double)c->eval_beam * 4;

    p->tokens_per_s = tokens_per_s;
    p->seconds = (p->n_tokens + n_evals * an_eval) / tokens_per_s;
}

const char *proposal_say_time(char buf[PROPOSAL_TIME], double seconds)
{
    static const struct {
        double below, unit;
        const char *name;
    } units[] = {{90, 1, "seconds"}, {5400, 60, "minutes"}, {172800, 3600, "hours"}};

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (seconds < units[i].below) {
            const double n = seconds / units[i].unit;
            snprintf(buf, PROPOSAL_TIME, n < 9.5 ? "%.2g %s" : "%.0f %s", fmax(n, 1),
                     units[i].name);
            return buf;
        }
    snprintf(buf, PROPOSAL_TIME, "%.0f days", fmin(seconds / 86400, 1e6));
    return buf;
}

static void put_head(const struct proposal *p, struct str *out)
{
    const struct proposal_corpus *k = &p->corpus;
    char time[PROPOSAL_TIME];

    str_printf(out,
               "# A proposal for this corpus, by `ferry prepare`: %" PRIu64
               " pairs%s%s%s%s, "
               "%" PRIu64 " pieces.\n",
               k->n_pairs, *k->source_lang ? " from " : "", k->source_lang,
               *k->target_lang ? " to " : "", k->target_lang, k->n_pieces);
    str_printf(out,
               "# The model has %.1f million parameters. `max_steps` is about %" PRId64
               " passes over the text",
               p->n_parameters / 1e6, p->epochs);
    if (p->seconds > 0)
        str_printf(out,
                   ":\n# about %s on the machine that prepared it, which trains %.0f "
                   "tokens per second",
                   proposal_say_time(time, p->seconds), p->tokens_per_s);
    str_puts(out,
             ".\n# `ferry train data=DIR run=DIR` takes this file; any option on its "
             "command line, or a\n# configuration file of your own, goes before it.\n");
}

/* Options of one kind, under what they are for. */
static void put_part(const struct proposal *p, struct str *out, const char *title,
                     const char *const *names)
{
    str_printf(out, "\n# %s\n", title);
    for (; *names; names++) {
        const struct opt *o = opt_find(train_config_table, *names);
        BUG_ON(!o);
        str_printf(out, "%s: ", o->name);
        opt_value(o, &p->config, out);
        str_putc(out, '\n');
    }
}

status proposal_write(const struct proposal *p, const char *path, struct err *err)
{
    static const char *const model[] = {"d_model",        "d_ff",           "heads",
                                        "encoder_layers", "decoder_layers", NULL};
    static const char *const losing[] = {"residual_dropout", "attention_dropout",
                                         "relu_dropout", "label_smoothing", NULL};
    static const char *const rate[] = {"optimizer",     "beta2",        "lr_policy",
                                       "learning_rate", "warmup_steps", NULL};
    static const char *const length[] = {"batch_tokens", "max_length", "max_steps",
                                         "moving_average", NULL};
    static const char *const ending[] = {"best_metric", "patience", "eval_every",
                                         "eval_bleu_pairs", NULL};
    static const char *const keeping[] = {"save_every", "keep_last",     "keep_best",
                                          "log_every",  "summary_every", NULL};
    RELEASED_BY(str_release) struct str out = str_new(0);

    put_head(p, &out);
    put_part(p, &out, "the model: larger ones need more text, and more time per step",
             model);
    put_part(p, &out, "against learning the text by heart: more dropout for less text",
             losing);
    put_part(p, &out, "the learning rate rises for warmup_steps, then falls", rate);
    put_part(p, &out, "how much text goes into a step, and how many steps there are",
             length);
    put_part(
        p, &out,
        "the run stops after `patience` evaluations without a better one; without a\n"
        "# validation set it goes on to max_steps",
        ending);
    put_part(p, &out, "checkpoints and log lines", keeping);
    return file_write_str(path, &out, err);
}

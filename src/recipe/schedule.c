/*
 * The formulas, with t the updates made so far, w warm-up, b the step at which the
 * decay begins (never before the warm-up ends), n its length, x = min(1, (t-b)/n):
 *
 *   fixed_lr            lr
 *   piecewise_constant  lr * factor_i for boundary_i < t, the last such i; else lr
 *   exp_decay           max(min, lr * r^((t-b)/n)), before b max(min, lr); the exponent
 *                       is rounded down with use_staircase_decay; no warm-up
 *   poly_decay          lr t/w for t < w; lr before b; (lr-min)(1-x)^p + min
 *   cosine_decay        lr t/w for t < w; lr before b; then, min being a fraction of lr,
 *                       lr ((1-min)(1 + cos pi x)/2 + min)
 *   transformer_policy  min(max, lr c d^-1/2 min((t+1) w^-3/2, (t+1)^-1/2))
 *   inv_poly_decay      lr / (1 + s t)^p, s = ((lr/min)^(1/p) - 1) / n, which reaches min
 *                       after n steps; min is at least 1e-8; no warm-up, b is ignored
 */
#include "recipe/schedule.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI          3.14159265358979323846
#define MIN_INVERSE 1e-8

enum { NO_WARMUP = -1 };

OPT_TABLE(schedule_config_table, struct schedule_config, SCHEDULE_OPTIONS);

struct schedule_policy {
    const char *name;
    double warmup; /* steps unless the config says, NO_WARMUP: never any */
    status (*check)(struct schedule *s, struct err *err); /* also parses; may be NULL */
    double (*rate)(const struct schedule *s, double t);
    void (*describe)(const struct schedule *s, struct str *out);
};

/* The share of the decay that is over: 0 before it begins, 1 after it ended. */
static double progress(const struct schedule *s, double t)
{
    return t < s->begin ? 0 : fmin(1, (t - s->begin) / s->decay_steps);
}

/* The warm-up, and the fall to `end`. */
static void describe_way(const struct schedule *s, const char *how, double end,
                         struct str *out)
{
    if (s->warmup > 0)
        str_printf(out, "It rises linearly to %.4g in the first %.0f steps. ",
                   s->config.learning_rate, s->warmup);
    str_printf(out, "It falls %sto %.4g", how, end);
    if (s->begin > 0)
        str_printf(out, " from step %.0f", s->begin);
    str_printf(out, " over %.0f steps.", s->decay_steps);
}

static double fixed_rate(const struct schedule *s, double t)
{
    (void)t;
    return s->config.learning_rate;
}

static void fixed_describe(const struct schedule *s, struct str *out)
{
    str_printf(out, "lr(t) = %.4g. It never changes.", s->config.learning_rate);
}

/* Comma-separated numbers, each at least `lo`; ERR_USAGE names the option. */
static status parse_list(const char *option, const char *text, double lo, double *list,
                         size_t *n, struct err *err)
{
    const char *at = text;

    for (*n = 0; *at; (*n)++) {
        char *end;
        errno = 0;
        const double x = strtod(at, &end);
        const char *next = end + strspn(end, " ");
        const bool ended = *next == '\0' || (*next == ',' && next[1]);
        if (end == at || !ended || errno == ERANGE || !(x >= lo && x <= 1e12))
            return err_set(err, ERR_USAGE,
                           "%s = %.64s: want numbers of at least %g, separated by commas",
                           option, text, lo);
        if (*n == SCHEDULE_PIECES_MAX)
            return err_set(err, ERR_USAGE, "%s: want at most %d numbers", option,
                           SCHEDULE_PIECES_MAX);
        list[*n] = x;
        at = *next ? next + 1 : next;
    }
    return OK;
}

static status piecewise_check(struct schedule *s, struct err *err)
{
    const struct schedule_config *c = &s->config;
    size_t n_factors;

    TRY(parse_list("boundaries", c->boundaries, 0, s->boundary, &s->n_pieces, err));
    TRY(parse_list("decay_rates", c->decay_rates, 0, s->factor, &n_factors, err));
    if (s->n_pieces == 0 || s->n_pieces != n_factors)
        return err_set(err, ERR_USAGE,
                       "boundaries has %zu numbers and decay_rates has %zu: "
                       "piecewise_constant wants as many factors as boundaries",
                       s->n_pieces, n_factors);
    for (size_t i = 1; i < s->n_pieces; i++)
        if (s->boundary[i] <= s->boundary[i - 1])
            return err_set(err, ERR_USAGE, "boundaries = %.64s: want ascending steps",
                           c->boundaries);
    return OK;
}

static double piecewise_rate(const struct schedule *s, double t)
{
    double factor = 1;

    for (size_t i = 0; i < s->n_pieces && s->boundary[i] < t; i++)
        factor = s->factor[i];
    return s->config.learning_rate * factor;
}

static void piecewise_describe(const struct schedule *s, struct str *out)
{
    const double lr = s->config.learning_rate;

    str_printf(out, "lr(t) = %.4g through step %.0f", lr, s->boundary[0]);
    for (size_t i = 0; i + 1 < s->n_pieces; i++)
        str_printf(out, ", %.4g through step %.0f", lr * s->factor[i],
                   s->boundary[i + 1]);
    str_printf(out, ", then %.4g.", lr * s->factor[s->n_pieces - 1]);
}

static double exp_rate(const struct schedule *s, double t)
{
    const struct schedule_config *c = &s->config;
    const double n = t < s->begin ? 0 : (t - s->begin) / s->decay_steps;
    const double exponent = c->use_staircase_decay ? floor(n) : n;

    return fmax(c->min_lr, c->learning_rate * pow(c->decay_rate, exponent));
}

static void exp_describe(const struct schedule *s, struct str *out)
{
    const struct schedule_config *c = &s->config;
    const bool jumps = c->use_staircase_decay;

    str_printf(out, "lr(t) = %.4g * %.4g^%s((t - %.0f) / %.0f), at least %.4g. ",
               c->learning_rate, c->decay_rate, jumps ? "floor" : "", s->begin,
               s->decay_steps, c->min_lr);
    str_printf(out, "It is multiplied by %.4g every %.0f steps%s.", c->decay_rate,
               s->decay_steps, jumps ? ", in jumps" : "");
}

static status poly_check(struct schedule *s, struct err *err)
{
    if (s->config.min_lr > s->config.learning_rate)
        return err_set(err, ERR_USAGE, "min_lr = %g is above learning_rate = %g",
                       s->config.min_lr, s->config.learning_rate);
    return OK;
}

static double poly_rate(const struct schedule *s, double t)
{
    const struct schedule_config *c = &s->config;

    if (t < s->warmup)
        return c->learning_rate * t / s->warmup;
    return (c->learning_rate - c->min_lr) * pow(1 - progress(s, t), c->power) + c->min_lr;
}

static void poly_describe(const struct schedule *s, struct str *out)
{
    const struct schedule_config *c = &s->config;

    str_printf(out, "lr(t) = (%.4g - %.4g) * (1 - (t - %.0f) / %.0f)^%.4g + %.4g. ",
               c->learning_rate, c->min_lr, s->begin, s->decay_steps, c->power,
               c->min_lr);
    describe_way(s, "", c->min_lr, out);
}

static status cosine_check(struct schedule *s, struct err *err)
{
    if (s->config.min_lr > 1)
        return err_set(err, ERR_USAGE,
                       "min_lr = %g: cosine_decay takes it as a fraction of "
                       "learning_rate, want at most 1",
                       s->config.min_lr);
    return OK;
}

static double cosine_rate(const struct schedule *s, double t)
{
    const struct schedule_config *c = &s->config;

    if (t < s->warmup)
        return c->learning_rate * t / s->warmup;
    const double wave = 0.5 * (1 + cos(PI * progress(s, t)));
    return c->learning_rate * ((1 - c->min_lr) * wave + c->min_lr);
}

static void cosine_describe(const struct schedule *s, struct str *out)
{
    const struct schedule_config *c = &s->config;

    str_printf(out,
               "lr(t) = %.4g * ((1 - %.4g) * (1 + cos(pi * (t - %.0f) / %.0f)) / 2 + "
               "%.4g). ",
               c->learning_rate, c->min_lr, s->begin, s->decay_steps, c->min_lr);
    describe_way(s, "along a half wave ", c->learning_rate * c->min_lr, out);
}

static status transformer_check(struct schedule *s, struct err *err)
{
    if (s->warmup < 1)
        return err_set(err, ERR_USAGE,
                       "warmup_steps = 0: transformer_policy wants at least 1");
    return OK;
}

static double transformer_rate(const struct schedule *s, double t)
{
    const struct schedule_config *c = &s->config;
    const double shape = fmin((t + 1) * pow(s->warmup, -1.5), 1 / sqrt(t + 1));
    const double rate = c->learning_rate * c->coefficient / sqrt(s->d_model) * shape;

    return c->max_lr > 0 ? fmin(c->max_lr, rate) : rate;
}

static void transformer_describe(const struct schedule *s, struct str *out)
{
    const struct schedule_config *c = &s->config;

    str_printf(out, "lr(t) = %.4g * %.0f^-1/2 * min((t + 1) * %.0f^-3/2, (t + 1)^-1/2)",
               c->learning_rate * c->coefficient, s->d_model, s->warmup);
    if (c->max_lr > 0)
        str_printf(out, ", at most %.4g", c->max_lr);
    str_printf(out,
               ". It rises linearly for %.0f steps, to %.4g, and then falls with the "
               "square root of the step.",
               s->warmup, transformer_rate(s, s->warmup - 1));
}

static double inverse_min(const struct schedule *s)
{
    return fmax(MIN_INVERSE, s->config.min_lr);
}

static status inverse_check(struct schedule *s, struct err *err)
{
    if (s->config.learning_rate < inverse_min(s))
        return err_set(err, ERR_USAGE, "learning_rate = %g is below min_lr = %g",
                       s->config.learning_rate, inverse_min(s));
    return OK;
}

static double inverse_slope(const struct schedule *s)
{
    const double ratio = s->config.learning_rate / inverse_min(s);

    return (pow(ratio, 1 / s->config.power) - 1) / s->decay_steps;
}

static double inverse_rate(const struct schedule *s, double t)
{
    return s->config.learning_rate / pow(1 + inverse_slope(s) * t, s->config.power);
}

static void inverse_describe(const struct schedule *s, struct str *out)
{
    str_printf(out, "lr(t) = %.4g / (1 + %.4g * t)^%.4g. It falls to %.4g in %.0f steps.",
               s->config.learning_rate, inverse_slope(s), s->config.power, inverse_min(s),
               s->decay_steps);
}

static const struct schedule_policy policies[] = {
    {"fixed_lr", NO_WARMUP, NULL, fixed_rate, fixed_describe},
    {"piecewise_constant", NO_WARMUP, piecewise_check, piecewise_rate,
     piecewise_describe},
    {"exp_decay", NO_WARMUP, NULL, exp_rate, exp_describe},
    {"poly_decay", 0, poly_check, poly_rate, poly_describe},
    {"cosine_decay", 0, cosine_check, cosine_rate, cosine_describe},
    {"transformer_policy", 8000, transformer_check, transformer_rate,
     transformer_describe},
    {"inv_poly_decay", NO_WARMUP, inverse_check, inverse_rate, inverse_describe},
};

status schedule_init(struct schedule *s, const struct schedule_config *c, int64_t d_model,
                     int64_t last_step, struct err *err)
{
    const struct schedule_policy *policy = NULL;

    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (strcmp(policies[i].name, c->lr_policy) == 0)
            policy = &policies[i];
    if (!policy)
        return err_set(err, ERR_USAGE, "lr_policy = %s: want one of %s", c->lr_policy,
                       SCHEDULE_POLICIES);
    *s = (struct schedule){.policy = policy,
                           .config = *c,
                           .d_model = (double)(c->lr_d_model ? c->lr_d_model : d_model),
                           .last_step = (double)last_step};
    if (policy->warmup != NO_WARMUP)
        s->warmup = c->warmup_steps < 0 ? policy->warmup : (double)c->warmup_steps;
    s->begin = fmax(s->warmup, (double)c->begin_decay_at);
    s->decay_steps =
        c->decay_steps ? (double)c->decay_steps : fmax(1, s->last_step - s->begin);
    return policy->check ? policy->check(s, err) : OK;
}

status schedule_check(const struct schedule_config *c, struct err *err)
{
    struct schedule s;

    return schedule_init(&s, c, 1, 1, err);
}

double schedule_rate(const struct schedule *s, int64_t t)
{
    return s->policy->rate(s, (double)t);
}

void schedule_describe(const struct schedule *s, struct str *out)
{
    str_printf(out, "%s: ", s->policy->name);
    s->policy->describe(s, out);
}

#include "cli/cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "plan/forecast.h"
#include "plan/plan_views.h"
#include "plan/sweep.h"
#include "train/run/config.h"

/* kind, field, default, help, limits */
#define PLAN_OPTIONS(X)                                                   \
    X(BOOL, json, "false", "one JSON object instead of text", ANY)        \
    X(STR, html, "", "also write a page with tables and plots here", ANY) \
    X(BOOL, tables, "true", "also predict 1 to 1,000 nodes and failures", ANY)

struct plan_options {
    struct forecast_options forecast;
    PLAN_OPTIONS(OPT_FIELD)
};

static const struct opt rows[] = {
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct plan_options, forecast.field), field, __VA_ARGS__)
    FORECAST_OPTIONS(X)
#undef X
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct plan_options, field), field, __VA_ARGS__)
        PLAN_OPTIONS(X)
#undef X
};

const struct opt_table cmd_plan_options = {rows, sizeof rows / sizeof *rows};

/* What a training configuration says that matters here. */
static status read_training(struct forecast_training *t, const char *path,
                            struct err *err)
{
    struct train_config *c;

    TRY(mem_alloc(&c, 1, sizeof *c, err));
    status result = opt_defaults(train_config_table, c, err);
    if (result == OK)
        result = opt_file(train_config_table, c, path, OPT_REFUSE_UNKNOWN, err);
    if (result == OK)
        *t = (struct forecast_training){.model = c->model,
                                        .batch_pairs = (double)c->batch_sentences,
                                        .batch_tokens = (double)c->batch_tokens,
                                        .max_length = (double)c->max_length,
                                        .max_steps = (double)c->max_steps};
    free(c);
    return result;
}

static status show(const struct plan_options *o, const struct plan_views *v,
                   struct err *err)
{
    struct str out = str_new(1 << 26);
    status result = OK;

    if (*o->html) {
        result = plan_views_page(&out, v, err);
        if (result == OK)
            result = file_write(o->html, out.data, out.len, err);
        str_reset(&out);
    }
    struct plan_views terse = *v;
    if (!o->tables)
        terse.sweep = NULL;
    if (result == OK)
        result = o->json ? plan_views_json(&out, &terse, err)
                         : plan_views_text(&out, &terse, err);
    if (result == OK)
        fputs(str_text(&out), stdout);
    if (result == OK && *o->html && !o->json)
        printf("\n%s\n", o->html);
    str_release(&out);
    return result;
}

static status predict(const struct plan_options *o, const struct forecast *f,
                      const char *config, struct err *err)
{
    struct plan_views v = {.forecast = f, .config = config};
    struct sweep *sweep = NULL;

    TRY(forecast_step(&v.step, f, &f->variant, err));
    TRY(forecast_limits(&v.limits, f, &v.step, err));
    TRY(mem_alloc(&sweep, 1, sizeof *sweep, err));
    status result = OK;
    if (o->tables || *o->html) {
        result = sweep_run(sweep, f, err);
        v.sweep = sweep;
    }
    if (result == OK)
        result = sweep_ways(v.way, f, err);
    if (result == OK)
        result = show(o, &v, err);
    free(sweep);
    return result;
}

/* The options are large: they stay off the stack. */
static status run(struct plan_options *o, int argc, char **argv, struct err *err)
{
    struct opt_words words = {.max = 1};
    struct forecast_training training;
    struct forecast f;

    TRY(opt_read(cmd_plan_options, o, &words, argc, argv, err));
    if (words.n != 1)
        return err_set(err, ERR_USAGE,
                       "give a training configuration: ferry plan configs/base.yaml");
    TRY(read_training(&training, words.word[0], err));
    TRY(forecast_open(&f, &training, &o->forecast, err));
    const status result = predict(o, &f, words.word[0], err);
    forecast_close(&f);
    return result;
}

status cmd_plan(int argc, char **argv, struct err *err)
{
    struct plan_options *o;

    TRY(mem_alloc(&o, 1, sizeof *o, err));
    const status result = run(o, argc, argv, err);
    free(o);
    return result;
}

#include "plan/plan.h"

#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"

#define OF_FORECAST(kind, field, ...) \
    OPT_ROW(kind, offsetof(opt_owner, forecast.field), field, __VA_ARGS__)
#define ALL_OPTIONS(X) FORECAST_OPTIONS(OF_FORECAST) PLAN_OPTIONS(X)

OPT_TABLE(plan_options_table, struct plan_options, ALL_OPTIONS);

static status show(const struct plan_options *o, const struct plan *p, FILE *out,
                   struct err *err)
{
    struct str text = str_new(1 << 26);
    struct plan terse = *p;
    status result = OK;

    if (*o->html) {
        result = plan_page(&text, p, err);
        THEN(result, file_write_output(o->html, text.data, text.len, err));
        str_reset(&text);
    }
    if (!o->tables)
        terse.sweep = NULL;
    if (result == OK)
        result = o->json ? plan_json(&text, &terse, err) : plan_text(&text, &terse, err);
    if (result == OK)
        fputs(str_text(&text), out);
    if (result == OK && *o->html && !o->json)
        fprintf(out, "\n%s\n", o->html);
    str_release(&text);
    return result;
}

/* With one pair each, devices differ by the length of a sentence and wait for the
 * longest. */
static status check_share(const struct forecast *f, struct err *err)
{
    static const double PAIRS_MIN = 2;
    const double pairs = f->variant.batch * (double)f->n_ranks;

    if (f->variant.batch >= PAIRS_MIN)
        return OK;
    return err_set(err, ERR_USAGE,
                   "less than two pairs per device: refused; an update of %.4g pairs is "
                   "enough for %.0f devices, not %zu; take fewer, or a larger batch "
                   "(batch_tokens, batch_sentences, or batch=PAIRS per device)",
                   pairs, floor(pairs / PAIRS_MIN), f->n_ranks);
}

static status predict(const struct plan_options *o, struct plan *p, struct sweep *sweep,
                      FILE *out, struct err *err)
{
    const struct forecast *f = p->forecast;

    TRY(check_share(f, err));
    TRY(forecast_step(&p->step, f, &f->variant, err));
    TRY(forecast_alone(&p->alone, f, err));
    TRY(forecast_limits(&p->limits, f, &p->step, err));
    if (o->tables || *o->html) {
        TRY(sweep_run(sweep, f, err));
        p->sweep = sweep;
    }
    TRY(sweep_ways(p->way, f, f->variant, err));
    return show(o, p, out, err);
}

status plan_run(const struct plan_options *o, const struct forecast_training *training,
                const char *config, FILE *out, struct err *err)
{
    struct forecast f;
    struct plan p = {.forecast = &f, .config = config};
    struct sweep *sweep = NULL;

    TRY(forecast_open(&f, training, &o->forecast, err));
    status result = mem_alloc(&sweep, 1, sizeof *sweep, err);
    THEN(result, predict(o, &p, sweep, out, err));
    free(sweep);
    forecast_close(&f);
    return result;
}

/* What TensorBoard gets of a run: curves, translations, options, gradients. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "train/log/layer_gradients.h"
#include "train/log/record.h"

/* ---- curves ---- */

/* What the disk refuses stays in the writer's buffer for the next time. */
static status forgive(struct record *r, status result, struct err *err)
{
    const bool is_stuck = result == ERR_IO || result == ERR_MEMORY;

    record_say_stuck(r, "the event file", &r->are_events_stuck, is_stuck, err->msg);
    return is_stuck ? OK : result;
}

status record_board_values(struct record *r, int64_t step,
                           const struct tb_event_value *values, size_t n, struct err *err)
{
    if (!r->has_events)
        return OK;
    const status result =
        tb_event_scalars(&r->events, step, clock_wall(), values, n, err);
    return result == OK ? OK : forgive(r, result, err); /* only a flush proves the disk */
}

status record_board_flush(struct record *r, struct err *err)
{
    return r->has_events ? forgive(r, tb_event_flush(&r->events, err), err) : OK;
}

/* Where the time of a step went, in seconds a step. */
static status summarize_times(struct record *r, const struct record_step *s, int64_t step,
                              struct err *err)
{
    const double n = s->steps;
    const struct tb_event_value values[] = {
        {"time/compute", (float)(s->t_compute / n)},
        {"time/network_exposed", (float)(s->t_comm / n)},
        {"time/network_hidden", (float)(s->t_hidden / n)},
        {"time/data", (float)(s->t_data / n)},
        {"time/update", (float)(s->t_update / n)}};

    return record_board_values(r, step, values, 5, err);
}

status record_board_summary(struct record *r, const struct record_step *s,
                            const struct record_step *now, struct err *err)
{
    const bool clips = r->config->optim.max_grad_norm > 0;
    const double limit = r->config->optim.max_grad_norm;
    const char *rule = r->config->loss_scaling;
    const bool scales = strcmp(rule, "backoff") == 0 || strcmp(rule, "logmax") == 0;
    struct tb_event_value values[7] = {
        {"train_loss", (float)record_console_loss(now)},
        {"learning_rate", (float)now->rate},
        {"Loss_Optimization/global_gradient_norm", (float)now->grad_norm},
        {"global_step/sec", (float)(s->t_step > 0 ? s->steps / s->t_step : 0)}};
    size_t n = 4;

    if (!r->has_events)
        return OK;
    if (clips)
        values[n++] =
            (struct tb_event_value){"Loss_Optimization/global_clipped_gradient_norm",
                                    (float)fmin(now->grad_norm, limit)};
    if (scales)
        values[n++] = (struct tb_event_value){"Loss_Optimization/loss_scale",
                                              (float)now->loss_scale};
    if (train_config_has_views(r->config))
        values[n++] =
            (struct tb_event_value){"Loss_Optimization/disagreement",
                                    (float)(now->disagreement / now->target_tokens)};
    TRY(record_board_values(r, (int64_t)now->step, values, n, err));
    TRY(summarize_times(r, s, (int64_t)now->step, err));
    return record_board_flush(r, err);
}

/* ---- texts ---- */

/* A cell of a table in Markdown: bars would end it, line ends the row. */
static void put_cell(struct str *out, const char *text)
{
    RELEASED_BY(str_release) struct str valid = str_new(0);

    utf8_mend(&valid, text, strlen(text));
    for (const char *c = str_text(&valid); *c; c++) {
        if (strchr("|\\`*_<&", *c))
            str_putc(out, '\\');
        str_putc(out, *c == '\n' || *c == '\r' ? ' ' : *c);
    }
}

static status put_text(struct record *r, int64_t step, const char *tag, struct str *text,
                       struct err *err)
{
    TRY(str_check(text, "a text for TensorBoard", err));
    const status result =
        tb_event_text(&r->events, step, clock_wall(), tag, str_text(text), err);
    return result == OK ? OK : forgive(r, result, err);
}

void record_board_sample(struct record *r, const struct runlog_sample *s)
{
    const char *const cell[] = {s->source, s->reference, s->translation};

    if (!r->has_events)
        return;
    if (!r->samples.len)
        str_puts(&r->samples, "| source | reference | translation |\n|---|---|---|\n");
    for (size_t i = 0; i < sizeof cell / sizeof *cell; i++) {
        str_puts(&r->samples, "| ");
        put_cell(&r->samples, cell[i]);
        str_putc(&r->samples, ' ');
    }
    str_puts(&r->samples, "|\n");
}

status record_board_samples(struct record *r, int64_t step, struct err *err)
{
    if (!r->samples.len)
        return OK;
    const status result = put_text(r, step, "translations", &r->samples, err);
    str_reset(&r->samples);
    return result;
}

/* ---- evaluations ---- */

status record_board_evaluated(struct record *r, const struct runlog_eval *e,
                              struct err *err)
{
    enum { N_LOSSES = 3, N = 9 };
    const struct tb_event_value values[N] = {
        {"eval_loss", (float)e->eval_loss},
        {"Eval_BLEU_Score", (float)e->forced_bleu},
        {"valid_loss", (float)e->valid_loss},
        {"BLEU", (float)e->bleu},
        {"chrF", (float)e->chrf},
        {"chrF++", (float)e->chrf_words},
        {"TER", (float)e->ter},
        {"translations/repeating", (float)e->repeating},
        {"translations/length_ratio", (float)e->length_ratio}};

    TRY(record_board_values(r, (int64_t)e->step, values, isfinite(e->bleu) ? N : N_LOSSES,
                            err));
    TRY(record_board_samples(r, (int64_t)e->step, err));
    return record_board_flush(r, err);
}

status record_board_also(struct record *r, const struct runlog_valid *e, struct err *err)
{
    enum { N = 7, TAG = 96 };
    const struct {
        const char *name;
        double value;
    } all[N] = {
        {"valid_loss", e->valid_loss},    {"BLEU", e->bleu}, {"chrF", e->chrf},
        {"chrF++", e->chrf_words},        {"TER", e->ter},   {"repeating", e->repeating},
        {"length_ratio", e->length_ratio}};
    char tag[N][TAG];
    struct tb_event_value values[N];

    for (size_t i = 0; i < N; i++) {
        snprintf(tag[i], TAG, "also_valid/%s/%s", e->name, all[i].name);
        values[i] = (struct tb_event_value){tag[i], (float)all[i].value};
    }
    TRY(record_board_values(r, (int64_t)e->step, values, isfinite(e->bleu) ? N : 1, err));
    return record_board_flush(r, err);
}

/* ---- options ---- */

static status put_table(struct record *r, int64_t step, struct err *err)
{
    RELEASED_BY(str_release) struct str text = str_new(0), value = str_new(0);

    str_puts(&text, "| option | value |\n|---|---|\n");
    for (size_t i = 0; i < train_config_table.n; i++) {
        str_reset(&value);
        opt_value(&train_config_table.opt[i], r->config, &value);
        str_puts(&text, "| ");
        put_cell(&text, train_config_table.opt[i].name);
        str_puts(&text, " | ");
        put_cell(&text, str_text(&value));
        str_puts(&text, " |\n");
    }
    return put_text(r, step, "configuration", &text, err);
}

/* A text that is no UTF-8 is left out of the row. */
static bool set_option(struct tb_event_option *to, const struct opt *o,
                       const struct train_config *c)
{
    const char *field = (const char *)c + o->at;

    *to = (struct tb_event_option){.name = o->name};
    switch (o->type) {
    case OPT_INT:
        to->number = (double)*(const int64_t *)(const void *)field;
        return true;
    case OPT_REAL:
        to->number = *(const double *)(const void *)field;
        return true;
    case OPT_BOOL:
        to->number = *(const bool *)field;
        to->is_bool = true;
        return true;
    case OPT_CHOICE:
    case OPT_STR:
        to->text = field;
        return utf8_valid(field, strlen(field));
    }
    return false;
}

static status put_row(struct record *r, int64_t step, struct err *err)
{
    RELEASED_BY(mem_release) struct tb_event_option *list = NULL;
    size_t n = 0;

    TRY(mem_alloc(&list, train_config_table.n, sizeof *list, err));
    for (size_t i = 0; i < train_config_table.n; i++)
        n += set_option(&list[n], &train_config_table.opt[i], r->config);
    const status result = tb_event_options(&r->events, step, clock_wall(), list, n, err);
    return result == OK ? OK : forgive(r, result, err);
}

/* At the first step to come, so that the next start from here takes them away again. */
status record_board_start(struct record *r, struct err *err)
{
    if (!r->has_events)
        return OK;
    TRY(put_table(r, r->first_step + 1, err));
    TRY(put_row(r, r->first_step + 1, err));
    return record_board_flush(r, err);
}

/* What was stopped goes on; what is over stays so. */
status record_board_stop(struct record *r, int64_t step, const char *reason,
                         struct err *err)
{
    if (!r->has_events || strcmp(reason, "signal") == 0 || strcmp(reason, "error") == 0)
        return OK;
    const status result = tb_event_finished(&r->events, step, clock_wall(), err);
    return result == OK ? OK : forgive(r, result, err);
}

/* ---- gradients ---- */

/* The buckets from the first to the last that is not empty. */
static status put_histogram(struct record *r, int64_t step,
                            const struct layer_gradient *l, struct err *err)
{
    double edge[LAYER_GRADIENTS_BUCKETS];
    size_t from = 0, end = LAYER_GRADIENTS_BUCKETS;
    char tag[64];

    while (from + 1 < end && l->sums.count[from] == 0)
        from++;
    while (end > from + 1 && l->sums.count[end - 1] == 0)
        end--;
    for (size_t i = from; i < end; i++)
        edge[i - from] = layer_gradients_edge(i);
    const struct tb_event_histogram h = {.least = l->least,
                                         .most = l->most,
                                         .n = l->sums.n,
                                         .sum = l->sums.sum,
                                         .sum_squares = l->sums.square,
                                         .limit = edge,
                                         .count = l->sums.count + from,
                                         .n_buckets = end - from};
    snprintf(tag, sizeof tag, "gradients/%s", l->name);
    const status result =
        tb_event_histogram(&r->events, step, clock_wall(), tag, &h, err);
    return result == OK ? OK : forgive(r, result, err);
}

status record_layers(struct record *r, struct layer_gradients *g, int64_t step,
                     struct err *err)
{
    if (!g->is_fresh)
        return OK;
    g->is_fresh = false;
    for (size_t i = 0; r->has_events && i < g->n; i++) {
        const struct layer_gradient *l = &g->layer[i];
        char tag[64];
        snprintf(tag, sizeof tag, "gradient_norm/%s", l->name);
        const struct tb_event_value norm = {tag, (float)sqrt(l->sums.square)};
        TRY(record_board_values(r, step, &norm, 1, err));
        TRY(put_histogram(r, step, l, err));
    }
    return r->has_events ? record_board_flush(r, err) : OK;
}

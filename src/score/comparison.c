#include "score/comparison.h"

#include <inttypes.h>

#include <jansson.h>

#include "base/mem.h"

void comparison_note(struct result *head, const struct significance_how *how)
{
    RELEASED_BY(str_release) struct str pairs = str_new(0);
    const size_t n_resamples = how->is_shuffled ? how->n_resamples : how->n_trials;

    if (n_resamples)
        str_printf(&pairs, "bs:%zu|", n_resamples);
    if (how->is_shuffled)
        str_printf(&pairs, "ar:%zu|", how->n_trials);
    str_printf(&pairs, "seed:%" PRIu64 "|", how->seed);
    result_note(head, str_text(&pairs));
}

static const char *title(const struct comparison_system *s)
{
    return s->is_baseline ? "Baseline: " : "";
}

void comparison_lines(struct str *out, const struct result *head,
                      const struct comparison_system *system, size_t n, int width)
{
    str_printf(out, "%s|%s", str_text(&head->name), str_text(&head->signature));
    for (size_t i = 0; i < n; i++) {
        const struct significance_result *r = &system[i].result;
        str_printf(out, "\n%s%s = %.*f", title(&system[i]), system[i].name, width,
                   r->score);
        if (r->has_interval)
            str_printf(out, " (%.*f ± %.*f)", width, r->mean, width, r->half);
        if (!system[i].is_baseline)
            str_printf(out, " (p = %.4f)%s", r->p, r->p > 0.05 ? "" : "*");
    }
    out->bad |= head->name.bad || head->signature.bad;
}

static json_t *rounded(bool is_there, double x, int width)
{
    return is_there ? json_real(result_rounded(x, width)) : json_null();
}

static json_t *system_json(const struct result *head, const struct comparison_system *s,
                           int width)
{
    const struct significance_result *r = &s->result;

    return json_pack("{s:o, s:{s:o, s:o, s:o, s:o}, s:s}", "system",
                     json_sprintf("%s%s", title(s), s->name), str_text(&head->name),
                     "score", rounded(true, r->score, width), "p_value",
                     s->is_baseline ? json_null() : json_real(r->p), "mean",
                     rounded(r->has_interval, r->mean, width), "ci",
                     rounded(r->has_interval, r->half, width), "signature",
                     str_text(&head->signature));
}

void comparison_json(struct str *out, const struct result *head,
                     const struct comparison_system *system, size_t n, int width)
{
    json_auto_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(list, system_json(head, &system[i], width)) != 0)
            out->bad = true;
    RELEASED_BY(mem_release)
    char *text =
        json_dumps(list, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15) | JSON_INDENT(1));
    if (text)
        str_puts(out, text);
    out->bad |= !text || head->name.bad || head->signature.bad;
}

void comparison_scores(struct str *out, const struct comparison_system *system, size_t n,
                       int width)
{
    for (size_t i = 0; i < n; i++)
        str_printf(out, "%s%.*f", i ? "\n" : "", width, system[i].result.score);
}

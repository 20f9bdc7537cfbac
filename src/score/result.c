#include "score/result.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct result result_new(double score)
{
    return (struct result){.score = score,
                           .name = str_new(0),
                           .signature = str_new(0),
                           .details = str_new(0)};
}

void result_release(struct result *r)
{
    str_release(&r->name);
    str_release(&r->signature);
    str_release(&r->details);
}

double result_rounded(double x, int width)
{
    char text[32];

    snprintf(text, sizeof text, "%.*f", width, x);
    return strtod(text, NULL);
}

static bool is_cut_short(const struct result *r)
{
    return r->name.bad || r->signature.bad || r->details.bad;
}

void result_note(struct result *r, const char *pairs)
{
    const char *text = str_text(&r->signature);
    const size_t n = strcspn(text, "|");
    struct str made = str_new(0);

    str_printf(&made, "%.*s|%s%s", (int)n, text, pairs, text + n + (text[n] == '|'));
    made.bad |= r->signature.bad;
    str_release(&r->signature);
    r->signature = made;
}

/* What is not here has no shorter name; that of `tok` is TER's. */
static const struct abbreviation {
    const char *key, *text;
} abbreviations[] = {{"nrefs", "#"},  {"seed", "rs"},  {"version", "v"}, {"case", "c"},
                     {"eff", "e"},    {"smooth", "s"}, {"space", "s"},   {"norm", "nr"},
                     {"punct", "pn"}, {"asian", "as"}, {"tok", "t"}};

static void put_short(struct str *out, const char *key, size_t n, bool is_ter)
{
    for (size_t i = 0; i < sizeof abbreviations / sizeof *abbreviations; i++) {
        const struct abbreviation *a = &abbreviations[i];
        if (strlen(a->key) == n && strncmp(a->key, key, n) == 0 &&
            (is_ter || strcmp(a->key, "tok") != 0)) {
            str_puts(out, a->text);
            return;
        }
    }
    str_add(out, key, n);
}

void result_shorten(struct result *r)
{
    const bool is_ter = strcmp(str_text(&r->name), "TER") == 0;
    struct str made = str_new(0);

    for (const char *at = str_text(&r->signature); *at;) {
        const size_t n_key = strcspn(at, ":|");
        put_short(&made, at, n_key, is_ter);
        at += n_key;
        const size_t n_rest = strcspn(at, "|") + (strchr(at, '|') != NULL);
        str_add(&made, at, n_rest);
        at += n_rest;
    }
    made.bad |= r->signature.bad;
    str_release(&r->signature);
    r->signature = made;
}

/* Without a score above 0 there is none to show. */
static bool shows_interval(const struct result *r)
{
    return r->has_interval && r->mean > 0;
}

/* "μ = MEAN ± HALF" */
static void put_interval(struct str *out, const struct result *r, int width)
{
    str_printf(out, "μ = %.*f ± %.*f", width, r->mean, width, r->half);
}

void result_number(struct str *out, const struct result *r, int width)
{
    str_printf(out, "%.*f", width, r->score);
    if (!shows_interval(r))
        return;
    str_puts(out, " (");
    put_interval(out, r, width);
    str_putc(out, ')');
}

void result_line(struct str *out, const struct result *r, int width)
{
    str_printf(out, "%s|%s = ", str_text(&r->name), str_text(&r->signature));
    result_number(out, r, width);
    if (r->details.len)
        str_printf(out, " %s", str_text(&r->details));
    out->bad |= is_cut_short(r);
}

/* key:value|key:value */
static void put_pairs(json_t *json, const char *signature)
{
    while (*signature) {
        const size_t n_key = strcspn(signature, ":|");
        if (signature[n_key] != ':')
            return; /* cut short by a lack of memory */
        const char *value = signature + n_key + 1;
        const size_t n_value = strcspn(value, "|");
        json_object_setn_new(json, signature, n_key, json_stringn(value, n_value));
        signature = value + n_value + (value[n_value] == '|');
    }
}

static void set_interval(json_t *json, const struct result *r, int width)
{
    RELEASED_BY(str_release) struct str text = str_new(0);

    put_interval(&text, r, width);
    json_object_set_new(json, "confidence_mean",
                        json_real(result_rounded(r->mean, width)));
    json_object_set_new(json, "confidence_var",
                        json_real(result_rounded(r->half, width)));
    json_object_set_new(json, "confidence", json_string(str_text(&text)));
}

void result_json(struct str *out, const struct result *r, int width, bool is_one_line)
{
    json_auto_t *json =
        json_pack("{ss, sf, ss}", "name", str_text(&r->name), "score",
                  result_rounded(r->score, width), "signature", str_text(&r->signature));

    if (shows_interval(r))
        set_interval(json, r, width);
    if (r->details.len)
        json_object_set_new(json, "verbose_score", json_string(str_text(&r->details)));
    put_pairs(json, str_text(&r->signature));
    RELEASED_BY(mem_release)
    char *text = json_dumps(json, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15) |
                                      (is_one_line ? 0 : JSON_INDENT(1)));
    if (text)
        str_puts(out, text);
    out->bad |= !text || is_cut_short(r);
}

#include "score/result.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct result result_new(double score)
{
    return (struct result){score, str_new(0), str_new(0), str_new(0)};
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

void result_line(struct str *out, const struct result *r, int width)
{
    str_printf(out, "%s|%s = %.*f", str_text(&r->name), str_text(&r->signature), width,
               r->score);
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

void result_json(struct str *out, const struct result *r, int width, bool is_one_line)
{
    json_auto_t *json =
        json_pack("{ss, sf, ss}", "name", str_text(&r->name), "score",
                  result_rounded(r->score, width), "signature", str_text(&r->signature));

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

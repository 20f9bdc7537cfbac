#include "inspect/inspect.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"
#include "format/json_text.h"
#include "page/fmt.h"

enum { COLUMNS_MAX = 16, FACT_WIDTH = 20 };

void inspect_page_int(json_t *o, const char *key, uint64_t x)
{
    json_object_set_new(o, key, json_integer((json_int_t)x));
}

void inspect_page_real(json_t *o, const char *key, double x)
{
    const char *name = isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";

    json_object_set_new(o, key, isfinite(x) ? json_real(x) : json_string(name));
}

void inspect_page_text(json_t *o, const char *key, const char *text)
{
    json_object_set_new(o, key, json_text(text));
}

void inspect_page_hash(json_t *o, const char *key, uint64_t x)
{
    json_object_set_new(o, key, json_sprintf("%016" PRIx64, x));
}

json_t *inspect_page_table(json_t *page, const char *key)
{
    json_t *table = json_array();

    json_object_set_new(page, key, table);
    return table;
}

json_t *inspect_page_row(json_t *table)
{
    json_t *row = json_object();

    json_array_append_new(table, row);
    return row;
}

static void put_text(struct str *out, const char *text)
{
    for (size_t n = strlen(text), at = 0, len; at < n; at += len) {
        if (!utf8_is_shown(utf8_decode(text + at, n - at, &len)))
            str_putc(out, '?');
        else
            str_add(out, text + at, len);
    }
}

static void put_value(struct str *out, const json_t *v)
{
    if (json_is_integer(v))
        str_puts(out, fmt_count((double)json_integer_value(v)).s);
    else if (json_is_real(v))
        str_printf(out, "%.6g", json_real_value(v));
    else if (json_is_boolean(v))
        str_puts(out, json_is_true(v) ? "yes" : "no");
    else if (json_is_string(v))
        put_text(out, json_string_value(v));
}

static void put_key(struct str *out, const char *key)
{
    for (; *key; key++)
        str_putc(out, *key == '_' ? ' ' : *key);
}

static size_t width_of(const struct str *s)
{
    return utf8_count(str_text(s), s->len);
}

static void put_fact(struct str *out, const char *above, const char *key, const json_t *v)
{
    struct str name = str_new(0);

    put_key(&name, above);
    if (*above)
        str_putc(&name, ' ');
    put_key(&name, key);
    const size_t n = width_of(&name);
    str_add(out, str_text(&name), name.len);
    str_printf(out, "%*s", n < FACT_WIDTH ? FACT_WIDTH - (int)n : 1, "");
    put_value(out, v);
    str_putc(out, '\n');
    str_release(&name);
}

struct column {
    const char *key;
    size_t width;
    bool is_number; /* and so stands at the right */
};

/* The text of one cell, of the head when `row` is NULL. */
static void put_cell(struct str *cell, const struct column *c, const json_t *row)
{
    str_reset(cell);
    if (row)
        put_value(cell, json_object_get(row, c->key));
    else
        put_key(cell, c->key);
}

static size_t measure(struct column column[COLUMNS_MAX], const json_t *table)
{
    struct str cell = str_new(0);
    const char *key;
    json_t *v, *first = json_array_get(table, 0);
    size_t n = 0;

    json_object_foreach(first, key, v)
    {
        if (n == COLUMNS_MAX)
            break;
        column[n++] = (struct column){.key = key, .is_number = json_is_number(v)};
    }
    for (size_t c = 0; c < n; c++)
        for (size_t r = 0; r <= json_array_size(table); r++) {
            put_cell(&cell, &column[c], r ? json_array_get(table, r - 1) : NULL);
            const size_t width = width_of(&cell);
            column[c].width = width > column[c].width ? width : column[c].width;
        }
    str_release(&cell);
    return n;
}

static void put_row(struct str *out, const struct column *column, size_t n,
                    const json_t *row)
{
    struct str cell = str_new(0);

    for (size_t c = 0; c < n; c++) {
        put_cell(&cell, &column[c], row);
        const int gap = (int)(column[c].width - width_of(&cell));
        if (c)
            str_puts(out, "  ");
        if (column[c].is_number)
            str_printf(out, "%*s", gap, "");
        str_add(out, str_text(&cell), cell.len);
        if (!column[c].is_number && c + 1 < n)
            str_printf(out, "%*s", gap, "");
    }
    str_putc(out, '\n');
    str_release(&cell);
}

static void put_table(struct str *out, const json_t *table)
{
    struct column column[COLUMNS_MAX];
    const size_t n = measure(column, table);

    if (!n)
        return;
    str_putc(out, '\n');
    put_row(out, column, n, NULL);
    for (size_t r = 0; r < json_array_size(table); r++)
        put_row(out, column, n, json_array_get(table, r));
}

static void put_page(struct str *out, const json_t *page)
{
    const char *key, *inner;
    json_t *v, *fact;

    json_object_foreach((json_t *)page, key, v)
    {
        if (json_is_array(v)) {
            put_table(out, v);
        } else if (json_is_object(v)) {
            str_putc(out, '\n');
            json_object_foreach(v, inner, fact) put_fact(out, key, inner, fact);
        } else {
            put_fact(out, "", key, v);
        }
    }
}

status inspect_page_print(const json_t *page, bool as_json, FILE *out, struct err *err)
{
    struct str text = str_new(0);

    if (as_json) {
        char *dump = json_dumps(page, JSON_COMPACT | JSON_PRESERVE_ORDER |
                                          JSON_REAL_PRECISION(12));
        if (dump)
            str_printf(&text, "%s\n", dump);
        text.bad |= !dump;
        free(dump);
    } else {
        put_page(&text, page);
    }
    const status result = str_check(&text, "the page", err);
    if (result == OK)
        fwrite(str_text(&text), 1, text.len, out); /* main checks standard output */
    str_release(&text);
    return result;
}

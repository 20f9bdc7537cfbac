#include "page/page.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

void page_escape(struct str *out, const char *text, const char *const of[128])
{
    const size_t n = text ? strlen(text) : 0;

    for (size_t at = 0, len; at < n; at += len) {
        const uint32_t code = utf8_decode(text + at, n - at, &len);
        if (code < 128 && of[code])
            str_puts(out, of[code]);
        else if (!utf8_is_shown(code))
            str_puts(out, "\uFFFD");
        else
            str_add(out, text + at, len);
    }
}

void page_text(struct str *out, const char *text)
{
    static const char *const entities[128] = {
        ['\n'] = "\n",  ['\t'] = "\t",    ['&'] = "&amp;", ['<'] = "&lt;",
        ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};

    page_escape(out, text, entities);
}

static void textv(struct str *out, const char *fmt, va_list ap) PRINTF(2, 0);
static void textv(struct str *out, const char *fmt, va_list ap)
{
    char *text;

    if (vasprintf(&text, fmt, ap) < 0) {
        out->bad = true;
        return;
    }
    page_text(out, text);
    free(text);
}

void page_textf(struct str *out, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    textv(out, fmt, ap);
    va_end(ap);
}

static void open_tag(struct str *out, const char *tag, const char *css)
{
    str_printf(out, "<%s", tag);
    if (css)
        str_printf(out, " class=\"%s\"", css);
    str_putc(out, '>');
}

void page_tag(struct str *out, const char *tag, const char *css, const char *text)
{
    open_tag(out, tag, css);
    page_text(out, text);
    str_printf(out, "</%s>", tag);
}

void page_tagf(struct str *out, const char *tag, const char *css, const char *fmt, ...)
{
    va_list ap;

    open_tag(out, tag, css);
    va_start(ap, fmt);
    textv(out, fmt, ap);
    va_end(ap);
    str_printf(out, "</%s>", tag);
}

void page_prose(struct str *out, const char *tag, const char *css, const char *text)
{
    const char *open, *close;

    open_tag(out, tag, css);
    while ((open = strchr(text, '`')) && (close = strchr(open + 1, '`'))) {
        page_textf(out, "%.*s", (int)(open - text), text);
        page_tagf(out, "code", NULL, "%.*s", (int)(close - open - 1), open + 1);
        text = close + 1;
    }
    page_text(out, text);
    str_printf(out, "</%s>", tag);
}

void page_begin(struct str *out, const char *title)
{
    str_puts(out,
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, "
             "initial-scale=1\">\n"
             "<meta name=\"color-scheme\" content=\"light dark\">\n");
    page_tag(out, "title", NULL, title);
    str_puts(out, "\n<style>\n");
    str_puts(out, page_style);
    str_puts(out, "</style>\n</head>\n<body>\n<main>\n");
}

void page_end(struct str *out)
{
    str_puts(out, "</main>\n</body>\n</html>\n");
}

void page_contents(struct str *out, const struct page_heading *heading, size_t n)
{
    str_puts(out, "<nav class=\"contents\" aria-label=\"Contents\">");
    for (size_t i = 0; i < n; i++)
        if (heading[i].title) {
            str_printf(out, "<a href=\"#%s\">", heading[i].id);
            page_text(out, heading[i].title);
            str_puts(out, "</a> ");
        }
    str_puts(out, "</nav>\n");
}

void page_heading(struct str *out, const struct page_heading *heading)
{
    str_printf(out, "<h2 id=\"%s\">", heading->id);
    page_text(out, heading->title);
    str_puts(out, "</h2>\n");
}

void page_fact(struct str *out, const char *label, const char *value, const char *fmt,
               ...)
{
    enum { NUMBER_MAX = 15 }; /* letters that fit in one line of large ones */
    char detail[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(detail, sizeof detail, fmt, ap);
    va_end(ap);
    str_puts(out, "<li>");
    page_tag(out, "span", NULL, label);
    page_tag(out, "b", strlen(value) > NUMBER_MAX ? "words" : NULL, value);
    if (*detail)
        page_tag(out, "small", NULL, detail);
    str_puts(out, "</li>\n");
}

void page_wide(struct str *out, const char *css, bool has_hint)
{
    if (has_hint)
        page_tag(out, "p", "hint", "Scroll sideways for more columns \u2192");
    str_printf(out, "<div class=\"%s\" tabindex=\"0\">", css);
}

void page_numbers(struct str *out, const char *const *column)
{
    page_wide(out, "wide", true);
    page_table(out, "numbers", column);
}

void page_numbers_end(struct str *out)
{
    str_puts(out, "</tbody></table></div>\n");
}

void page_table(struct str *out, const char *css, const char *const *column)
{
    open_tag(out, "table", css);
    str_puts(out, "<thead><tr>");
    for (; *column; column++)
        page_tag(out, "th", NULL, *column);
    str_puts(out, "</tr></thead><tbody>\n");
}

void page_cells(struct str *out, const char *tag, const char *css,
                const char *const *cell, size_t n)
{
    str_puts(out, "<tr>");
    for (size_t i = 0; i < n; i++)
        page_tag(out, i ? "td" : tag, css, cell[i]);
    str_puts(out, "</tr>\n");
}

void page_stack(struct str *out, const char *const *column, const char *const *cell)
{
    str_puts(out, "<tr>");
    for (size_t i = 0; column[i]; i++) {
        str_puts(out, "<td dir=\"auto\" data-label=\"");
        page_text(out, column[i]);
        str_puts(out, "\">");
        page_text(out, cell[i] ? cell[i] : "missing");
        str_puts(out, "</td>");
    }
    str_puts(out, "</tr>\n");
}

void page_row(struct str *out, const char *label, const char *value)
{
    page_cells(out, "th", NULL, (const char *const[]){label, value}, 2);
}

static void bar_key(struct str *out, const struct page_part *part, const char *text,
                    double total)
{
    str_printf(out, "<li><i class=\"c%d\"></i>", part->color);
    page_textf(out, "%s ", part->name);
    page_tag(out, "b", NULL, text);
    if (part->size / total < 0.0005)
        page_tag(out, "span", "quiet", "under 0.1\u00a0%");
    else
        page_tagf(out, "span", "quiet", "%.1f\u00a0%%", 100 * part->size / total);
    str_puts(out, "</li>");
}

void page_bar(struct str *out, const struct page_bar *bar)
{
    const struct page_part *part = bar->part;
    const size_t n = bar->n;
    double total = 0, at = 0;

    for (size_t i = 0; i < n; i++)
        total += part[i].size > 0 ? part[i].size : 0;
    if (!(total > 0) || !isfinite(total))
        return;
    str_puts(out, "<div class=\"bar\"><svg viewBox=\"0 0 400 14\" role=\"img\" "
                  "preserveAspectRatio=\"none\" aria-label=\"");
    page_text(out, bar->title);
    str_puts(out, "\">");
    for (size_t i = 0; i < n; i++) {
        const double width = part[i].size > 0 ? 400 * part[i].size / total : 0;
        if (width > 0)
            str_printf(out,
                       "<rect class=\"area c%d\" x=\"%.2f\" y=\"0\" width=\"%.2f\" "
                       "height=\"14\"/>",
                       part[i].color, at, width);
        at += width;
    }
    str_puts(out, "</svg>\n<ul class=\"legend\">");
    for (size_t i = 0; i < n; i++)
        if (part[i].size > 0)
            bar_key(out, &part[i], bar->text(part[i].size).s, total);
    str_puts(out, "</ul></div>\n");
}

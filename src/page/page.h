/*
 * page - building blocks of an HTML page that needs nothing but itself.
 *
 * Tags are literals in the code; every word that came from a file goes through
 * page_text or page_tag, which escape it, so that a log cannot inject markup.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "page/fmt.h"

/* Text with the five special characters as entities; malformed UTF-8 and control
 * characters (utf8_is_shown) become U+FFFD. Safe in elements and in quoted attributes. */
void page_text(struct str *out, const char *text);
/* The same for another language: of[] is what stands for a character, NULL for itself. */
void page_escape(struct str *out, const char *text, const char *const of[128]);
void page_textf(struct str *out, const char *fmt, ...) PRINTF(2, 3);

/* <tag class="css">text</tag>; css NULL for none. */
void page_tag(struct str *out, const char *tag, const char *css, const char *text);
void page_tagf(struct str *out, const char *tag, const char *css, const char *fmt, ...)
    PRINTF(4, 5);

/* The same for a sentence, whose words between two ` are code. */
void page_prose(struct str *out, const char *tag, const char *css, const char *text);

/* Everything up to <main>, and from </main> on. */
void page_begin(struct str *out, const char *title);
void page_end(struct str *out);

/* The contents of a page: links to its headings, which stay in sight. A heading without a
 * title is left out. */
struct page_heading {
    const char *id, *title;
};
void page_contents(struct str *out, const struct page_heading *heading, size_t n);
/* <h2> that a link of the contents leads to. */
void page_heading(struct str *out, const struct page_heading *heading);

/* One of a <ul class="facts">: a number with its label above and a detail below. */
void page_fact(struct str *out, const char *label, const char *value, const char *fmt,
               ...) PRINTF(4, 5);

/* A table of numbers, right-aligned under their columns, of which the first names the
 * row; and its end. Where the screen is narrower than the table a hint says that it
 * scrolls. */
void page_numbers(struct str *out, const char *const *column);
void page_numbers_end(struct str *out);
/* The same scrolling for other tables: </div> ends it. */
void page_wide(struct str *out, const char *css, bool has_hint);

/* A table up to its first row; the names of its columns end with NULL. */
void page_table(struct str *out, const char *css, const char *const *column);
/* A row of it: n cells of a class (NULL for none), the first one in `tag`. */
void page_cells(struct str *out, const char *tag, const char *css,
                const char *const *cell, size_t n);
/* A row whose cells name their columns when a narrow screen stacks them. */
void page_stack(struct str *out, const char *const *column, const char *const *cell);
/* One row of a two-column table: <tr><th>label<td>value. */
void page_row(struct str *out, const char *label, const char *value);

/* A bar of parts in proportion, with a key that names and counts each. */
struct page_part {
    const char *name;
    double size; /* parts that are not positive are left out */
    int color;   /* 1..6 */
};
struct page_bar {
    const char *title;
    struct fmt (*text)(double size); /* such as fmt_seconds */
    const struct page_part *part;
    size_t n;
};
void page_bar(struct str *out, const struct page_bar *bar);

/* The style sheet. */
extern const char page_style[];

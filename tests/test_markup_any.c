/*
 * Ten thousand fragments of HTML and strings with placeholders, half of them mangled,
 * through translators that say anything: nothing that must be kept is lost or said twice,
 * and tags are as balanced as they were.
 */
#include <stdlib.h>

#include "any_translator.h"
#include "test.h"

enum { N_EACH = 2500, MOST_DEPTH = 4 };

/* A fragment that is being made, and how many things in it have a number of their own. */
struct made {
    struct str text;
    struct rng r;
    unsigned n_unique;
};

static bool often(struct made *m, unsigned percent)
{
    return rng_below(&m->r, 100) < percent;
}

static const char *one_of(struct made *m, const char *const *list, size_t n)
{
    return list[rng_below(&m->r, n)];
}
#define ONE_OF(m, ...)                            \
    one_of(m, (const char *const[]){__VA_ARGS__}, \
           sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void put_word(struct made *m)
{
    str_puts(&m->text,
             ONE_OF(m, "the", "house", "is", "green", "and", "Grüße", "don't", "e.g.",
                    "well-known", "(see", "below)", "été", "漢字かな", "слово", "A", "7",
                    "&amp;", "&nbsp;", "M&uuml;ller", "AT&T", "&lt;tag&gt;", "&#8211;",
                    "&hellip;", "\"quoted\"", "end.", "why?", "x,"));
}

/* Placeholders of all kinds; `#` becomes a number that is there only once. */
static void put_holder(struct made *m)
{
    const char *pattern =
        ONE_OF(m, "%s", "%d", "%1$s", "%(name#)s", "%-5.2f", "{name#}", "{}",
               "{{ user#.name }}", "${var#}", "$1", "$name#", "#{id#}",
               ":emoji#:", "https://a#.example/x?y=1&amp;z=%20", "www.b#.org",
               "me#@a.org", "# km", "12,# %", "$#.50", "€ #", "%{x#}", "%%",
               "{n#, plural, one {# a} other {# b}}");

    m->n_unique++;
    for (const char *c = pattern; *c; c++)
        if (*c == '#' && c[1] != '{')
            str_printf(&m->text, "%u", m->n_unique);
        else
            str_putc(&m->text, *c);
}

static void put_blank(struct made *m)
{
    str_puts(&m->text, often(m, 90) ? " " : ONE_OF(m, "\n", "  ", "\t", "\n    "));
}

static void put_words(struct made *m)
{
    for (size_t n = 1 + rng_below(&m->r, 6); n-- > 0;) {
        if (often(m, 12))
            put_holder(m);
        else
            put_word(m);
        put_blank(m);
    }
}

static void put_kept(struct made *m)
{
    m->n_unique++;
    switch (rng_below(&m->r, 7)) {
    case 0:
        str_printf(&m->text, "<code>kept%u()</code>", m->n_unique);
        break;
    case 1:
        str_printf(&m->text, "<span translate=\"no\">Kept <b>No%u</b></span>",
                   m->n_unique);
        break;
    case 2:
        str_printf(&m->text, "<i class='x notranslate'>kept%u</i>", m->n_unique);
        break;
    case 3:
        str_printf(&m->text, "<!-- kept%u <b> -->", m->n_unique);
        break;
    case 4:
        str_printf(&m->text, "<img src=\"kept%u.png\" alt='a > b'>", m->n_unique);
        break;
    case 5:
        str_printf(&m->text, "<script>if (kept%u < 3) x(\"</p>\");</script>",
                   m->n_unique);
        break;
    default:
        str_printf(&m->text, "<x id=\"kept%u\"/>", m->n_unique);
    }
}

static void put_line(struct made *m, int depth)
{
    for (size_t n = 1 + rng_below(&m->r, 5); n-- > 0;) {
        if (often(m, 15))
            put_kept(m);
        else if (depth > 0 && often(m, 45)) {
            const char *name =
                ONE_OF(m, "b", "i", "em", "span", "a", "strong", "sup", "u", "custom-x");
            str_printf(
                &m->text, "<%s%s>", name,
                ONE_OF(m, "", "", " href=\"/x?a=1&amp;b=2\"", " id=y", " title='<'"));
            put_line(m, depth - 1);
            str_printf(&m->text, "</%s>", name);
        } else
            put_words(m);
        put_blank(m);
    }
}

static void put_blocks(struct made *m, int depth)
{
    for (size_t n = 1 + rng_below(&m->r, 3); n-- > 0;) {
        const char *name =
            ONE_OF(m, "p", "div", "li", "td", "h2", "blockquote", "section");
        str_printf(&m->text, "<%s>", name);
        if (depth > 0 && often(m, 30))
            put_blocks(m, depth - 1);
        else
            put_line(m, MOST_DEPTH);
        str_printf(&m->text, "</%s>", name);
        put_blank(m);
        if (often(m, 20))
            str_puts(&m->text,
                     ONE_OF(m, "<br>", "<hr/>", "<pre> a  b </pre>", "loose text "));
    }
}

/* Change, remove, double or put in some bytes. */
static void mangle(struct made *m)
{
    struct str old = m->text;

    m->text = str_new(0);
    for (size_t i = 0; i < old.len; i++) {
        const bool is_hit = rng_below(&m->r, 40) == 0;
        if (is_hit && often(m, 30))
            str_puts(&m->text,
                     ONE_OF(m, "<", ">", "&", "\"", "'", "</", "<b>", "</i>", "<!--", "%",
                            "{", "}", "\xff", "\n", "&#", ";", "<a href=\""));
        if (is_hit && often(m, 30))
            i += rng_below(&m->r, 9);
        if (i < old.len)
            str_putc(&m->text, old.data[i]);
    }
    str_release(&old);
}

static struct made make(uint64_t i, void put(struct made *), bool is_mangled)
{
    struct made m = {str_new(0), rng_open(rng_hash(test_seed(), i)), 0};

    put(&m);
    if (is_mangled)
        mangle(&m);
    return m;
}

static void put_page(struct made *m)
{
    if (often(m, 50))
        put_line(m, MOST_DEPTH);
    else
        put_blocks(m, 2);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    while ((text = strstr(text, what))) {
        n++;
        text++;
    }
    return n;
}

/* Everything with a number of its own is there once; this looks at the bytes alone. */
static void check_unique(const struct made *m, const char *out)
{
    static const char *const forms[] = {"<code>kept%u()</code>",
                                        "Kept <b>No%u</b></span>",
                                        "<i class='x notranslate'>kept%u</i>",
                                        "<!-- kept%u <b> -->",
                                        "\"kept%u.png\"",
                                        "if (kept%u < 3)",
                                        "<x id=\"kept%u\"/>",
                                        "%%(name%u)s",
                                        "{name%u}",
                                        "{{ user%u.name }}",
                                        "${var%u}",
                                        ":emoji%u:",
                                        "https://a%u.example/x",
                                        "me%u@a.org",
                                        "#{id%u}"};

    for (unsigned u = 1; u <= m->n_unique; u++)
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
            char what[64];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(what, sizeof what, forms[f], u);
#pragma GCC diagnostic pop
            const size_t n = count(str_text(&m->text), what);
            if (n && count(out, what) != n)
                test_fail(__FILE__, __LINE__, "%s\n%s\n%s", what, str_text(&m->text),
                          out);
        }
}

static void check_each(void put(struct made *), enum markup_format format,
                       bool is_mangled)
{
    size_t n_left = 0, n_same = 0;

    for (uint64_t i = 0; i < N_EACH; i++) {
        struct made m = make(i, put, is_mangled);
        struct rng r = rng_open(rng_hash(test_seed() + 1, i));
        struct str out = str_new(0);
        const struct line text = {str_text(&m.text), m.text.len};
        const unsigned unrest = (unsigned[]){0, 15, 50, 100}[i % 4];
        if (!any_holds(text, format, unrest, &r, &out, &n_left))
            test_fail(__FILE__, __LINE__, "unrest %u\n%s\n%s", unrest, text.text,
                      str_text(&out));
        if (!is_mangled)
            check_unique(&m, str_text(&out));
        n_same += strcmp(text.text, str_text(&out)) == 0;
        str_release(&out);
        str_release(&m.text);
    }
    /* A quarter was copied; joining must not be refusing. */
    CHECK(n_left < N_EACH / 20);
    CHECK(n_same < N_EACH * 2 / 3);
}

TEST(html_is_balanced_and_complete_whatever_the_translator_says)
{
    check_each(put_page, MARKUP_HTML, false);
}

TEST(mangled_html_is_as_balanced_and_complete)
{
    check_each(put_page, MARKUP_HTML, true);
}

TEST(text_keeps_its_placeholders_whatever_the_translator_says)
{
    check_each(put_words, MARKUP_TEXT, false);
}

TEST(mangled_text_keeps_its_placeholders)
{
    check_each(put_words, MARKUP_TEXT, true);
}

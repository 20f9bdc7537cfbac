/*
 * Paragraphs joined from lines of Tatoeba, German and English: at least 99 % of the
 * borders are found, and no others. Which borders are right is known of lines that hold
 * one sentence; lines of several are measured apart. FERRY_DATA names the folder of
 * tatoeba/, ../shared/data without it. Only every other line of the file is used: the
 * rules may be tuned on the rest.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "text/line_reader.h"

#include "spans.h"
#include "tatoeba.h"
#include "test.h"

enum { N_PARAGRAPHS = 2000, MOST_LINES = 8 };

/* Lines of one language, by what is in them. */
struct pool {
    struct line *line;
    size_t n, cap;
};

/* The bytes at `s` of a mark and the quotes behind it; 0: no mark. */
static size_t mark_bytes(const char *s, size_t n)
{
    static const char *const closing[] = {"\"", "'", ")", "”", "“", "‟", "»", "«", "’"};
    size_t at = strspn(s, ".!?") < n ? strspn(s, ".!?") : n;

    if (at == 0 && n >= 3 && memcmp(s, "…", 3) == 0)
        at = 3;
    for (size_t i = 0; at && i < sizeof closing / sizeof *closing; i++) {
        const size_t len = strlen(closing[i]);
        if (len <= n - at && memcmp(s + at, closing[i], len) == 0) {
            at += len;
            i = SIZE_MAX; /* from the first again */
        }
    }
    return at;
}

/* Whether a full stop behind these letters or digits is known to end no sentence. */
static bool is_abbreviated(const char *line, size_t at)
{
    static const char *const words[] = {"Mr", "Mrs",  "Ms", "Dr", "Mt",
                                        "St", "Prof", "ca", "Nr", "No"};
    size_t from = at;

    while (from && line[from - 1] != ' ')
        from--;
    if (at - from <= 2 && at > from && line[from] >= '0' && line[from] <= '9')
        return true;
    if (at - from == 1 && line[from] >= 'A' && line[from] <= 'Z')
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == at - from &&
            memcmp(words[i], line + from, at - from) == 0)
            return true;
    return false;
}

/* What is in a line: one sentence, one with full stops inside, or anything else. */
enum kind { PLAIN, ABBREVIATED, SEVERAL, N_KINDS };

/* The line is NUL-terminated. */
static enum kind kind_of(struct line l)
{
    enum kind kind = PLAIN;

    for (size_t i = 0, n; i < l.n_bytes; i += n + !n) {
        n = mark_bytes(l.text + i, l.n_bytes - i);
        const char *behind = l.text + i + n;
        if (n && i + n == l.n_bytes)
            return kind;
        if (n == 0 || (*behind != ' ' && memcmp(behind, "\u00a0", 2) != 0))
            continue;
        if (l.text[i] != '.' || !is_abbreviated(l.text, i))
            return SEVERAL;
        kind = ABBREVIATED;
    }
    return SEVERAL;
}

static void add(struct pool *p, struct line l)
{
    struct err err;

    CHECK_OK(mem_grow((void *)&p->line, &p->cap, p->n + 1, sizeof *p->line, &err), &err);
    p->line[p->n++] = l;
}

/* The lines of both sides. Tabs and line feeds of the text become NUL. */
static void read_pools(struct pool pools[2][N_KINDS], struct str *text)
{
    struct line last[2] = {{"", 0}, {"", 0}};
    size_t n_lines = 0;
    char *at = text->data;

    for (char *end; (end = strchr(at, '\n')); at = end + 1) {
        char *tab = memchr(at, '\t', (size_t)(end - at));
        *end = 0;
        if (++n_lines % 2 || !tab)
            continue;
        *tab = 0;
        const struct line side[2] = {{at, (size_t)(tab - at)},
                                     {tab + 1, (size_t)(end - tab - 1)}};
        for (int i = 0; i < 2; i++) {
            if (strcmp(side[i].text, last[i].text) != 0)
                add(&pools[i][kind_of(side[i])], side[i]);
            last[i] = side[i];
        }
    }
}

struct counts {
    size_t n, found, extra; /* borders; those found; found ones that are none */
};

/* Split a paragraph whose lines begin at `begin`. */
static void judge(struct counts *c, struct sentences *s, const struct str *paragraph,
                  const size_t *begin, size_t n, const char *lang)
{
    struct str again = str_new(0);
    struct err err;
    size_t at = 0, k = 1;

    CHECK_OK(sentences_split(s, str_text(paragraph), paragraph->len, lang, &err), &err);
    CHECK(spans_add_up(str_text(paragraph), paragraph->len, s));
    for (size_t i = 0; i < s->n; i++) {
        const struct sentences_span span = s->span[i];
        str_add(&again, paragraph->data + at, span.at - at);
        str_add(&again, paragraph->data + span.at, span.n_bytes);
        at = span.at + span.n_bytes;
        while (k < n && begin[k] < span.at)
            k++;
        const bool is_right = k < n && begin[k] == span.at;
        c->found += is_right;
        c->extra += i > 0 && !is_right;
    }
    str_add(&again, paragraph->data + at, paragraph->len - at);
    CHECK_STR(str_text(&again), str_text(paragraph));
    c->n += n - 1;
    str_release(&again);
}

static struct counts measure(const struct pool *p, const char *lang)
{
    static const char *const spaces[] = {" ", " ", " ", "  ", "\t", "\u00a0", " \u2003"};
    struct rng rng = rng_open(17);
    struct str paragraph = str_new(0);
    struct sentences s = {0};
    struct counts c = {0};

    for (size_t i = 0; i < N_PARAGRAPHS; i++) {
        const size_t n = 2 + rng_below(&rng, MOST_LINES - 1);
        size_t begin[MOST_LINES];
        str_reset(&paragraph);
        for (size_t k = 0; k < n; k++) {
            const struct line l = p->line[rng_below(&rng, p->n)];
            if (k)
                str_puts(&paragraph,
                         spaces[rng_below(&rng, sizeof spaces / sizeof *spaces)]);
            begin[k] = paragraph.len;
            str_add(&paragraph, l.text, l.n_bytes);
        }
        judge(&c, &s, &paragraph, begin, n, lang);
    }
    str_release(&paragraph);
    sentences_release(&s);
    return c;
}

/* At least this part of the borders is found; the others that are found count as well,
 * unless `may_have_more`. */
static void check(const struct pool *p, const char *what, const char *lang, double part,
                  bool may_have_more)
{
    const struct counts c = measure(p, lang);

    printf("%s, lang \"%s\": %zu borders, %zu found, %zu others; %zu lines\n", what, lang,
           c.n, c.found, c.extra, p->n);
    CHECK((double)c.found >= part * (double)(c.n + (may_have_more ? 0 : c.extra)));
}

static void check_language(const struct pool pools[N_KINDS], const char *lang)
{
    check(&pools[PLAIN], "plain lines", lang, 0.99, false);
    check(&pools[PLAIN], "plain lines", "", 0.99, false);
    check(&pools[ABBREVIATED], "full stops inside lines", lang, 0.98, false);
    check(&pools[ABBREVIATED], "full stops inside lines", "", 0.97, false);
    check(&pools[SEVERAL], "several sentences in a line", lang, 0.97, true);
}

TEST(borders_of_joined_tatoeba_lines_are_found_and_no_others)
{
    const char *path = tatoeba_path(FERRY_TEST_DATA);
    struct pool pools[2][N_KINDS] = {0};
    struct str text = str_new(0);
    struct line_reader f;
    struct line line;
    struct err err;

    CHECK_OK(line_reader_open(&f, path, "Tatoeba", &err), &err);
    for (bool has = true; has;) {
        CHECK_OK(line_reader_next(&f, &line, &has, &err), &err);
        if (has)
            str_printf(&text, "%.*s\n", (int)line.n_bytes, line.text);
    }
    line_reader_close(&f);
    read_pools(pools, &text);
    check_language(pools[0], "de");
    check_language(pools[1], "en");
    for (int i = 0; i < 2; i++)
        for (int kind = 0; kind < N_KINDS; kind++)
            free(pools[i][kind].line);
    str_release(&text);
}

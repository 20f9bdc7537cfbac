#include "sample/gloss.h"

#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "sample/say.h"

static void add(struct gloss *g, const char *en, const char *de)
{
    if (!en)
        return;
    BUG_ON(g->n == GLOSS_MAX);
    g->entry[g->n].en = inflect_join(en, "", "");
    g->entry[g->n++].de = inflect_join(de, "", "");
}

/* The words of a table whose rows are as a dictionary gives them. */
#define ADD_TABLE(g, table)                \
    for (size_t i = 0; i < table##_n; i++) \
    add(g, table[i].en, table[i].de)

static void add_fixed_words(struct gloss *g)
{
    ADD_TABLE(g, lexicon_gloss_words);
    for (size_t i = 0; i < lexicon_dets_n; i++) {
        const struct det *d = &lexicon_dets[i];
        const struct word de =
            inflect_det(d, CASE_NOMINATIVE, d->en ? COLUMN_MASCULINE : COLUMN_PLURAL);
        add(g, d->en, de.text);
        add(g, d->en_plural, de.text);
    }
    for (size_t i = 0; i < lexicon_pronouns_n; i++) {
        add(g, lexicon_pronouns[i].en, lexicon_pronouns[i].de[CASE_NOMINATIVE]);
        add(g, lexicon_pronouns[i].en_object, lexicon_pronouns[i].de[CASE_ACCUSATIVE]);
    }
    for (size_t i = 0; i < lexicon_modals_n; i++) {
        add(g, lexicon_modals[i].en, lexicon_modals[i].de_er);
        add(g, lexicon_modals[i].en_third, lexicon_modals[i].de_er);
        add(g, lexicon_modals[i].en_past, lexicon_modals[i].de_past);
    }
    ADD_TABLE(g, lexicon_phrases);
    ADD_TABLE(g, lexicon_preps);
    ADD_TABLE(g, lexicon_links);
    ADD_TABLE(g, lexicon_adjectives);
}

static void add_verb(struct gloss *g, const struct verb *v)
{
    const struct word infinitive =
        inflect_join(v->prefix ? v->prefix : "", v->de.infinitive, "");
    const struct word er = inflect_present(v, PERSON_ER);
    const char *const de[] = {infinitive.text, er.text, v->de.participle,
                              v->de.participle, infinitive.text};

    for (enum english_form form = FORM_BASE; form <= FORM_ING; form++)
        add(g, inflect_en_verb(v, form).text, de[form]);
}

void gloss_open(struct gloss *g)
{
    g->n = 0;
    add_fixed_words(g);
    for (size_t i = 0; i < 2 * lexicon_nouns_n; i++) {
        const struct noun *n = &lexicon_nouns[i / 2];
        add(g, inflect_en_noun(n, i % 2).text,
            inflect_noun(n, CASE_NOMINATIVE, i % 2).text);
    }
    for (size_t i = 0; i < lexicon_verbs_n; i++)
        add_verb(g, &lexicon_verbs[i]);
    for (unsigned n = 1; n < 100; n++)
        add(g, inflect_en_number(n).text, inflect_number(n).text);
}

static const char *find(const struct gloss *g, const char *en)
{
    for (size_t i = 0; i < g->n; i++)
        if (strcmp(g->entry[i].en.text, en) == 0)
            return g->entry[i].de.text;
    return NULL;
}

/* One word as it stands, else as if it were not the first, else itself. */
static void say_gloss(const struct gloss *g, struct say *l, const char *en, size_t n)
{
    struct word word = {""};

    if (n > 2 && memcmp(en + n - 2, "'s", 2) == 0)
        n -= 2;
    if (n >= sizeof word.text)
        return;
    memcpy(word.text, en, n);
    struct word small = word;
    if (small.text[0] >= 'A' && small.text[0] <= 'Z')
        small.text[0] = (char)(small.text[0] + 0x20);
    const char *de = find(g, word.text), *de_small = de ? de : find(g, small.text);
    say_word(l, de_small ? de_small : word.text);
}

void gloss_sentence(const struct gloss *g, struct line en, struct str *out)
{
    struct say l = {.out = out, .start = out->len};
    size_t start = 0;
    char mark = '.';

    for (size_t i = 0; i <= en.n_bytes; i++) {
        const char c = i < en.n_bytes ? en.text[i] : ' ';
        if (!strchr(" ,.?", c))
            continue;
        if (i > start)
            say_gloss(g, &l, en.text + start, i - start);
        start = i + 1;
        if (c == ',')
            say_comma(&l);
        else if (c == '.' || c == '?')
            mark = c;
    }
    say_end(&l, mark);
}

status gloss_file(const char *from, const char *to, struct err *err)
{
    RELEASED_BY(str_release) struct str out = str_new(0);
    RELEASED_BY(mem_release) struct gloss *g = NULL;
    RELEASED_BY(lines_close) struct lines in = {0};
    struct line line;

    TRY(lines_open(&in, from, err));
    TRY(mem_alloc(&g, 1, sizeof *g, err));
    gloss_open(g);
    while (lines_next(&in, &line)) {
        gloss_sentence(g, line, &out);
        str_putc(&out, '\n');
    }
    return file_write_str(to, &out, err);
}

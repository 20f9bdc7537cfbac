#include "sample/sample_gloss.h"

#include <string.h>

#include "base/file.h"
#include "base/lines.h"
#include "sample/sample_english.h"
#include "sample/sample_line.h"
#include "sample/sample_morph.h"

/* Words that are in no table by themselves: auxiliaries and parts of fixed phrases. */
static const struct {
    const char *en, *de;
} small_words[] = {
    {"am", "bin"},
    {"is", "ist"},
    {"are", "sind"},
    {"was", "war"},
    {"were", "waren"},
    {"been", "gewesen"},
    {"has", "hat"},
    {"have", "haben"},
    {"had", "hatte"},
    {"will", "wird"},
    {"would", "möchte"},
    {"like", "gern"},
    {"do", ""},
    {"does", ""},
    {"did", ""},
    {"not", "nicht"},
    {"cannot", "kann nicht"},
    {"to", "zu"},
    {"any", ""},
    {"who", "wer"},
    {"what", "was"},
    {"whose", "dessen"},
    {"there", "es"},
    {"an", "ein"},
    {"how", "wie"},
    {"many", "viele"},
    {"hundred", "hundert"},
    {"last", "letzte"},
    {"next", "nächste"},
    {"by", "mit"},
    {"at", "um"},
    {"of", "von"},
    {"course", "natürlich"},
    {"front", "vor"},
    {"morning", "Morgen"},
    {"evening", "Abend"},
    {"night", "Nacht"},
    {"spring", "Frühling"},
    {"summer", "Sommer"},
    {"autumn", "Herbst"},
    {"winter", "Winter"},
    {"Monday", "Montag"},
    {"Tuesday", "Dienstag"},
    {"Wednesday", "Mittwoch"},
    {"Thursday", "Donnerstag"},
    {"Friday", "Freitag"},
    {"Saturday", "Samstag"},
    {"Sunday", "Sonntag"},
    {"home", "Hause"},
    {"up", "auf"},
    {"off", "aus"},
    {"away", "weg"},

    {"back", "zurück"},
    {"asleep", "ein"},
    {"for", "für"},
    {"about", "über"},
    {"after", "nach"},
};

static bool same(const char *a, const char *b)
{
    return a && strcmp(a, b) == 0;
}

static bool gloss_small(const char *en, struct sample_morph_word *de)
{
    for (size_t i = 0; i < sizeof small_words / sizeof *small_words; i++)
        if (same(small_words[i].en, en)) {
            sample_morph_join(de, small_words[i].de, "");
            return true;
        }
    return false;
}

static bool gloss_det(const char *en, struct sample_morph_word *de)
{
    const struct sample_det *d = sample_lexicon_det(en);

    if (d)
        sample_morph_det(de, d, CASE_NOMINATIVE,
                         d->en ? COLUMN_MASCULINE : COLUMN_PLURAL);
    return d != NULL;
}

static bool gloss_pronoun(const char *en, struct sample_morph_word *de)
{
    for (size_t i = 0; i < sample_lexicon_pronouns_n; i++) {
        const struct sample_pronoun *p = &sample_lexicon_pronouns[i];
        if (same(p->en, en) || same(p->en_object, en)) {
            sample_morph_join(de, p->de[same(p->en, en) ? 0 : 1], "");
            return true;
        }
    }
    return false;
}

static bool gloss_modal(const char *en, struct sample_morph_word *de)
{
    for (size_t i = 0; i < sample_lexicon_modals_n; i++) {
        const struct sample_modal *m = &sample_lexicon_modals[i];
        if (same(m->en_third, en) || same(m->en_present, en) || same(m->en_past, en)) {
            sample_morph_join(de, same(m->en_past, en) ? m->de_past : m->de_er, "");
            return true;
        }
    }
    return false;
}

static bool gloss_noun(const char *en, struct sample_morph_word *de)
{
    struct sample_english_word form;

    for (size_t i = 0; i < sample_nouns_n; i++)
        for (int is_plural = 0; is_plural < 2; is_plural++) {
            sample_english_noun(&form, &sample_nouns[i], is_plural);
            if (same(form.text, en)) {
                sample_morph_noun(de, &sample_nouns[i], CASE_NOMINATIVE, is_plural);
                return true;
            }
        }
    return false;
}

static bool gloss_verb(const char *en, struct sample_morph_word *de)
{
    struct sample_english_word word;

    for (size_t i = 0; i < sample_verbs_n; i++) {
        const struct sample_verb *v = &sample_verbs[i];
        for (enum sample_english_form form = FORM_BASE; form <= FORM_ING; form++) {
            sample_english_verb(&word, v, form);
            if (!same(word.text, en))
                continue;
            if (form == FORM_THIRD)
                sample_morph_present(de, v, PERSON_ER);
            else if (form == FORM_PAST || form == FORM_PARTICIPLE)
                sample_morph_join(de, v->de.participle, "");
            else
                sample_morph_join(de, v->prefix ? v->prefix : "", v->de.infinitive);
            return true;
        }
    }
    return false;
}

static bool gloss_number(const char *en, struct sample_morph_word *de)
{
    struct sample_english_word word;

    for (unsigned n = 1; n < 100; n++) {
        sample_english_number(&word, n);
        if (same(word.text, en)) {
            sample_morph_number(de, n);
            return true;
        }
    }
    return false;
}

static bool gloss_fixed(const char *en, struct sample_morph_word *de)
{
    const char *found = NULL;
    const struct sample_adjective *a = sample_lexicon_adjective(en);

    for (size_t i = 0; !found && i < sample_lexicon_phrases_n; i++)
        if (same(sample_lexicon_phrases[i].en, en))
            found = sample_lexicon_phrases[i].de;
    for (size_t i = 0; !found && i < sample_lexicon_preps_n; i++)
        if (same(sample_lexicon_preps[i].en, en))
            found = sample_lexicon_preps[i].de;
    for (size_t i = 0; !found && i < sample_lexicon_links_n; i++)
        if (same(sample_lexicon_links[i].en, en))
            found = sample_lexicon_links[i].de;
    if (!found && a)
        found = a->de;
    if (found)
        sample_morph_join(de, found, "");
    return found != NULL;
}

static bool gloss_word(const char *en, struct sample_morph_word *de)
{
    return gloss_small(en, de) || gloss_det(en, de) || gloss_pronoun(en, de) ||
           gloss_modal(en, de) || gloss_fixed(en, de) || gloss_noun(en, de) ||
           gloss_verb(en, de) || gloss_number(en, de);
}

/* One word as it stands, else as if it were not the first, else itself. */
static void say_gloss(struct sample_line *l, const char *en, size_t n)
{
    struct sample_english_word word;
    struct sample_morph_word de;

    if (n > 2 && memcmp(en + n - 2, "'s", 2) == 0)
        n -= 2;
    if (n >= sizeof word.text)
        return;
    memcpy(word.text, en, n);
    word.text[n] = '\0';
    if (!gloss_word(word.text, &de)) {
        struct sample_english_word small = word;
        if (small.text[0] >= 'A' && small.text[0] <= 'Z')
            small.text[0] = (char)(small.text[0] + 0x20);
        if (!gloss_word(small.text, &de))
            sample_morph_join(&de, word.text, "");
    }
    sample_line_word(l, de.text);
}

void sample_gloss(const char *en, struct str *out)
{
    struct sample_line l = sample_line_begin(out);
    char mark = '.';

    while (*en) {
        const size_t n = strcspn(en, " ,.?");
        if (n)
            say_gloss(&l, en, n);
        en += n;
        if (*en == ',')
            sample_line_comma(&l);
        else if (*en == '.' || *en == '?')
            mark = *en;
        en += *en != '\0';
    }
    sample_line_end(&l, mark);
}

/* sample_gloss wants a string; a line of a file has no end mark of its own. */
static status gloss_lines(struct lines *in, struct str *out, struct err *err)
{
    struct str text = str_new(0);
    struct line line;
    status result = OK;

    while (result == OK && lines_next(in, &line)) {
        str_reset(&text);
        str_add(&text, line.text, line.n_bytes);
        sample_gloss(str_text(&text), out);
        str_putc(out, '\n');
        result = str_check(&text, "a line", err);
    }
    str_release(&text);
    return result == OK ? str_check(out, "the gloss", err) : result;
}

status sample_gloss_file(const char *from, const char *to, struct err *err)
{
    struct str out = str_new(0);
    struct lines in;

    TRY(lines_open(&in, from, err));
    status result = gloss_lines(&in, &out, err);
    if (result == OK)
        result = file_write(to, str_text(&out), out.len, err);
    str_release(&out);
    lines_close(&in);
    return result;
}

#include "sample/sample_morph.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

enum sample_column sample_morph_column(enum sample_gender gender, bool is_plural)
{
    return is_plural ? COLUMN_PLURAL : (enum sample_column)gender;
}

static void join3(struct sample_morph_word *w, const char *a, const char *b,
                  const char *c)
{
    const int n = snprintf(w->text, sizeof w->text, "%s%s%s", a, b, c);
    BUG_ON(n < 0 || (size_t)n >= sizeof w->text);
}

void sample_morph_join(struct sample_morph_word *w, const char *a, const char *b)
{
    join3(w, a, b, "");
}

static bool ends_with(const char *word, const char *end)
{
    const size_t n = strlen(word), m = strlen(end);

    return n >= m && strcmp(word + n - m, end) == 0;
}

/* [case][column]; rows nominative, accusative, dative, genitive. */
static const char *const definite[4][4] = {{"der", "die", "das", "die"},
                                           {"den", "die", "das", "die"},
                                           {"dem", "der", "dem", "den"},
                                           {"des", "der", "des", "der"}};
static const char *const strong[4][4] = {{"er", "e", "es", "e"},
                                         {"en", "e", "es", "e"},
                                         {"em", "er", "em", "en"},
                                         {"es", "er", "es", "er"}};
static const char *const weak[4][4] = {{"e", "e", "e", "en"},
                                       {"en", "e", "e", "en"},
                                       {"en", "en", "en", "en"},
                                       {"en", "en", "en", "en"}};
/* ein, mein, kein have no ending here, so that the adjective shows the gender. */
static bool is_bare_ein(enum sample_case casus, enum sample_column column)
{
    return (casus == CASE_NOMINATIVE && column == COLUMN_MASCULINE) ||
           (casus <= CASE_ACCUSATIVE && column == COLUMN_NEUTER);
}

void sample_morph_det(struct sample_morph_word *w, const struct sample_det *det,
                      enum sample_case casus, enum sample_column column)
{
    switch (det->declension) {
    case DECLINE_NONE:
        sample_morph_join(w, "", "");
        break;
    case DECLINE_DER:
        sample_morph_join(w, definite[casus][column], "");
        break;
    case DECLINE_EIN:
        sample_morph_join(w, det->de,
                          is_bare_ein(casus, column) ? "" : strong[casus][column]);
        break;
    case DECLINE_DIESER:
    case DECLINE_VIELE:
        sample_morph_join(w, det->de, strong[casus][column]);
        break;
    }
}

static const char *adjective_ending(enum sample_declension declension,
                                    enum sample_case casus, enum sample_column column)
{
    switch (declension) {
    case DECLINE_DER:
    case DECLINE_DIESER:
        return weak[casus][column];
    case DECLINE_EIN:
        return is_bare_ein(casus, column) ? strong[casus][column] : weak[casus][column];
    case DECLINE_NONE:
    case DECLINE_VIELE:
        break;
    }
    /* The genitive shows in the noun: "kalten Wassers". */
    if (casus == CASE_GENITIVE && strcmp(strong[casus][column], "es") == 0)
        return "en";
    return strong[casus][column];
}

void sample_morph_adjective(struct sample_morph_word *w,
                            const struct sample_adjective *adjective,
                            enum sample_declension declension, enum sample_case casus,
                            enum sample_column column)
{
    const char *stem = adjective->de_stem ? adjective->de_stem : adjective->de;

    sample_morph_join(w, stem, adjective_ending(declension, casus, column));
}

void sample_morph_noun(struct sample_morph_word *w, const struct sample_noun *noun,
                       enum sample_case casus, bool is_plural)
{
    const char *plural = noun->de_plural ? noun->de_plural : noun->de;

    if (is_plural) {
        const bool has_n = casus == CASE_DATIVE && !ends_with(plural, "n") &&
                           !ends_with(plural, "s") &&
                           !(noun->classes & (CLASS_MONEY | CLASS_HOUR));
        sample_morph_join(w, plural, has_n ? "n" : "");
    } else if (noun->classes & CLASS_WEAK) {
        sample_morph_join(w, casus == CASE_NOMINATIVE ? noun->de : plural, "");
    } else if (casus == CASE_GENITIVE && noun->gender != GENDER_FEMININE) {
        sample_morph_join(w, noun->de_genitive ? noun->de_genitive : noun->de,
                          noun->de_genitive ? "" : "s");
    } else {
        sample_morph_join(w, noun->de, "");
    }
}

const char *sample_morph_pronoun(const struct sample_pronoun *p,
                                 const struct sample_noun *stands_for,
                                 enum sample_case casus)
{
    static const char *const it[3][3] = {
        {"er", "ihn", "ihm"}, {"sie", "sie", "ihr"}, {"es", "es", "ihm"}};

    BUG_ON(casus > CASE_DATIVE);
    return p->is_it && stands_for ? it[stands_for->gender][casus] : p->de[casus];
}

const char *sample_morph_relative(enum sample_gender gender, bool is_plural,
                                  enum sample_case casus)
{
    if (is_plural && casus == CASE_DATIVE)
        return "denen";
    return definite[casus][sample_morph_column(gender, is_plural)];
}

const char *sample_morph_contract(const char *prep, enum sample_gender gender,
                                  enum sample_case casus)
{
    static const struct {
        const char *prep, *article, *merged;
    } table[] = {{"in", "dem", "im"},   {"in", "das", "ins"},  {"an", "dem", "am"},
                 {"an", "das", "ans"},  {"zu", "dem", "zum"},  {"zu", "der", "zur"},
                 {"von", "dem", "vom"}, {"bei", "dem", "beim"}};
    const char *article = definite[casus][sample_morph_column(gender, false)];

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].prep, prep) == 0 && strcmp(table[i].article, article) == 0)
            return table[i].merged;
    return NULL;
}

void sample_morph_number(struct sample_morph_word *w, unsigned n)
{
    static const char *const small[] = {
        "",         "eins",     "zwei",     "drei",     "vier",     "fünf",    "sechs",
        "sieben",   "acht",     "neun",     "zehn",     "elf",      "zwölf",   "dreizehn",
        "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"};
    static const char *const tens[] = {"",        "",        "zwanzig", "dreißig",
                                       "vierzig", "fünfzig", "sechzig", "siebzig",
                                       "achtzig", "neunzig"};
    struct sample_morph_word rest;

    BUG_ON(n == 0 || n > 999);
    if (n < 20) {
        sample_morph_join(w, small[n], "");
    } else if (n < 100) {
        const char *one = n % 10 == 1 ? "ein" : small[n % 10];
        join3(w, one, n % 10 ? "und" : "", tens[n / 10]);
    } else {
        sample_morph_join(&rest, "", "");
        if (n % 100)
            sample_morph_number(&rest, n % 100);
        join3(w, n < 200 ? "" : small[n / 100], "hundert", rest.text);
    }
}

/* "arbeit", "fütter": what the endings go to. */
static void stem_of(struct sample_morph_word *w, const char *infinitive)
{
    sample_morph_join(w, infinitive, "");
    w->text[strlen(infinitive) - (ends_with(infinitive, "en") ? 2 : 1)] = '\0';
}

static const char *regular_ending(const char *stem, enum sample_person person)
{
    if (ends_with(stem, "t") || ends_with(stem, "d"))
        return person == PERSON_DU ? "est" : "et";
    if (person == PERSON_DU && !ends_with(stem, "s") && !ends_with(stem, "ß") &&
        !ends_with(stem, "z"))
        return "st";
    return "t";
}

void sample_morph_present(struct sample_morph_word *w, const struct sample_verb *v,
                          enum sample_person person)
{
    const char *const given[] = {v->de.ich, v->de.du, v->de.er, v->de.plural};
    struct sample_morph_word stem;

    stem_of(&stem, v->de.infinitive);
    if (given[person])
        sample_morph_join(w, given[person], "");
    else if (person == PERSON_PLURAL)
        sample_morph_join(w, v->de.infinitive, "");
    else if (person == PERSON_ICH)
        sample_morph_join(w, stem.text, "e");
    else
        sample_morph_join(w, stem.text, regular_ending(stem.text, person));
}

/* From the form of "er": hatte, hattest, hatten; war, warst, waren. */
static void preterite(struct sample_morph_word *w, const char *er,
                      enum sample_person person)
{
    const char *const endings[] = {"", "st", "", ends_with(er, "e") ? "n" : "en"};

    sample_morph_join(w, er, endings[person]);
}

static void modal_form(struct sample_morph_word *w, const struct sample_modal *m,
                       enum sample_tense tense, enum sample_person person)
{
    const char *const present[] = {m->de_er, m->de_du, m->de_er, m->de_plural};

    if (tense == TENSE_PAST)
        preterite(w, m->de_past, person);
    else
        sample_morph_join(w, present[person], "");
}

/* The finite form of a tense that needs an auxiliary. */
static void auxiliary(struct sample_morph_word *w, const struct sample_verb *v,
                      enum sample_tense tense, enum sample_person person)
{
    static const char *const haben[] = {"habe", "hast", "hat", "haben"};
    static const char *const sein[] = {"bin", "bist", "ist", "sind"};
    static const char *const werden[] = {"werde", "wirst", "wird", "werden"};

    if (tense == TENSE_FUTURE)
        sample_morph_join(w, werden[person], "");
    else if (tense == TENSE_PLUPERFECT)
        preterite(w, v->is_sein ? "war" : "hatte", person);
    else
        sample_morph_join(w, (v->is_sein ? sein : haben)[person], "");
}

static void set_last(struct sample_morph_group *g, bool is_joined)
{
    const bool has_space = !is_joined && g->rest.text[0];

    join3(&g->last, g->rest.text, has_space ? " " : "", g->finite.text);
}

void sample_morph_verb(struct sample_morph_group *g, const struct sample_verb *v,
                       const struct sample_modal *modal, enum sample_tense tense,
                       enum sample_person person)
{
    const char *prefix = v->prefix ? v->prefix : "";

    if (modal) {
        modal_form(&g->finite, modal, tense, person);
        sample_morph_join(&g->rest, prefix, v->de.infinitive);
    } else if (tense == TENSE_PRESENT || tense == TENSE_PROGRESSIVE) {
        sample_morph_present(&g->finite, v, person);
        sample_morph_join(&g->rest, prefix, "");
        set_last(g, true);
        return;
    } else if (tense == TENSE_PAST && v->de.preterite) {
        preterite(&g->finite, v->de.preterite, person);
        sample_morph_join(&g->rest, "", "");
    } else {
        auxiliary(&g->finite, v, tense, person);
        if (tense == TENSE_FUTURE)
            sample_morph_join(&g->rest, prefix, v->de.infinitive);
        else
            sample_morph_join(&g->rest, v->de.participle, "");
    }
    set_last(g, false);
}

void sample_morph_infinitive(struct sample_morph_group *g, const struct sample_verb *v)
{
    const bool is_separable = v->prefix != NULL;

    *g = (struct sample_morph_group){0};
    join3(&g->last, is_separable ? v->prefix : "", is_separable ? "zu" : "zu ",
          v->de.infinitive);
}

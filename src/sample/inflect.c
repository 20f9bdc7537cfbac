#include "sample/inflect.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

struct word inflect_join(const char *a, const char *b, const char *c)
{
    struct word w;
    const int n = snprintf(w.text, sizeof w.text, "%s%s%s", a, b, c);

    BUG_ON(n < 0 || (size_t)n >= sizeof w.text);
    return w;
}

static struct word join(const char *a, const char *b)
{
    return inflect_join(a, b, "");
}

/* Whether the word ends with one of the sounds, which are separated by blanks. */
static bool ends_with(const char *word, const char *sounds)
{
    const size_t len = strlen(word);

    for (size_t n; (n = strcspn(sounds, " ")) > 0; sounds += n + (sounds[n] == ' '))
        if (len >= n && memcmp(word + len - n, sounds, n) == 0)
            return true;
    return false;
}

/* The word without its last n letters, then the ending. */
static struct word replace_end(const char *word, size_t n, const char *ending)
{
    struct word stem = join(word, "");

    stem.text[strlen(word) - n] = '\0';
    return join(stem.text, ending);
}

/* carry, story; but not play */
static bool ends_in_y(const char *word)
{
    return ends_with(word, "y") && !ends_with(word, "ay ey oy uy");
}

/* -s of nouns and verbs: goes, potatoes; but radios, euros */
static struct word add_s(const char *word)
{
    if (ends_in_y(word))
        return replace_end(word, 1, "ies");
    return join(word, ends_with(word, "s x ch sh go ato") ? "es" : "s");
}

static struct word add_ed(const char *word)
{
    if (ends_in_y(word))
        return replace_end(word, 1, "ied");
    return join(word, ends_with(word, "e") ? "d" : "ed");
}

static struct word add_ing(const char *word)
{
    return replace_end(word, ends_with(word, "e") && !ends_with(word, "ee"), "ing");
}

struct word inflect_en_verb(const struct verb *v, enum english_form form)
{
    const char *base = v->en.base;
    const char *const given[] = {
        base, strcmp(base, "have") == 0 ? "has" : NULL, v->en.past,
        v->en.participle ? v->en.participle : v->en.past, v->en.ing};

    if (given[form])
        return join(given[form], "");
    return form == FORM_THIRD ? add_s(base)
           : form == FORM_ING ? add_ing(base)
                              : add_ed(base);
}

struct word inflect_en_noun(const struct noun *n, bool is_plural)
{
    if (!is_plural)
        return join(n->en, "");
    return n->en_plural ? join(n->en_plural, "") : add_s(n->en);
}

/* The row of 0..19, or of the tens of a larger number. */
static const struct number *number_row(unsigned n)
{
    return &lexicon_numbers[n < 20 ? n : 18 + n / 10];
}

struct word inflect_en_number(unsigned n)
{
    BUG_ON(n > 999);
    if (n < 20)
        return join(number_row(n)->en, "");
    if (n < 100)
        return inflect_join(number_row(n)->en, n % 10 ? "-" : "", number_row(n % 10)->en);
    return inflect_join(number_row(n / 100)->en, n % 100 ? " hundred and " : " hundred",
                        inflect_en_number(n % 100).text);
}

struct word inflect_number(unsigned n)
{
    const char *one = n % 10 == 1 ? "ein" : number_row(n % 10)->de;

    BUG_ON(n > 999);
    if (n < 20)
        return join(number_row(n)->de, "");
    if (n < 100)
        return inflect_join(one, n % 10 ? "und" : "", number_row(n)->de);
    return inflect_join(n < 200 ? "" : number_row(n / 100)->de, "hundert",
                        inflect_number(n % 100).text);
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
/* ein, mein, kein have no ending there, so that the adjective shows the gender. */
static const bool is_bare_ein[4][4] = {{true, false, true}, {false, false, true}};

enum column inflect_column(const struct noun *noun, bool is_plural)
{
    return is_plural ? COLUMN_PLURAL : (enum column)noun->gender;
}

struct word inflect_det(const struct det *det, enum casus casus, enum column column)
{
    if (det->declension == DECLINE_NONE)
        return join("", "");
    if (det->declension == DECLINE_DER)
        return join(definite[casus][column], "");
    const bool is_bare = det->declension == DECLINE_EIN && is_bare_ein[casus][column];
    return join(det->de, is_bare ? "" : strong[casus][column]);
}

struct word inflect_adjective(const struct adjective *adjective,
                              enum declension declension, enum casus casus,
                              enum column column)
{
    const char *stem = adjective->de_stem ? adjective->de_stem : adjective->de;
    const bool is_weak = declension == DECLINE_DER || declension == DECLINE_DIESER ||
                         (declension == DECLINE_EIN && !is_bare_ein[casus][column]);

    /* The genitive shows in the noun: "kalten Wassers". */
    if (is_weak || (casus == CASE_GENITIVE && ends_with(strong[casus][column], "s")))
        return join(stem, weak[casus][column]);
    return join(stem, strong[casus][column]);
}

struct word inflect_noun(const struct noun *noun, enum casus casus, bool is_plural)
{
    const char *plural = noun->de_plural ? noun->de_plural : noun->de;

    if (is_plural) {
        const bool has_n = casus == CASE_DATIVE && !ends_with(plural, "n s") &&
                           !(noun->classes & (CLASS_MONEY | CLASS_HOUR));
        return join(plural, has_n ? "n" : "");
    }
    if (noun->classes & CLASS_WEAK)
        return join(casus == CASE_NOMINATIVE ? noun->de : plural, "");
    if (casus != CASE_GENITIVE || noun->gender == GENDER_FEMININE)
        return join(noun->de, "");
    return noun->de_genitive ? join(noun->de_genitive, "") : join(noun->de, "s");
}

const char *inflect_pronoun(const struct pronoun *p, const struct noun *stands_for,
                            enum casus casus)
{
    static const char *const it[3][3] = {
        {"er", "ihn", "ihm"}, {"sie", "sie", "ihr"}, {"es", "es", "ihm"}};

    BUG_ON(casus > CASE_DATIVE);
    return p->is_it && stands_for ? it[stands_for->gender][casus] : p->de[casus];
}

const char *inflect_relative(enum column column, enum casus casus)
{
    return column == COLUMN_PLURAL && casus == CASE_DATIVE ? "denen"
                                                           : definite[casus][column];
}

const char *inflect_contract(const char *prep, enum gender gender, enum casus casus)
{
    static const struct {
        const char *prep, *article, *merged;
    } table[] = {{"in", "dem", "im"},   {"in", "das", "ins"},  {"an", "dem", "am"},
                 {"an", "das", "ans"},  {"zu", "dem", "zum"},  {"zu", "der", "zur"},
                 {"von", "dem", "vom"}, {"bei", "dem", "beim"}};
    const char *article = definite[casus][gender];

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].prep, prep) == 0 && strcmp(table[i].article, article) == 0)
            return table[i].merged;
    return NULL;
}

/* The auxiliaries, by person. */
static const char *const haben[] = {"habe", "hast", "hat", "haben"};
static const char *const sein[] = {"bin", "bist", "ist", "sind"};
static const char *const werden[] = {"werde", "wirst", "wird", "werden"};

/* hilft, hilfst; isst, isst; muss, musst; sollte, solltest */
static struct word du_of(const char *er)
{
    const struct word stem = replace_end(er, ends_with(er, "t"), "");

    return join(stem.text, ends_with(stem.text, "s ß z") ? "t" : "st");
}

struct word inflect_present(const struct verb *v, enum person person)
{
    const char *infinitive = v->de.infinitive;
    /* "arbeit", "fütter": what the endings go to. */
    const struct word stem =
        replace_end(infinitive, ends_with(infinitive, "en") ? 2 : 1, "");
    const struct word er =
        v->de.er ? join(v->de.er, "")
                 : join(stem.text, ends_with(stem.text, "t d") ? "et" : "t");

    if (strcmp(infinitive, "sein") == 0)
        return join(sein[person], "");
    if (person == PERSON_ICH && ends_with(er.text, "t")) /* not "ich weiß", "er weiß" */
        return join(stem.text, "e");
    if (person == PERSON_DU)
        return du_of(er.text);
    return person == PERSON_PLURAL ? join(infinitive, "") : er;
}

/* From the form of "er": hatte, hattest, hatten; war, warst, waren. */
static struct word preterite(const char *er, enum person person)
{
    const char *const endings[] = {"", "st", "", ends_with(er, "e") ? "n" : "en"};

    return join(er, endings[person]);
}

static struct word modal_form(const struct modal *m, enum tense tense, enum person person)
{
    if (tense == TENSE_PAST)
        return preterite(m->de_past, person);
    if (person == PERSON_DU)
        return du_of(m->de_er);
    return join(person == PERSON_PLURAL ? m->de_plural : m->de_er, "");
}

/* The finite form of a tense that needs an auxiliary. */
static struct word auxiliary(const struct verb *v, enum tense tense, enum person person)
{
    if (tense == TENSE_PLUPERFECT)
        return preterite(v->is_sein ? "war" : "hatte", person);
    return join((tense == TENSE_FUTURE ? werden : v->is_sein ? sein : haben)[person], "");
}

struct verb_group inflect_verb(const struct verb *v, const struct modal *modal,
                               enum tense tense, enum person person)
{
    const char *prefix = v->prefix ? v->prefix : "";
    const bool is_simple = tense == TENSE_PRESENT || tense == TENSE_PROGRESSIVE;
    struct verb_group g;

    if (modal) {
        g.finite = modal_form(modal, tense, person);
        g.rest = join(prefix, v->de.infinitive);
    } else if (is_simple) {
        g.finite = inflect_present(v, person);
        g.rest = join(prefix, "");
    } else if (tense == TENSE_PAST && v->de.preterite) {
        g.finite = preterite(v->de.preterite, person);
        g.rest = join("", "");
    } else {
        g.finite = auxiliary(v, tense, person);
        g.rest = tense == TENSE_FUTURE ? join(prefix, v->de.infinitive)
                                       : join(v->de.participle, "");
    }
    const bool has_space = g.rest.text[0] && (modal || !is_simple);
    g.last = inflect_join(g.rest.text, has_space ? " " : "", g.finite.text);
    return g;
}

struct verb_group inflect_infinitive(const struct verb *v)
{
    return (struct verb_group){.last = inflect_join(v->prefix ? v->prefix : "",
                                                    v->prefix ? "zu" : "zu ",
                                                    v->de.infinitive)};
}

/* What must hold in any drawn sentence of the sample corpus, checked against tables of
 * German and English that are the test's own. */
#include "sample/sample.h"
#include "test.h"

enum { N_DRAWN = 20000, MAX_WORDS = 64 };

/* A sentence cut at its blanks; the comma or mark behind a word is kept apart. */
struct words {
    char text[1024];
    const char *word[MAX_WORDS];
    char after[MAX_WORDS]; /* ',' '.' '?' or ' ' */
    size_t n;
};

static void cut(struct words *w, const char *sentence)
{
    const size_t n_bytes = strlen(sentence);

    CHECK(n_bytes < sizeof w->text);
    memcpy(w->text, sentence, n_bytes + 1);
    w->n = 0;
    for (char *at = w->text; *at;) {
        const size_t n = strcspn(at, " ,.?");
        CHECK(w->n < MAX_WORDS && n > 0);
        w->word[w->n] = at;
        at += n;
        w->after[w->n++] = *at;
        *at++ = '\0';
        while (*at == ' ')
            at++;
    }
}

typedef void sentence_fn(const struct words *en, const struct words *de, void *ctx);

static void for_each_drawn(sentence_fn *check, void *ctx)
{
    static struct sample_generator g;
    static struct words en, de;
    struct str text[2] = {str_new(0), str_new(0)};

    sample_open(&g, test_seed());
    for (uint64_t i = 0; i < N_DRAWN; i++) {
        str_reset(&text[0]);
        str_reset(&text[1]);
        sample_pair(&g, i, &text[0], &text[1]);
        cut(&en, str_text(&text[0]));
        cut(&de, str_text(&text[1]));
        check(&en, &de, ctx);
    }
    str_release(&text[0]);
    str_release(&text[1]);
}

static bool is_one_of(const char *word, const char *list)
{
    const size_t n = strlen(word);

    for (const char *at = list; n && (at = strstr(at, word)); at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return true;
    return false;
}

/* "im" for the sentence's "Im" */
static const char *small(const char *word, char buf[64])
{
    snprintf(buf, 64, "%s", word);
    if (buf[0] >= 'A' && buf[0] <= 'Z')
        buf[0] = (char)(buf[0] + 0x20);
    return buf;
}

struct agreement {
    const char *determiner, *ending;
    const char *allows; /* m f n: singular; p: plural; o: oblique weak; s: genitive */
};

/* The article, the ending of the adjective behind it, and the nouns that may follow. */
static const struct agreement agreements[] = {
    {"der", "e", "m"},       {"der", "en", "fp"},     {"die", "e", "f"},
    {"die", "en", "p"},      {"das", "e", "n"},       {"den", "en", "mop"},
    {"dem", "en", "mno"},    {"des", "en", "os"},     {"im", "en", "mn"},
    {"ins", "e", "n"},       {"am", "en", "mn"},      {"vom", "en", "mno"},
    {"zum", "en", "mno"},    {"zur", "en", "f"},      {"ein", "er", "m"},
    {"ein", "es", "n"},      {"eine", "e", "f"},      {"einen", "en", "mo"},
    {"einem", "en", "mno"},  {"einer", "en", "f"},    {"eines", "en", "os"},
    {"mein", "er", "m"},     {"mein", "es", "n"},     {"meine", "e", "f"},
    {"meine", "en", "p"},    {"meinen", "en", "mop"}, {"meinem", "en", "mno"},
    {"meiner", "en", "fp"},  {"meines", "en", "os"},  {"kein", "er", "m"},
    {"kein", "es", "n"},     {"keine", "e", "f"},     {"keine", "en", "p"},
    {"keinen", "en", "mop"}, {"keinem", "en", "mno"}, {"keiner", "en", "fp"},
    {"keines", "en", "os"},  {"dieser", "e", "m"},    {"dieser", "en", "fp"},
    {"diese", "e", "f"},     {"diese", "en", "p"},    {"dieses", "e", "n"},
    {"dieses", "en", "os"},  {"diesen", "en", "mop"}, {"diesem", "en", "mno"},
    {"jeder", "e", "m"},     {"jeder", "en", "f"},    {"jedes", "e", "n"},
    {"jede", "e", "f"},      {"jeden", "en", "mo"},   {"jedem", "en", "mno"},
    {"alle", "en", "p"},     {"allen", "en", "p"},    {"viele", "e", "p"},
    {"vielen", "en", "p"},   {"einige", "e", "p"},    {"einigen", "en", "p"},
    {"wenige", "e", "p"},    {"wenigen", "en", "p"},  {"zwei", "e", "p"},
    {"zwei", "en", "p"},
};

/* Forms of some nouns, with the letters above. */
static const struct {
    const char *form, *allows;
} noun_forms[] = {
    {"Mann", "m"},      {"Männer", "p"},     {"Männern", "p"}, {"Frau", "f"},
    {"Frauen", "p"},    {"Kind", "n"},       {"Kinder", "p"},  {"Kindern", "p"},
    {"Junge", "m"},     {"Jungen", "op"},    {"Bauer", "m"},   {"Bauern", "op"},
    {"Mutter", "f"},    {"Mütter", "p"},     {"Müttern", "p"}, {"Hund", "m"},
    {"Hunde", "p"},     {"Hunden", "p"},     {"Katze", "f"},   {"Katzen", "p"},
    {"Pferd", "n"},     {"Pferde", "p"},     {"Pferden", "p"}, {"Buch", "n"},
    {"Bücher", "p"},    {"Brief", "m"},      {"Briefe", "p"},  {"Tisch", "m"},
    {"Tische", "p"},    {"Bett", "n"},       {"Betten", "p"},  {"Bank", "f"},
    {"Bänke", "p"},     {"Hemd", "n"},       {"Hemden", "p"},  {"Jacke", "f"},
    {"Jacken", "p"},    {"Auto", "n"},       {"Autos", "p"},   {"Zug", "m"},
    {"Züge", "p"},      {"Haus", "n"},       {"Häuser", "p"},  {"Stadt", "f"},
    {"Städte", "p"},    {"Städten", "p"},    {"Park", "m"},    {"Parks", "p"},
    {"Schule", "f"},    {"Schulen", "p"},    {"Bruders", "s"}, {"Kindes", "s"},
    {"Schwester", "f"}, {"Schwestern", "p"}, {"Bruder", "m"},  {"Brüder", "p"},
};

static const char *noun_allows(const char *form)
{
    for (size_t i = 0; i < sizeof noun_forms / sizeof *noun_forms; i++)
        if (strcmp(noun_forms[i].form, form) == 0)
            return noun_forms[i].allows;
    return NULL;
}

static const char adjective_stems[] =
    "alt jung neu groß klein schön rot grün schwarz krank arm reich teur müd dunkl";

/* The stem must be one of the list above, so that no verb is taken for an adjective. */
static bool has_ending(const char *word, const char *ending)
{
    char stem[64];
    const size_t n = strlen(word), n_end = strlen(ending);

    if (n <= n_end || strcmp(word + n - n_end, ending) != 0)
        return false;
    snprintf(stem, sizeof stem, "%.*s", (int)(n - n_end), word);
    return is_one_of(stem, adjective_stems);
}

static bool is_adjective(const char *word)
{
    return has_ending(word, "e") || has_ending(word, "en") || has_ending(word, "er") ||
           has_ending(word, "es") || has_ending(word, "em");
}

/* Whether some row of the table has the three; *known: the determiner is in it at all. */
static bool agrees(const char *determiner, const char *adjective, const char *allows,
                   bool *known)
{
    bool found = false;

    for (size_t i = 0; i < sizeof agreements / sizeof *agreements; i++) {
        const struct agreement *a = &agreements[i];
        if (strcmp(a->determiner, determiner) != 0)
            continue;
        *known = true;
        found |= has_ending(adjective, a->ending) && strpbrk(a->allows, allows);
    }
    return found;
}

static void check_agreement(const struct words *en, const struct words *de, void *ctx)
{
    size_t *n_checked = ctx;
    char buf[64];

    (void)en;
    for (size_t i = 0; i + 2 < de->n; i++) {
        const char *allows = noun_allows(de->word[i + 2]);
        bool known = false;
        if (!allows || !is_adjective(de->word[i + 1]))
            continue;
        if (!agrees(small(de->word[i], buf), de->word[i + 1], allows, &known) && known)
            test_fail(__FILE__, __LINE__, "%s %s %s", de->word[i], de->word[i + 1],
                      de->word[i + 2]);
        *n_checked += known;
    }
}

TEST(determiner_adjective_and_noun_agree_in_every_drawn_sentence)
{
    size_t n_checked = 0;

    for_each_drawn(check_agreement, &n_checked);
    CHECK(n_checked > 500);
}

static const char past_finite[] =
    "hat haben habe hast ist sind bin bist war waren warst hatte hatten hattest gab "
    "konnte konnten konntest musste mussten musstest wollte wollten wolltest";
static const char future_finite[] =
    "wird werden werde wirst kann kannst können muss musst müssen will willst wollen "
    "sollte solltest sollten darf darfst dürfen möchte möchtest möchten";

/* How many words of a fronted time stand before the finite verb; 0: not fronted. */
static size_t fronted(const struct words *de, const char **finite)
{
    static const struct {
        const char *first;
        size_t n_words;
        const char *finite;
    } times[] = {{"Gestern", 1, past_finite},   {"Letzte", 2, past_finite},
                 {"Letztes", 2, past_finite},   {"Letzten", 2, past_finite},
                 {"Vor", 3, past_finite},       {"Morgen", 1, future_finite},
                 {"Nächste", 2, future_finite}, {"Nächstes", 2, future_finite},
                 {"Bald", 1, future_finite}};

    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (strcmp(de->word[0], times[i].first) == 0 && de->n > times[i].n_words &&
            /* "Vor drei Tagen", not "Vor dem Haus" */
            (strcmp(de->word[0], "Vor") != 0 ||
             is_one_of(de->word[2], "Tagen Wochen Monaten Jahren"))) {
            *finite = times[i].finite;
            return times[i].n_words;
        }
    return 0;
}

static void check_second(const struct words *en, const struct words *de, void *ctx)
{
    const char *finite = NULL;
    const size_t n = fronted(de, &finite);

    (void)en;
    if (n && !is_one_of(de->word[n], finite))
        test_fail(__FILE__, __LINE__, "%s ... %s is not finite", de->word[0],
                  de->word[n]);
    *(size_t *)ctx += n > 0;
}

TEST(the_finite_verb_is_second_behind_every_fronted_time)
{
    size_t n_checked = 0;

    for_each_drawn(check_second, &n_checked);
    CHECK(n_checked > 100);
}

/* The last subordinate clause, if it ends the sentence: after weil, dass, ob... */
static size_t last_clause(const struct words *de)
{
    for (size_t i = de->n; i-- > 1;)
        if (de->after[i - 1] == ',')
            return is_one_of(de->word[i], "weil dass ob obwohl wenn als bevor nachdem "
                                          "während")
                       ? i
                       : 0;
    return 0;
}

/* Endings of finite verbs at the end of a clause: hat, ist, liest, lese, lesen, war. */
static bool may_be_finite(const char *word)
{
    static const char prefixes[] = "an auf aus ein zu ab mit vor weg zurück";
    const size_t n = strlen(word);

    if (word[0] >= 'A' && word[0] <= 'Z') /* a noun */
        return false;
    return !is_one_of(word, prefixes) &&
           (strchr("ten", word[n - 1]) || is_one_of(word, "war bin will darf kann muss "
                                                          "gab weiß sind wird"));
}

static void check_last(const struct words *en, const struct words *de, void *ctx)
{
    const size_t first = last_clause(de);
    const char *last = de->word[de->n - 1], *before;

    (void)en;
    if (!first)
        return;
    before = de->word[de->n - 2];
    if (!may_be_finite(last))
        test_fail(__FILE__, __LINE__, "%s ... %s %s", de->word[first], before, last);
    /* participle or infinitive stand before the auxiliary, never behind it */
    if (is_one_of(before, "hat habe hast bin bist wird werde wirst"))
        test_fail(__FILE__, __LINE__, "%s ... %s %s", de->word[first], before, last);
    ++*(size_t *)ctx;
}

TEST(every_drawn_subordinate_clause_ends_with_its_finite_verb)
{
    size_t n_checked = 0;

    for_each_drawn(check_last, &n_checked);
    CHECK(n_checked > 1000);
}

static void check_article(const struct words *en, const struct words *de, void *ctx)
{
    char buf[64];

    (void)de;
    for (size_t i = 0; i + 1 < en->n; i++) {
        const char *word = small(en->word[i], buf), *next = en->word[i + 1];
        const bool is_vowel = strchr("aeiou", next[0]) && strncmp(next, "uni", 3) != 0;
        if ((strcmp(word, "a") == 0 && is_vowel) ||
            (strcmp(word, "an") == 0 && !is_vowel))
            test_fail(__FILE__, __LINE__, "%s %s", word, next);
        *(size_t *)ctx += strcmp(word, "an") == 0;
    }
}

TEST(a_and_an_follow_the_sound_of_the_next_word)
{
    size_t n_checked = 0;

    for_each_drawn(check_article, &n_checked);
    CHECK(n_checked > 100);
}

static bool is_plural_head(const char *word)
{
    const size_t n = strlen(word);

    return is_one_of(word, "men women children policemen mice") ||
           (n > 2 && word[n - 1] == 's' && !strchr("su", word[n - 2]));
}

/* "They read it" may be now or then; with an auxiliary or in the third person not. */
static void check_tense(const struct words *en, const struct words *de, void *ctx)
{
    static const char aux[] = "do did will can could must should may would have has had";
    char buf[64];

    (void)de;
    for (size_t i = 1; i < en->n; i++) {
        const char *before = en->word[i - 1], *third = i > 1 ? en->word[i - 2] : "";
        if (!is_one_of(en->word[i], "read put cost"))
            continue;
        if ((is_one_of(small(before, buf), "i we they") &&
             !is_one_of(small(third, buf), aux)) ||
            (is_one_of(before, "who that") && is_plural_head(third)))
            test_fail(__FILE__, __LINE__, "%s %s %s", third, before, en->word[i]);
        ++*(size_t *)ctx;
    }
}

TEST(no_english_verb_leaves_its_tense_open)
{
    size_t n_checked = 0;

    for_each_drawn(check_tense, &n_checked);
    CHECK(n_checked > 500);
}

enum { N_SIGNS = 21 };
static const struct sign {
    const char *what, *words; /* any of these words */
    char before;              /* the word follows a comma, or anything */
} signs[N_SIGNS] = {
    {"because", "weil", ','},
    {"that", "dass", ','},
    {"whether", "ob", ','},
    {"if", "wenn Wenn", ' '},
    {"when", "als Als", ' '},
    {"relative", "der die das den dem denen", ','},
    {"whose", "dessen deren", ','},
    {"not", "nicht", ' '},
    {"no", "kein keine keinen keinem keiner", ' '},
    {"future", "wird werden", ' '},
    {"past", "hat haben", ' '},
    {"with sein", "ist sind", ' '},
    {"modal", "kann muss will darf sollte möchte", ' '},
    {"prefix", "an auf aus ein zu ab weg vor zurück", ' '},
    {"merged", "im ins zum zur", ' '},
    {"who", "Wer Wen Wem", ' '},
    {"question word", "Wo Wohin Wann Warum Wie Welche", ' '},
    {"number",
     "einundzwanzig zweiundvierzig dreiundfünfzig vierundsechzig siebenundsiebzig "
     "achtundachtzig neunundneunzig",
     ' '},
    {"genitive", "des meines seines dieses ihres", ' '},
    {"progressive", "gerade", ' '},
    {"to", "zu", ' '},
};

static void count_signs(const struct words *en, const struct words *de, void *ctx)
{
    size_t *n = ctx;

    (void)en;
    for (size_t s = 0; s < N_SIGNS; s++)
        for (size_t i = 0; i < de->n; i++)
            if (is_one_of(de->word[i], signs[s].words) &&
                (signs[s].before == ' ' || (i > 0 && de->after[i - 1] == ',')))
                n[s]++;
}

TEST(every_phenomenon_is_in_the_corpus)
{
    size_t n[N_SIGNS] = {0};

    for_each_drawn(count_signs, n);
    for (size_t s = 0; s < N_SIGNS; s++)
        if (n[s] < 20)
            test_fail(__FILE__, __LINE__, "%s: only %zu in %d sentences", signs[s].what,
                      n[s], N_DRAWN);
}

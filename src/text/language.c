#include "text/language.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/unicode.h"

/* Words of a block; the share of them that must be of a language for its vote; blocks
 * that must agree for a guess, counting one more that does not. */
enum { BLOCK_WORDS = 100, WORD_BYTES = 40 };
#define LEAST_SHARE 0.05
#define LEAST_SURE  0.7

/* name, script, its most frequent words; none: the script decides */
static const struct {
    const char *name;
    enum unicode_script script;
    const char *words;
} languages[] = {
    {"en", UNICODE_LATIN,
     "the and is of to you that it was he for are with his they this have from not she "
     "what we your had my do don be can t an"},
    {"de", UNICODE_LATIN,
     "der die und das ist nicht ich du sie er es ein eine zu den mit von auf war wir dem "
     "im sich auch wie was für hat habe einen"},
    {"nl", UNICODE_LATIN,
     "de het een en van ik je niet dat is te zijn op hij voor met die wat maar er ze "
     "mijn heb zij aan ook deze heeft"},
    {"af", UNICODE_LATIN,
     "die en nie is in het dat van ek hy was met sy vir wat jy ons om my hulle dit"},
    {"fr", UNICODE_LATIN,
     "le la les de et est que un une il je ne pas vous des du en dans qui ce elle nous "
     "pour sur au a l d j c"},
    {"es", UNICODE_LATIN,
     "el la los de que y en un una es no por con para se lo las del está como más pero "
     "su me yo él mi"},
    {"pt", UNICODE_LATIN,
     "o a de que e não um uma do da em os é se com para por mais na no as ele você eu "
     "ela isso está"},
    {"it", UNICODE_LATIN,
     "il di che è la e non un una per sono in del con ho mi si le gli ma ha della lo io "
     "questo"},
    {"ro", UNICODE_LATIN,
     "și de la nu în este un o că cu pe să mai pentru ce din care am sunt el ea şi"},
    {"ca", UNICODE_LATIN,
     "el la de que i no en un una és per els amb les del al va ha aquest molt això"},
    {"sv", UNICODE_LATIN,
     "och att det är en som på jag inte av för med han den har till vi du ett hon om de "
     "var"},
    {"da", UNICODE_LATIN,
     "og at det er en jeg ikke på af for med han den har til de du et hun som var vi mig "
     "dig hvad noget meget blev efter"},
    {"nb", UNICODE_LATIN,
     "og å det er en jeg ikke på av for med han den har til de du et hun som var vi meg "
     "deg hva noe mye ble etter"},
    {"is", UNICODE_LATIN,
     "og að er í ekki það sem ég við á hann en var hún til um þú með ég"},
    {"fi", UNICODE_LATIN,
     "ja on ei se hän että en oli minä ovat mutta kun mitä sinä ole tämä niin olen joka "
     "myös hänen"},
    {"et", UNICODE_LATIN,
     "ja on ei ta see et ma oli kui sa ning mis aga oma tema ka selle olen mida"},
    {"hu", UNICODE_LATIN,
     "a az és hogy nem egy is van ez de meg volt én mi csak el ha már ki azt"},
    {"pl", UNICODE_LATIN,
     "nie i w na się z że to jest do jak co o ale po ja czy są był za jego od tym mnie"},
    {"cs", UNICODE_LATIN,
     "je se na to že v a s ne jsem si do o by byl jsou ale jako co jak jeho když"},
    {"sk", UNICODE_LATIN,
     "je sa na to že v a s nie som si do o by bol sú ale ako čo jeho keď"},
    {"sl", UNICODE_LATIN,
     "je in se v na da so ne za pa ki bi sem z ni tako kot to kaj bil"},
    {"hr", UNICODE_LATIN,
     "je i se u na da nije su sam za što to li s od kako ali ja bio"},
    {"lt", UNICODE_LATIN, "ir kad yra į su jis tai iš bet ne aš ar kaip buvo jo už mano"},
    {"lv", UNICODE_LATIN, "un ir ka es nav ar uz no tas viņš kas par bija tu to man"},
    {"sq", UNICODE_LATIN, "është dhe në të i një që për me nuk ka si nga u"},
    {"eu", UNICODE_LATIN, "eta da ez bat zen dira du izan ere hau nire"},
    {"tr", UNICODE_LATIN,
     "bir ve bu ne için da de çok o ben mi değil var ama gibi daha ile"},
    {"id", UNICODE_LATIN,
     "yang dan di itu tidak dengan untuk dari ini dia saya akan pada ke adalah ada kamu"},
    {"vi", UNICODE_LATIN,
     "là và của không có tôi một được người cho anh những đã trong này với"},
    {"eo", UNICODE_LATIN, "la kaj estas ne mi de en al li vi ke tio por kun ŝi sed"},
    {"la", UNICODE_LATIN, "et in est non ad ut cum quod sed qui quae sunt ex ab esse"},
    {"ru", UNICODE_CYRILLIC,
     "и в не на что я с он как это но она ты был все по так мы вы меня у"},
    {"uk", UNICODE_CYRILLIC,
     "і в не на що я з він як це та але вона ти є був мене ми у до"},
    {"be", UNICODE_CYRILLIC, "і ў не на што я з ён як гэта але яна ты мы у да"},
    {"bg", UNICODE_CYRILLIC, "и в не на че да е се с той аз за това ще си са като но тя"},
    {"mk", UNICODE_CYRILLIC, "и во не на дека да е се со тој јас за тоа ќе сум таа"},
    {"sr", UNICODE_CYRILLIC, "и у не на да је се сам су за што то ли он ја али"},
    {"ar", UNICODE_ARABIC, "في من على أن لا هذا إلى ما كان هو أنا هل لم"},
    {"fa", UNICODE_ARABIC, "و در به از که این است را با من آن او یک"},
    {"ur", UNICODE_ARABIC, "کے میں کی ہے کا اور نے سے کو یہ ہیں نہیں"},
    {"hi", UNICODE_DEVANAGARI, "है के में की का और से को ने यह नहीं हैं"},
    {"mr", UNICODE_DEVANAGARI, "आहे आणि नाही तो मी ते आहेत हे ती"},
    {"ne", UNICODE_DEVANAGARI, "छ र मा हो छन् पनि यो भएको गर्न"},
    {"el", UNICODE_GREEK, ""},
    {"hy", UNICODE_ARMENIAN, ""},
    {"he", UNICODE_HEBREW, ""},
    {"bn", UNICODE_BENGALI, ""},
    {"ta", UNICODE_TAMIL, ""},
    {"th", UNICODE_THAI, ""},
    {"ka", UNICODE_GEORGIAN, ""},
    {"am", UNICODE_ETHIOPIC, ""},
    {"zh", UNICODE_HAN, ""},
    {"ja", UNICODE_JAPANESE, ""},
    {"ko", UNICODE_KOREAN, ""},
};
enum { N_LANGUAGES = sizeof languages / sizeof *languages };
_Static_assert((int)N_LANGUAGES <= (int)LANGUAGE_MOST, "one bit a language");

struct language_word {
    char text[WORD_BYTES];
    uint64_t of; /* bits: the languages that have it */
};

static struct language_word *find_word(const struct language *l, const char *text,
                                       size_t n)
{
    struct table_search s = table_search(&l->table, table_hash(text, n));

    for (uint32_t i; (i = table_next(&s)) != TABLE_NONE;)
        if (strncmp(l->word[i].text, text, n) == 0 && !l->word[i].text[n])
            return &l->word[i];
    return NULL;
}

static status add_word(struct language *l, const char *text, size_t n, size_t language,
                       struct err *err)
{
    struct language_word *w = find_word(l, text, n);

    BUG_ON(n >= WORD_BYTES);
    if (!w) {
        TRY(mem_grow(&l->word, &l->cap_words, l->n_words + 1, sizeof *l->word, err));
        TRY(table_add(&l->table, table_hash(text, n), (uint32_t)l->n_words, err));
        w = &l->word[l->n_words++];
        *w = (struct language_word){.of = 0};
        memcpy(w->text, text, n);
    }
    w->of |= (uint64_t)1 << language;
    return OK;
}

static status fill(struct language *l, struct err *err)
{
    TRY(mem_alloc(&l->n_script, N_UNICODE_SCRIPTS, sizeof *l->n_script, err));
    for (size_t i = 0; i < N_LANGUAGES; i++)
        for (const char *at = languages[i].words; *at;) {
            const size_t n = strcspn(at, " ");
            TRY(add_word(l, at, n, i, err));
            at += n + (at[n] == ' ');
        }
    return OK;
}

status language_open(struct language *l, struct err *err)
{
    *l = (struct language){0};
    if (fill(l, err) == OK)
        return OK;
    language_close(l);
    return err->code;
}

void language_close(struct language *l)
{
    table_release(&l->table);
    free(l->word);
    free(l->n_script);
    *l = (struct language){0};
}

/* The script of most letters; text with some kana is Japanese. */
static enum unicode_script script_of(const size_t n[N_UNICODE_SCRIPTS], size_t n_letters)
{
    enum unicode_script best = UNICODE_ANY;

    for (int s = UNICODE_ANY + 1; s < N_UNICODE_SCRIPTS; s++)
        if (2 * n[s] > n_letters)
            best = (enum unicode_script)s;
    if (20 * n[UNICODE_JAPANESE] > n_letters &&
        2 * (n[UNICODE_JAPANESE] + n[UNICODE_HAN]) > n_letters)
        best = UNICODE_JAPANESE;
    return best;
}

/* The vote of the present block, and a new one. */
static void vote(struct language *l)
{
    const enum unicode_script script = script_of(l->n_script, l->n_letters);
    double best = LEAST_SHARE * (double)l->n_seen;
    size_t winner = N_LANGUAGES;

    for (size_t i = 0; i < N_LANGUAGES; i++) {
        if (languages[i].script != script)
            continue;
        if (!*languages[i].words)
            winner = i;
        else if (l->score[i] > best) {
            best = l->score[i];
            winner = i;
        }
    }
    if (winner < N_LANGUAGES)
        l->votes[winner]++;
    l->n_blocks++;
    l->n_seen = l->n_letters = 0;
    memset(l->score, 0, sizeof l->score);
    memset(l->n_script, 0, N_UNICODE_SCRIPTS * sizeof *l->n_script);
}

/* A word of few languages says more than one of many. */
static void take_word(struct language *l, const char *text, size_t n)
{
    const struct language_word *w = n < WORD_BYTES ? find_word(l, text, n) : NULL;
    size_t n_of = 0;

    for (uint64_t of = w ? w->of : 0; of; of &= of - 1)
        n_of++;
    for (size_t i = 0; i < N_LANGUAGES && w; i++)
        if (w->of >> i & 1)
            l->score[i] += 1 / (double)n_of;
    l->n_seen++;
}

/* Letters, and the vowel signs of Indic scripts, which Unicode counts as marks. */
static bool is_of_word(uint32_t code)
{
    return unicode_is_letter(code) ||
           (code >= 0x900 && code < 0xE80 && code != 0x964 && code != 0x965);
}

static void take_letter(struct language *l, uint32_t before, uint32_t code)
{
    uint32_t *pair = &l->pair[(before * 0x9E3779B1u ^ code * 0x85EBCA6Bu) >> 20];

    *pair += *pair < UINT32_MAX;
    l->n_letters++;
    for (int s = UNICODE_ANY + 1; s < N_UNICODE_SCRIPTS; s++) {
        const bool is_mixed = s == UNICODE_JAPANESE || s == UNICODE_KOREAN;
        if (unicode_is_of(code, (enum unicode_script)s) &&
            !(is_mixed && unicode_is_of(code, UNICODE_HAN))) {
            l->n_script[s]++;
            break;
        }
    }
}

static void take_text(struct language *l, struct line text)
{
    char word[WORD_BYTES];
    size_t n = 0, len;
    uint32_t before = 0;

    for (size_t i = 0; i < text.n_bytes; i += len) {
        const uint32_t raw = utf8_decode(text.text + i, text.n_bytes - i, &len);
        const bool is_in = raw != UTF8_BAD && is_of_word(raw);
        const uint32_t code = is_in ? unicode_lower(raw) : 0;
        if (is_in) {
            take_letter(l, before, code);
            n += n + 4 < WORD_BYTES ? utf8_encode(word + n, code) : 4;
        }
        if (n && (!is_in || i + len == text.n_bytes)) {
            take_word(l, word, n);
            n = 0;
        }
        before = code;
    }
}

void language_add(struct language *l, struct line text)
{
    take_text(l, text);
    /* Scripts without blanks have a word a line: letters count too. */
    if (l->n_seen >= BLOCK_WORDS || l->n_letters / 6 >= BLOCK_WORDS)
        vote(l);
}

struct language_guess language_guess(const struct language *l)
{
    struct language_guess g = {.name = ""};
    size_t best = 0;

    for (size_t i = 1; i < N_LANGUAGES; i++)
        if (l->votes[i] > l->votes[best])
            best = i;
    g.confidence = (double)l->votes[best] / (double)(l->n_blocks + 1);
    if (g.confidence < LEAST_SURE)
        return (struct language_guess){.name = ""};
    snprintf(g.name, sizeof g.name, "%s", languages[best].name);
    return g;
}

static int compare_guesses(const void *a, const void *b)
{
    const double x = ((const struct language_guess *)a)->confidence;
    const double y = ((const struct language_guess *)b)->confidence;

    return x > y ? -1 : x < y;
}

/* How much of a text is of a language: its words, or all letters of its script. */
static double fit(const struct language *l, size_t language, enum unicode_script script)
{
    if (languages[language].script != script)
        return 0;
    return *languages[language].words ? l->score[language] : (double)l->n_script[script];
}

size_t language_rank(struct language *l, struct line text,
                     struct language_guess guess[LANGUAGE_MOST])
{
    double all = 0, squares = 0;
    size_t n = 0;

    take_text(l, text);
    const enum unicode_script script = script_of(l->n_script, l->n_letters);
    for (size_t i = 0; i < N_LANGUAGES; i++) {
        const double x = fit(l, i, script);
        all += x;
        squares += x * x;
        if (x <= 0)
            continue;
        guess[n].confidence = x * x;
        snprintf(guess[n++].name, LANGUAGE_NAME, "%s", languages[i].name);
    }
    if (all < LEAST_SHARE * (double)l->n_seen)
        return 0;
    for (size_t i = 0; i < n; i++)
        guess[i].confidence *= all / (all + 1) / squares;
    qsort(guess, n, sizeof *guess, compare_guesses);
    return n;
}

double language_similar(const struct language *a, const struct language *b)
{
    double both = 0, of_a = 0, of_b = 0;

    for (size_t i = 0; i < LANGUAGE_PAIRS; i++) {
        both += (double)a->pair[i] * (double)b->pair[i];
        of_a += (double)a->pair[i] * (double)a->pair[i];
        of_b += (double)b->pair[i] * (double)b->pair[i];
    }
    return both > 0 ? both / sqrt(of_a * of_b) : 0;
}

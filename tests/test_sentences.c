#include "text/sentences.h"

#include <stdlib.h>

#include "base/rng.h"
#include "base/str.h"

#include "spans.h"
#include "test.h"

/* The line with "|" where a sentence ends and another begins. */
static void mark_borders(struct str *out, const char *line, size_t n,
                         const struct sentences *s)
{
    size_t at = 0;

    for (size_t i = 0; i < s->n; i++) {
        const size_t end = s->span[i].at + s->span[i].n_bytes;
        str_add(out, line + at, end - at);
        if (i + 1 < s->n)
            str_putc(out, '|');
        at = end;
    }
    str_add(out, line + at, n - at);
}

/* `marked` has "|" where a border is wanted; white space follows it, if any. */
static bool is_right(const char *lang, const char *marked)
{
    struct sentences s = {0};
    struct str line = {0}, got = {0};
    struct err err = {0};

    line = str_new(0);
    got = str_new(0);
    for (const char *c = marked; *c; c++)
        if (*c != '|')
            str_putc(&line, *c);
    CHECK_OK(sentences_split(&s, str_text(&line), line.len, lang, &err), &err);
    CHECK(spans_add_up(str_text(&line), line.len, &s));
    mark_borders(&got, str_text(&line), line.len, &s);
    const bool right = strcmp(str_text(&got), marked) == 0;
    if (!right)
        fprintf(stderr, "%s: got  %s\n    want %s\n", lang, str_text(&got), marked);
    str_release(&got);
    str_release(&line);
    sentences_release(&s);
    return right;
}

/* Every line that is wrong is printed. */
#define EACH(lang, ...)                                              \
    do {                                                             \
        static const char *const lines[] = {__VA_ARGS__};            \
        size_t n_wrong = 0;                                          \
        for (size_t i_ = 0; i_ < sizeof lines / sizeof *lines; i_++) \
            n_wrong += !is_right(lang, lines[i_]);                   \
        CHECK(n_wrong == 0);                                         \
    } while (0)

TEST(sentences_end_at_marks_before_a_capital)
{
    EACH("en", "", " ", "One", "One.", " One. ", "Hi.| How are you?| Fine!| And you?",
         "Stop!|  Go.|\tWait...| What?!| No!!!| Well…| Yes.",
         "He is 19.| Tom is 20.| 30 came.", "It was 1990.| Then it rained.",
         "I like it.| (He does not.)| [She might.]| {We do.}",
         "Mail me at a.b@example.com.| See www.example.com/a.b?c=d!e for more.",
         "Version 2.0.1 costs 3.50 dollars.| It runs in main.c and a.out.",
         "The file is called x.tar.gz.| Open it.", "Yahoo! is a company.", "Really? yes.",
         "What a day! :-) indeed", "He said no... and left.",
         "He waited . . . and left.| Then he came.", "I came, etc.| Then I left.",
         "They sell pens, ink, etc. in the shop.", "It cost $5.| $6 is too much.",
         "Wait.| - No.| – Yes.| — Perhaps.", "• One.| • Two.", "Great! 😀| How are you?",
         "Great!😀| How are you? 👍🏽", "Done.[1]| Next.[12]| Last.",
         "It is 5 m².| It is 3 m.² Next", "**Bold.**| *Thin.*| Plain.",
         "Nice!!| 5 people came.", "He won!| $5 was the prize.");
}

TEST(items_and_technical_words_begin_sentences)
{
    EACH("en", "2.1. Scope of this.| It is wide.", "The following are met: 1. It works.",
         "See section 2.1.| The rest is clear.",
         "That is it.| (a) First.| (b) second.| 3) Third.",
         "Run it again.| --help shows more.| -q is silent.| /etc/passwd is a file.",
         "Say \"never\".| \"always\" is wrong, e.g. \"always\" here.",
         "Use -x.| Tom did.", "It does I/O.| Tom did.",
         "Levels -0 ... -9 are there.| Take one.", "It is HTML.| <b>This</b> is too.",
         "It is slow. (see below)", "N.B. All is well.");
    EACH("de", "Das gilt auch.| »none« ist ein Wort.", "Er hat usw. »none« gesagt.",
         "HUP, CONT und 0.| Andere Signale gehen.");
    EACH("ru", "Справка и т.п.| См. ниже.");
    EACH("", "The user id.| This is safe.");
}

TEST(lines_without_capitals_are_split)
{
    EACH("en", "hi!| how are you?| fine... thanks .| bye .", "4 men sit .| 2 stand .",
         "mr. smith is dr. jones.| yes.",
         "he works at apple inc. in the u.s. today.| he does.",
         "\"why?\" she asked.| nobody knew.");
    EACH("de", "das ist z. b. obst.| am 3. oktober nicht.", "„was?“ fragte er.| nichts.");
}

TEST(quotes_and_brackets_stay_with_their_sentence)
{
    EACH("en", "\"Hi.\"| \"How are you?\"| He left.", "'Yes.'| 'No.'",
         "“Yes.”| “No!”| ‘Perhaps?’| Good.", "\"Why?\" asked Tom.| \"So.\"",
         "\"What's your name?\" I asked.| \"Tom,\" he said.",
         "\"What's your name?\" the old man asked her.",
         "“Stop!” Mary cried.| Tom stopped.", "(He left.)| She stayed.",
         "He left (at last.).| She stayed.", "Did he say \"no?\".| He did.",
         "\" Yes . \"| \" No . \"| He left .", "\" Why ? \" Tom asked .| He left .",
         "Are you sure?)| Yes.", "He said, \"Yes.| I am sure.\"| Then he left.");
    EACH("de", "„Hallo.“| „Wie geht's?“| Gut.", "»Ja.«| »Nein!«| Er ging.",
         "«Ja.»| «Nein!»| Er ging.", "„Wirklich?“, fragte er.| „Ja.“",
         "„Wirklich?“ fragte er.| „Ja!“ rief sie.", "‚Ja.‘| ‚Nein.‘| Gut.",
         "„Ja.‟| „Nein.‟", "›Ja.‹| ›Nein.‹| Gut.");
    EACH("fr", "« Bonjour ! »| « Ça va ? »| Oui.", "« Quoi ? » demanda-t-il.| Rien.",
         "« Quoi ? »| Il partit.");
    EACH("es", "¡Hola!| ¿Qué tal?| Bien.", "¡Hola!| ¿qué tal?", "—¿Vienes?| —No.");
}

TEST(abbreviations_of_english_end_no_sentence)
{
    EACH(
        "en", "Mr. Smith met Mrs. Jones and Dr. Who.| They talked.",
        "Prof. A. B. See is here.", "J. R. R. Tolkien wrote it.| C. S. Lewis did not.",
        "It was I.| The others left.", "So am I.| Tom is not.",
        "It is Tom's.| Mary knows.", "He can't.| Tom can.", "It is 5 °C.| Tom is cold.",
        "Take plan B.| We have no time.", "See e.g. London, i.e. the city.",
        "No. 5 is alive.", "No.| That is wrong.", "No.| Tom did it.",
        "See Fig. 3 and Vol. 2, pp. 5-8.| It shows it.",
        "He lives in St. Louis.| She lives on Main St.| He knows.",
        "He works at Apple Inc. in the U.S. and the U.K.",
        "He works at Apple Inc.| He likes it.", "He lives in the U.S.| It is large.",
        "The U.S. Army came.", "At 5 p.m. Tom left.", "It is 5 p.m.| The shop is closed.",
        "He came on Jan. 5.| He left in Feb.| The next day it rained.",
        "Smith et al. Found it", "Gen. Lee, Col. Mustard, Capt. Kirk and Lt. Uhura.",
        "It is Smith vs. Jones.", "1. Open the door.| 2. Close it.| 3. Go.",
        "A. First point.| B. Second point.", "II. The king.",
        "World War II.| Hitler lost.", "Sammy Davis Jr. sang.| Sammy Davis Jr.| He sang.",
        "Mary has a Ph.D. in physics.", "(e.g. Paris)", "Washington, D.C. is big.",
        "DR. SMITH IS IN.| WE ARE NOT.");
}

TEST(abbreviations_and_ordinals_of_german_end_no_sentence)
{
    EACH("de", "Das ist z. B. Obst.| Es ist z.B. Gemüse.", "Er kommt, d. h. Tom kommt.",
         "Er liest z. B. Die Zeit.", "Frau A. z. B. Die Zeit",
         "Äpfel, Birnen usw.| Das ist alles.",
         "Dr. Müller und Prof. Schmidt bzw. Hr. Meier.",
         "Am 3. Oktober ist Feiertag.| Im 19. Jahrhundert nicht.",
         "Heute ist der 5. Juli.| Morgen ist der 6.| Das ist gut.",
         "Tom ist 19.| Maria ist 20.", "Er kam 1990.| Danach ging er.",
         "Ludwig XIV. war König.| Ludwig XIV. König von Frankreich",
         "Nr. 5 lebt.| Siehe S. 12, Abs. 3, Art. 5 und Abb. 2.",
         "Das ist die Art.| Der Mann kam.", "Es kostet ca. 5 Mio. Euro.| Das ist viel.",
         "Es kostet 5 Mio.| Das ist viel.", "Im Jahr 44 v. Chr. Starb",
         "Das war 44 v. Chr.| Die Römer kamen.", "Er wohnt in St. Pauli.",
         "Das sind u. a. Tom und Maria.",
         "Der 2. Weltkrieg begann am 1. September 1939.| Er endete 1945.",
         "Der 100. Besucher kam.", "Er ist der 1.| Sie ist die 2.",
         "Vgl. Kap. 3.| Es gilt.", "In der Hauptstr. 5 wohnt Fr. Schulz.",
         "Ich rief dich um halb 3.| Tom kam.", "Es war 5.30 Uhr.| Er schlief.",
         "Am 24.12.2020 kam er.| Am 25.12. ging er.", "Das ist Max.| Er ist 5.");
}

TEST(other_latin_languages_have_their_abbreviations)
{
    EACH("fr", "M. Dupont et Mme. Durand sont là.| Ils parlent.", "M. Le Pen est là.",
         "Il est né av. J.-C. à Rome.", "Voir p. 5 et art. 3.| C'est clair.",
         "Avant J.-C. Paris était petite.", "Il est là.| L'autre est parti.");
    EACH("es", "El Sr. López y la Sra. Pérez llegaron.| Comieron.",
         "¿Cómo está Ud.?| Bien.", "Vive en EE. UU. desde 1990.| Trabaja.",
         "Vive en EE. UU.| El país es grande.", "Véase pág. 5.| Es claro.");
    EACH("it", "Il sig. Rossi e la sig.ra Bianchi.| Sono qui.",
         "Il dott. Verdi arriva.| È tardi.", "La Fiat S.p.A. produce auto.");
    EACH("pt", "O Sr. Silva e a Dra. Souza chegaram.| Eles comeram.",
         "Veja a pág. 5.| É claro.");
    EACH("nl", "Dhr. Jansen en mevr. De Vries komen.| Ze eten.",
         "Dat is bijv. Amsterdam.| Het is groot.");
    EACH("pl", "To jest np. Kraków.| To duże miasto.",
         "Mieszka przy ul. Długiej 5.| Jest tam.", "Prof. Nowak i dr Kowalski.");
    EACH("cs", "Je to např. Praha.| Je velká.", "Bydlí zde sv. Václav.| Je to tak.");
    EACH("sv", "Det är t.ex. Stockholm.| Det är stort.", "Han kom kl. 5.| Hon gick.");
    EACH("da", "Det er f.eks. København.| Den er stor.");
    EACH("nb", "Det er f.eks. Oslo.| Byen er stor.");
    EACH("fi", "Se on esim. Helsinki.| Se on suuri.");
    EACH("hu", "Ez pl. Budapest.| Nagy város.");
    EACH("ro", "Dl. Popescu este aici.| El pleacă.");
    EACH("tr", "Prof. Yılmaz geldi.| Bkz. Ankara.");
}

TEST(greek_and_cyrillic_lines_are_split)
{
    EACH("el", "Τι κάνεις;| Καλά.| Εσύ;", "Τι κάνεις;| Ναι· καλά.",
         "Ο κ. Παπαδόπουλος ήρθε.| Έφυγε.", "Είναι π.χ. Αθήνα.| Είναι μεγάλη.",
         "Θα πάμε στο Jumbo;| Ναι.");
    EACH("", "Τι κάνεις;| Καλά.", "He came; She left.", "Τι κάνεις\u037e| Καλά.");
    EACH("ru", "Привет!| Как дела?| Хорошо.", "Это т. е. Москва.| Она большая.",
         "А. С. Пушкин родился в 1799 г. в Москве.", "Он жил в г. Москва на ул. Ленина.",
         "Это было в 1990 г.| Он уехал.", "Яблоки, груши и т. д.| Это всё.",
         "«Да.»| «Нет!»| Он ушёл.", "— Да?| — Нет.", "Я верю им.| Они правы.",
         "Это я.| Том ушёл.", "Театр им. Чехова.", "5 млн. Рублей",
         "«Кто там?» — спросил он.");
    EACH("uk", "Привіт!| Як справи?| Добре.", "Це на вул. Хрещатик.| Він там.");
}

TEST(scripts_without_white_space_or_case_are_split)
{
    EACH("zh", "你好。|我很好！|你呢？", "他说：“你好。”|然后走了。", "３．５元。|好。",
         "好。|3个人来了。", "你好?|我很好.", "好……我走了。|再见！", "（你好。）|再见。",
         "好。| 再见。", "「好！」|「走吧。」");
    EACH("ja", "「行く？」と聞いた。|はい。|そうです。", "本当？！|はい。",
         "これは3.5です。|はい｡|いいえ｡", "『はい。』|「いいえ。」");
    EACH("ko", "안녕하세요.| 저는 톰입니다.| 네.| 그래요?");
    EACH("hi", "यह अच्छा है।| वह गया।| क्या?| हाँ॥");
    EACH("ar", "كيف حالك؟| أنا بخير.| شكرا!");
    EACH("ur", "وہ آیا۔| وہ گیا۔");
    EACH("hy", "Բարեւ։| Ինչպես ես։");
    EACH("am", "ሰላም።| እንዴት ነህ።");
}

TEST(a_language_with_a_region_or_without_a_name_has_its_words)
{
    EACH("de-AT", "Das ist z. B. Obst.| Gut.");
    EACH("de_DE.UTF-8", "Das ist bzw. Obst.| Gut.");
    EACH("", "Mr. Smith.| Das ist bzw. Obst.| Это напр. Москва.| M. Dupont.");
    EACH("xx", "Mr. Smith met Hr. Meier.| They talked.");
}

TEST(any_bytes_are_split_into_spans_that_add_up)
{
    static const char *const parts[] = {
        ".", "!",  "?",   "…",      " ",  " ",      "\"",   "(",        ")",    "a",
        "B", "Dr", "1",   "。",     "」", "「",     "\xff", "\xe3\x80", "\xc2", "\u00a0",
        "😀", "-",  "[1]", "z. B. ", "é",  "\u0301", "»",    "«",        ";",    "ς"};
    struct rng rng = rng_open(7);
    struct sentences s = {0};
    struct err err = {0};

    for (int round = 0; round < 20000; round++) {
        char line[128];
        size_t n = 0;
        const size_t n_parts = rng_below(&rng, 24);
        for (size_t i = 0; i < n_parts; i++) {
            const char *part = parts[rng_below(&rng, sizeof parts / sizeof *parts)];
            memcpy(line + n, part, strlen(part));
            n += strlen(part);
        }
        char *exact = malloc(n + !n); /* so that a sanitizer sees a byte too far */
        memcpy(exact, line, n);
        CHECK_OK(sentences_split(&s, exact, n, round % 2 ? "de" : "", &err), &err);
        CHECK(spans_add_up(exact, n, &s));
        free(exact);
    }
    sentences_release(&s);
}

/* The text cut by sentences_clause until every part has at most so many bytes. */
static const char *cut(const char *text, size_t at_most)
{
    static char out[1024];
    size_t n = strlen(text), n_out = 0;

    while (n) {
        const size_t part = sentences_clause(text, n, at_most);
        CHECK(part > 0 && part <= n && n_out + part + 2 < sizeof out);
        memcpy(out + n_out, text, part);
        n_out += part;
        text += part;
        n -= part;
        if (n)
            out[n_out++] = '|';
        for (; n && *text == ' '; text++, n--)
            continue;
    }
    out[n_out] = 0;
    return out;
}

TEST(long_sentences_are_cut_at_clauses_then_words_then_characters)
{
    CHECK_STR(cut("short", 10), "short");
    CHECK_STR(cut("", 10), "");
    CHECK_STR(cut("one two, three four", 12), "one two,|three four");
    CHECK_STR(cut("one, two three; four five", 20), "one, two three;|four five");
    CHECK_STR(cut("one two three four", 10), "one two|three four");
    CHECK_STR(cut("at 10:30 it cost 3,50 euros", 20), "at 10:30 it|cost 3,50 euros");
    CHECK_STR(cut("he said \"no,\" and then he left", 20),
              "he said \"no,\"|and then he left");
    CHECK_STR(cut("aaaa \"c,\" dddd eeee ffff gggg", 20),
              "aaaa \"c,\"|dddd eeee ffff gggg");
    CHECK_STR(cut("abcdefghij", 5), "abcde|fghij");
    CHECK_STR(cut("äöüäöü", 5), "äö|üä|öü");
    CHECK_STR(cut("我来了，他走了", 15), "我来了，|他走了");
    CHECK_STR(cut("我来了、「他」走了我来了", 24), "我来了、|「他」走了我来了");
    CHECK_STR(cut("ae\u0301bc", 4), "ae\u0301|bc");
    CHECK_STR(cut("ae\u0301bc", 3), "a|e\u0301|bc");
    CHECK_STR(cut("äb", 1), "ä|b");
    CHECK_STR(cut("ab", 0), "a|b");
}

TEST(a_long_line_takes_linear_time)
{
    static const char *const units[] = {". ",     ".",  "\"",  "( ", "Dr. ",
                                        "a. b. ", "! ", "1. ", "😀 ", ". \" "};
    enum { N_BYTES = 1 << 19 };
    struct sentences s = {0};
    struct err err = {0};
    char *line = malloc(N_BYTES);

    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const size_t n_unit = strlen(units[i]);
        for (size_t at = 0; at < N_BYTES; at++)
            line[at] = units[i][at % n_unit];
        CHECK_OK(sentences_split(&s, line, N_BYTES, "", &err), &err);
        CHECK(spans_add_up(line, N_BYTES, &s));
    }
    free(line);
    sentences_release(&s);
}

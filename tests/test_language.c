/* Guesses of languages: sure of what is in the table, silent about the rest. */
#include "test.h"
#include "text/language.h"

static struct language_guess guess(const char *text, int times)
{
    struct language l;
    struct err err = {0};

    CHECK_OK(language_open(&l, &err), &err);
    for (int i = 0; i < times; i++)
        language_add(&l, (struct line){text, strlen(text)});
    const struct language_guess g = language_guess(&l);
    language_close(&l);
    return g;
}

static const struct {
    const char *name, *text;
} known[] = {
    {"en", "He said that it was not the house you have seen from the road."},
    {"de", "Er hat gesagt, dass es nicht das Haus ist, das du von der Straße siehst."},
    {"nl", "Hij zei dat het niet het huis is dat je van de weg kunt zien."},
    {"fr", "Il a dit que ce n'est pas la maison que vous voyez dans la rue."},
    {"es", "Dijo que no es la casa que se ve desde el camino, pero está en el pueblo."},
    {"pt", "Ele disse que não é a casa que você vê da estrada, mas uma outra."},
    {"it", "Ha detto che non è la casa che si vede, ma una di quelle del paese."},
    {"ro", "A spus că nu este casa pe care o vezi din drum și că mai sunt multe."},
    {"sv", "Han sa att det inte är huset som du ser på vägen, och jag har en bil."},
    {"da", "Han sagde at det ikke er huset du ser på vejen, og jeg har noget af mig."},
    {"nb", "Han sa at det ikke er huset du ser, og jeg har noe av meg og hva å gjøre."},
    {"fi", "Hän sanoi että se ei ole talo, mutta minä en ole nähnyt mitä sinä olet."},
    {"pl", "Powiedział, że to nie jest dom, który się widzi z drogi, ale inny."},
    {"cs", "Řekl, že to není dům, který je vidět z cesty, ale jsem si jist, že se mýlí."},
    {"hu", "Azt mondta, hogy ez nem a ház, és az egy nagy fa volt, de már nem van."},
    {"tr", "Bu ev değil, ama çok güzel bir yer ve ben için ne var."},
    {"ru", "Он сказал, что это не тот дом, и я был так рад, но она не знала."},
    {"uk", "Він сказав, що це не той дім, і я був радий, але вона не знала."},
    {"bg", "Той каза, че това не е къщата и аз ще се радвам да си с мен."},
    {"el", "Είπε ότι δεν είναι το σπίτι που βλέπεις από τον δρόμο."},
    {"ar", "قال إن هذا ليس البيت الذي تراه من على الطريق في المدينة ما كان هو."},
    {"fa", "او گفت که این خانه را از جاده دیده است و با من در شهر بود."},
    {"hi", "उसने कहा कि यह घर नहीं है और वह सड़क से शहर में आया है।"},
    {"he", "הוא אמר שזה לא הבית שאתה רואה מהכביש."},
    {"zh", "他说这不是你从路上看到的那座房子，我们明天再去那里看看。"},
    {"ja", "それは道から見える家ではないと彼は言いました。"},
    {"ko", "그는 그것이 길에서 보이는 집이 아니라고 말했다."},
    {"th", "เขาบอกว่าไม่ใช่บ้านที่คุณเห็นจากถนน"},
};

TEST(languages_of_the_table_are_known_by_one_sentence_repeated)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct language_guess g = guess(known[i].text, 400);
        if (strcmp(g.name, known[i].name) != 0 || g.confidence < 0.9)
            test_fail(__FILE__, __LINE__, "%s is taken for '%s' (%.2f)", known[i].name,
                      g.name, g.confidence);
    }
}

TEST(a_sentence_alone_has_a_likeliest_language)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct language_guess g[LANGUAGE_MOST];
        struct language l;
        struct err err = {0};
        double sum = 0;
        CHECK_OK(language_open(&l, &err), &err);
        const size_t n =
            language_rank(&l, (struct line){known[i].text, strlen(known[i].text)}, g);
        language_close(&l);
        for (size_t k = 0; k < n; k++)
            sum += g[k].confidence;
        if (!n || strcmp(g[0].name, known[i].name) != 0 || g[0].confidence < 0.5 ||
            sum >= 1)
            test_fail(__FILE__, __LINE__, "%s is taken for '%s' (%.2f of %.2f)",
                      known[i].name, n ? g[0].name : "", n ? g[0].confidence : 0, sum);
    }
}

TEST(what_no_language_has_is_ranked_nowhere)
{
    static const char *const unknown[] = {"", "4711", "Qe xorv blint zamu", "\xFF"};
    struct language_guess g[LANGUAGE_MOST];
    struct err err = {0};

    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        struct language l;
        CHECK_OK(language_open(&l, &err), &err);
        CHECK(language_rank(&l, (struct line){unknown[i], strlen(unknown[i])}, g) == 0);
        language_close(&l);
    }
}

TEST(capitals_and_punctuation_do_not_matter)
{
    CHECK(strcmp(guess("WHAT IS THE MATTER WITH YOU? IT WAS HE!", 200).name, "en") == 0);
    CHECK(strcmp(guess("(das)-ist;nicht,der\"Mann\"und:die/Frau", 200).name, "de") == 0);
}

TEST(other_languages_mixtures_and_little_text_get_no_guess)
{
    struct language l;
    struct err err = {0};

    CHECK(guess("Qe xorv blint zamu frotek gralisho vendu", 400).name[0] == '\0');
    CHECK(guess("4711 + 0815 = 5526", 400).name[0] == '\0');
    CHECK(guess(known[0].text, 3).name[0] == '\0');
    CHECK(guess("", 100).name[0] == '\0' && guess("\xFF\xC3\x80", 999).name[0] == '\0');
    CHECK_OK(language_open(&l, &err), &err);
    for (int i = 0; i < 400; i++) { /* half and half, in turns of forty lines */
        const char *text = known[i / 40 % 2].text;
        language_add(&l, (struct line){text, strlen(text)});
    }
    CHECK(language_guess(&l).name[0] == '\0');
    language_close(&l);
}

TEST(two_texts_of_a_language_are_alike_and_of_two_are_not)
{
    struct language l[3];
    struct err err = {0};

    for (int i = 0; i < 3; i++)
        CHECK_OK(language_open(&l[i], &err), &err);
    CHECK(language_similar(&l[0], &l[1]) == 0);
    language_add(&l[0], (struct line){known[0].text, strlen(known[0].text)});
    language_add(&l[1], (struct line){known[1].text, strlen(known[1].text)});
    language_add(&l[2], (struct line){known[16].text, strlen(known[16].text)});
    CHECK_NEAR(language_similar(&l[0], &l[0]), 1, 1e-9);
    CHECK(language_similar(&l[0], &l[1]) < 0.7);
    CHECK(language_similar(&l[0], &l[2]) < 0.1);
    for (int i = 0; i < 3; i++)
        language_close(&l[i]);
}

/* Each phenomenon of the sample corpus with a sentence whose translation is known, said
 * from a tree built by hand. */
#include "sample/inflect.h"
#include "sample/say.h"
#include "test.h"

#define NP(determiner, word, ...) \
    (&(struct np){.noun = noun(word), .det = lexicon_det(determiner), __VA_ARGS__})
#define NAME(word) (&(struct np){.noun = noun(word)})
#define PRONOUN(word) \
    (&(struct np){.kind = NP_PRONOUN, .pronoun = LEXICON_FIND(pronouns, word)})
#define IT(word)                      \
    (&(struct np){.kind = NP_PRONOUN, \
                  .noun = noun(word), \
                  .pronoun = LEXICON_FIND(pronouns, "it")})
#define KIND(what, ...)   (&(struct np){.kind = NP_##what, __VA_ARGS__})
#define THE(word, ...)    NP("the", word, __VA_ARGS__)
#define MANY              .is_plural = true
#define ADJ(word)         .adjective = LEXICON_FIND(adjectives, word)
#define VERB(name, frame) .verb = verb(name, FRAME_##frame)
#define TENSE(name)       .tense = TENSE_##name
#define MODAL(word)       .modal = LEXICON_FIND(modals, word)
#define PHRASE(text, where)                  \
    {                                        \
        .phrase = phrase(text, SLOT_##where) \
    }
#define PP(en, de, casus, what)                          \
    {                                                    \
        .prep = prep(en, de, CASE_##casus), .np = (what) \
    }
#define CLAUSE(...) (&(struct clause){__VA_ARGS__})
#define NOT         .is_negated = true

/* A verb's name is its base with particle or preposition: "pick up", "wait for". */
static bool is_named(const struct verb *v, const char *name)
{
    const size_t n = strlen(v->en.base);
    const char *tail = v->particle ? v->particle : v->en_prep;

    if (strncmp(name, v->en.base, n) != 0)
        return false;
    return tail ? name[n] == ' ' && strcmp(name + n + 1, tail) == 0 : !name[n];
}

static const struct phrase *phrase(const char *en, enum slot slot)
{
    for (size_t i = 0; i < lexicon_phrases_n; i++)
        if (lexicon_phrases[i].slot == slot && strcmp(lexicon_phrases[i].en, en) == 0)
            return &lexicon_phrases[i];
    return NULL;
}

static const struct prep *prep(const char *en, const char *de, enum casus object_case)
{
    for (const struct prep *p = lexicon_preps; p < lexicon_preps + lexicon_preps_n; p++)
        if (p->object_case == object_case && strcmp(p->en, en) == 0 &&
            strcmp(p->de, de) == 0)
            return p;
    return NULL;
}

/* "when" and "if" have one row for each German conjunction. */
static const struct link *conjunction(const char *en, const char *de)
{
    for (const struct link *l = lexicon_links; l < lexicon_links + lexicon_links_n; l++)
        if (strcmp(l->en, en) == 0 && strcmp(l->de, de) == 0)
            return l;
    return NULL;
}

static const struct noun *noun(const char *en)
{
    const struct noun *n = LEXICON_FIND(nouns, en);

    if (!n)
        test_fail(__FILE__, __LINE__, "no noun '%s'", en);
    return n;
}

static const struct verb *verb(const char *en, enum frame frame)
{
    for (size_t i = 0; i < lexicon_verbs_n; i++)
        if (lexicon_verbs[i].frame == frame && is_named(&lexicon_verbs[i], en))
            return &lexicon_verbs[i];
    test_fail(__FILE__, __LINE__, "no verb '%s'", en);
    return NULL;
}

static void check_sentence(const struct sentence *s, const char *en, const char *de)
{
    struct str text = str_new(0);

    say_sentence(&sample_english, s, &text);
    CHECK_STR(str_text(&text), en);
    str_reset(&text);
    say_sentence(&sample_german, s, &text);
    CHECK_STR(str_text(&text), de);
    str_release(&text);
}

static void says(const struct clause *c, const char *en, const char *de)
{
    check_sentence(&(struct sentence){.main = c}, en, de);
}

static void asks(const struct clause *c, const char *en, const char *de)
{
    check_sentence(&(struct sentence){.main = c, .is_question = true}, en, de);
}

static void links(const struct clause *first, const char *en_link, const char *de_link,
                  const struct clause *second, bool is_second_first, const char *en,
                  const char *de)
{
    const struct sentence s = {.main = first,
                               .link = conjunction(en_link, de_link),
                               .other = second,
                               .is_other_first = is_second_first};

    CHECK(s.link);
    check_sentence(&s, en, de);
}

TEST(articles_and_adjectives_agree_in_gender_and_case)
{
    says(CLAUSE(VERB("see", OBJECT), TENSE(PRESENT), .subject = THE("man", ADJ("old")),
                .object = THE("dog", ADJ("small"))),
         "The old man sees the small dog.", "Der alte Mann sieht den kleinen Hund.");
    says(CLAUSE(VERB("see", OBJECT), TENSE(PRESENT),
                .subject = NP("a", "man", ADJ("old")),
                .object = NP("a", "horse", ADJ("old"))),
         "An old man sees an old horse.", "Ein alter Mann sieht ein altes Pferd.");
    says(CLAUSE(VERB("help", OBJECT), TENSE(PRESENT),
                .subject = NP("this", "woman", ADJ("young")),
                .object = NP("my", "mother", ADJ("sick"))),
         "This young woman helps my sick mother.",
         "Diese junge Frau hilft meiner kranken Mutter.");
    says(CLAUSE(VERB("drink", OBJECT), TENSE(PRESENT), .subject = PRONOUN("she"),
                .object = &(struct np){.noun = noun("milk"), ADJ("cold")}),
         "She drinks cold milk.", "Sie trinkt kalte Milch.");
    says(CLAUSE(VERB("drink", OBJECT), TENSE(PRESENT), .subject = PRONOUN("he"),
                .object = &(struct np){.noun = noun("coffee"), ADJ("hot")}),
         "He drinks hot coffee.", "Er trinkt heißen Kaffee.");
    says(CLAUSE(VERB("buy", OBJECT), TENSE(PRESENT), .subject = PRONOUN("we"),
                .object = NP("a", "table", ADJ("expensive"))),
         "We buy an expensive table.", "Wir kaufen einen teuren Tisch.");
}

TEST(plurals_take_their_forms_and_the_dative_n)
{
    says(CLAUSE(VERB("follow", OBJECT), TENSE(PAST), .subject = THE("mouse", MANY),
                .object = THE("child", MANY, ADJ("small"))),
         "The mice followed the small children.",
         "Die Mäuse sind den kleinen Kindern gefolgt.");
    says(CLAUSE(VERB("see", OBJECT), TENSE(PAST), .subject = NP("every", "student"),
                .object = NP("all", "wolf", MANY, ADJ("big"))),
         "Every student saw all big wolves.",
         "Jeder Student hat alle großen Wölfe gesehen.");
    says(CLAUSE(VERB("wash", OBJECT), TENSE(PRESENT), .subject = PRONOUN("they"),
                .object = NP("many", "scarf", MANY, ADJ("red"))),
         "They wash many red scarves.", "Sie waschen viele rote Schals.");
}

TEST(weak_nouns_end_in_n_outside_the_nominative)
{
    says(CLAUSE(VERB("know", OBJECT), TENSE(PRESENT), .subject = THE("boy"),
                .object = THE("neighbor")),
         "The boy knows the neighbor.", "Der Junge kennt den Nachbarn.");
    says(CLAUSE(VERB("help", OBJECT), TENSE(PRESENT), .subject = THE("student"),
                .object = THE("farmer")),
         "The student helps the farmer.", "Der Student hilft dem Bauern.");
}

TEST(an_owner_follows_in_the_genitive_unless_it_is_a_name)
{
    says(CLAUSE(VERB("repair", OBJECT), TENSE(PRESENT), .subject = PRONOUN("I"),
                .object = &(struct np){.noun = noun("car"),
                                       ADJ("new"),
                                       .owner = NP("my", "brother")}),
         "I repair my brother's new car.", "Ich repariere das neue Auto meines Bruders.");
    says(CLAUSE(VERB("repair", OBJECT), TENSE(PRESENT), .subject = PRONOUN("I"),
                .object =
                    &(struct np){.noun = noun("car"), ADJ("new"), .owner = NAME("Anna")}),
         "I repair Anna's new car.", "Ich repariere Annas neues Auto.");
    says(CLAUSE(VERB("live", SPOT), TENSE(PRESENT), .subject = PRONOUN("we"),
                .spot = PP("in", "in", DATIVE,
                           (&(struct np){.noun = noun("house"), .owner = THE("child")}))),
         "We live in the child's house.", "Wir wohnen im Haus des Kindes.");
}

TEST(the_past_is_a_perfect_with_the_participle_at_the_end)
{
    says(CLAUSE(VERB("see", OBJECT), TENSE(PAST), .subject = THE("man"),
                .object = THE("dog"), .time = PHRASE("yesterday", TIME),
                .spot = PP("in", "in", DATIVE, THE("garden"))),
         "The man saw the dog in the garden yesterday.",
         "Der Mann hat gestern den Hund im Garten gesehen.");
    says(CLAUSE(VERB("go", GOAL), TENSE(PERFECT), .subject = THE("woman", MANY),
                .spot = PP("to", "in", ACCUSATIVE, THE("city"))),
         "The women have gone to the city.", "Die Frauen sind in die Stadt gegangen.");
    says(CLAUSE(VERB("have", OBJECT), TENSE(PAST), .subject = THE("king"),
                .object = NP("a", "elephant")),
         "The king had an elephant.", "Der König hatte einen Elefanten.");
    says(CLAUSE(VERB("be", BE), TENSE(PAST), .subject = PRONOUN("you"),
                .predicate = LEXICON_FIND(adjectives, "tired"),
                .degree = phrase("very", SLOT_DEGREE)),
         "You were very tired.", "Du warst sehr müde.");
}

TEST(future_and_modals_send_the_infinitive_to_the_end)
{
    says(CLAUSE(VERB("read", OBJECT), TENSE(FUTURE), .subject = THE("child"),
                .object = NP("this", "book"), .time = PHRASE("tomorrow", TIME)),
         "The child will read this book tomorrow.",
         "Das Kind wird morgen dieses Buch lesen.");
    says(CLAUSE(VERB("invite", OBJECT), TENSE(PAST), MODAL("want"),
                .subject = PRONOUN("she"), .object = PRONOUN("we")),
         "She wanted to invite us.", "Sie wollte uns einladen.");
    says(CLAUSE(VERB("swim", ALONE), TENSE(PRESENT), MODAL("can"), NOT,
                .subject = THE("cat")),
         "The cat cannot swim.", "Die Katze kann nicht schwimmen.");
    says(CLAUSE(VERB("pay for", OBJECT), TENSE(PRESENT), MODAL("have"), NOT,
                .subject = THE("queen"), .object = THE("soup")),
         "The queen does not have to pay for the soup.",
         "Die Königin muss die Suppe nicht bezahlen.");
    asks(CLAUSE(VERB("help", OBJECT), TENSE(PRESENT), MODAL("would"),
                .subject = PRONOUN("you"), .object = PRONOUN("they")),
         "Would you like to help them?", "Möchtest du ihnen helfen?");
}

TEST(separable_prefixes_stand_apart_together_and_around_zu)
{
    says(CLAUSE(VERB("pick up", OBJECT), TENSE(PRESENT), .subject = THE("father"),
                .object = PRONOUN("she"), .time = PHRASE("every day", TIME)),
         "The father picks her up every day.", "Der Vater holt sie jeden Tag ab.");
    says(CLAUSE(VERB("turn off", OBJECT), TENSE(PAST), .subject = PRONOUN("I"),
                .object = THE("lamp")),
         "I turned off the lamp.", "Ich habe die Lampe ausgeschaltet.");
    says(CLAUSE(VERB("try", INFINITIVE), TENSE(PAST), .subject = THE("boy"),
                .complement = CLAUSE(VERB("open", OBJECT), .object = THE("window"))),
         "The boy tried to open the window.",
         "Der Junge hat versucht, das Fenster aufzumachen.");
    says(CLAUSE(VERB("begin", INFINITIVE), TENSE(PRESENT), .subject = THE("girl"),
                .complement = CLAUSE(VERB("read", OBJECT), .object = THE("letter"))),
         "The girl begins to read the letter.",
         "Das Mädchen fängt an, den Brief zu lesen.");
    links(CLAUSE(VERB("laugh", ALONE), TENSE(PRESENT), .subject = PRONOUN("we")),
          "because", "weil",
          CLAUSE(VERB("come back", ALONE), TENSE(PRESENT), .subject = THE("uncle")),
          false, "We laugh because the uncle comes back.",
          "Wir lachen, weil der Onkel zurückkommt.");
}

TEST(subordinate_clauses_end_with_the_finite_verb)
{
    links(CLAUSE(VERB("stay", SPOT), TENSE(PRESENT), .subject = PRONOUN("we"),
                 .spot = PHRASE("at home", SPOT)),
          "if", "wenn",
          CLAUSE(VERB("rain", WEATHER), TENSE(PRESENT), .subject = KIND(WEATHER)), true,
          "If it rains, we stay at home.", "Wenn es regnet, bleiben wir zu Hause.");
    links(CLAUSE(VERB("sleep", ALONE), TENSE(PAST), .subject = THE("dog")), "when", "als",
          CLAUSE(VERB("arrive", ALONE), TENSE(PAST), .subject = THE("doctor")), false,
          "The dog slept when the doctor arrived.",
          "Der Hund hat geschlafen, als der Arzt angekommen ist.");
    links(CLAUSE(VERB("sing", ALONE), TENSE(PAST), .subject = PRONOUN("they")), "after",
          "nachdem",
          CLAUSE(VERB("eat", OBJECT), TENSE(PLUPERFECT), .subject = PRONOUN("they"),
                 .object = THE("cake")),
          false, "They sang after they had eaten the cake.",
          "Sie haben gesungen, nachdem sie den Kuchen gegessen hatten.");
    says(CLAUSE(VERB("say", THAT), TENSE(PRESENT), .subject = NAME("Peter"),
                .complement_link = conjunction("that", "dass"),
                .complement =
                    CLAUSE(VERB("buy", OBJECT), TENSE(PRESENT), MODAL("want"),
                           .subject = PRONOUN("he"), .object = NP("a", "house"))),
         "Peter says that he wants to buy a house.",
         "Peter sagt, dass er ein Haus kaufen will.");
    says(CLAUSE(VERB("know", THAT), TENSE(PRESENT), NOT, .subject = PRONOUN("I"),
                .complement_link = conjunction("whether", "ob"),
                .complement =
                    CLAUSE(VERB("be", BE), TENSE(PAST), .subject = PRONOUN("she"),
                           .predicate = LEXICON_FIND(adjectives, "happy"))),
         "I do not know whether she was happy.", "Ich weiß nicht, ob sie glücklich war.");
    asks(CLAUSE(VERB("know", THAT), TENSE(PRESENT), .subject = PRONOUN("you"),
                .complement =
                    CLAUSE(VERB("live", SPOT), TENSE(PRESENT), .subject = THE("teacher"),
                           .ask = phrase("where", SLOT_ASK))),
         "Do you know where the teacher lives?", "Weißt du, wo der Lehrer wohnt?");
}

TEST(what_is_fronted_is_followed_by_the_finite_verb)
{
    says(CLAUSE(VERB("give", RECIPIENT), TENSE(PAST), .subject = THE("mother"),
                .recipient = THE("child"), .object = NP("a", "apple"),
                .time = PHRASE("yesterday", TIME), .front = FRONT_TIME),
         "Yesterday the mother gave the child an apple.",
         "Gestern hat die Mutter dem Kind einen Apfel gegeben.");
    says(CLAUSE(VERB("travel", GOAL), TENSE(FUTURE), .subject = NAME("Maria"),
                .spot = PP("to", "nach", DATIVE, NAME("Vienna")),
                .means = PHRASE("by train", MEANS),
                .comment = phrase("perhaps", SLOT_COMMENT), .front = FRONT_COMMENT),
         "Perhaps Maria will travel to Vienna by train.",
         "Vielleicht wird Maria mit dem Zug nach Wien reisen.");
    says(CLAUSE(VERB("sit", SPOT), TENSE(PAST), .subject = NP("a", "bird"),
                .spot = PP("on", "auf", DATIVE, THE("table")), .front = FRONT_SPOT),
         "On the table a bird sat.", "Auf dem Tisch hat ein Vogel gesessen.");
    links(CLAUSE(VERB("work", ALONE), TENSE(PRESENT), .subject = PRONOUN("she")), "so",
          "deshalb",
          CLAUSE(VERB("get up", ALONE), TENSE(PRESENT), .subject = PRONOUN("I")), false,
          "She works, so I get up.", "Sie arbeitet, deshalb stehe ich auf.");
}

TEST(negation_is_kein_before_what_is_indefinite_and_nicht_otherwise)
{
    says(CLAUSE(VERB("buy", OBJECT), TENSE(PAST), NOT, .subject = THE("farmer"),
                .object = NP("a", "cow")),
         "The farmer did not buy a cow.", "Der Bauer hat keine Kuh gekauft.");
    says(CLAUSE(VERB("buy", OBJECT), TENSE(PRESENT), NOT, .subject = THE("farmer"),
                .object = NP("", "cow", MANY, ADJ("old"))),
         "The farmer does not buy any old cows.", "Der Bauer kauft keine alten Kühe.");
    says(CLAUSE(VERB("buy", OBJECT), TENSE(PAST), NOT, .subject = THE("farmer"),
                .object = THE("cow"), .time = PHRASE("today", TIME)),
         "The farmer did not buy the cow today.",
         "Der Bauer hat heute die Kuh nicht gekauft.");
    says(CLAUSE(VERB("wait for", PREP), TENSE(PRESENT), NOT, .subject = PRONOUN("he"),
                .object = THE("bus")),
         "He does not wait for the bus.", "Er wartet nicht auf den Bus.");
    says(CLAUSE(VERB("be", JOB), TENSE(PRESENT), NOT, .subject = NP("my", "uncle"),
                .object = NP("a", "engineer")),
         "My uncle is not an engineer.", "Mein Onkel ist kein Ingenieur.");
    says(CLAUSE(VERB("be", JOB), TENSE(PAST), .subject = NAME("Paul"),
                .object = NP("a", "baker")),
         "Paul was a baker.", "Paul war Bäcker.");
    says(CLAUSE(VERB("like", LIKE), TENSE(PRESENT), NOT, .subject = PRONOUN("I"),
                .object = THE("hat")),
         "I do not like the hat.", "Der Hut gefällt mir nicht.");
    asks(CLAUSE(VERB("like", LIKE), TENSE(PRESENT), .subject = PRONOUN("they"),
                .object = THE("chair", MANY)),
         "Do they like the chairs?", "Gefallen ihnen die Stühle?");
}

TEST(never_and_already_stand_behind_what_is_known)
{
    says(CLAUSE(VERB("read", OBJECT), TENSE(PERFECT), .subject = PRONOUN("he"),
                .object = THE("book"), .mid = phrase("already", SLOT_MID)),
         "He has already read the book.", "Er hat das Buch schon gelesen.");
    says(CLAUSE(VERB("read", OBJECT), TENSE(PERFECT), .subject = PRONOUN("he"),
                .object = NP("a", "book"), .mid = phrase("never", SLOT_MID)),
         "He has never read a book.", "Er hat nie ein Buch gelesen.");
    says(CLAUSE(VERB("read", OBJECT), TENSE(PRESENT), .subject = PRONOUN("he"),
                .object = THE("book"), .mid = phrase("often", SLOT_MID)),
         "He often reads the book.", "Er liest oft das Buch.");
    says(CLAUSE(VERB("eat", OBJECT), TENSE(PAST), .subject = PRONOUN("she"),
                .object = THE("soup"), .manner = phrase("quickly", SLOT_MANNER)),
         "She ate the soup quickly.", "Sie hat die Suppe schnell gegessen.");
    says(CLAUSE(VERB("eat", OBJECT), TENSE(PAST), .subject = PRONOUN("she"),
                .object = NP("a", "soup"), .manner = phrase("quickly", SLOT_MANNER)),
         "She ate a soup quickly.", "Sie hat schnell eine Suppe gegessen.");
}

TEST(relative_pronouns_agree_and_their_clauses_stand_between_commas)
{
    says(CLAUSE(VERB("sleep", ALONE), TENSE(PRESENT),
                .subject = THE("man", .relative = CLAUSE(
                                          VERB("read", OBJECT), TENSE(PRESENT),
                                          .subject = KIND(RELATIVE, .noun = noun("man")),
                                          .object = THE("newspaper")))),
         "The man who reads the newspaper sleeps.",
         "Der Mann, der die Zeitung liest, schläft.");
    says(CLAUSE(VERB("know", OBJECT), TENSE(PRESENT), .subject = PRONOUN("I"),
                .object =
                    THE("woman",
                        .relative = CLAUSE(
                            VERB("help", OBJECT), TENSE(PAST), .subject = PRONOUN("you"),
                            .object = KIND(RELATIVE, .noun = noun("woman"))))),
         "I know the woman who you helped.", "Ich kenne die Frau, der du geholfen hast.");
    says(CLAUSE(VERB("see", OBJECT), TENSE(PRESENT), .subject = PRONOUN("she"),
                .object = THE("horse", MANY,
                              .relative = CLAUSE(VERB("play with", PREP), TENSE(PRESENT),
                                                 .subject = THE("girl"),
                                                 .object = KIND(RELATIVE, MANY,
                                                                .noun = noun("horse"))))),
         "She sees the horses that the girl plays with.",
         "Sie sieht die Pferde, mit denen das Mädchen spielt.");
    says(CLAUSE(VERB("laugh", ALONE), TENSE(PRESENT),
                .subject = THE(
                    "woman",
                    .relative = CLAUSE(
                        VERB("be", BE), TENSE(PRESENT),
                        .subject =
                            &(struct np){.noun = noun("brother"),
                                         .owner = KIND(RELATIVE, .noun = noun("woman"))},
                        .predicate = LEXICON_FIND(adjectives, "rich")))),
         "The woman whose brother is rich laughs.",
         "Die Frau, deren Bruder reich ist, lacht.");
}

TEST(it_takes_the_gender_of_what_it_stands_for)
{
    links(CLAUSE(VERB("sell", OBJECT), TENSE(PAST), .subject = THE("man"),
                 .object = THE("table")),
          "because", "weil",
          CLAUSE(VERB("be", BE), TENSE(PAST), .subject = IT("table"),
                 .predicate = LEXICON_FIND(adjectives, "old")),
          false, "The man sold the table because it was old.",
          "Der Mann hat den Tisch verkauft, weil er alt war.");
    links(CLAUSE(VERB("find", OBJECT), TENSE(PAST), .subject = PRONOUN("I"),
                 .object = THE("bag")),
          "but", "aber",
          CLAUSE(VERB("need", OBJECT), TENSE(PRESENT), NOT, .subject = PRONOUN("she"),
                 .object = IT("bag")),
          false, "I found the bag, but she does not need it.",
          "Ich habe die Tasche gefunden, aber sie braucht sie nicht.");
    links(CLAUSE(VERB("take off", OBJECT), TENSE(PRESENT), .subject = PRONOUN("he"),
                 .object = THE("hat")),
          "and", "und",
          CLAUSE(VERB("wash", OBJECT), TENSE(PRESENT), .subject = PRONOUN("she"),
                 .object = IT("hat")),
          false, "He takes off the hat and she washes it.",
          "Er zieht den Hut aus und sie wäscht ihn.");
}

TEST(questions_invert_and_question_words_take_the_case_of_their_verb)
{
    asks(CLAUSE(VERB("know", OBJECT), TENSE(PRESENT), .subject = THE("policeman"),
                .object = THE("thief", MANY)),
         "Does the policeman know the thieves?", "Kennt der Polizist die Diebe?");
    asks(CLAUSE(VERB("see", OBJECT), TENSE(PAST), .subject = KIND(WHO),
                .object = THE("elephant")),
         "Who saw the elephant?", "Wer hat den Elefanten gesehen?");
    asks(CLAUSE(VERB("meet", OBJECT), TENSE(PAST), .subject = NAME("Maria"),
                .object = KIND(WHO)),
         "Who did Maria meet?", "Wen hat Maria getroffen?");
    asks(CLAUSE(VERB("thank", OBJECT), TENSE(PRESENT), .subject = PRONOUN("he"),
                .object = KIND(WHO)),
         "Who does he thank?", "Wem dankt er?");
    asks(CLAUSE(VERB("lend", RECIPIENT), TENSE(PAST), .subject = PRONOUN("you"),
                .recipient = KIND(WHO), .object = NP("your", "car")),
         "Who did you lend your car to?", "Wem hast du dein Auto geliehen?");
    asks(CLAUSE(VERB("wait for", PREP), TENSE(PROGRESSIVE), .subject = PRONOUN("they"),
                .object = NP("which", "train")),
         "Which train are they waiting for?", "Auf welchen Zug warten sie gerade?");
    asks(CLAUSE(VERB("eat", OBJECT), TENSE(PAST), .subject = THE("child"),
                .object = NP("how many", "egg", MANY)),
         "How many eggs did the child eat?", "Wie viele Eier hat das Kind gegessen?");
    asks(CLAUSE(VERB("go", GOAL), TENSE(PAST), .subject = THE("thief", MANY),
                .ask = &(struct phrase){"where", "wohin", SLOT_ASK, 0, false}),
         "Where did the thieves go?", "Wohin sind die Diebe gegangen?");
    asks(CLAUSE(VERB("come back", ALONE), TENSE(PRESENT), MODAL("can"), NOT,
                .subject = PRONOUN("we"), .ask = phrase("why", SLOT_ASK)),
         "Why can we not come back?", "Warum können wir nicht zurückkommen?");
}

TEST(numbers_turn_round_in_german)
{
    says(CLAUSE(VERB("cost", OBJECT), TENSE(PRESENT), .subject = NP("this", "shirt"),
                .object = &(struct np){.noun = noun("euro"), MANY, .number = 21}),
         "This shirt costs twenty-one euros.", "Dieses Hemd kostet einundzwanzig Euro.");
    says(CLAUSE(VERB("be", BE), TENSE(PRESENT), .subject = NP("her", "aunt"),
                .predicate = LEXICON_FIND(adjectives, "old"),
                .measure = &(struct np){.noun = noun("year"), MANY, .number = 67}),
         "Her aunt is sixty-seven years old.",
         "Ihre Tante ist siebenundsechzig Jahre alt.");
    says(CLAUSE(VERB("build", OBJECT), TENSE(PAST), .subject = PRONOUN("they"),
                .object =
                    &(struct np){.noun = noun("church"), MANY, .number = 3, ADJ("small")},
                .time = PP("ago", "vor", DATIVE,
                           (&(struct np){.noun = noun("year"), MANY, .number = 12}))),
         "They built three small churches twelve years ago.",
         "Sie haben vor zwölf Jahren drei kleine Kirchen gebaut.");

    const struct {
        unsigned n;
        const char *de, *en;
    } cases[] = {
        {1, "eins", "one"},
        {16, "sechzehn", "sixteen"},
        {17, "siebzehn", "seventeen"},
        {30, "dreißig", "thirty"},
        {41, "einundvierzig", "forty-one"},
        {99, "neunundneunzig", "ninety-nine"},
        {300, "dreihundert", "three hundred"},
        {777, "siebenhundertsiebenundsiebzig", "seven hundred and seventy-seven"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_STR(inflect_number(cases[i].n).text, cases[i].de);
        CHECK_STR(inflect_en_number(cases[i].n).text, cases[i].en);
    }
}

TEST(prepositions_take_their_case_and_merge_with_the_article)
{
    says(CLAUSE(VERB("put", PUT), TENSE(PRESENT), .subject = PRONOUN("he"),
                .object = THE("key"),
                .spot = PP("under", "unter", ACCUSATIVE, THE("chair"))),
         "He puts the key under the chair.", "Er legt den Schlüssel unter den Stuhl.");
    says(CLAUSE(VERB("lie", SPOT), TENSE(PRESENT), .subject = THE("key"),
                .spot = PP("under", "unter", DATIVE, THE("chair"))),
         "The key lies under the chair.", "Der Schlüssel liegt unter dem Stuhl.");
    says(CLAUSE(VERB("drive", GOAL), TENSE(PRESENT), .subject = PRONOUN("she"),
                .spot = PP("to", "zu", DATIVE, THE("university")),
                .means = PP("with", "mit", DATIVE, NP("her", "sister", MANY))),
         "She drives to the university with her sisters.",
         "Sie fährt mit ihren Schwestern zur Universität.");
    says(CLAUSE(VERB("go", GOAL), TENSE(PRESENT), .subject = PRONOUN("we"),
                .spot = PP("to", "in", ACCUSATIVE, THE("theater"))),
         "We go to the theater.", "Wir gehen ins Theater.");
    says(CLAUSE(VERB("be", EXIST), TENSE(PAST), .subject = KIND(THERE),
                .object = NP("no", "taxi", MANY),
                .spot = PP("in front of", "vor", DATIVE, THE("station"))),
         "There were no taxis in front of the station.",
         "Es gab keine Taxis vor dem Bahnhof.");
}

TEST(two_objects_stand_dative_first_unless_a_pronoun_comes_before)
{
    says(CLAUSE(VERB("explain", RECIPIENT), TENSE(PAST), .subject = THE("teacher"),
                .recipient = THE("student"), .object = THE("sentence")),
         "The teacher explained the sentence to the student.",
         "Der Lehrer hat dem Studenten den Satz erklärt.");
    says(CLAUSE(VERB("show", RECIPIENT), TENSE(PRESENT), .subject = PRONOUN("I"),
                .recipient = PRONOUN("you"), .object = IT("lamp")),
         "I show it to you.", "Ich zeige sie dir.");
    says(CLAUSE(VERB("read", RECIPIENT), TENSE(PROGRESSIVE), .subject = THE("aunt"),
                .recipient = PRONOUN("they"), .object = NP("a", "story")),
         "The aunt is reading a story to them.",
         "Die Tante liest ihnen gerade eine Geschichte vor.");
}

TEST(english_spells_its_regular_and_irregular_forms)
{
    const struct {
        const char *verb;
        enum frame frame;
        const char *form[5];
    } verbs[] = {
        {"try", FRAME_INFINITIVE, {"try", "tries", "tried", "tried", "trying"}},
        {"put on", FRAME_OBJECT, {"put", "puts", "put", "put", "putting"}},
        {"go", FRAME_GOAL, {"go", "goes", "went", "gone", "going"}},
        {"wash", FRAME_OBJECT, {"wash", "washes", "washed", "washed", "washing"}},
        {"invite", FRAME_OBJECT, {"invite", "invites", "invited", "invited", "inviting"}},
        {"have", FRAME_OBJECT, {"have", "has", "had", "had", "having"}},
        {"play with", FRAME_PREP, {"play", "plays", "played", "played", "playing"}},
        {"lie", FRAME_SPOT, {"lie", "lies", "lay", "lain", "lying"}}};
    const char *nouns[][2] = {
        {"child", "children"}, {"knife", "knives"},    {"box", "boxes"},
        {"story", "stories"},  {"day", "days"},        {"potato", "potatoes"},
        {"radio", "radios"},   {"church", "churches"}, {"policeman", "policemen"}};

    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        for (enum english_form f = FORM_BASE; f <= FORM_ING; f++)
            CHECK_STR(inflect_en_verb(verb(verbs[i].verb, verbs[i].frame), f).text,
                      verbs[i].form[f]);
    for (size_t i = 0; i < sizeof nouns / sizeof *nouns; i++)
        CHECK_STR(inflect_en_noun(noun(nouns[i][0]), true).text, nouns[i][1]);
}

TEST(german_verbs_take_the_ending_of_their_person)
{
    const struct {
        const char *verb;
        enum frame frame;
        const char *form[4];
    } verbs[] = {{"work", FRAME_ALONE, {"arbeite", "arbeitest", "arbeitet", "arbeiten"}},
                 {"dance", FRAME_ALONE, {"tanze", "tanzt", "tanzt", "tanzen"}},
                 {"feed", FRAME_OBJECT, {"füttere", "fütterst", "füttert", "füttern"}},
                 {"decide",
                  FRAME_INFINITIVE,
                  {"beschließe", "beschließt", "beschließt", "beschließen"}},
                 {"know", FRAME_THAT, {"weiß", "weißt", "weiß", "wissen"}},
                 {"invite", FRAME_OBJECT, {"lade", "lädst", "lädt", "laden"}},
                 {"be", FRAME_BE, {"bin", "bist", "ist", "sind"}},
                 {"have", FRAME_OBJECT, {"habe", "hast", "hat", "haben"}},
                 {"eat", FRAME_OBJECT, {"esse", "isst", "isst", "essen"}}};

    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        for (enum person person = PERSON_ICH; person <= PERSON_PLURAL; person++)
            CHECK_STR(inflect_present(verb(verbs[i].verb, verbs[i].frame), person).text,
                      verbs[i].form[person]);
}

/* The compiler knows the names of members and classes; only a test sees what is left out.
 */
TEST(every_row_of_the_lexicon_has_what_the_grammars_need)
{
    for (size_t i = 0; i < lexicon_nouns_n; i++)
        CHECK(lexicon_nouns[i].en && lexicon_nouns[i].de && lexicon_nouns[i].classes);
    for (size_t i = 0; i < lexicon_adjectives_n; i++)
        CHECK(lexicon_adjectives[i].en && lexicon_adjectives[i].de &&
              lexicon_adjectives[i].classes);
    for (const struct verb *v = lexicon_verbs; v < lexicon_verbs + lexicon_verbs_n; v++) {
        CHECK(v->en.base && v->de.infinitive && v->de.participle);
        CHECK(v->subjects || v->frame == FRAME_EXIST || v->frame == FRAME_WEATHER);
        CHECK((v->frame == FRAME_PREP) == (v->de_prep != NULL));
        CHECK(!v->prefix || str_begins(v->de.participle, v->prefix));
    }
    for (size_t i = 0; i < lexicon_modals_n; i++) {
        const struct modal *m = &lexicon_modals[i];
        CHECK(m->en && m->en_third && m->de_er && m->de_plural);
        CHECK(!m->en_past == !m->de_past);
    }
    for (size_t i = 0; i < lexicon_pronouns_n; i++) {
        const struct pronoun *p = &lexicon_pronouns[i];
        CHECK(p->en && p->en_object && p->de[0] && p->de[1] && p->de[2]);
    }
    for (size_t i = 0; i < lexicon_dets_n; i++)
        CHECK((lexicon_dets[i].en || lexicon_dets[i].en_plural) && lexicon_dets[i].de);
    for (size_t i = 0; i < lexicon_phrases_n; i++)
        CHECK(lexicon_phrases[i].en && lexicon_phrases[i].de &&
              lexicon_phrases[i].tenses);
    for (size_t i = 0; i < lexicon_preps_n; i++)
        CHECK(lexicon_preps[i].en && lexicon_preps[i].de);
    for (size_t i = 0; i < lexicon_links_n; i++)
        CHECK(lexicon_links[i].en && lexicon_links[i].de && lexicon_links[i].tenses);
    for (size_t i = 0; i < lexicon_gloss_words_n; i++)
        CHECK(lexicon_gloss_words[i].en && lexicon_gloss_words[i].de);
    CHECK(lexicon_numbers_n == 20 + 8);
    for (size_t i = 0; i < lexicon_numbers_n; i++)
        CHECK(lexicon_numbers[i].en && lexicon_numbers[i].de);
}

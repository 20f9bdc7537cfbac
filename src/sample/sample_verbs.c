/*
 * The verbs of the sample corpus. A row: English base, past, participle, -ing; German
 * infinitive without its prefix, participle, du, er, ich, plural, preterite; the frame;
 * who does it; to what. Forms that are left out are regular.
 */
#include "sample/sample_lexicon.h"

#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define WHO         CLASS_PERSON
#define LIVING      (CLASS_PERSON | CLASS_ANIMAL)
#define THING       CLASS_THING
#define WARES       (CLASS_THING | CLASS_VEHICLE | CLASS_FOOD | CLASS_SURFACE)
#define DAT         .is_dative = true
#define SEIN        .is_sein = true
#define STATE       .is_state = true
#define PREFIX(p)   .prefix = (p)
#define PARTICLE(p) .particle = (p)
#define EN_PREP(p)  .en_prep = (p)
#define DE_PREP(p)  .de_prep = (p)

/* clang-format off */
const struct sample_verb sample_verbs[] = {
    /* alone */
    {{"sleep", "slept", "slept"}, {"schlafen", "geschlafen", "schläfst", "schläft"},
     FRAME_ALONE, LIVING, 0},
    {{"work"}, {"arbeiten", "gearbeitet"}, FRAME_ALONE, WHO, 0},
    {{"laugh"}, {"lachen", "gelacht"}, FRAME_ALONE, WHO, 0},
    {{"dance"}, {"tanzen", "getanzt"}, FRAME_ALONE, WHO, 0},
    {{"sing", "sang", "sung"}, {"singen", "gesungen"}, FRAME_ALONE, WHO, 0},
    {{"swim", "swam", "swum", "swimming"}, {"schwimmen", "geschwommen"}, FRAME_ALONE,
     LIVING, 0, SEIN},
    {{"wake", "woke", "woken"}, {"wachen", "aufgewacht"}, FRAME_ALONE, LIVING, 0, SEIN,
     PREFIX("auf"), PARTICLE("up")},
    {{"get", "got", "gotten", "getting"}, {"stehen", "aufgestanden"}, FRAME_ALONE, WHO,
     0, SEIN, PREFIX("auf"), PARTICLE("up")},
    {{"fall", "fell", "fallen"}, {"schlafen", "eingeschlafen", "schläfst", "schläft"},
     FRAME_ALONE, LIVING, 0, SEIN, PREFIX("ein"), PARTICLE("asleep")},
    {{"arrive"}, {"kommen", "angekommen"}, FRAME_ALONE, WHO | CLASS_TRANSIT, 0, SEIN,
     PREFIX("an")},
    {{"come", "came", "come"}, {"kommen", "zurückgekommen"}, FRAME_ALONE, LIVING, 0,
     SEIN, PREFIX("zurück"), PARTICLE("back")},

    /* accusative */
    {{"see", "saw", "seen"}, {"sehen", "gesehen", "siehst", "sieht"}, FRAME_OBJECT,
     LIVING, LIVING | WARES | CLASS_BUILDING, STATE},
    {{"have", "had", "had"}, {"haben", "gehabt", "hast", "hat", .preterite = "hatte"},
     FRAME_OBJECT, WHO, CLASS_ANIMAL | WARES, STATE},
    {{"buy", "bought", "bought"}, {"kaufen", "gekauft"}, FRAME_OBJECT, WHO,
     WARES | CLASS_DRINK},
    {{"sell", "sold", "sold"}, {"verkaufen", "verkauft"}, FRAME_OBJECT, WHO, WARES},
    {{"find", "found", "found"}, {"finden", "gefunden"}, FRAME_OBJECT, LIVING,
     LIVING | THING | CLASS_FOOD, STATE},
    {{"look"}, {"suchen", "gesucht"}, FRAME_OBJECT, LIVING, LIVING | THING |
     CLASS_PLACE, EN_PREP("for")},
    {{"need"}, {"brauchen", "gebraucht"}, FRAME_OBJECT, WHO, WARES | CLASS_DRINK, STATE},
    {{"know", "knew", "known"}, {"kennen", "gekannt"}, FRAME_OBJECT, WHO,
     WHO | CLASS_PLACE | CLASS_TOWN, STATE},
    {{"meet", "met", "met"}, {"treffen", "getroffen", "triffst", "trifft"},
     FRAME_OBJECT, WHO, WHO, STATE},
    {{"visit"}, {"besuchen", "besucht"}, FRAME_OBJECT, WHO, WHO | CLASS_BUILDING |
     CLASS_TOWN},
    {{"invite"}, {"laden", "eingeladen", "lädst", "lädt"}, FRAME_OBJECT, WHO, WHO,
     PREFIX("ein"), STATE},
    {{"pick"}, {"holen", "abgeholt"}, FRAME_OBJECT, WHO, WHO, PREFIX("ab"),
     PARTICLE("up")},
    {{"call"}, {"rufen", "angerufen"}, FRAME_OBJECT, WHO, WHO, PREFIX("an")},
    {{"feed", "fed", "fed"}, {"füttern", "gefüttert"}, FRAME_OBJECT, WHO, CLASS_ANIMAL},
    {{"forget", "forgot", "forgotten", "forgetting"},
     {"vergessen", "vergessen", "vergisst", "vergisst"}, FRAME_OBJECT, WHO,
     THING | CLASS_SPEECH, STATE},
    {{"lose", "lost", "lost"}, {"verlieren", "verloren"}, FRAME_OBJECT, WHO, THING,
     STATE},
    {{"throw", "threw", "thrown"}, {"werfen", "weggeworfen", "wirfst", "wirft"},
     FRAME_OBJECT, WHO, THING | CLASS_FOOD, PREFIX("weg"), PARTICLE("away")},
    {{"repair"}, {"reparieren", "repariert"}, FRAME_OBJECT, WHO,
     CLASS_VEHICLE | CLASS_DEVICE | CLASS_SURFACE},
    {{"wash"}, {"waschen", "gewaschen", "wäschst", "wäscht"}, FRAME_OBJECT, WHO,
     CLASS_VEHICLE | CLASS_CLOTHES},
    {{"wear", "wore", "worn"}, {"tragen", "getragen", "trägst", "trägt"}, FRAME_OBJECT,
     WHO, CLASS_CLOTHES},
    {{"put", "put", "put", "putting"}, {"ziehen", "angezogen"}, FRAME_OBJECT, WHO,
     CLASS_CLOTHES, PREFIX("an"), PARTICLE("on")},
    {{"take", "took", "taken"}, {"ziehen", "ausgezogen"}, FRAME_OBJECT, WHO,
     CLASS_CLOTHES, PREFIX("aus"), PARTICLE("off")},
    {{"turn"}, {"schalten", "eingeschaltet"}, FRAME_OBJECT, WHO, CLASS_DEVICE,
     PREFIX("ein"), PARTICLE("on")},
    {{"turn"}, {"schalten", "ausgeschaltet"}, FRAME_OBJECT, WHO, CLASS_DEVICE,
     PREFIX("aus"), PARTICLE("off")},
    {{"open"}, {"machen", "aufgemacht"}, FRAME_OBJECT, WHO, CLASS_OPENABLE,
     PREFIX("auf")},
    {{"close"}, {"machen", "zugemacht"}, FRAME_OBJECT, WHO, CLASS_OPENABLE, PREFIX("zu")},
    {{"build", "built", "built"}, {"bauen", "gebaut"}, FRAME_OBJECT, WHO, CLASS_BUILDING},
    {{"eat", "ate", "eaten"}, {"essen", "gegessen", "isst", "isst"}, FRAME_OBJECT, WHO,
     CLASS_FOOD},
    {{"drink", "drank", "drunk"}, {"trinken", "getrunken"}, FRAME_OBJECT, WHO,
     CLASS_DRINK},
    {{"pay", "paid", "paid"}, {"bezahlen", "bezahlt"}, FRAME_OBJECT, WHO,
     WARES | CLASS_DRINK, EN_PREP("for")},
    {{"read", "read", "read"}, {"lesen", "gelesen", "liest", "liest"}, FRAME_OBJECT,
     WHO, CLASS_TEXT},
    {{"write", "wrote", "written"}, {"schreiben", "geschrieben"}, FRAME_OBJECT, WHO,
     CLASS_WRITTEN},
    {{"understand", "understood", "understood"}, {"verstehen", "verstanden"},
     FRAME_OBJECT, WHO, CLASS_SPEECH, STATE},
    {{"speak", "spoke", "spoken"}, {"sprechen", "gesprochen", "sprichst", "spricht"},
     FRAME_OBJECT, WHO, CLASS_LANGUAGE},
    {{"cost", "cost", "cost"}, {"kosten", "gekostet"}, FRAME_OBJECT, WARES, CLASS_MONEY,
     STATE},

    /* dative */
    {{"help"}, {"helfen", "geholfen", "hilfst", "hilft"}, FRAME_OBJECT, WHO, WHO, DAT},
    {{"thank"}, {"danken", "gedankt"}, FRAME_OBJECT, WHO, WHO, DAT},
    {{"follow"}, {"folgen", "gefolgt"}, FRAME_OBJECT, LIVING, LIVING | CLASS_VEHICLE,
     DAT, SEIN},
    {{"listen"}, {"hören", "zugehört"}, FRAME_OBJECT, WHO, WHO, DAT, PREFIX("zu"),
     EN_PREP("to")},
    {{"belong"}, {"gehören", "gehört"}, FRAME_OBJECT, WARES | CLASS_BUILDING, WHO, DAT,
     STATE, EN_PREP("to")},

    /* dative and accusative */
    {{"give", "gave", "given"}, {"geben", "gegeben", "gibst", "gibt"}, FRAME_RECIPIENT,
     WHO, THING | CLASS_FOOD | CLASS_ANIMAL},
    {{"show", "showed", "shown"}, {"zeigen", "gezeigt"}, FRAME_RECIPIENT, WHO,
     THING | CLASS_PLACE | CLASS_ANIMAL},
    {{"lend", "lent", "lent"}, {"leihen", "geliehen"}, FRAME_RECIPIENT, WHO,
     THING | CLASS_VEHICLE},
    {{"tell", "told", "told"}, {"erzählen", "erzählt"}, FRAME_RECIPIENT, WHO,
     CLASS_TALE},
    {{"explain"}, {"erklären", "erklärt"}, FRAME_RECIPIENT, WHO,
     CLASS_SPEECH | CLASS_DEVICE, .is_to = true},
    {{"return"}, {"geben", "zurückgegeben", "gibst", "gibt"}, FRAME_RECIPIENT, WHO,
     THING | CLASS_VEHICLE, PREFIX("zurück"), .is_to = true},
    {{"read", "read", "read"}, {"lesen", "vorgelesen", "liest", "liest"},
     FRAME_RECIPIENT, WHO, CLASS_TEXT, PREFIX("vor"), .is_to = true},

    /* preposition */
    {{"wait"}, {"warten", "gewartet"}, FRAME_PREP, WHO, WHO | CLASS_TRANSIT,
     EN_PREP("for"), DE_PREP("auf")},
    {{"think", "thought", "thought"}, {"denken", "gedacht"}, FRAME_PREP, WHO,
     LIVING | CLASS_PLACE | CLASS_TOWN, EN_PREP("of"), DE_PREP("an")},
    {{"talk"}, {"sprechen", "gesprochen", "sprichst", "spricht"}, FRAME_PREP, WHO, WHO,
     EN_PREP("to"), DE_PREP("mit"), DAT},
    {{"talk"}, {"sprechen", "gesprochen", "sprichst", "spricht"}, FRAME_PREP, WHO,
     LIVING | CLASS_TEXT | CLASS_SPEECH | CLASS_VEHICLE | CLASS_PLACE, EN_PREP("about"),
     DE_PREP("über")},
    {{"play"}, {"spielen", "gespielt"}, FRAME_PREP, LIVING, LIVING, EN_PREP("with"),
     DE_PREP("mit"), DAT},
    {{"laugh"}, {"lachen", "gelacht"}, FRAME_PREP, WHO, LIVING | CLASS_SPEECH |
     CLASS_CLOTHES, EN_PREP("at"), DE_PREP("über")},
    {{"work"}, {"arbeiten", "gearbeitet"}, FRAME_PREP, WHO, WHO, EN_PREP("for"),
     DE_PREP("für")},
    {{"look"}, {"passen", "aufgepasst"}, FRAME_PREP, WHO, LIVING | THING, PREFIX("auf"),
     EN_PREP("after"), DE_PREP("auf")},
    {{"get", "got", "gotten", "getting"}, {"steigen", "ausgestiegen"}, FRAME_PREP, WHO,
     CLASS_TRANSIT, PREFIX("aus"), SEIN, EN_PREP("off"), DE_PREP("aus"), DAT},
    {{"get", "got", "gotten", "getting"}, {"steigen", "eingestiegen"}, FRAME_PREP, WHO,
     CLASS_TRANSIT, PREFIX("ein"), SEIN, EN_PREP("on"), DE_PREP("in")},

    /* where to, where */
    {{"go", "went", "gone"}, {"gehen", "gegangen"}, FRAME_GOAL, LIVING,
     CLASS_PLACE | CLASS_PERSON, SEIN},
    {{"drive", "drove", "driven"}, {"fahren", "gefahren", "fährst", "fährt"},
     FRAME_GOAL, WHO, CLASS_PLACE | CLASS_TOWN | CLASS_PERSON, SEIN},
    {{"travel"}, {"reisen", "gereist"}, FRAME_GOAL, WHO, CLASS_TOWN, SEIN},
    {{"live"}, {"wohnen", "gewohnt"}, FRAME_SPOT, WHO, CLASS_PLACE | CLASS_TOWN, STATE},
    {{"stay"}, {"bleiben", "geblieben"}, FRAME_SPOT, LIVING, CLASS_PLACE | CLASS_TOWN,
     SEIN},
    {{"sit", "sat", "sat", "sitting"}, {"sitzen", "gesessen"}, FRAME_SPOT, LIVING,
     CLASS_SURFACE},
    {{"lie", "lay", "lain", "lying"}, {"liegen", "gelegen"}, FRAME_SPOT, THING,
     CLASS_SURFACE, STATE},
    {{"put", "put", "put", "putting"}, {"legen", "gelegt"}, FRAME_PUT, WHO, THING},

    /* the odd ones */
    {{"like"}, {"gefallen", "gefallen", "gefällst", "gefällt"}, FRAME_LIKE, WHO,
     WARES | CLASS_PLACE | CLASS_TEXT, STATE},
    {{"be", "was", "been", "being"},
     {"sein", "gewesen", "bist", "ist", "bin", "sind", "war"}, FRAME_BE,
     LIVING | WARES | CLASS_SPEECH | CLASS_PLACE | CLASS_BUILDING | CLASS_TEXT | CLASS_DRINK | CLASS_OPENABLE,
     0, SEIN, STATE},
    {{"be", "was", "been", "being"},
     {"sein", "gewesen", "bist", "ist", "bin", "sind", "war"}, FRAME_JOB, CLASS_MALE,
     CLASS_JOB, SEIN, STATE},
    {{"be", "was", "been", "being"},
     {"geben", "gegeben", "gibst", "gibt", .preterite = "gab"}, FRAME_EXIST, 0,
     LIVING | CLASS_VEHICLE | CLASS_FOOD, STATE},
    {{"rain"}, {"regnen", "geregnet", "regnest", "regnet"}, FRAME_WEATHER, 0, 0},
    {{"snow"}, {"schneien", "geschneit"}, FRAME_WEATHER, 0, 0},

    /* a clause */
    {{"say", "said", "said"}, {"sagen", "gesagt"}, FRAME_THAT, WHO, 0, STATE},
    {{"know", "knew", "known"}, {"wissen", "gewusst", "weißt", "weiß", "weiß"},
     FRAME_THAT, WHO, 0, STATE},
    {{"hope"}, {"hoffen", "gehofft"}, FRAME_THAT, WHO, 0, STATE},
    {{"ask"}, {"fragen", "gefragt"}, FRAME_WHETHER, WHO, 0},
    {{"try"}, {"versuchen", "versucht"}, FRAME_INFINITIVE, WHO, 0},
    {{"begin", "began", "begun", "beginning"},
     {"fangen", "angefangen", "fängst", "fängt"}, FRAME_INFINITIVE, WHO, 0,
     PREFIX("an")},
    {{"decide"}, {"beschließen", "beschlossen"}, FRAME_INFINITIVE, WHO, 0, STATE},
};
/* clang-format on */

const size_t sample_verbs_n = sizeof sample_verbs / sizeof *sample_verbs;

/*
 * Nouns, verbs and adjectives of the sample corpus. Forms that are left out are regular.
 *
 * A noun: English, German, its plural; gender; what it is good for; genitive; English
 * plural. A verb: English base, past, participle, -ing; German infinitive without its
 * prefix, participle, third person, preterite; the frame; who does it; to what.
 */
#include "sample/lexicon.h"

#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* clang-format off */
#define M GENDER_MASCULINE
#define F GENDER_FEMININE
#define N GENDER_NEUTER

enum {
    PERSON = CLASS_PERSON, JOB = CLASS_JOB, MALE = CLASS_MALE, ANIMAL = CLASS_ANIMAL,
    THING = CLASS_THING, TEXT = CLASS_TEXT, SPEECH = CLASS_SPEECH,
    CLOTHES = CLASS_CLOTHES, DEVICE = CLASS_DEVICE, OPENABLE = CLASS_OPENABLE,
    SURFACE = CLASS_SURFACE, FOOD = CLASS_FOOD, DRINK = CLASS_DRINK,
    VEHICLE = CLASS_VEHICLE, PLACE = CLASS_PLACE, ROOM = CLASS_ROOM,
    BUILDING = CLASS_BUILDING, LANGUAGE = CLASS_LANGUAGE, MONEY = CLASS_MONEY,
    PERIOD = CLASS_PERIOD, HOUR = CLASS_HOUR, TOWN = CLASS_TOWN, TRANSIT = CLASS_TRANSIT,
    TALE = CLASS_TALE, WRITTEN = CLASS_WRITTEN, MASS = CLASS_MASS, PROPER = CLASS_PROPER,
    WEAK = CLASS_WEAK, STOP = CLASS_STOP
};

#define WHO     PERSON
#define LIVING  (PERSON | ANIMAL)
#define WARES   (THING | VEHICLE | FOOD | SURFACE)
#define GOODS   (THING | SURFACE | VEHICLE | OPENABLE)
#define HOUSES  (PLACE | BUILDING)
#define WORDS   (TEXT | SPEECH)
#define EATABLE (FOOD | DRINK)

const struct noun lexicon_nouns[] = {
    {"man", "Mann", "Männer", M, PERSON | MALE, "Mannes", "men"},
    {"woman", "Frau", "Frauen", F, PERSON, NULL, "women"},
    {"child", "Kind", "Kinder", N, PERSON, "Kindes", "children"},
    {"boy", "Junge", "Jungen", M, PERSON | WEAK},
    {"girl", "Mädchen", NULL, N, PERSON},
    {"father", "Vater", "Väter", M, PERSON | MALE},
    {"mother", "Mutter", "Mütter", F, PERSON},
    {"brother", "Bruder", "Brüder", M, PERSON | MALE},
    {"sister", "Schwester", "Schwestern", F, PERSON},
    {"uncle", "Onkel", NULL, M, PERSON | MALE},
    {"aunt", "Tante", "Tanten", F, PERSON},
    {"friend", "Freund", "Freunde", M, PERSON, "Freundes"},
    {"neighbor", "Nachbar", "Nachbarn", M, PERSON | MALE | WEAK},
    {"teacher", "Lehrer", NULL, M, PERSON | JOB},
    {"doctor", "Arzt", "Ärzte", M, PERSON | JOB, "Arztes"},
    {"student", "Student", "Studenten", M, PERSON | JOB | WEAK},
    {"farmer", "Bauer", "Bauern", M, PERSON | JOB | WEAK},
    {"policeman", "Polizist", "Polizisten", M, PERSON | JOB | WEAK, NULL, "policemen"},
    {"king", "König", "Könige", M, PERSON},
    {"queen", "Königin", "Königinnen", F, PERSON},
    {"baker", "Bäcker", NULL, M, PERSON | JOB},
    {"thief", "Dieb", "Diebe", M, PERSON, "Diebes", "thieves"},
    {"engineer", "Ingenieur", "Ingenieure", M, PERSON | JOB},

    {"Anna", "Anna", NULL, F, PERSON | PROPER},
    {"Maria", "Maria", NULL, F, PERSON | PROPER},
    {"Paul", "Paul", NULL, M, PERSON | PROPER | MALE},
    {"Peter", "Peter", NULL, M, PERSON | PROPER | MALE},

    {"dog", "Hund", "Hunde", M, ANIMAL, "Hundes"},
    {"cat", "Katze", "Katzen", F, ANIMAL},
    {"horse", "Pferd", "Pferde", N, ANIMAL, "Pferdes"},
    {"bird", "Vogel", "Vögel", M, ANIMAL},
    {"mouse", "Maus", "Mäuse", F, ANIMAL, NULL, "mice"},
    {"cow", "Kuh", "Kühe", F, ANIMAL},
    {"wolf", "Wolf", "Wölfe", M, ANIMAL, "Wolfes", "wolves"},
    {"elephant", "Elefant", "Elefanten", M, ANIMAL | WEAK},

    {"bag", "Tasche", "Taschen", F, THING | OPENABLE},
    {"key", "Schlüssel", NULL, M, THING},
    {"knife", "Messer", NULL, N, THING, NULL, "knives"},
    {"bottle", "Flasche", "Flaschen", F, THING | OPENABLE},
    {"picture", "Bild", "Bilder", N, THING, "Bildes"},
    {"flower", "Blume", "Blumen", F, THING},
    {"umbrella", "Regenschirm", "Regenschirme", M, THING | OPENABLE},
    {"box", "Kiste", "Kisten", F, THING | OPENABLE},
    {"door", "Tür", "Türen", F, OPENABLE},
    {"window", "Fenster", NULL, N, OPENABLE},

    {"book", "Buch", "Bücher", N, TEXT | THING | WRITTEN, "Buches"},
    {"letter", "Brief", "Briefe", M, TEXT | THING | OPENABLE | WRITTEN, "Briefes"},
    {"newspaper", "Zeitung", "Zeitungen", F, TEXT | THING},
    {"story", "Geschichte", "Geschichten", F, TEXT | SPEECH | WRITTEN | TALE},
    {"joke", "Witz", "Witze", M, SPEECH | TALE, "Witzes"},
    {"question", "Frage", "Fragen", F, SPEECH},
    {"answer", "Antwort", "Antworten", F, SPEECH},
    {"sentence", "Satz", "Sätze", M, TEXT | SPEECH | WRITTEN, "Satzes"},

    {"lamp", "Lampe", "Lampen", F, DEVICE | THING},
    {"computer", "Computer", NULL, M, DEVICE | THING},
    {"radio", "Radio", "Radios", N, DEVICE | THING},

    {"table", "Tisch", "Tische", M, SURFACE, "Tisches"},
    {"chair", "Stuhl", "Stühle", M, SURFACE},
    {"bed", "Bett", "Betten", N, SURFACE, "Bettes"},
    {"bench", "Bank", "Bänke", F, SURFACE},

    {"coat", "Mantel", "Mäntel", M, CLOTHES | THING},
    {"hat", "Hut", "Hüte", M, CLOTHES | THING, "Hutes"},
    {"shirt", "Hemd", "Hemden", N, CLOTHES | THING, "Hemdes"},
    {"shoe", "Schuh", "Schuhe", M, CLOTHES | THING, "Schuhes"},
    {"jacket", "Jacke", "Jacken", F, CLOTHES | THING},
    {"scarf", "Schal", "Schals", M, CLOTHES | THING, NULL, "scarves"},

    {"apple", "Apfel", "Äpfel", M, FOOD},
    {"egg", "Ei", "Eier", N, FOOD, "Eies"},
    {"cake", "Kuchen", NULL, M, FOOD},
    {"soup", "Suppe", "Suppen", F, FOOD},
    {"potato", "Kartoffel", "Kartoffeln", F, FOOD},
    {"bread", "Brot", NULL, N, FOOD | MASS, "Brotes"},
    {"cheese", "Käse", NULL, M, FOOD | MASS},
    {"water", "Wasser", NULL, N, DRINK | MASS},
    {"milk", "Milch", NULL, F, DRINK | MASS},
    {"coffee", "Kaffee", NULL, M, DRINK | MASS},
    {"tea", "Tee", NULL, M, DRINK | MASS},

    {"car", "Auto", "Autos", N, VEHICLE},
    {"bus", "Bus", "Busse", M, TRANSIT | VEHICLE, "Busses"},
    {"train", "Zug", "Züge", M, TRANSIT | VEHICLE, "Zuges"},
    {"tram", "Straßenbahn", "Straßenbahnen", F, TRANSIT | VEHICLE},
    {"bicycle", "Fahrrad", "Fahrräder", N, VEHICLE},
    {"ship", "Schiff", "Schiffe", N, VEHICLE, "Schiffes"},
    {"taxi", "Taxi", "Taxis", N, VEHICLE},

    {"house", "Haus", "Häuser", N, PLACE | ROOM | BUILDING, "Hauses"},
    {"garden", "Garten", "Gärten", M, PLACE},
    {"kitchen", "Küche", "Küchen", F, PLACE | ROOM},
    {"room", "Zimmer", NULL, N, PLACE | ROOM},
    {"school", "Schule", "Schulen", F, PLACE | BUILDING},
    {"church", "Kirche", "Kirchen", F, PLACE | BUILDING},
    {"city", "Stadt", "Städte", F, PLACE},
    {"village", "Dorf", "Dörfer", N, PLACE, "Dorfes"},
    {"park", "Park", "Parks", M, PLACE},
    {"museum", "Museum", "Museen", N, PLACE | BUILDING},
    {"theater", "Theater", NULL, N, PLACE | BUILDING},
    {"office", "Büro", "Büros", N, PLACE | ROOM},
    {"shop", "Laden", "Läden", M, PLACE},
    {"library", "Bibliothek", "Bibliotheken", F, PLACE | BUILDING},
    {"university", "Universität", "Universitäten", F, PLACE | STOP},
    {"station", "Bahnhof", "Bahnhöfe", M, PLACE | STOP, "Bahnhofs"},
    {"bridge", "Brücke", "Brücken", F, BUILDING},

    {"Berlin", "Berlin", NULL, N, TOWN | PROPER},
    {"Munich", "München", NULL, N, TOWN | PROPER},
    {"Vienna", "Wien", NULL, N, TOWN | PROPER},
    {"Germany", "Deutschland", NULL, N, TOWN | PROPER},
    {"Italy", "Italien", NULL, N, TOWN | PROPER},

    {"German", "Deutsch", NULL, N, LANGUAGE | MASS},
    {"English", "Englisch", NULL, N, LANGUAGE | MASS},
    {"French", "Französisch", NULL, N, LANGUAGE | MASS},

    {"euro", "Euro", NULL, M, MONEY},
    {"day", "Tag", "Tage", M, PERIOD, "Tages"},
    {"week", "Woche", "Wochen", F, PERIOD},
    {"month", "Monat", "Monate", M, PERIOD},
    {"year", "Jahr", "Jahre", N, PERIOD, "Jahres"},
    {"o'clock", "Uhr", NULL, F, HOUR, NULL, "o'clock"},
};
const size_t lexicon_nouns_n = COUNT(lexicon_nouns);

const struct adjective lexicon_adjectives[] = {
    {"old", "alt", LIVING | GOODS | HOUSES | TEXT},
    {"young", "jung", LIVING},
    {"new", "neu", GOODS | HOUSES | TEXT},
    {"big", "groß", ANIMAL | GOODS | HOUSES},
    {"tall", "groß", WHO},
    {"small", "klein", LIVING | GOODS | HOUSES},
    {"long", "lang", WORDS},
    {"short", "kurz", WORDS},
    {"heavy", "schwer", SURFACE | THING},
    {"beautiful", "schön", HOUSES | CLOTHES | TEXT},
    {"good", "gut", WORDS | EATABLE},
    {"expensive", "teuer", GOODS | EATABLE, "teur"},
    {"cheap", "billig", GOODS | EATABLE},
    {"red", "rot", CLOTHES | GOODS},
    {"blue", "blau", CLOTHES | GOODS},
    {"green", "grün", CLOTHES | GOODS},
    {"black", "schwarz", CLOTHES | ANIMAL | GOODS},
    {"white", "weiß", CLOTHES | ANIMAL | GOODS},
    {"dirty", "schmutzig", CLOTHES | GOODS | ROOM},
    {"empty", "leer", PLACE},
    {"dark", "dunkel", PLACE, "dunkl"},
    {"warm", "warm", EATABLE | CLOTHES},
    {"cold", "kalt", EATABLE},
    {"hot", "heiß", EATABLE},
    {"happy", "glücklich", WHO},
    {"tired", "müde", LIVING, "müd"},
    {"sick", "krank", LIVING},
    {"famous", "berühmt", WHO | HOUSES | TEXT},
    {"strong", "stark", LIVING},
    {"clever", "klug", LIVING},
    {"hungry", "hungrig", LIVING},
    {"rich", "reich", WHO},
    {"poor", "arm", WHO},
    {"dangerous", "gefährlich", ANIMAL},
    {"fast", "schnell", VEHICLE},
    {"interesting", "interessant", WORDS | HOUSES},
    {"difficult", "schwierig", WORDS},
    {"important", "wichtig", WORDS},
};
const size_t lexicon_adjectives_n = COUNT(lexicon_adjectives);

#define DAT         .is_dative = true
#define SEIN        .is_sein = true
#define STATE       .is_state = true
#define TO          .is_to = true
#define PREFIX(p)   .prefix = (p)
#define PARTICLE(p) .particle = (p)
#define EN_PREP(p)  .en_prep = (p)
#define DE_PREP(p)  .de_prep = (p)

const struct verb lexicon_verbs[] = {
    /* alone */
    {{"sleep", "slept"}, {"schlafen", "geschlafen", "schläft"}, FRAME_ALONE, LIVING},
    {{"work"}, {"arbeiten", "gearbeitet"}, FRAME_ALONE, WHO},
    {{"laugh"}, {"lachen", "gelacht"}, FRAME_ALONE, WHO},
    {{"dance"}, {"tanzen", "getanzt"}, FRAME_ALONE, WHO},
    {{"sing", "sang", "sung"}, {"singen", "gesungen"}, FRAME_ALONE, WHO},
    {{"swim", "swam", "swum", "swimming"}, {"schwimmen", "geschwommen"}, FRAME_ALONE,
     LIVING, 0, SEIN},
    {{"wake", "woke", "woken"}, {"wachen", "aufgewacht"}, FRAME_ALONE, LIVING, 0, SEIN,
     PREFIX("auf"), PARTICLE("up")},
    {{"get", "got", "gotten", "getting"}, {"stehen", "aufgestanden"}, FRAME_ALONE, WHO, 0,
     SEIN, PREFIX("auf"), PARTICLE("up")},
    {{"fall", "fell", "fallen"}, {"schlafen", "eingeschlafen", "schläft"}, FRAME_ALONE,
     LIVING, 0, SEIN, PREFIX("ein"), PARTICLE("asleep")},
    {{"arrive"}, {"kommen", "angekommen"}, FRAME_ALONE, WHO | TRANSIT, 0, SEIN,
     PREFIX("an")},
    {{"come", "came", "come"}, {"kommen", "zurückgekommen"}, FRAME_ALONE, LIVING, 0, SEIN,
     PREFIX("zurück"), PARTICLE("back")},

    /* accusative */
    {{"see", "saw", "seen"}, {"sehen", "gesehen", "sieht"}, FRAME_OBJECT, LIVING,
     LIVING | WARES | BUILDING, STATE},
    {{"have", "had"}, {"haben", "gehabt", "hat", "hatte"}, FRAME_OBJECT, WHO,
     ANIMAL | WARES, STATE},
    {{"buy", "bought"}, {"kaufen", "gekauft"}, FRAME_OBJECT, WHO, WARES | DRINK},
    {{"sell", "sold"}, {"verkaufen", "verkauft"}, FRAME_OBJECT, WHO, WARES},
    {{"find", "found"}, {"finden", "gefunden"}, FRAME_OBJECT, LIVING,
     LIVING | THING | FOOD, STATE},
    {{"look"}, {"suchen", "gesucht"}, FRAME_OBJECT, LIVING, LIVING | THING | PLACE,
     EN_PREP("for")},
    {{"need"}, {"brauchen", "gebraucht"}, FRAME_OBJECT, WHO, WARES | DRINK, STATE},
    {{"know", "knew", "known"}, {"kennen", "gekannt"}, FRAME_OBJECT, WHO,
     WHO | PLACE | TOWN, STATE},
    {{"meet", "met"}, {"treffen", "getroffen", "trifft"}, FRAME_OBJECT, WHO, WHO, STATE},
    {{"visit"}, {"besuchen", "besucht"}, FRAME_OBJECT, WHO, WHO | BUILDING | TOWN},
    {{"invite"}, {"laden", "eingeladen", "lädt"}, FRAME_OBJECT, WHO, WHO, PREFIX("ein"),
     STATE},
    {{"pick"}, {"holen", "abgeholt"}, FRAME_OBJECT, WHO, WHO, PREFIX("ab"),
     PARTICLE("up")},
    {{"call"}, {"rufen", "angerufen"}, FRAME_OBJECT, WHO, WHO, PREFIX("an")},
    {{"feed", "fed"}, {"füttern", "gefüttert"}, FRAME_OBJECT, WHO, ANIMAL},
    {{"forget", "forgot", "forgotten", "forgetting"},
     {"vergessen", "vergessen", "vergisst"}, FRAME_OBJECT, WHO, THING | SPEECH, STATE},
    {{"lose", "lost"}, {"verlieren", "verloren"}, FRAME_OBJECT, WHO, THING, STATE},
    {{"throw", "threw", "thrown"}, {"werfen", "weggeworfen", "wirft"}, FRAME_OBJECT, WHO,
     THING | FOOD, PREFIX("weg"), PARTICLE("away")},
    {{"repair"}, {"reparieren", "repariert"}, FRAME_OBJECT, WHO,
     VEHICLE | DEVICE | SURFACE},
    {{"wash"}, {"waschen", "gewaschen", "wäscht"}, FRAME_OBJECT, WHO, VEHICLE | CLOTHES},
    {{"wear", "wore", "worn"}, {"tragen", "getragen", "trägt"}, FRAME_OBJECT, WHO,
     CLOTHES},
    {{"put", "put", .ing = "putting"}, {"ziehen", "angezogen"}, FRAME_OBJECT, WHO,
     CLOTHES, PREFIX("an"), PARTICLE("on")},
    {{"take", "took", "taken"}, {"ziehen", "ausgezogen"}, FRAME_OBJECT, WHO, CLOTHES,
     PREFIX("aus"), PARTICLE("off")},
    {{"turn"}, {"schalten", "eingeschaltet"}, FRAME_OBJECT, WHO, DEVICE, PREFIX("ein"),
     PARTICLE("on")},
    {{"turn"}, {"schalten", "ausgeschaltet"}, FRAME_OBJECT, WHO, DEVICE, PREFIX("aus"),
     PARTICLE("off")},
    {{"open"}, {"machen", "aufgemacht"}, FRAME_OBJECT, WHO, OPENABLE, PREFIX("auf")},
    {{"close"}, {"machen", "zugemacht"}, FRAME_OBJECT, WHO, OPENABLE, PREFIX("zu")},
    {{"build", "built"}, {"bauen", "gebaut"}, FRAME_OBJECT, WHO, BUILDING},
    {{"eat", "ate", "eaten"}, {"essen", "gegessen", "isst"}, FRAME_OBJECT, WHO, FOOD},
    {{"drink", "drank", "drunk"}, {"trinken", "getrunken"}, FRAME_OBJECT, WHO, DRINK},
    {{"pay", "paid"}, {"bezahlen", "bezahlt"}, FRAME_OBJECT, WHO, WARES | DRINK,
     EN_PREP("for")},
    {{"read", "read"}, {"lesen", "gelesen", "liest"}, FRAME_OBJECT, WHO, TEXT},
    {{"write", "wrote", "written"}, {"schreiben", "geschrieben"}, FRAME_OBJECT, WHO,
     WRITTEN},
    {{"understand", "understood"}, {"verstehen", "verstanden"}, FRAME_OBJECT, WHO, SPEECH,
     STATE},
    {{"speak", "spoke", "spoken"}, {"sprechen", "gesprochen", "spricht"}, FRAME_OBJECT,
     WHO, LANGUAGE},
    {{"cost", "cost"}, {"kosten", "gekostet"}, FRAME_OBJECT, WARES, MONEY, STATE},

    /* dative */
    {{"help"}, {"helfen", "geholfen", "hilft"}, FRAME_OBJECT, WHO, WHO, DAT},
    {{"thank"}, {"danken", "gedankt"}, FRAME_OBJECT, WHO, WHO, DAT},
    {{"follow"}, {"folgen", "gefolgt"}, FRAME_OBJECT, LIVING, LIVING | VEHICLE, DAT, SEIN},
    {{"listen"}, {"hören", "zugehört"}, FRAME_OBJECT, WHO, WHO, DAT, PREFIX("zu"),
     EN_PREP("to")},
    {{"belong"}, {"gehören", "gehört"}, FRAME_OBJECT, WARES | BUILDING, WHO, DAT, STATE,
     EN_PREP("to")},

    /* dative and accusative */
    {{"give", "gave", "given"}, {"geben", "gegeben", "gibt"}, FRAME_RECIPIENT, WHO,
     THING | FOOD | ANIMAL},
    {{"show", "showed", "shown"}, {"zeigen", "gezeigt"}, FRAME_RECIPIENT, WHO,
     THING | PLACE | ANIMAL},
    {{"lend", "lent"}, {"leihen", "geliehen"}, FRAME_RECIPIENT, WHO, THING | VEHICLE},
    {{"tell", "told"}, {"erzählen", "erzählt"}, FRAME_RECIPIENT, WHO, TALE},
    {{"explain"}, {"erklären", "erklärt"}, FRAME_RECIPIENT, WHO, SPEECH | DEVICE,
     TO},
    {{"return"}, {"geben", "zurückgegeben", "gibt"}, FRAME_RECIPIENT, WHO,
     THING | VEHICLE, PREFIX("zurück"), TO},
    {{"read", "read"}, {"lesen", "vorgelesen", "liest"}, FRAME_RECIPIENT, WHO, TEXT,
     PREFIX("vor"), TO},

    /* preposition */
    {{"wait"}, {"warten", "gewartet"}, FRAME_PREP, WHO, WHO | TRANSIT, EN_PREP("for"),
     DE_PREP("auf")},
    {{"think", "thought"}, {"denken", "gedacht"}, FRAME_PREP, WHO, LIVING | PLACE | TOWN,
     EN_PREP("of"), DE_PREP("an")},
    {{"talk"}, {"sprechen", "gesprochen", "spricht"}, FRAME_PREP, WHO, WHO, EN_PREP("to"),
     DE_PREP("mit"), DAT},
    {{"talk"}, {"sprechen", "gesprochen", "spricht"}, FRAME_PREP, WHO,
     LIVING | TEXT | SPEECH | VEHICLE | PLACE, EN_PREP("about"), DE_PREP("über")},
    {{"play"}, {"spielen", "gespielt"}, FRAME_PREP, LIVING, LIVING, EN_PREP("with"),
     DE_PREP("mit"), DAT},
    {{"laugh"}, {"lachen", "gelacht"}, FRAME_PREP, WHO, LIVING | SPEECH | CLOTHES,
     EN_PREP("at"), DE_PREP("über")},
    {{"work"}, {"arbeiten", "gearbeitet"}, FRAME_PREP, WHO, WHO, EN_PREP("for"),
     DE_PREP("für")},
    {{"look"}, {"passen", "aufgepasst"}, FRAME_PREP, WHO, LIVING | THING, PREFIX("auf"),
     EN_PREP("after"), DE_PREP("auf")},
    {{"get", "got", "gotten", "getting"}, {"steigen", "ausgestiegen"}, FRAME_PREP, WHO,
     TRANSIT, PREFIX("aus"), SEIN, EN_PREP("off"), DE_PREP("aus"), DAT},
    {{"get", "got", "gotten", "getting"}, {"steigen", "eingestiegen"}, FRAME_PREP, WHO,
     TRANSIT, PREFIX("ein"), SEIN, EN_PREP("on"), DE_PREP("in")},

    /* where to, where */
    {{"go", "went", "gone"}, {"gehen", "gegangen"}, FRAME_GOAL, LIVING, PLACE | PERSON,
     SEIN},
    {{"drive", "drove", "driven"}, {"fahren", "gefahren", "fährt"}, FRAME_GOAL, WHO,
     PLACE | TOWN | PERSON, SEIN},
    {{"travel"}, {"reisen", "gereist"}, FRAME_GOAL, WHO, TOWN, SEIN},
    {{"live"}, {"wohnen", "gewohnt"}, FRAME_SPOT, WHO, PLACE | TOWN, STATE},
    {{"stay"}, {"bleiben", "geblieben"}, FRAME_SPOT, LIVING, PLACE | TOWN, SEIN},
    {{"sit", "sat", .ing = "sitting"}, {"sitzen", "gesessen"}, FRAME_SPOT, LIVING,
     SURFACE},
    {{"lie", "lay", "lain", "lying"}, {"liegen", "gelegen"}, FRAME_SPOT, THING, SURFACE,
     STATE},
    {{"put", "put", .ing = "putting"}, {"legen", "gelegt"}, FRAME_PUT, WHO, THING},

    /* the odd ones */
    {{"like"}, {"gefallen", "gefallen", "gefällt"}, FRAME_LIKE, WHO, WARES | PLACE | TEXT,
     STATE},
    {{"be", "was", "been", "being"}, {"sein", "gewesen", "ist", "war"}, FRAME_BE,
     LIVING | WARES | SPEECH | PLACE | BUILDING | TEXT | DRINK | OPENABLE, 0, SEIN, STATE},
    {{"be", "was", "been", "being"}, {"sein", "gewesen", "ist", "war"}, FRAME_JOB, MALE,
     JOB, SEIN, STATE},
    {{"be", "was", "been", "being"}, {"geben", "gegeben", "gibt", "gab"}, FRAME_EXIST, 0,
     LIVING | VEHICLE | FOOD, STATE},
    {{"rain"}, {"regnen", "geregnet", "regnet"}, FRAME_WEATHER, 0},
    {{"snow"}, {"schneien", "geschneit"}, FRAME_WEATHER, 0},

    /* a clause */
    {{"say", "said"}, {"sagen", "gesagt"}, FRAME_THAT, WHO, 0, STATE},
    {{"know", "knew", "known"}, {"wissen", "gewusst", "weiß"}, FRAME_THAT, WHO, 0, STATE},
    {{"hope"}, {"hoffen", "gehofft"}, FRAME_THAT, WHO, 0, STATE},
    {{"ask"}, {"fragen", "gefragt"}, FRAME_WHETHER, WHO},
    {{"try"}, {"versuchen", "versucht"}, FRAME_INFINITIVE, WHO},
    {{"begin", "began", "begun", "beginning"}, {"fangen", "angefangen", "fängt"},
     FRAME_INFINITIVE, WHO, 0, PREFIX("an")},
    {{"decide"}, {"beschließen", "beschlossen"}, FRAME_INFINITIVE, WHO, 0, STATE},
};
const size_t lexicon_verbs_n = COUNT(lexicon_verbs);
/* clang-format on */

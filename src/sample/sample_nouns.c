/* The nouns of the sample corpus: gender, plural and what each is good for. */
#include "sample/sample_lexicon.h"

#define M GENDER_MASCULINE
#define F GENDER_FEMININE
#define N GENDER_NEUTER

#define PERSON   CLASS_PERSON
#define JOB      (CLASS_PERSON | CLASS_JOB)
#define MALE     (CLASS_PERSON | CLASS_MALE)
#define WEAK     CLASS_WEAK
#define ANIMAL   CLASS_ANIMAL
#define THING    CLASS_THING
#define TEXT     (CLASS_TEXT | CLASS_THING)
#define WRITTEN  CLASS_WRITTEN
#define SPEECH   CLASS_SPEECH
#define CLOTHES  (CLASS_CLOTHES | CLASS_THING)
#define DEVICE   (CLASS_DEVICE | CLASS_THING)
#define OPENABLE CLASS_OPENABLE
#define SURFACE  CLASS_SURFACE
#define FOOD     CLASS_FOOD
#define DRINK    (CLASS_DRINK | CLASS_MASS)
#define MASS     CLASS_MASS
#define VEHICLE  CLASS_VEHICLE
#define TRANSIT  (CLASS_VEHICLE | CLASS_TRANSIT)
#define PLACE    CLASS_PLACE
#define ROOM     (CLASS_PLACE | CLASS_ROOM)
#define BUILDING CLASS_BUILDING
#define TOWN     (CLASS_TOWN | CLASS_PROPER)
#define NAME     (CLASS_PERSON | CLASS_PROPER)
#define LANGUAGE (CLASS_LANGUAGE | CLASS_MASS)

/* clang-format off */
const struct sample_noun sample_nouns[] = {
    {"man", "men", "Mann", "Männer", M, MALE, "Mannes"},
    {"woman", "women", "Frau", "Frauen", F, PERSON, NULL},
    {"child", "children", "Kind", "Kinder", N, PERSON, "Kindes"},
    {"boy", NULL, "Junge", "Jungen", M, PERSON | WEAK, NULL},
    {"girl", NULL, "Mädchen", NULL, N, PERSON, NULL},
    {"father", NULL, "Vater", "Väter", M, MALE, NULL},
    {"mother", NULL, "Mutter", "Mütter", F, PERSON, NULL},
    {"brother", NULL, "Bruder", "Brüder", M, MALE, NULL},
    {"sister", NULL, "Schwester", "Schwestern", F, PERSON, NULL},
    {"uncle", NULL, "Onkel", NULL, M, MALE, NULL},
    {"aunt", NULL, "Tante", "Tanten", F, PERSON, NULL},
    {"friend", NULL, "Freund", "Freunde", M, PERSON, "Freundes"},
    {"neighbor", NULL, "Nachbar", "Nachbarn", M, MALE | WEAK, NULL},
    {"teacher", NULL, "Lehrer", NULL, M, JOB, NULL},
    {"doctor", NULL, "Arzt", "Ärzte", M, JOB, "Arztes"},
    {"student", NULL, "Student", "Studenten", M, JOB | WEAK, NULL},
    {"farmer", NULL, "Bauer", "Bauern", M, JOB | WEAK, NULL},
    {"policeman", "policemen", "Polizist", "Polizisten", M, JOB | WEAK, NULL},
    {"king", NULL, "König", "Könige", M, PERSON, NULL},
    {"queen", NULL, "Königin", "Königinnen", F, PERSON, NULL},
    {"baker", NULL, "Bäcker", NULL, M, JOB, NULL},
    {"thief", "thieves", "Dieb", "Diebe", M, PERSON, "Diebes"},
    {"engineer", NULL, "Ingenieur", "Ingenieure", M, JOB, NULL},

    {"Anna", NULL, "Anna", NULL, F, NAME, NULL},
    {"Maria", NULL, "Maria", NULL, F, NAME, NULL},
    {"Paul", NULL, "Paul", NULL, M, NAME | CLASS_MALE, NULL},
    {"Peter", NULL, "Peter", NULL, M, NAME | CLASS_MALE, NULL},

    {"dog", NULL, "Hund", "Hunde", M, ANIMAL, "Hundes"},
    {"cat", NULL, "Katze", "Katzen", F, ANIMAL, NULL},
    {"horse", NULL, "Pferd", "Pferde", N, ANIMAL, "Pferdes"},
    {"bird", NULL, "Vogel", "Vögel", M, ANIMAL, NULL},
    {"mouse", "mice", "Maus", "Mäuse", F, ANIMAL, NULL},
    {"cow", NULL, "Kuh", "Kühe", F, ANIMAL, NULL},
    {"wolf", "wolves", "Wolf", "Wölfe", M, ANIMAL, "Wolfes"},
    {"elephant", NULL, "Elefant", "Elefanten", M, ANIMAL | WEAK, NULL},

    {"bag", NULL, "Tasche", "Taschen", F, THING | OPENABLE, NULL},
    {"key", NULL, "Schlüssel", NULL, M, THING, NULL},
    {"knife", "knives", "Messer", NULL, N, THING, NULL},
    {"bottle", NULL, "Flasche", "Flaschen", F, THING | OPENABLE, NULL},
    {"picture", NULL, "Bild", "Bilder", N, THING, "Bildes"},
    {"flower", NULL, "Blume", "Blumen", F, THING, NULL},
    {"umbrella", NULL, "Regenschirm", "Regenschirme", M, THING | OPENABLE, NULL},
    {"box", NULL, "Kiste", "Kisten", F, THING | OPENABLE, NULL},
    {"door", NULL, "Tür", "Türen", F, OPENABLE, NULL},
    {"window", NULL, "Fenster", NULL, N, OPENABLE, NULL},

    {"book", NULL, "Buch", "Bücher", N, TEXT | WRITTEN, "Buches"},
    {"letter", NULL, "Brief", "Briefe", M, TEXT | OPENABLE | WRITTEN, "Briefes"},
    {"newspaper", NULL, "Zeitung", "Zeitungen", F, TEXT, NULL},
    {"story", NULL, "Geschichte", "Geschichten", F, CLASS_TEXT | SPEECH | WRITTEN | CLASS_TALE, NULL},
    {"joke", NULL, "Witz", "Witze", M, SPEECH | CLASS_TALE, "Witzes"},
    {"question", NULL, "Frage", "Fragen", F, SPEECH, NULL},
    {"answer", NULL, "Antwort", "Antworten", F, SPEECH, NULL},
    {"sentence", NULL, "Satz", "Sätze", M, CLASS_TEXT | SPEECH | WRITTEN, "Satzes"},

    {"lamp", NULL, "Lampe", "Lampen", F, DEVICE, NULL},
    {"computer", NULL, "Computer", NULL, M, DEVICE, NULL},
    {"radio", NULL, "Radio", "Radios", N, DEVICE, NULL},

    {"table", NULL, "Tisch", "Tische", M, SURFACE, "Tisches"},
    {"chair", NULL, "Stuhl", "Stühle", M, SURFACE, NULL},
    {"bed", NULL, "Bett", "Betten", N, SURFACE, "Bettes"},
    {"bench", NULL, "Bank", "Bänke", F, SURFACE, NULL},

    {"coat", NULL, "Mantel", "Mäntel", M, CLOTHES, NULL},
    {"hat", NULL, "Hut", "Hüte", M, CLOTHES, "Hutes"},
    {"shirt", NULL, "Hemd", "Hemden", N, CLOTHES, "Hemdes"},
    {"shoe", NULL, "Schuh", "Schuhe", M, CLOTHES, "Schuhes"},
    {"jacket", NULL, "Jacke", "Jacken", F, CLOTHES, NULL},
    {"scarf", "scarves", "Schal", "Schals", M, CLOTHES, NULL},

    {"apple", NULL, "Apfel", "Äpfel", M, FOOD, NULL},
    {"egg", NULL, "Ei", "Eier", N, FOOD, "Eies"},
    {"cake", NULL, "Kuchen", NULL, M, FOOD, NULL},
    {"soup", NULL, "Suppe", "Suppen", F, FOOD, NULL},
    {"potato", NULL, "Kartoffel", "Kartoffeln", F, FOOD, NULL},
    {"bread", NULL, "Brot", NULL, N, FOOD | MASS, "Brotes"},
    {"cheese", NULL, "Käse", NULL, M, FOOD | MASS, NULL},
    {"water", NULL, "Wasser", NULL, N, DRINK, NULL},
    {"milk", NULL, "Milch", NULL, F, DRINK, NULL},
    {"coffee", NULL, "Kaffee", NULL, M, DRINK, NULL},
    {"tea", NULL, "Tee", NULL, M, DRINK, NULL},

    {"car", NULL, "Auto", "Autos", N, VEHICLE, NULL},
    {"bus", NULL, "Bus", "Busse", M, TRANSIT, "Busses"},
    {"train", NULL, "Zug", "Züge", M, TRANSIT, "Zuges"},
    {"tram", NULL, "Straßenbahn", "Straßenbahnen", F, TRANSIT, NULL},
    {"bicycle", NULL, "Fahrrad", "Fahrräder", N, VEHICLE, NULL},
    {"ship", NULL, "Schiff", "Schiffe", N, VEHICLE, "Schiffes"},
    {"taxi", NULL, "Taxi", "Taxis", N, VEHICLE, NULL},

    {"house", NULL, "Haus", "Häuser", N, ROOM | BUILDING, "Hauses"},
    {"garden", NULL, "Garten", "Gärten", M, PLACE, NULL},
    {"kitchen", NULL, "Küche", "Küchen", F, ROOM, NULL},
    {"room", NULL, "Zimmer", NULL, N, ROOM, NULL},
    {"school", NULL, "Schule", "Schulen", F, PLACE | BUILDING, NULL},
    {"church", NULL, "Kirche", "Kirchen", F, PLACE | BUILDING, NULL},
    {"city", NULL, "Stadt", "Städte", F, PLACE, NULL},
    {"village", NULL, "Dorf", "Dörfer", N, PLACE, "Dorfes"},
    {"park", NULL, "Park", "Parks", M, PLACE, NULL},
    {"museum", NULL, "Museum", "Museen", N, PLACE | BUILDING, NULL},
    {"theater", NULL, "Theater", NULL, N, PLACE | BUILDING, NULL},
    {"office", NULL, "Büro", "Büros", N, ROOM, NULL},
    {"shop", NULL, "Laden", "Läden", M, PLACE, NULL},
    {"library", NULL, "Bibliothek", "Bibliotheken", F, PLACE | BUILDING, NULL},
    {"university", NULL, "Universität", "Universitäten", F, PLACE | CLASS_STOP, NULL},
    {"station", NULL, "Bahnhof", "Bahnhöfe", M, PLACE | CLASS_STOP, "Bahnhofs"},
    {"bridge", NULL, "Brücke", "Brücken", F, BUILDING, NULL},

    {"Berlin", NULL, "Berlin", NULL, N, TOWN, NULL},
    {"Munich", NULL, "München", NULL, N, TOWN, NULL},
    {"Vienna", NULL, "Wien", NULL, N, TOWN, NULL},
    {"Germany", NULL, "Deutschland", NULL, N, TOWN, NULL},
    {"Italy", NULL, "Italien", NULL, N, TOWN, NULL},

    {"German", NULL, "Deutsch", NULL, N, LANGUAGE, NULL},
    {"English", NULL, "Englisch", NULL, N, LANGUAGE, NULL},
    {"French", NULL, "Französisch", NULL, N, LANGUAGE, NULL},

    {"euro", NULL, "Euro", NULL, M, CLASS_MONEY, NULL},
    {"day", NULL, "Tag", "Tage", M, CLASS_PERIOD, "Tages"},
    {"week", NULL, "Woche", "Wochen", F, CLASS_PERIOD, NULL},
    {"month", NULL, "Monat", "Monate", M, CLASS_PERIOD, NULL},
    {"year", NULL, "Jahr", "Jahre", N, CLASS_PERIOD, "Jahres"},
    {"o'clock", "o'clock", "Uhr", NULL, F, CLASS_HOUR, NULL},
};
/* clang-format on */

const size_t sample_nouns_n = sizeof sample_nouns / sizeof *sample_nouns;

#include "text/sentence_words.h"

#include <string.h>

/*
 * Abbreviations are in lower case, or with the capital that tells them from a word, and
 * without their last full stop. "-" before one: it ends longer words too. Behind one,
 *   "#"  only before a number,
 *   "?"  it may end a sentence, and does if the next word is one of STARTERS,
 *   "!"  it looks like an initial, but a small word before it shows that it is none.
 * What ends sentences as often as not (etc., usw.) is in no list: the case of the next
 * word decides. Single letters and what ends in one (U.S., z. B.) are "?" without a list.
 */
enum list { ABBREVIATIONS, STARTERS, BEFORE_ORDINAL, AFTER_ORDINAL, SPEECH, N_LISTS };

struct sentence_words {
    const char *lang, *list[N_LISTS];
};

/* The first is for all languages; with a language that is not known, all are for it. */
static const struct sentence_words tables[] = {
    {.lang = "all",
     .list[ABBREVIATIONS] =
         "Dr Prof Mt vs cf n.b e.g i.e ca St? No# Nr# fig# vol# p# pp# tel# Jan? "
         "Feb? Apr? Aug? Sept? Oct? Nov? Dec? Co? Corp? Inc? Ltd? Jr? Sr?"},
    {.lang = "en",
     .list[ABBREVIATIONS] =
         "Mr Mrs Ms Messrs Mx Rev Hon Gen Col Maj Capt Lt Cmdr Sgt Cpl Pvt "
         "Adm Gov Sen Rep Pres Supt I! viz eg ie Intl approx# al? Esq? Ave? Blvd? Rd? "
         "Bldg? Dept? Univ? Assn? Bros? a.m? p.m? ph.d? Mar? Jun? Jul? Sep? "
         "Mon? Tue? Tues? Wed? Thu? Thurs? Fri? Nos# Figs# Ch# Sec# Sect# "
         "Eq# Eqs# Art# par# para# ver# ed# eds# max# min# est# incl",
     .list[STARTERS] =
         "the a an i he she it we they you this that these those there here "
         "in on at for from with but and or if when while after before since "
         "because although as to by my your his her its our their what who "
         "why how where which do does did is are was were have has had can "
         "could would should let please no yes not many most some all one "
         "both each every then so however today yesterday tomorrow now "
         "nobody everyone someone don",
     .list[SPEECH] = "asked said replied answered shouted cried exclaimed whispered "
                     "yelled screamed added continued inquired wondered muttered "
                     "murmured called thought demanded"},
    {.lang = "de",
     .list[ABBREVIATIONS] =
         "bzw Hr Hrn Fr Frl Dipl Ing Mag evtl ggf gegr geb gest vgl bspw sog "
         "insb insbes allg inkl exkl zzgl abzgl ungef jmd jmdm jmdn jmds "
         "hrsg Hrsg z.b d.h u.u m.e z.t z.zt i.d o.g s.o? s.u? u.a? i.d.r? "
         "i.a? chr? a.d? e.v? Mio? Mrd? Tsd? Jh? Jhd? -str# Mar? Mär? Okt? "
         "Dez? Abs# Art# Abb# Kap# Bd# Anm# S# Aufl# Ziff# Tab# Std# max# "
         "min# mind# sen? jun? lat griech engl franz dt "
         "ehem zit",
     .list[STARTERS] =
         "der die das ein eine ich er sie es wir ihr du man dies diese "
         "dieser dieses jene dort hier da in im an am auf für von vom mit "
         "bei beim nach vor zu zum zur aus über unter durch aber und oder "
         "wenn als weil obwohl während seit seitdem wie was wer wen wem "
         "warum wo woher wohin wann welche welcher mein meine dein deine "
         "sein seine unser unsere ihre kein keine ist sind war waren hat "
         "haben hast kann können könnte möchte muss soll darf bitte ja nein "
         "nicht viele alle jeder jede dann so danach deshalb trotzdem heute "
         "gestern morgen jetzt niemand jemand auch nur noch",
     .list[BEFORE_ORDINAL] =
         "am der den dem des die das im vom zum beim ab bis seit jeder jeden "
         "jedem jedes ein eine einen einem einer mein meinen meinem sein "
         "seinen seinem ihr ihren ihrem unser unseren unserem zur",
     .list[AFTER_ORDINAL] =
         "januar jänner februar märz april mai juni juli august september "
         "oktober november dezember jahrhundert jahrhunderts jahrhunderte jh "
         "jahrtausend jahrtausends weltkrieg weltkriegs klasse stock "
         "stockwerk etage geburtstag jahrestag hochzeitstag mal platz rang "
         "tag woche monat lebensjahr auflage kapitel bundesliga liga runde "
         "spieltag semester hälfte stelle"},
    {.lang = "fr",
     .list[ABBREVIATIONS] =
         "a! y! M Mm Mme Mmes Mlle Mlles Mgr Me Pr Ste Vve cf c.à.d p.ex ex? av "
         "apr env# no# art# al# chap# éd# boul? janv? févr? avr? juil? déc? "
         "j.c?",
     .list[STARTERS] =
         "le la les l un une des je j il elle on nous vous ils elles tu ce c "
         "cet cette ces cela ça dans en à au aux sur pour par avec sans de "
         "du d mais et ou donc si s quand lorsque comme après avant depuis "
         "mon ma mes ton ta tes son sa ses notre votre leur leurs qui que qu "
         "quoi où pourquoi comment quel quelle est sont ne n oui non tous "
         "toutes chaque alors ensuite aujourd hier demain maintenant "
         "personne"},
    {.lang = "es",
     .list[ABBREVIATIONS] =
         "Sra Sres Sras Srta Srtas Dra Dres D Dña Lic Ing Arq Profa Gral "
         "Cnel Sto Sta Mons Ee Uu? Ud? Uds? Vd? Vds? avda? av? p.ej p.e? "
         "a.c? d.c? s.a? aprox# pág# págs# núm# n# art# cap# ed# teléf# c#",
     .list[STARTERS] =
         "el la los las un una unos unas yo él ella ellos ellas nosotros "
         "usted ustedes tú este esta esto estos estas ese esa eso aquel en a "
         "al de del con sin por para sobre pero y o si cuando mientras como "
         "después antes desde mi mis tu tus su sus nuestro nuestra qué quién "
         "cómo dónde cuándo cuál es son era está están hay no sí todos todas "
         "cada algunos muchos luego entonces hoy ayer mañana ahora nadie se "
         "me te le lo nos"},
    {.lang = "it",
     .list[ABBREVIATIONS] =
         "è! sig sigg sig.ra sig.na dott dott.ssa prof.ssa Ing avv arch geom "
         "rag On Mons cfr a.c? d.c? s.p.a? s.r.l? n# nn# pag# pagg# "
         "art# artt# cap# es#",
     .list[STARTERS] =
         "il lo la i gli le l un uno una io lui lei noi voi loro egli ella "
         "tu questo questa questi queste quello quella in a al alla di del "
         "della da dal con su per tra fra ma e o se quando mentre come dopo "
         "prima mio mia tuo sua suo nostro che chi cosa perché dove quale è "
         "sono era ha hanno non sì no tutti ogni alcuni molti poi allora "
         "oggi ieri domani adesso nessuno si mi ti ci"},
    {.lang = "pt",
     .list[ABBREVIATIONS] =
         "é! Sra Srs Sras Srta Dra Drs Profa Eng Exmo Exma D Gen Cel Sto Sta "
         "av? a.c? d.c? s.a? ltda? n# pág# págs# art# cap# R#",
     .list[STARTERS] =
         "o a os as um uma eu ele ela eles elas nós você vocês tu este esta "
         "isto esse essa isso aquele em no na nos nas de do da com sem por "
         "para sobre mas e ou se quando enquanto como depois antes desde meu "
         "minha seu sua nosso nossa que quem onde qual é são era está estão "
         "há não sim todos todas cada alguns muitos então hoje ontem amanhã "
         "agora ninguém"},
    {.lang = "nl",
     .list[ABBREVIATIONS] =
         "u! dhr mevr mw drs ir ing mr ds bijv bv d.w.z m.b.t i.v.m t.a.v m.n "
         "resp evt incl excl jl o.a? e.d? b.v? n.v? chr? mrt? okt? blz# art# "
         "hfst# max# min#",
     .list[STARTERS] =
         "de het een ik hij zij ze wij we jij je u jullie dit dat deze die "
         "er hier daar in op aan voor van met bij na naar uit over door maar "
         "en of als toen wanneer terwijl omdat mijn jouw zijn haar ons onze "
         "hun wat wie waarom hoe waar welke is was waren heeft hebben kan "
         "kunnen moet niet geen ja nee alle elke veel dan dus vandaag "
         "gisteren morgen nu niemand"},
    {.lang = "ru",
     .list[ABBREVIATIONS] =
         "я! т.е т.к т.н т.о см ср напр акад проф доц инж тов т.д! т.п! н.э? "
         "др? пр? гг? вв? ул? им? просп? пл? пер? гр? св? оз? млн? млрд? "
         "тыс? руб? коп? долл? обл? ок# кв# корп# стр# рис# табл# гл# ст# "
         "пп# тт# тел#",
     .list[STARTERS] =
         "я ты он она оно мы вы они это этот эта эти тот та те в во на с со "
         "к ко по за из от до у о об при для без под над через после перед "
         "но а и или если когда пока хотя так как что кто где куда откуда "
         "почему зачем сколько какой какая какие мой моя твой его её их наш "
         "ваш не нет да ни есть был была было были все всё каждый многие "
         "потом затем сегодня вчера завтра теперь сейчас никто там тут здесь"},
    {.lang = "uk",
     .list[ABBREVIATIONS] =
         "я! є! т.зв див напр акад проф доц т.д! т.п! т.ін! ін? рр? ст? вул? ім? "
         "просп? пл? св? млн? млрд? тис? грн? обл? рис# табл#",
     .list[STARTERS] =
         "я ти він вона воно ми ви вони це цей ця ці той та ті в у на з із "
         "зі до від по за про при для без під над через після перед але а і "
         "й або якщо коли поки хоча так як що хто де куди чому скільки який "
         "яка які мій моя його її їх наш ваш не ні є був була було були всі "
         "все кожен потім сьогодні вчора завтра тепер зараз ніхто там тут"},
    {.lang = "pl",
     .list[ABBREVIATIONS] =
         "np ang maks# tzn tzw tj hab inż mgr lek ks bp abp św śp m.in zob gen płk mjr "
         "kpt ppor im? ul? al? os? tys? mln? mld? zł? gr? nr# str# "
         "s# poz# art# ust# pkt# rozdz# rys# tab# godz# ok#",
     .list[STARTERS] =
         "ja ty on ona ono my wy oni one to ten ta te ci tamten w we na z ze "
         "do od po za o przy dla bez pod nad przez przed ale a i lub albo "
         "jeśli gdy kiedy jak chociaż co kto gdzie dlaczego ile jaki jaka "
         "jakie który mój moja jego jej ich nasz wasz nie tak czy jest są "
         "był była było byli wszyscy wszystko każdy potem dziś dzisiaj "
         "wczoraj jutro teraz nikt tam tu"},
    {.lang = "cs",
     .list[ABBREVIATIONS] =
         "např tzv tzn tj mj resp popř příp ing mgr bc mudr judr phdr rndr "
         "doc sv čís# č# str# odst# kap# obr# tab# roč# cca# max# min# hod? "
         "tis? mil? mld? kč? s.r.o? a.s? n.l? nám? stol?",
     .list[STARTERS] =
         "já ty on ona ono my vy oni to ten ta ti tento tato toto v ve na z "
         "ze do od po za o u při pro bez pod nad přes před ale a i nebo "
         "jestli když jak protože co kdo kde kam proč kolik jaký jaká který "
         "můj moje jeho její jejich náš váš ne ano je jsou byl byla bylo "
         "byli všichni všechno každý pak potom dnes včera zítra teď nikdo "
         "tam tady"},
    {.lang = "sv",
     .list[ABBREVIATIONS] =
         "t.ex bl.a d.v.s dvs s.k f.d p.g.a jfr inkl exkl resp fr hr m.m? "
         "m.fl? o.d? f.n? kr? okt? milj? nr# sid# s# kap# kl#",
     .list[STARTERS] =
         "jag du han hon den det vi ni de en ett denna detta dessa där här i "
         "på för från med av om till vid efter före men och eller när medan "
         "eftersom som vad vem varför hur var vilken min mitt din ditt hans "
         "hennes vår er deras är har hade kan inte nej ja alla varje många "
         "sedan då idag igår nu ingen"},
    {.lang = "da",
     .list[ABBREVIATIONS] =
         "f.eks bl.a dvs mht pga ifm jf inkl ekskl evt hr fr frk skt sct "
         "m.m? m.fl? kr? mio? mia? okt? pct? nr# s# kap# tlf# kl#",
     .list[STARTERS] =
         "jeg du han hun den det vi i de en et denne dette disse der her på "
         "for fra med af om til ved efter før men og eller når mens fordi "
         "som hvad hvem hvorfor hvordan hvor hvilken min mit din hans hendes "
         "vores deres er var har havde kan ikke nej ja alle hver mange så da "
         "dag nu ingen"},
    {.lang = "nb",
     .list[ABBREVIATIONS] = "f.eks bl.a dvs pga ifm jf inkl ekskl evt hr fru m.m? kr? "
                            "mill? mrd? okt? des? nr# s# kap# tlf# kl#",
     .list[STARTERS] =
         "jeg du han hun den det vi dere de en et denne dette disse der her "
         "i på for fra med av om til ved etter før men og eller når mens "
         "fordi som hva hvem hvorfor hvordan hvor hvilken min mitt din hans "
         "hennes vår deres er var har hadde kan ikke nei ja alle hver mange "
         "så da nå ingen"},
    {.lang = "fi",
     .list[ABBREVIATIONS] = "esim ks vrt nk toim tri mm? eaa? jaa? nro# s# klo# "
                            "n# v#",
     .list[STARTERS] =
         "minä sinä hän se me te he ne tämä tuo nämä nuo tässä täällä siellä "
         "mutta ja tai jos kun vaikka koska mikä mitä kuka missä miksi miten "
         "milloin on ovat oli ei en kyllä kaikki moni sitten tänään eilen "
         "huomenna nyt kukaan"},
    {.lang = "hu",
     .list[ABBREVIATIONS] =
         "ő! pl ill ún kb ifj id özv Szt vö kft? zrt? bt? rt? sz? old# kb#",
     .list[STARTERS] = "a az egy én te ő mi ti ők ez azok ezek itt ott és de vagy ha "
                       "amikor mert hogy ki hol miért hogyan mikor melyik van volt nem "
                       "igen minden sok aztán ma tegnap holnap most senki"},
    {.lang = "el",
     .list[ABBREVIATIONS] = "π.χ? δηλ κ κα κκ κος κων δρ καθ βλ πρβλ αγ μ.χ? μ.μ? π.μ? "
                            "κ.ά! κ.τ.λ! κ.ο.κ? χλμ? εκ? δισ? αρ# αριθ# σελ# σ# τηλ# "
                            "κεφ# άρθ# παρ# εικ#",
     .list[STARTERS] =
         "ο η το οι τα τον την του της των ένας μια μία ένα εγώ εσύ αυτός "
         "αυτή αυτό αυτοί εμείς εσείς εκείνος εδώ εκεί σε στο στη στην στον "
         "στα με για από χωρίς μετά πριν αλλά και κι ή αν όταν ενώ επειδή "
         "πως που τι ποιος ποια πού γιατί πόσο είναι ήταν έχει δεν μην όχι "
         "ναι όλοι κάθε πολλοί τότε σήμερα χθες αύριο τώρα κανείς θα να"},
    {.lang = "ro",
     .list[ABBREVIATIONS] =
         "dl dna dra ing d.ex str sf bd? șos? ș.a? hr? s.a? s.r.l? pag# "
         "alin# art# cap# nr#",
     .list[STARTERS] = "eu tu el ea noi voi ei ele acest această acesta în la pe cu fără "
                       "pentru din de după înainte dar și sau dacă când cum ce cine unde "
                       "care un o este sunt era nu da toți fiecare mulți apoi azi ieri "
                       "mâine acum nimeni"},
    {.lang = "tr",
     .list[ABBREVIATIONS] =
         "o! Doç Av Sn Hz Alb Yrd bkz örn vb? vs? m.ö? m.s? cad? sok? mah? apt? "
         "yy# sf# s#",
     .list[STARTERS] =
         "ben sen o biz siz onlar bu şu bunlar burada orada bir ama ve veya "
         "eğer çünkü ne kim nerede neden niçin nasıl hangi benim senin onun "
         "var yok değil evet hayır herkes her çok sonra bugün dün yarın "
         "şimdi kimse"},
};

enum { N_TABLES = sizeof tables / sizeof *tables };

const struct sentence_words *sentence_words_of(const char *lang)
{
    const size_t n = strcspn(lang, "-_.@");

    for (size_t i = 1; i < N_TABLES; i++)
        if (strlen(tables[i].lang) == n && memcmp(tables[i].lang, lang, n) == 0)
            return tables + i;
    return tables;
}

/* What follows an ending of the word that the list has behind "-"; NULL for none. */
static const char *find_ending(const char *list, struct line word)
{
    for (const char *at = list; at && (at = strchr(at, '-')); at++) {
        const size_t n = strcspn(at + 1, " #?!");
        if (n <= word.n_bytes && memcmp(at + 1, word.text + word.n_bytes - n, n) == 0)
            return at + 1 + n;
    }
    return NULL;
}

/* What follows the word in a list of words between blanks: a mark, a blank or the end;
 * NULL when it is not there, nor an ending of it. */
static const char *find(const char *list, struct line word)
{
    const char *at = list;

    while (list && word.n_bytes &&
           (at = memmem(at, strlen(at), word.text, word.n_bytes))) {
        const char *end = at + word.n_bytes;
        if ((at == list || at[-1] == ' ') && (!*end || strchr(" #?!", *end)))
            return end;
        at = end;
    }
    return find_ending(list, word);
}

/* The same in a list of this language and that of all, or in those of every language. */
static const char *find_in(const struct sentence_words *w, enum list list,
                           struct line word)
{
    const char *found = NULL;

    for (size_t i = 0; !found && i < N_TABLES; i++)
        if (i == 0 || w == tables || w == tables + i)
            found = find(tables[i].list[list], word);
    return found;
}

enum sentence_words_kind sentence_words_abbreviation(const struct sentence_words *w,
                                                     struct line word)
{
    const char *mark = find_in(w, ABBREVIATIONS, word);

    const bool is_capital = word.n_bytes && word.text[0] >= 'A' && word.text[0] <= 'Z';

    if (!mark)
        return SENTENCE_WORDS_NONE;
    if (*mark == '#')
        return SENTENCE_WORDS_NUMBER;
    if (*mark == '!')
        return SENTENCE_WORDS_LETTER;
    /* With all languages together, it may be a word of one of them. */
    const bool is_word =
        w == tables && !is_capital && !memchr(word.text, '.', word.n_bytes);
    return *mark == '?' || is_word ? SENTENCE_WORDS_MAYBE : SENTENCE_WORDS_NEVER;
}

bool sentence_words_starts(const struct sentence_words *w, struct line word)
{
    return find_in(w, STARTERS, word) != NULL;
}

bool sentence_words_has_ordinals(const struct sentence_words *w)
{
    return w == tables || w->list[BEFORE_ORDINAL];
}

bool sentence_words_before_ordinal(const struct sentence_words *w, struct line word)
{
    return find_in(w, BEFORE_ORDINAL, word) != NULL;
}

bool sentence_words_after_ordinal(const struct sentence_words *w, struct line word)
{
    return find_in(w, AFTER_ORDINAL, word) != NULL;
}

bool sentence_words_speaks(const struct sentence_words *w, struct line word)
{
    return find_in(w, SPEECH, word) != NULL;
}

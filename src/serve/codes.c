#include "serve/codes.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *code, *name;
} names[] = {{"ar", "Arabic"},
             {"az", "Azerbaijani"},
             {"be", "Belarusian"},
             {"bg", "Bulgarian"},
             {"bn", "Bengali"},
             {"bs", "Bosnian"},
             {"ca", "Catalan"},
             {"cs", "Czech"},
             {"cy", "Welsh"},
             {"da", "Danish"},
             {"de", "German"},
             {"el", "Greek"},
             {"en", "English"},
             {"eo", "Esperanto"},
             {"es", "Spanish"},
             {"et", "Estonian"},
             {"eu", "Basque"},
             {"fa", "Persian"},
             {"fi", "Finnish"},
             {"fr", "French"},
             {"ga", "Irish"},
             {"gl", "Galician"},
             {"he", "Hebrew"},
             {"hi", "Hindi"},
             {"hr", "Croatian"},
             {"hu", "Hungarian"},
             {"hy", "Armenian"},
             {"id", "Indonesian"},
             {"is", "Icelandic"},
             {"it", "Italian"},
             {"ja", "Japanese"},
             {"ka", "Georgian"},
             {"kk", "Kazakh"},
             {"ko", "Korean"},
             {"ky", "Kyrgyz"},
             {"lt", "Lithuanian"},
             {"lv", "Latvian"},
             {"mk", "Macedonian"},
             {"ms", "Malay"},
             {"mt", "Maltese"},
             {"nb", "Norwegian"},
             {"nl", "Dutch"},
             {"nn", "Nynorsk"},
             {"no", "Norwegian"},
             {"pl", "Polish"},
             {"pt", "Portuguese"},
             {"pt-BR", "Portuguese (Brazil)"},
             {"ro", "Romanian"},
             {"ru", "Russian"},
             {"sk", "Slovak"},
             {"sl", "Slovenian"},
             {"sq", "Albanian"},
             {"sr", "Serbian"},
             {"sv", "Swedish"},
             {"sw", "Swahili"},
             {"ta", "Tamil"},
             {"te", "Telugu"},
             {"th", "Thai"},
             {"tl", "Tagalog"},
             {"tr", "Turkish"},
             {"uk", "Ukrainian"},
             {"ur", "Urdu"},
             {"uz", "Uzbek"},
             {"vi", "Vietnamese"},
             {"zh-Hans", "Chinese"},
             {"zh-Hant", "Chinese (traditional)"}};

/* other spelling, code */
static const char *const aliases[][2] = {
    {"pb", "pt-BR"},      {"pt-br", "pt-BR"},     {"zh", "zh-Hans"},
    {"zh-cn", "zh-Hans"}, {"zh-hans", "zh-Hans"}, {"zt", "zh-Hant"},
    {"zh-tw", "zh-Hant"}, {"zh-hant", "zh-Hant"}, {"iw", "he"}};

bool codes_canonical(char out[CODE_MAX], const char *given)
{
    const size_t n = strlen(given);

    out[0] = '\0';
    if (n < 2 || n >= CODE_MAX)
        return false;
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)given[i];
        if (!isalnum(c) && c != '-' && c != '_') {
            out[0] = '\0';
            return false;
        }
        out[i] = c == '_' ? '-' : (char)tolower(c);
    }
    out[n] = '\0';
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(out, aliases[i][0]) == 0)
            snprintf(out, CODE_MAX, "%s", aliases[i][1]);
    return true;
}

const char *codes_sibling(const char *code)
{
    static const char *const pairs[][2] = {{"pt", "pt-BR"}, {"zh-Hans", "zh-Hant"}};

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (size_t k = 0; k < 2; k++)
            if (strcmp(pairs[i][k], code) == 0)
                return pairs[i][1 - k];
    return NULL;
}

const char *codes_name(const char *code)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].code, code) == 0)
            return names[i].name;
    return code;
}

#include "text/sentence_marks.h"

bool sentence_marks_among(uint32_t code, const uint32_t *list)
{
    while (*list && *list != code)
        list++;
    return *list != 0;
}

bool sentence_marks_is_emoji(uint32_t code)
{
    return (code >= 0x1F000 && code <= 0x1FAFF) || (code >= 0x2600 && code <= 0x27BF) ||
           code == 0xFE0F || code == 0x200D;
}

bool sentence_marks_is_quote(uint32_t code)
{
    return sentence_marks_among(code, U"\"'*_«»‘’“”‟‹›＂＇");
}

bool sentence_marks_is_closer(uint32_t code)
{
    return sentence_marks_among(code, U")]}」』】〕〉》〞〟）］｝｣¹²³") ||
           sentence_marks_is_emoji(code);
}

bool sentence_marks_is_opener(uint32_t code)
{
    return sentence_marks_among(code, U"([{$#@-+/<%~`¡£§¿‒–—―‚„•€「『【〔〈《〝（［");
}

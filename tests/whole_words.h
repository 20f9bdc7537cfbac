/*
 * whole_words - does a text hold a phrase as whole words? Looked for everywhere, to
 * compare with what reads letter by letter. Letters beyond ASCII are taken for parts of
 * words.
 */
#pragma once

#include <stdbool.h>
#include <string.h>

static inline bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

static inline bool holds_phrase(const char *text, const char *phrase)
{
    const size_t n = strlen(phrase);

    for (const char *at = text; (at = strstr(at, phrase)); at++)
        if ((at == text || !is_letter(at[-1]) || !is_letter(at[0])) &&
            (!is_letter(at[n - 1]) || !is_letter(at[n])))
            return true;
    return false;
}

/*
 * unicode - the properties of characters that other files ask for, behind utf8proc.
 *
 * Threads: any; nothing is kept.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/str.h"

/* script, name of the option's value; japanese and korean are the scripts they mix */
#define UNICODE_SCRIPT_LIST(S)  \
    S(ANY, "any")               \
    S(LATIN, "latin")           \
    S(GREEK, "greek")           \
    S(CYRILLIC, "cyrillic")     \
    S(ARMENIAN, "armenian")     \
    S(HEBREW, "hebrew")         \
    S(ARABIC, "arabic")         \
    S(DEVANAGARI, "devanagari") \
    S(BENGALI, "bengali")       \
    S(TAMIL, "tamil")           \
    S(THAI, "thai")             \
    S(GEORGIAN, "georgian")     \
    S(ETHIOPIC, "ethiopic")     \
    S(HAN, "han")               \
    S(JAPANESE, "japanese")     \
    S(KOREAN, "korean")

enum unicode_script {
#define S(code, name) UNICODE_##code,
    UNICODE_SCRIPT_LIST(S) N_UNICODE_SCRIPTS
#undef S
};

/* By its name; UNICODE_ANY for one that is not in the list. */
enum unicode_script unicode_script_named(const char *name);

/* Letter, in the sense of Unicode's categories L*. */
bool unicode_is_letter(uint32_t code);
/* Letter in lower case (Ll). */
bool unicode_is_lower(uint32_t code);
/* Decimal digit of any script (Nd). */
bool unicode_is_digit(uint32_t code);
/* Mark that belongs to the letter before it (M*). */
bool unicode_is_mark(uint32_t code);
/* Control character (Cc) that is no white space. */
bool unicode_is_control(uint32_t code);
uint32_t unicode_lower(uint32_t code);
uint32_t unicode_upper(uint32_t code);
uint32_t unicode_title(uint32_t code);
/* Whether a letter is one of the script's. */
bool unicode_is_of(uint32_t letter, enum unicode_script script);

/* Whether it belongs to a script that puts no blanks between words: Han, Kana, Thai, Lao,
 * Burmese and Khmer, with the punctuation of Chinese and Japanese. */
bool unicode_is_unspaced(uint32_t code);

/* Append the text in normalisation form C. Malformed bytes stay where they are. */
status unicode_nfc(struct str *out, struct line in, struct err *err);

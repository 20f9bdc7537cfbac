/*
 * letters - what Python says of characters, where a score depends on it.
 *
 * Punctuation, symbols and numbers are Unicode 17's, from a table of our own
 * (tools/letters_table.py), so that a score does not depend on the library that this
 * machine has. Small letters are those of utf8proc: letters which its release of Unicode
 * does not know yet keep their case, as in a Python of that age.
 *
 * Threads: any; nothing is kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum letters_kind { LETTERS_OTHER, LETTERS_PUNCTUATION, LETTERS_SYMBOL, LETTERS_NUMBER };

/* Which of Unicode's categories P, S and N the character is of, if any. */
enum letters_kind letters_kind(uint32_t code);

/* From the first character to the last, both included. */
struct letters_span {
    uint32_t first, last;
};

/* Whether one of n spans holds the character. */
bool letters_in(const struct letters_span *span, size_t n, uint32_t code);

/* Append text[0..n), UTF-8, in small letters as str.lower() makes them: a sigma that ends
 * a word becomes the final one, a capital I with a dot two characters. */
void letters_lower(struct str *out, const char *text, size_t n);

/*
 * letters_table.c, for letters_kind(): where a kind of characters begins, in the order of
 * their codes. An entry is 4 * code + the kind from this code to that of the next entry.
 */
extern const uint32_t letters_table[];
extern const size_t letters_table_n;

/*
 * tokenize - cut a line into words as sacreBLEU does before it counts.
 *
 * The result is one string, words separated by single blanks: byte for byte the words
 * that sacreBLEU 2.6 gets from the same line. White space is Python's: that of Unicode
 * and the separators U+001C to U+001F.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

/* rule, its name in a signature */
#define TOKENIZE_LIST(T) \
    T(13A, "13a")        \
    T(NONE, "none")      \
    T(INTL, "intl")      \
    T(CHAR, "char")      \
    T(ZH, "zh")

#define TOKENIZE_NAMES "13a|none|intl|char|zh"

enum tokenize {
#define T(code, name) TOKENIZE_##code,
    TOKENIZE_LIST(T) N_TOKENIZE
#undef T
};

const char *tokenize_name(enum tokenize rule);

/* The rule called `name`, N_TOKENIZE when there is none. */
enum tokenize tokenize_find(const char *name);

/* Whether sacreBLEU has a rule of that name which needs a dictionary or a model. */
bool tokenize_is_elsewhere(const char *name);

/* Bytes of text[0..n) without white space at the end. */
size_t tokenize_trimmed(const char *text, size_t n);

/* Append the words of text[0..n), which must be UTF-8, to *out. */
status tokenize_line(struct str *out, enum tokenize rule, const char *text, size_t n,
                     struct err *err);

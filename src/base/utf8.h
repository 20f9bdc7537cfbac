/* utf8 - the one decoder of the project: strict, never reads past the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define UTF8_BAD UINT32_MAX

/*
 * The code point at s[0..n), n > 0, and its length in *len. A malformed, overlong,
 * surrogate or truncated sequence gives UTF8_BAD and length 1.
 */
uint32_t utf8_decode(const char *s, size_t n, size_t *len);

/* The same of the code point that s[0..n) ends with. */
uint32_t utf8_decode_last(const char *s, size_t n, size_t *len);

/* Bytes written to out (at most 4). */
size_t utf8_encode(char *out, uint32_t code);

bool utf8_valid(const char *s, size_t n);

/* Append the text; every byte that is no UTF-8 becomes U+FFFD. */
void utf8_mend(struct str *out, const char *s, size_t n);

/* Where in s[0..n) byte `at` of its mended form comes from. */
size_t utf8_unmended(const char *s, size_t n, size_t at);

/* Columns a terminal needs, taking one a code point. */
size_t utf8_count(const char *s, size_t n);

/* Bytes of the first whole letters that take at most so many columns and bytes; *shown
 * becomes the columns that they take. */
size_t utf8_fit(const char *s, size_t n, size_t columns, size_t bytes, size_t *shown);

/* 2 for what terminals draw twice as wide (ideographs, Hangul, emoji), otherwise 1. */
size_t utf8_columns(uint32_t code);

/*
 * Whether a page or a terminal shows the code point instead of obeying it. Not: UTF8_BAD,
 * controls of either set (line feed and tab among them), noncharacters, and what turns
 * the direction of the text after it (embeddings, overrides, isolates).
 */
bool utf8_is_shown(uint32_t code);

/* A copy of the text, cut to fit, in which a code point that is not shown is spelled:
 * white space as a blank, others as \x1B or \u202E. What it gives, it does not change. */
void utf8_spell(char *out, size_t n_out, const char *text);

/* White space of Unicode (White_Space property). */
bool utf8_is_space(uint32_t code);

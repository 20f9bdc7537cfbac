/*
 * script - the script of a character, as SentencePiece's trainer sees it.
 *
 * Its tables are those of Unicode 9: what came later is SCRIPT_COMMON. Hiragana,
 * Katakana and the long vowel mark count as Han. SCRIPT_ANY is what combining marks
 * are, which take the script of what they stand on.
 */
#pragma once

#include <stdint.h>

enum { SCRIPT_COMMON = 0, SCRIPT_ANY = 1 };

/* A number; equal ones are one script. */
unsigned script_of(uint32_t code);

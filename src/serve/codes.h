/*
 * codes - codes and names of languages, as clients of LibreTranslate spell them.
 *
 * Codes are taken in any case. What leaves the server is "pt-BR", "zh-Hans", "zh-Hant"
 * and lower case for all others; pb, zh and zt, which older clients and models say, mean
 * those three.
 *
 * Threads: any; nothing is kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { CODE_MAX = 16 };

/* The code as it leaves the server; false, and none, when it is none at all. */
bool codes_canonical(char out[CODE_MAX], const char *given);

/* The other way to write a language of two: pt of pt-BR, zh-Hans of zh-Hant; NULL. */
const char *codes_sibling(const char *code);

/* "German"; the code itself when it is not in the table. */
const char *codes_name(const char *code);

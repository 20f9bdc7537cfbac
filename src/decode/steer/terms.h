/*
 * terms - files of phrases that translations must not or must say, as searches take them.
 *
 * Phrases are normalised as the tokenizer does it: what it writes are the letters that
 * count. Errors name the file and the line.
 *
 * Owns: what was read. Threads: immutable once read; read by any.
 */
#pragma once

#include "decode/steer/phrases.h"

enum { TERMS_LETTERS = 256 }; /* of a phrase at most */

/* What is done with each line of a file. */
typedef status terms_take(void *ctx, struct line line, uint64_t number, struct err *err);

/* All lines of a text, packed or not; ERR_FORMAT for one that is no UTF-8. */
status terms_read_lines(const char *path, terms_take *take, void *ctx, struct err *err);

/* The letters of a phrase, without blanks around it; in *code, which is the caller's to
 * free. ERR_FORMAT when it is empty or too long. */
status terms_letters(const struct spm *spm, struct line text, uint32_t **code,
                     struct letters_text *phrase, struct err *err);

/* A phrase a line, into *p (zeroed). ERR_FORMAT for a line that is empty, no UTF-8 or too
 * long. */
status terms_read_forbidden(struct phrases *p, const struct spm *spm, const char *path,
                            struct err *err);

/*
 * sentence_marks - the characters beside the ends of sentences, by what they do there.
 *
 * Threads: any; nothing is kept.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether a list that ends with 0 has it. */
bool sentence_marks_among(uint32_t code, const uint32_t *list);

bool sentence_marks_is_emoji(uint32_t code);
/* What closes behind a mark, or, where white space is before it, opens a sentence. */
bool sentence_marks_is_quote(uint32_t code);
/* Brackets and quotes that only close, and what stands at the end of a sentence like
 * them: the numbers of notes, emoji. */
bool sentence_marks_is_closer(uint32_t code);
/* What may stand before the first letter of a sentence, besides quotes. */
bool sentence_marks_is_opener(uint32_t code);

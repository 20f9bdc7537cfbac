/*
 * spm_guard - refuse tokenizer bytes that SentencePiece would read past the end of.
 *
 * SentencePiece walks the double-array trie inside a model's normalisation rules
 * without checking a bound. Before it gets them, every jump that the trie can make is
 * shown to stay inside the array, every string it can give to end inside the rules, and
 * no text to match more rules at once than SentencePiece has room for.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* Twice the largest models known (250,000 pieces: 4.8 MB). Parsed, a hostile file of this
 * size takes some 0.5 GB. */
enum { SPM_GUARD_MAX_BYTES = 8 << 20 };

status spm_guard_model(const void *bytes, size_t n_bytes, struct err *err) MUST_CHECK;

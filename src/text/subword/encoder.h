/*
 * encoder - the ids that SentencePiece gives a line, many times faster.
 *
 * No piece of a BPE model that we learn reaches over a space, so a line is cut word by
 * word, and how a word is cut is remembered. The ids are SentencePiece's own on every
 * line, broken UTF-8 included. A model of another make (unigram, pieces with inner
 * spaces, byte fallback, symbols of the user, unusual normalisation) is encoded by
 * SentencePiece itself; encoder_is_own() tells which.
 *
 * Owns: the memory of words, at most about cache_bytes, emptied when full, and working
 * space as long as the longest line. Borrows: the model, which outlives it.
 * Threads: one at a time; each thread opens its own on the same model.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/lines.h"
#include "text/subword/bpe_cut.h"
#include "text/subword/spm.h"

struct encoder;

/* cache_bytes 0: 32 MiB. On failure *e is NULL. */
status encoder_new(struct encoder **e, const struct spm *spm, size_t cache_bytes,
                   struct err *err);
void encoder_free(struct encoder *e); /* NULL is fine */

/* False when SentencePiece's own encoder does the work. */
bool encoder_is_own(const struct encoder *e);

/* Append the ids of a line, without bos and eos, exactly as spm_encode() does. */
status encoder_encode(struct encoder *e, struct line text, struct spm_ids *ids,
                      struct err *err);

/* bpe_cut_again() of ids that an own encoder of this model gave. */
status encoder_recut(struct encoder *e, const uint16_t *id, size_t n,
                     struct bpe_dropout how, struct bpe_ids *out, struct err *err);

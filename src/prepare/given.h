/*
 * given - a tokenizer that is not learned: a SentencePiece model, or those of a packed
 * model, which may have one for each side and know fewer ids than they have pieces.
 */
#pragma once

#include "text/subword/spm.h"

status given_load(struct spm **spm, const char *path, struct err *err);

/*
 * unigram - how often each piece is a label of the training corpus: what label smoothing
 * spreads with smoothing = unigram.
 */
#pragma once

#include "base/err.h"
#include "corpus/corpus.h"
#include "model/model.h"

/* The model's prior becomes the shares of all labels of the corpus's targets, marks of
 * beginning and end included, whole sentences. Reads all of it. */
status unigram_set(struct model *m, const struct corpus *c, struct err *err);

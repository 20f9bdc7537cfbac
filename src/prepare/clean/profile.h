/*
 * profile - which words are usual on which side, learned from the corpus itself.
 *
 * No language is named: a side is foreign when its words are, on average and clearly,
 * more usual on the other side. That finds sentences that were left untranslated or
 * stand on the wrong side; a third language, whose words are rare on both, it does not.
 *
 * Owns: 2 MiB of counts. Threads: any, once all pairs were added.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"

enum { PROFILE_SLOTS = 1 << 18, PROFILE_PAIRS = 1000000 };

struct profile {
    uint32_t *count[2]; /* [PROFILE_SLOTS] words by hash */
    uint64_t n_words[2];
};

status profile_open(struct profile *p, struct err *err) MUST_CHECK;
void profile_close(struct profile *p);

/* Count the words of a line of side 0 or 1. The first PROFILE_PAIRS pairs are enough. */
void profile_add(struct profile *p, struct line text, int side);

bool profile_is_foreign(const struct profile *p, struct line text, int side);

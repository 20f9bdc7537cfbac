/*
 * sides - the languages of both sides of every set: which they are, whether a held-out
 * set was given with its sides swapped, and by what others can be told from them.
 *
 * Owns: what is known of each text. Threads: one.
 */
#pragma once

#include "prepare/prepare.h"
#include "text/language.h"
#include "text/profile.h"

struct sides {
    struct language language[N_PREPARE_SETS][PAIRS_SIDES];
    struct language beginning[PAIRS_SIDES]; /* of the training files */
    struct profile_counts *counts;          /* [PAIRS_SIDES] of the training text */
};

status sides_open(struct sides *s, struct err *err);
/* Safe on a zeroed one. */
void sides_close(struct sides *s);

/* A pair of cleaned lines, of a set or of s->beginning. */
void sides_add(struct language to[PAIRS_SIDES], const struct line line[PAIRS_SIDES]);

/* A pair of the training text. */
void sides_add_training(struct sides *s, const struct line line[PAIRS_SIDES]);

/* ERR_USAGE when both sides of a set that was given as files are clearly more like the
 * other side of the training text, of which `train` has seen a part. */
status sides_check(const struct sides *s, const struct language train[PAIRS_SIDES],
                   const struct pairs input[N_PREPARE_SETS], struct err *err);

/* The languages of the training text, as given or else guessed. */
void sides_name(const struct sides *s, const struct prepare_config *c,
                struct prepare_language language[PAIRS_SIDES]);

/* Append the bytes of the languages' profiles; nothing if neither has a name. */
status sides_profiles(const struct sides *s,
                      const struct prepare_language language[PAIRS_SIDES],
                      struct str *out, struct err *err);

/*
 * profile - which of some languages a text is in, from how often each has the characters
 * that stand together in it.
 *
 * A profile is learnt from text of a language: for runs of one to four letters of a word,
 * its borders among them, how many bits a run costs. A text is in the language that it
 * costs least in. Runs are known by a hash, so that a profile has one size
 * (docs/formats/profiles.md). Unlike text/language.h it knows the languages of given
 * corpora alone, and knows them from one word.
 *
 * Owns: its memory. Threads: one at a time learns or reads; detecting from any.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/str.h"

enum { PROFILE_ORDERS = 4, PROFILE_BUCKETS = 1 << 15, PROFILE_NAME = 16 };

#define PROFILE_FILE "profiles" /* in a data directory */

/* What was counted in the text of a language. A zeroed one has seen nothing. */
struct profile_counts {
    uint32_t count[PROFILE_BUCKETS];
    uint64_t n_letters;
};

void profile_count(struct profile_counts *c, struct line text);

struct profile {
    char name[PROFILE_NAME];       /* as in "de" */
    uint8_t cost[PROFILE_BUCKETS]; /* eighths of a bit; 255: never seen */
    unsigned n_merged;             /* profiles that it was made of */
};

/* A zeroed one is empty. */
struct profiles {
    struct profile *item;
    size_t n, cap;
};

void profile_release(struct profiles *p);

/* Append what the counts say, unless nothing was counted or the name is empty. */
status profile_add(struct profiles *p, const char *name, const struct profile_counts *c,
                   struct err *err);

/* The bytes of a file of profiles, and such a file's profiles appended; those of a name
 * that is there already become one with it. ERR_FORMAT if it is none. */
status profile_write(struct str *out, const struct profiles *p, struct err *err);
status profile_read(struct profiles *p, struct line bytes, struct err *err);

/* The same of profiles at hand. */
status profile_merge(struct profiles *into, const struct profiles *more, struct err *err);

struct profile_guess {
    const char *name;  /* of a profile */
    double confidence; /* 0 to 100 */
};

/*
 * The languages of a text, [p->n] of them, best first; their confidences add up to 100 at
 * most. All are 0 when the text has no letters, or is like none of the languages.
 */
void profile_detect(const struct profiles *p, struct line text,
                    struct profile_guess *guess);

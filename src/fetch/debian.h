/*
 * debian - the corpus debian-de-en: package descriptions in English and German, aligned.
 *
 * Translation-en and Translation-de come from apt (fetch/apt.h) or from files of the
 * user; the rest is a function of them. Writes DIR/{train,valid,test}.{en,de}; all six
 * are complete before the first takes its name.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "base/table.h"
#include "fetch/fetch.h"

status debian_fetch(const struct fetch_config *c, const char *dir,
                    struct progress *progress, struct fetch_result *r,
                    struct err *err) MUST_CHECK;

/*
 * Pairs of segments without repetition, in three sets. A set is a function of the
 * package's name alone, so that no package is in two of them. A pair that repeats an
 * earlier one is dropped; so is one whose sides are equal or without letters. From valid
 * and test also go pairs that share a side with a larger set. Owns: the text.
 */
struct debian_pair {
    enum fetch_set set;
    size_t at[N_FETCH_SIDES]; /* in text */
};

struct debian_pairs {
    struct str text;
    struct debian_pair *pair;
    size_t n, cap;
    struct table_set seen;                        /* 64-bit hashes stand for the pairs */
    uint64_t n_again, n_equal, n_empty, n_shared; /* dropped */
};

enum fetch_set debian_pairs_set_of(const char *package, size_t n);

void debian_pairs_init(struct debian_pairs *p);
void debian_pairs_release(struct debian_pairs *p);
/* Strings are copied. */
status debian_pairs_add(struct debian_pairs *p, enum fetch_set set,
                        const char *const text[N_FETCH_SIDES],
                        struct err *err) MUST_CHECK;
/* Drop what valid and test share with train, and test with valid; n_left counts the rest.
 */
status debian_pairs_part(struct debian_pairs *p, uint64_t n_left[N_FETCH_SETS],
                         struct err *err) MUST_CHECK;

/*
 * debian - the corpus debian-de-en: package descriptions in English and German, aligned.
 *
 * Translation-en and Translation-de come from apt or from files of the user; the rest is
 * a function of them. Writes DIR/{train,valid,test}.{en,de}; all six are complete before
 * the first takes its name.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "base/table.h"
#include "fetch/fetch.h"

status debian_fetch(const struct fetch_config *c, const char *dir,
                    struct progress *progress, struct fetch_result *r, struct err *err);

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

void debian_pairs_release(struct debian_pairs *p);
/* Strings are copied. */
status debian_pairs_add(struct debian_pairs *p, enum fetch_set set,
                        const char *const text[N_FETCH_SIDES], struct err *err);
/* Drop what valid and test share with train, and test with valid; n_left counts the rest.
 */
status debian_pairs_part(struct debian_pairs *p, uint64_t n_left[N_FETCH_SETS],
                         struct err *err);

/*
 * Translation files through the system's own apt: apt-get update runs with the system's
 * sources, keys and proxies, as whoever we are, and changes nothing outside DIR/apt.
 * All files of `lang` that the sources carry are then unpacked by apt's own helper, one
 * behind the other, into DIR/apt/Translation-LANG; its path in out.
 */
status debian_apt_update(const char *dir, struct err *err);
status debian_apt_translations(const char *dir, const char *lang, char out[FILE_PATH_MAX],
                               struct err *err);

enum { DEBIAN_MD5 = 32 };

/* Slices of the file; `text` has its lines as they stand, from the title on. */
struct debian_text_item {
    const char *md5; /* [DEBIAN_MD5] hexadecimal digits */
    const char *package, *text;
    uint32_t n_package, n_text;
};

/* The descriptions of a Translation file. Owns: the table. Borrows: the bytes. */
struct debian_text {
    struct debian_text_item *item; /* sorted by md5 */
    size_t n, cap;
    size_t n_bad, n_again; /* stanzas left out */
};

/* Add the stanzas of `lang` ("de") in n bytes. Call debian_text_sort after the last. */
status debian_text_add(struct debian_text *t, const char *bytes, size_t n,
                       const char *lang, struct err *err);
/* By md5, the first of equal ones kept. */
void debian_text_sort(struct debian_text *t);
/* NULL when there is none. */
const struct debian_text_item *debian_text_find(const struct debian_text *t,
                                                const char md5[DEBIAN_MD5]);
void debian_text_release(struct debian_text *t); /* safe on a zeroed one */

/* Segments without line ends, blanks single; valid during the call. */
typedef status debian_align_fn(void *to, const char *const text[N_FETCH_SIDES],
                               struct err *err);

struct debian_align_stats {
    uint64_t n_titles, n_sentences, n_paragraphs, n_items;
    uint64_t n_unequal; /* descriptions whose numbers of paragraphs differ */
    uint64_t n_unlike;  /* paragraphs that do not follow each other alike */
};

/* Pairs of two descriptions, title first, to `add`. */
status debian_align(const char *const text[N_FETCH_SIDES], const size_t n[N_FETCH_SIDES],
                    struct debian_align_stats *stats, debian_align_fn *add, void *to,
                    struct err *err);

/* Where the sentence that begins at text ends: its length, the blank behind it left out.
 */
size_t debian_align_sentence(const char *text);

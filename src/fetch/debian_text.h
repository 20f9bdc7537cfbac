/*
 * debian_text - the descriptions of a Translation file of a Debian archive.
 *
 *     Package: 0ad
 *     Description-md5: d943033bedada21853d2ae54a2578a7b
 *     Description-de: Echtzeit-Strategiespiel über antike Kriegsführung
 *      0 A.D. ist ein freies, quelloffenes, plattformübergreifendes
 *      .
 *      Dieses Paket ...
 *
 * Stanzas are divided by empty lines. The md5 is of the English text and so the same in
 * every language. A stanza that lacks a field, or whose md5 is none, is counted and left
 * out; a second one with the same md5 is left out.
 *
 * Owns: the table. Borrows: the bytes, which must outlive it. Threads: any may read.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { DEBIAN_MD5 = 32 };

/* Slices of the file; `text` has its lines as they stand, from the title on. */
struct debian_text_item {
    const char *md5; /* [DEBIAN_MD5] hexadecimal digits */
    const char *package, *text;
    uint32_t n_package, n_text;
};

struct debian_text {
    struct debian_text_item *item; /* sorted by md5 */
    size_t n, cap;
    size_t n_bad, n_again; /* stanzas left out */
};

/* Add the stanzas of `lang` ("de") in n bytes. Call debian_text_sort after the last. */
status debian_text_add(struct debian_text *t, const char *bytes, size_t n,
                       const char *lang, struct err *err) MUST_CHECK;
/* By md5, the first of equal ones kept. */
void debian_text_sort(struct debian_text *t);
/* NULL when there is none. */
const struct debian_text_item *debian_text_find(const struct debian_text *t,
                                                const char md5[DEBIAN_MD5]);
void debian_text_release(struct debian_text *t); /* safe on a zeroed one */

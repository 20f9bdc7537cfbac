/*
 * columns - the part of the output layer that a sentence needs, by a shortlist
 * (align/shortlist.h): some hundred columns instead of the vocabulary, copied once when
 * the sentence comes.
 *
 * Owns: memory for the longest list. Borrows: network and shortlist. Threads: one at a
 * time. Zeroed = none.
 */
#pragma once

#include "align/shortlist.h"
#include "base/err.h"
#include "infer/session.h"

struct columns {
    struct session_columns of; /* of the sentence at hand */
    const struct network *net;
    const struct shortlist *list;
    uint16_t *id;
    size_t cap, max_src;
    void *memory;
};

/* For sources of up to max_src ids. */
status columns_open(struct columns *c, const struct network *net,
                    const struct shortlist *list, size_t max_src, struct err *err);
void columns_close(struct columns *c);

/* Those of a source; NULL when nothing would be gained. */
const struct session_columns *columns_take(struct columns *c, const int32_t *source,
                                           size_t n);

/*
 * piece - a stretch of source between two divisions of the text: words, white space, tags
 * and what is kept, in order.
 *
 * Owns: arrays, which grow to the longest stretch. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "markup/markup.h"

enum piece_kind {
    PIECE_WORD,
    PIECE_SPACE,
    PIECE_OPEN,
    PIECE_CLOSE,
    PIECE_POINT,
    PIECE_ELEMENT,
    PIECE_HOLDER
};

struct piece {
    enum piece_kind kind;
    int holder;             /* enum placeholder_kind */
    size_t raw_at, raw_n;   /* in the source */
    size_t text_at, text_n; /* what is seen, in the text of pieces */
    size_t token, pair;     /* number of a tag or of the text, and of a tag's partner */
};

/* Zeroed = empty. */
struct pieces {
    struct piece *item;
    size_t n, cap;
    struct str text;
    /* of the text at hand: decoded, and where each of its bytes comes from */
    struct str decoded;
    size_t *raw, cap_raw;
};

void piece_reset(struct pieces *p);
void piece_release(struct pieces *p);

/* A tag, comment or kept element; `shown` is what of its text the translator sees. */
status piece_add(struct pieces *p, struct piece piece, struct line shown,
                 struct err *err);

/* Text of the source from raw_at on: words, white space and placeholders, with the
 * references decoded if it is HTML. */
status piece_add_text(struct pieces *p, struct line source, size_t raw_at, size_t raw_n,
                      size_t token, bool is_html, struct err *err);

/*
 * result - translations of some texts, as include/ferry.h hands them out.
 *
 * Owns: texts, scores and links. Threads: immutable once made; read by any.
 */
#pragma once

#include "base/str.h"
#include "library/model.h"

struct result_text {
    struct line text;  /* while it is translated */
    size_t first, n;   /* its lines */
    size_t first_item; /* its translations, best first */
    size_t n_found;
};

struct result_item {
    size_t at; /* in the text of all; a NUL ends it */
    double score;
    size_t first_link, n_links;
};

struct ferry_result {
    struct result_text *of; /* [n] */
    size_t n;
    struct result_item *item;
    size_t n_items;
    struct str text;
    struct ferry_link *link;
    size_t n_links, cap_links;
};

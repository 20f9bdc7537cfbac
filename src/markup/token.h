/*
 * token - HTML cut into tags and text, every byte in exactly one token.
 *
 * Any bytes will do. What a browser would show as text is text ("a < b", "<3", a tag that
 * no ">" ends); what it would swallow to the end of the page (a comment or an attribute
 * that nothing closes) is one token that stands alone. Text inside <script> and its like
 * belongs to the token of its tag.
 *
 * Owns: the array. Borrows: the text, which outlives it. Threads: one at a time.
 */
#pragma once

#include "base/err.h"
#include "base/lines.h"

#define TOKEN_NONE ((size_t)-1)

/* Alone: void and self-closed elements, comments, declarations, CDATA. */
enum token_kind { TOKEN_TEXT, TOKEN_OPEN, TOKEN_CLOSE, TOKEN_ALONE };

struct token {
    enum token_kind kind;
    unsigned traits; /* of its element (markup/element.h) */
    int translate;   /* the tag says: 1 yes, -1 no, 0 nothing */
    size_t at, n_bytes;
    size_t name_at, name_bytes;
    size_t pair; /* an open tag's closing one, and the other way round, or TOKEN_NONE */
    size_t end;  /* of an open tag: the first token that is no longer inside */
};

/* A zeroed one is empty. */
struct tokens {
    struct line text;
    struct token *item;
    size_t n, cap;
};

/*
 * Cut the text, in linear time. A closing tag is the pair of the last open tag of its
 * name; tags that are still open inside have no pair.
 */
status token_scan(struct tokens *t, struct line text, struct err *err);
void token_release(struct tokens *t);

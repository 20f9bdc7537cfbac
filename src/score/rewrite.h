/*
 * rewrite - a line on its way through the substitutions of a tokenizer.
 *
 * Every step reads the line as it stands and writes the next, as a substitution from left
 * to right does: what a match has consumed starts no second match.
 *
 *     struct rewrite w = rewrite_begin(text, n);
 *     rewrite_replace(&w, "&lt;", "<");
 *     rewrite_step(&w, rewrite_pad);
 *     rewrite_join(out, &w);
 *     rewrite_release(&w);
 *
 * Owns: both lines. A lack of memory makes `out` of rewrite_join() bad (base/str.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct rewrite {
    struct str now, next;
};

typedef void rewrite_fn(struct str *out, const struct str *in);

struct rewrite rewrite_begin(const char *text, size_t n);
void rewrite_release(struct rewrite *w);

void rewrite_step(struct rewrite *w, rewrite_fn *step);
void rewrite_replace(struct rewrite *w, const char *from, const char *to);

/* &quot; &amp; &lt; &gt;, in this order: &amp;lt; becomes &lt; and then <. */
void rewrite_entities(struct rewrite *w);

/* Blanks at both ends, which let a stop there count as next to text. */
rewrite_fn rewrite_pad;
/* Blanks around the ASCII marks that always stand alone: all but ' , - and the stop. */
rewrite_fn rewrite_marks;
/* Full stops and commas leave text that is no digit, on either side; a hyphen leaves a
 * digit before it. Three steps. */
void rewrite_stops(struct rewrite *w);

/* Append text[0..n) or the line as it stands, words joined by single blanks. */
void rewrite_join_text(struct str *out, const char *text, size_t n);
void rewrite_join(struct str *out, const struct rewrite *w);

/* What Python splits at. */
bool rewrite_is_space(uint32_t code);

/*
 * markup - what is to be translated in a text that may be HTML, and the text again with
 * translations in its place.
 *
 * Parsing gives segments: a line of plain text, or what stands between two block elements
 * of HTML. A segment is plain text for the translator: tags taken out, references
 * decoded, white space single. The caller translates it, if it can with links between
 * bytes of both, and joining puts everything back: inline tags around the words that
 * theirs became, untouched what must not be translated (translate="no", <code>,
 * placeholders such as "%s", addresses, numbers with units), all else between segments
 * byte for byte.
 *
 * Whatever a translator answers, each tag of the source is in the result exactly once,
 * tags are nested as well as in the source, and placeholders are the same in the same
 * number. A segment for which that cannot be had stays as it is in the source.
 * docs/markup.md says how.
 *
 * Owns: segments. Borrows: the source, which outlives it. Time and memory are linear in
 * the source, whatever it holds. Threads: one parses; then any number at a time may join.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/str.h"

enum markup_format { MARKUP_TEXT, MARKUP_HTML };

/* Bytes of a segment's text and bytes of its translation that belong together. */
struct markup_link {
    size_t src_at, src_n, dst_at, dst_n;
};

/* Most marks of a segment. */
enum { MARKUP_MARKS = 96 };

/* Kept: stands for itself in the text. Point: not seen in the text. */
enum markup_kind {
    MARKUP_OPEN,
    MARKUP_CLOSE,
    MARKUP_POINT,
    MARKUP_ELEMENT,
    MARKUP_HOLDER
};

/* What stands at a place of a segment's text and not for translation. */
struct markup_mark {
    enum markup_kind kind;
    int holder;           /* of a MARKUP_HOLDER: its enum placeholder_kind */
    size_t at, n_bytes;   /* in the text of the segment; what it shows of itself */
    size_t raw_at, raw_n; /* in the source */
    size_t pair;          /* of tags, among the segment's marks, if it is nested */
};

/* A blank of the text that is other white space in the source. */
struct markup_gap {
    size_t at, raw_at, raw_n;
};

/* How the source writes a character: "&uuml;". */
struct markup_spelling {
    uint32_t code;
    size_t raw_at, raw_n;
};

struct markup_segment {
    size_t text_at, n_bytes; /* in the text of all */
    size_t raw_at, raw_n;    /* what it replaces */
    size_t mark_at, n_marks, gap_at, n_gaps, spelling_at, n_spellings;
    bool is_nested; /* all its tags are pairs */
};

/* Zeroed = empty. */
struct markup {
    enum markup_format format;
    struct line source;
    struct str text; /* of all segments */
    struct markup_segment *segment;
    struct markup_mark *mark;
    struct markup_gap *gap;
    struct markup_spelling *spelling;
    size_t n_segments, cap_segments, n_marks, cap_marks, n_gaps, cap_gaps, n_spellings,
        cap_spellings;
};

/* The segments of a text in *m (zeroed, or of an earlier call). It may have none. */
status markup_parse(struct markup *m, struct line source, enum markup_format format,
                    struct err *err);
void markup_release(struct markup *m);

/* What to translate: at least one letter, no line end, no white space at its ends. Lives
 * as long as *m is unchanged. */
struct line markup_text(const struct markup *m, size_t segment);

/* Without links tags and placeholders stand in proportion. Links of bytes that are not
 * there are left out. */
struct markup_translation {
    struct line text;
    const struct markup_link *link;
    size_t n_links;
    struct line phrases; /* each with a NUL behind it: where the text has one as words of
                            its own, nothing is put between them */
};

/* Append the source with the translations of its segments. *n_left becomes the number of
 * segments that had to stay as they are; NULL: nobody asks. */
status markup_join(struct str *out, const struct markup *m,
                   const struct markup_translation *translation, size_t *n_left,
                   struct err *err);

/*
 * filter - one pair of lines in; its text and the reason against it out.
 *
 * First the text is put in order as the options say (malformed bytes, control characters,
 * form C), then come the rules of Moses (text/clean.h), then those of ours, in the order
 * of FILTER_LIST. With the defaults only the rules of Moses, and that a line must be
 * UTF-8 and not longer than LINE_READER_MAX, drop anything. Duplicates are known only
 * when all pairs were seen: prepare/duplicates.h; text without pieces only to the
 * tokenizer.
 *
 * Owns: the text of the last pair. Borrows: the profile. Threads: one per struct.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/str.h"
#include "text/clean.h"
#include "text/unicode.h"

/* Reasons beyond those of CLEAN_LIST: code, name in prepare.json, why */
#define FILTER_LIST(V)                                                             \
    V(WEIGHT, "weight 0", "its weight is 0")                                       \
    V(CUT, "overlong line", "a line is longer than 1 MiB")                         \
    V(CONTROL, "control", "a side has a control character")                        \
    V(CHARS_FEW, "few characters", "a side has fewer characters than min_chars")   \
    V(CHARS_MANY, "many characters", "a side has more characters than max_chars")  \
    V(IDENTICAL, "identical", "both sides are the same text")                      \
    V(SCRIPT, "script", "most letters of a side are of another script")            \
    V(LANGUAGE, "language", "the words of a side are those of the other language") \
    V(HELD_OUT, "held out", "the pair, or a side, is in a held-out set")           \
    V(DRAWN, "drawn", "the pair was drawn for the validation or test set")         \
    V(DUPLICATE, "duplicate", "the pair repeats an earlier one")                   \
    V(NEAR, "near duplicate",                                                      \
      "only case, digits or punctuation differ from an earlier pair")              \
    V(PIECES, "no pieces", "the tokenizer sees no text on a side")

enum filter_reason {
    FILTER_BASE = N_CLEAN - 1, /* the reasons before are those of enum clean_verdict */
#define V(code, name, why) FILTER_##code,
    FILTER_LIST(V) N_FILTER
#undef V
};

const char *filter_name(int reason);
const char *filter_why(int reason);

enum filter_invalid { FILTER_INVALID_DROP, FILTER_INVALID_REPLACE };
enum filter_control { FILTER_CONTROL_KEEP, FILTER_CONTROL_DROP, FILTER_CONTROL_STRIP };

enum { FILTER_PROFILE_SLOTS = 1 << 18, FILTER_PROFILE_PAIRS = 1000000 };

/*
 * Which words are usual on which side, learned from the corpus itself: a side is foreign
 * when its words are, on average and clearly, more usual on the other side. That finds
 * sentences that were left untranslated or stand on the wrong side; a third language,
 * whose words are rare on both, it does not. Read by any thread once all were added.
 */
struct filter_profile {
    uint32_t *count[2]; /* [FILTER_PROFILE_SLOTS] words by hash */
    uint64_t n_words[2];
};

status filter_profile_open(struct filter_profile *p, struct err *err);
void filter_profile_close(struct filter_profile *p);
/* Count the words of a line of side 0 or 1; FILTER_PROFILE_PAIRS pairs are enough. */
void filter_profile_add(struct filter_profile *p, struct line text, int side);

struct filter_options {
    struct clean_options clean;
    enum filter_invalid invalid;
    enum filter_control control;
    bool nfc, drop_identical;
    size_t min_chars, max_chars; /* of a cleaned side; 0: any */
    enum unicode_script script[2];
    const struct filter_profile *profile; /* NULL: any language */
};

struct filter {
    struct filter_options options;
    struct clean clean;
    struct str room[2], spare;
};

/* `is_factored` as clean_is_factored() says of the first pair of the corpus. */
void filter_init(struct filter *f, struct filter_options options, bool is_factored);
void filter_release(struct filter *f);

/*
 * Judge a pair: CLEAN_KEEP, or why not. The text to use is f->clean.side[], until the
 * next call. Fails only when memory runs out.
 */
status filter_pair(struct filter *f, const struct line side[2], bool is_cut, int *reason,
                   struct err *err);

/* A line of side `s` in the form that the text of a pair gets, whether or not it would be
 * dropped; valid until the next call for that side. */
status filter_line(struct filter *f, int s, struct line in, struct line *out,
                   struct err *err);

/* Letters in lower case, every digit a zero, nothing else: what near duplicates share.
 * Text without letters and digits stays as it is. */
void filter_core(struct str *out, struct line in);

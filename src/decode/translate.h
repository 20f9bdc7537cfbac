/*
 * translate - lines of raw text to lines of raw text.
 *
 * Cuts lines into sentences (unless split is off: then a line is one sentence, cut at
 * max_length), encodes them with the tokenizer, sorts by length, searches in batches,
 * decodes, and hands the results back in the order of the lines. A line without text
 * (empty, or white space) has the empty translation with score 0 and costs nothing; any
 * other has a text, if need be its own. The sentences of a line share what it may have:
 * three times its pieces and extra_decode_length (decode/lines/target_limit.h).
 *
 * The translations of a line's sentences are joined with the white space of the source,
 * or with a blank where it has none and their language needs one (decode/lines/joint.h).
 * Rank k of a line joins rank k of its sentences (their last where there are fewer); its
 * score is the sum of their log-probabilities over the penalty of the sum of their
 * lengths.
 *
 * A line may give the beginning of its translation (decode/lines/beginnings.h); then it
 * is one sentence, and the score is that of what was not given. It may then have several
 * alternatives, the best translations whose next words behind the beginning differ
 * (decode/lines/alternatives.h). Phrases can be forbidden, and required where the source
 * has a term (decode/steer/guide.h). On request it is told which words of a line became
 * which of its translations (decode/forced/alignments.h).
 *
 * Owns: the search. Borrows: model or network, and tokenizer, which outlive it;
 * training translates with its live model. Threads: one at a time; translators that share
 * a hub (decode/hub.h) are each a thread's own, and any thread may open and close one.
 */
#pragma once

#include <stdint.h>

#include "base/opt.h"
#include "base/progress.h"
#include "base/str.h"
#include "decode/engine.h"
#include "decode/forced/alignments.h"
#include "decode/hub.h"
#include "decode/lines/pieces.h"
#include "decode/search.h"
#include "decode/steer/glossary.h"
#include "decode/steer/phrases.h"
#include "model/model.h"
#include "text/subword/spm.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define TRANSLATE_OPTIONS(X)                                                               \
    X(INT, beam, "4", "hypotheses kept at each step: more is better and slower", RANGE(1, 64)) \
    X(BOOL, greedy, "false", "take the likeliest token each time: the fastest; beam is 1 then", ANY) \
    X(REAL, alpha, "0.6", "larger prefers longer translations: log P / ((5+n)/6)^alpha", RANGE(0, 10)) \
    X(INT, extra_decode_length, "50", "most tokens of a sentence's translation beyond those of its source", RANGE(0, 4096)) \
    X(INT, min_length, "1", "fewest pieces of a sentence's translation; 0: it may be empty", RANGE(0, 1024)) \
    X(INT, max_repeats, "3", "most occurrences of 4 pieces in a sentence's translation; 0: any", RANGE(0, 1000)) \
    X(INT, nbest, "1", "so many translations of each line, at most beam, or so many samples", RANGE(1, 64))     \
    X(BOOL, sample, "false", "draw nbest independent translations at random instead of the best", ANY) \
    X(REAL, temperature, "1", "of samples: below 1 likelier tokens gain, 0: always the likeliest", RANGE(0, 100)) \
    X(INT, top_k, "0", "samples take only the so many likeliest tokens; 0: all", RANGE(0, 65536)) \
    X(REAL, top_p, "1", "samples take the likeliest tokens that have this probability together", RANGE(0.000001, 1)) \
    X(INT, seed, "1", "of the random numbers of samples", RANGE(0, 1e15))                    \
    X(BOOL, scores, "false", "append a tab and the score to each line", ANY)               \
    X(BOOL, alignments, "false", "append a tab and which words belong together, as in 0-0 1-2", ANY) \
    X(BOOL, prefix, "false", "lines are source TAB beginning of the translation, which goes on", ANY) \
    X(INT, alternatives, "1", "with prefix: so many translations, each with another next word", RANGE(1, 64)) \
    X(STR, forbid, "", "file of phrases, one a line, that no translation may hold", ANY)    \
    X(STR, require, "", "file of source term TAB phrase: what translations of the term must say", ANY) \
    X(STR, mark, "", "of lines that have none, as in de for >>de<<: what the model shall do", ANY) \
    X(BOOL, split, "true", "cut a line into sentences and translate each", ANY)            \
    X(INT, max_length, "256", "source tokens; a longer sentence is divided, or cut if split is off", RANGE(3, 65536)) \
    X(CHOICE, invalid, "replace", "bytes that are not UTF-8: read U+FFFD instead, or stop", ONE_OF("replace|refuse")) \
    X(INT, batch_tokens, "4096", "sentences times target positions of a batch: more takes more memory", RANGE(1, 1e7))
/* clang-format on */

struct translate_config {
    TRANSLATE_OPTIONS(OPT_FIELD)
};

extern const struct opt_table translate_config_table;

/* Rules between options: nbest at most beam, and the like. */
status translate_config_check(const struct translate_config *c, struct err *err);

struct translator {
    struct translate_config config;
    const struct spm *spm;
    const char *lang;              /* of the source; "" unless the caller knows it */
    int32_t mark;                  /* of lines that have none; 0: none */
    struct pieces *pieces;         /* of the tokenizer */
    struct pieces *own;            /* the same; NULL: others have them too */
    size_t longest;                /* tokens that the model has positions for */
    const struct letters *letters; /* of its pieces, if what they spell matters */
    struct phrases forbidden;
    struct glossary own_terms;
    const struct glossary *terms; /* its own, or those of all; NULL: none */
    struct search *search;
    struct passes *passes;     /* for alignments; NULL: none are asked for */
    int alignment_layer;       /* of the decoder, whose attention they are read off */
    struct progress *progress; /* NULL: silent; the caller begins and ends it */
    uint64_t n_done;           /* lines so far */
    uint64_t n_done_before; /* of these before the text at hand; its lines count from 1 */
    /* of all lines: */
    uint64_t n_cut;        /* cut to max_length, because they may not be split */
    uint64_t n_divided;    /* with a sentence beyond max_length, translated in parts */
    uint64_t n_invalid;    /* mended, because they were not UTF-8 */
    uint64_t n_lengthened; /* would have had a translation shorter than min_length */
    uint64_t n_unrepeated; /* without a continuation that max_repeats rejected */
    uint64_t n_copied;     /* copied, at least in part, because the model has no text */
    uint64_t n_stopped;    /* with a translation that had not ended at its limit */
    uint64_t n_unmet;      /* with a required phrase that was not said */
};

/* With a model on any device, or with packed weights on the processor, which alone can do
 * what steers a search. ERR_USAGE when the options are at odds, or the tokenizer has ids
 * the model lacks. */
status translate_open(struct translator *t, struct model *m, const struct spm *spm,
                      const struct translate_config *c, struct err *err);
status translate_open_packed(struct translator *t, const struct network *n,
                             const struct spm *spm, const struct translate_config *c,
                             struct engine_options options, struct err *err);

/* What translators of one model share; all of it outlives them. */
struct translate_shared {
    struct hub *hub;
    struct pieces *pieces;
    const struct shortlist *shortlist; /* NULL: the whole vocabulary */
    const struct network *network;     /* the hub's */
    const struct infer_kernels *kernels;
    const struct glossary *terms; /* for those that require nothing; NULL: none */
};

/* A glossary for all of them, into *g (zeroed). */
status translate_read_terms(struct glossary *g, const struct translate_shared *s,
                            const char *path, struct err *err);

/* One whose sentences join the batches of a hub. translate_lines() fails with
 * ERR_CANCELLED soon after the flag became true; NULL: never. */
status translate_open_shared(struct translator *t, const struct translate_shared *s,
                             const struct translate_config *c,
                             const atomic_bool *is_cancelled, struct err *err);
void translate_close(struct translator *t);

struct translation {
    size_t at, n_bytes;         /* in the text of all; a NUL follows */
    double score;               /* log-probability over the length penalty */
    size_t first_link, n_links; /* which words it has of the line's; with alignments */
};

/* The results for n_lines lines, up to n_best of each, best first; n_best is nbest, or
 * the number of alternatives. Owns all texts, in one
 * block. Zeroed = empty. */
struct translations {
    size_t n_lines, n_best;
    struct str text;
    struct translation *item;     /* [n_lines,n_best] */
    size_t *n_found;              /* [n_lines] at least 1 when all is done */
    struct alignments_link *link; /* of all; bytes of the line as it came, and of the
                                     translation */
    size_t n_links, links_cap;
    size_t n_linked; /* links of the translations so far; the others are the next one's */
};

/* Translate n lines into *out (zeroed, or of an earlier call). With invalid=refuse a line
 * that is not UTF-8 is an ERR_FORMAT that names its number. */
status translate_lines(struct translator *t, const struct line *lines, size_t n,
                       struct translations *out, struct err *err);

/* Empty, with room for this many. */
status translate_reserve(struct translations *t, size_t n_lines, size_t n_best,
                         struct err *err);
void translate_release(struct translations *t);

/* What was appended to t->text from `at` on is the line's next translation. The line
 * ends that some tokenizers can produce become blanks. */
status translate_add(struct translations *t, size_t line, size_t at, double score,
                     struct err *err);

/* A link of the translation that is added next. */
status translate_add_link(struct translations *t, struct alignments_link link,
                          struct err *err);

/* The text of a line's translation of this rank; lives as long as *t is unchanged. */
const char *translate_get(const struct translations *t, size_t line, size_t rank);

/*
 * language - which language a text is in, from a small table: scripts, and the most
 * frequent function words of languages that share one.
 *
 * The text is taken in blocks of about a hundred words. Each block votes for the language
 * whose words it has most of, a word that several languages share counting less. The
 * share of the blocks that agree is the confidence. A language that is not in the table
 * gets no votes, or few; Serbian and Bosnian in Latin script count as Croatian, Malay as
 * Indonesian.
 *
 * Two texts can also be compared as they are, by their pairs of letters, which works for
 * any language.
 *
 * Owns: its memory. Threads: one at a time; guessing and comparing from any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/table.h"

enum { LANGUAGE_NAME = 16, LANGUAGE_PAIRS = 4096, LANGUAGE_MOST = 64 };

struct language_guess {
    char name[LANGUAGE_NAME]; /* ISO 639-1, as in "de"; "": unsure */
    double confidence;        /* 0 to 1 */
};

struct language {
    struct table table;
    struct language_word *word; /* of the table */
    size_t n_words, cap_words;
    uint32_t pair[LANGUAGE_PAIRS]; /* how often two letters stood side by side */
    uint64_t n_blocks, votes[LANGUAGE_MOST];
    /* of the present block */
    size_t n_seen, n_letters, *n_script; /* words; letters, by script */
    double score[LANGUAGE_MOST];
};

status language_open(struct language *l, struct err *err);
/* Safe on a zeroed one. */
void language_close(struct language *l);

void language_add(struct language *l, struct line text);
struct language_guess language_guess(const struct language *l);

/* The languages that a text of any length may be in, best first, and how many; nothing
 * was added to *l before. Confidences add up to less than 1, the more so the fewer of
 * the words are known. */
size_t language_rank(struct language *l, struct line text,
                     struct language_guess guess[LANGUAGE_MOST]);

/* Cosine of the two texts' pairs of letters, 0 to 1: above 0.9 for two texts of a
 * language, 0 for two scripts; 0 when either has no letters. */
double language_similar(const struct language *a, const struct language *b);

#include "score/ngram.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/*
 * N-grams of one order by name; a name is the number of different ones before it. The
 * n-gram itself is kept as a pair: the name of its first n-1 words, and its last word.
 */
struct counts {
    struct table table;
    uint64_t *pair;
    uint32_t n_names;
    /* by name: occurrences in the hypothesis, in this reference, in the best one */
    uint32_t *n_hyp, *n_ref, *n_best;
    uint32_t *name; /* of the (n-1)-gram at each position, sequence after sequence */
};

static void counts_release(struct counts *t)
{
    table_release(&t->table);
    free(t->pair);
    free(t->n_hyp);
    free(t->n_ref);
    free(t->n_best);
    free(t->name);
}

static status counts_init(struct counts *t, size_t n_words, struct err *err)
{
    *t = (struct counts){0};
    TRY(table_reserve(&t->table, n_words, err));
    TRY(mem_alloc(&t->pair, n_words, sizeof *t->pair, err));
    TRY(mem_alloc(&t->n_hyp, n_words, sizeof *t->n_hyp, err));
    TRY(mem_alloc(&t->n_ref, n_words, sizeof *t->n_ref, err));
    TRY(mem_alloc(&t->n_best, n_words, sizeof *t->n_best, err));
    return mem_alloc(&t->name, n_words, sizeof *t->name, err);
}

/* Forget the n-grams of the last order, keep their names in t->name. */
static void counts_next_order(struct counts *t)
{
    table_reset(&t->table);
    memset(t->n_hyp, 0, t->n_names * sizeof *t->n_hyp);
    memset(t->n_best, 0, t->n_names * sizeof *t->n_best);
    t->n_names = 0;
}

/* Fails never: counts_init() reserved the room. */
static uint32_t name_of(struct counts *t, uint64_t pair)
{
    const uint64_t hash = table_mix(pair + 1, 0x9E3779B97F4A7C15u);
    struct table_search search = table_search(&t->table, hash);
    struct err err;

    for (uint32_t name; (name = table_next(&search)) != TABLE_NONE;)
        if (t->pair[name] == pair)
            return name;
    t->pair[t->n_names] = pair;
    BUG_ON(table_add(&t->table, hash, t->n_names, &err) != OK);
    return t->n_names++;
}

/*
 * Name the n-grams of one sequence and count them. name[i] goes from the (n-1)-gram at
 * i to the n-gram at i; before order 1 all names are 0, those of the empty n-gram.
 */
static void count(struct counts *t, uint32_t *times, uint32_t *name, struct ngram_words s,
                  size_t order)
{
    for (size_t i = 0; i + order <= s.n; i++) {
        name[i] = name_of(t, (uint64_t)name[i] << 32 | s.word[i + order - 1]);
        times[name[i]]++;
    }
}

/* What one reference allows; leaves n_ref zeroed for the next. */
static void take_best(struct counts *t, const uint32_t *name, size_t n_names)
{
    for (size_t i = 0; i < n_names; i++) {
        const uint32_t k = name[i];
        if (t->n_ref[k] > t->n_best[k])
            t->n_best[k] = t->n_ref[k];
    }
    for (size_t i = 0; i < n_names; i++)
        t->n_ref[name[i]] = 0;
}

static uint64_t match_order(struct counts *t, struct ngram_words hyp,
                            const struct ngram_words *ref, size_t n_refs, size_t order)
{
    uint32_t *name = t->name + hyp.n;
    uint64_t match = 0;

    counts_next_order(t);
    count(t, t->n_hyp, t->name, hyp, order);
    for (size_t r = 0; r < n_refs; name += ref[r].n, r++) {
        count(t, t->n_ref, name, ref[r], order);
        take_best(t, name, ref[r].n < order ? 0 : ref[r].n - order + 1);
    }
    for (uint32_t k = 0; k < t->n_names; k++)
        match += t->n_hyp[k] < t->n_best[k] ? t->n_hyp[k] : t->n_best[k];
    return match;
}

status ngram_match(uint64_t match[NGRAM_MAX], uint64_t total[NGRAM_MAX],
                   struct ngram_words hyp, const struct ngram_words *ref, size_t n_refs,
                   struct err *err)
{
    struct counts t;
    size_t n_words = hyp.n;

    for (size_t r = 0; r < n_refs; r++)
        n_words += ref[r].n;
    if (n_words > UINT32_MAX)
        return err_set(err, ERR_FORMAT, "a segment of %zu words is too long to score",
                       n_words);
    const status s = counts_init(&t, n_words, err);
    for (size_t order = 1; s == OK && order <= NGRAM_MAX && order <= hyp.n; order++) {
        match[order - 1] += match_order(&t, hyp, ref, n_refs, order);
        total[order - 1] += hyp.n - order + 1;
    }
    counts_release(&t);
    return s;
}

/* The number of a word; TABLE_NONE for a new one. */
static uint32_t find_word(const struct ngram_numbers *k, uint64_t hash, struct line word)
{
    struct table_search search = table_search(&k->table, hash);

    for (uint32_t i; (i = table_next(&search)) != TABLE_NONE;)
        if (k->text[i].n_bytes == word.n_bytes &&
            memcmp(k->text[i].text, word.text, word.n_bytes) == 0)
            return i;
    return TABLE_NONE;
}

static status add_word(struct ngram_numbers *k, struct line word, struct err *err)
{
    const uint64_t hash = table_hash(word.text, word.n_bytes);
    uint32_t number = find_word(k, hash, word);

    if (number == TABLE_NONE) {
        number = (uint32_t)k->table.n;
        TRY(mem_grow(&k->text, &k->cap_text, k->table.n + 1, sizeof *k->text, err));
        k->text[number] = word;
        TRY(table_add(&k->table, hash, number, err));
    }
    k->word[k->n_words++] = number;
    return OK;
}

static size_t count_words(const char *text, size_t n)
{
    size_t words = n > 0;

    for (size_t i = 0; i < n; i++)
        words += text[i] == ' ';
    return words;
}

status ngram_number(struct ngram_numbers *k, const char *text, size_t n, struct err *err)
{
    const size_t n_more = count_words(text, n);

    if (n_more > UINT32_MAX - k->n_words)
        return err_set(err, ERR_FORMAT, "a segment of %zu words is too long to score",
                       n_more);
    TRY(mem_grow(&k->word, &k->cap, k->n_words + n_more, sizeof *k->word, err));
    for (size_t i = 0, w = 0; w < n_more; w++) {
        const char *blank = memchr(text + i, ' ', n - i);
        const size_t len = blank ? (size_t)(blank - text) - i : n - i;
        TRY(add_word(k, (struct line){text + i, len}, err));
        i += len + 1;
    }
    return OK;
}

void ngram_numbers_release(struct ngram_numbers *k)
{
    table_release(&k->table);
    free(k->text);
    free(k->word);
    *k = (struct ngram_numbers){0};
}

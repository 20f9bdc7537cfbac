#include "score/ngram.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/*
 * N-grams of one order by name; a name is the number of different ones before it. The
 * n-gram itself is kept as a pair: the name of its first n-1 words, and its last word.
 */
enum { HYP, REF, BEST_REF, N_TEXTS }; /* where an n-gram occurs */

struct counts {
    struct table table;
    uint64_t *pair;
    uint32_t n_names;
    uint32_t (*times)[N_TEXTS]; /* by name */
    uint32_t *name; /* of the (n-1)-gram at each position, sequence after sequence */
};

static void counts_release(struct counts *t)
{
    table_release(&t->table);
    free(t->pair);
    free(t->times);
    free(t->name);
}

static status counts_init(struct counts *t, size_t n_words, struct err *err)
{
    TRY(table_reserve(&t->table, n_words, err));
    TRY(mem_alloc(&t->pair, n_words, sizeof *t->pair, err));
    TRY(mem_alloc(&t->times, n_words, sizeof *t->times, err));
    return mem_alloc(&t->name, n_words, sizeof *t->name, err);
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
static void count(struct counts *t, int text, uint32_t *name, struct ngram_words s,
                  size_t order)
{
    for (size_t i = 0; i + order <= s.n; i++) {
        name[i] = name_of(t, (uint64_t)name[i] << 32 | s.word[i + order - 1]);
        t->times[name[i]][text]++;
    }
}

/* What one reference allows; leaves the counts of REF zeroed for the next. */
static void take_best(struct counts *t, const uint32_t *name, size_t n_names)
{
    for (size_t i = 0; i < n_names; i++) {
        uint32_t *times = t->times[name[i]];
        if (times[REF] > times[BEST_REF])
            times[BEST_REF] = times[REF];
    }
    for (size_t i = 0; i < n_names; i++)
        t->times[name[i]][REF] = 0;
}

static uint64_t match_order(struct counts *t, struct ngram_words hyp,
                            const struct ngram_words *ref, size_t n_refs, size_t order)
{
    uint32_t *name = t->name + hyp.n;
    uint64_t match = 0;

    table_reset(&t->table); /* forget the last order; t->name has its names */
    memset(t->times, 0, t->n_names * sizeof *t->times);
    t->n_names = 0;
    count(t, HYP, t->name, hyp, order);
    for (size_t r = 0; r < n_refs; name += ref[r].n, r++) {
        count(t, REF, name, ref[r], order);
        take_best(t, name, ref[r].n < order ? 0 : ref[r].n - order + 1);
    }
    for (uint32_t k = 0; k < t->n_names; k++) {
        const uint32_t *times = t->times[k];
        match += times[HYP] < times[BEST_REF] ? times[HYP] : times[BEST_REF];
    }
    return match;
}

status ngram_match(uint64_t *match, uint64_t *total, size_t n_orders,
                   struct ngram_words hyp, const struct ngram_words *ref, size_t n_refs,
                   struct err *err)
{
    RELEASED_BY(counts_release) struct counts t = {0};
    size_t n_words = hyp.n;

    for (size_t r = 0; r < n_refs; r++)
        n_words += ref[r].n;
    if (n_words > UINT32_MAX)
        return err_set(err, ERR_FORMAT, "a segment of %zu words is too long to score",
                       n_words);
    TRY(counts_init(&t, n_words, err));
    for (size_t order = 1; order <= n_orders && order <= hyp.n; order++) {
        match[order - 1] += match_order(&t, hyp, ref, n_refs, order);
        total[order - 1] += hyp.n - order + 1;
    }
    return OK;
}

/* The number of a word: that of an equal one before it, or the next. */
static status number_of(struct ngram_numbers *k, struct line word, uint32_t *number,
                        struct err *err)
{
    const uint64_t hash = table_hash(word.text, word.n_bytes);
    struct table_search search = table_search(&k->table, hash);

    while ((*number = table_next(&search)) != TABLE_NONE)
        if (k->text[*number].n_bytes == word.n_bytes &&
            memcmp(k->text[*number].text, word.text, word.n_bytes) == 0)
            return OK;
    *number = (uint32_t)k->table.n;
    TRY(mem_grow(&k->text, &k->cap_text, k->table.n + 1, sizeof *k->text, err));
    k->text[*number] = word;
    return table_add(&k->table, hash, *number, err);
}

status ngram_number(struct ngram_numbers *k, struct line text, struct err *err)
{
    const char *at = text.text, *end = at + text.n_bytes,
               *blank = text.n_bytes ? at : NULL;

    for (; blank; at = blank ? blank + 1 : end) {
        blank = memchr(at, ' ', (size_t)(end - at));
        const struct line word = {at, (size_t)((blank ? blank : end) - at)};
        TRY(mem_grow(&k->word, &k->cap, k->n_words + 1, sizeof *k->word, err));
        TRY(number_of(k, word, &k->word[k->n_words], err));
        k->n_words++;
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

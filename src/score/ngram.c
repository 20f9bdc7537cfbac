#include "score/ngram.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Spread the bits of x over the whole result (the finaliser of a 64-bit hash). */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    return x ^ x >> 32;
}

/* The least power of two that keeps a table of n entries at most half full. */
static size_t slots_for(size_t n)
{
    size_t slots = 16;

    while (slots < 2 * n)
        slots *= 2;
    return slots;
}

/* Pairs and the names they got: a name is the number of different pairs before it. */
struct pair_slot {
    uint64_t pair;
    uint32_t name;
    bool is_taken;
};

struct tally {
    struct pair_slot *slot;
    size_t n_slots;
    uint32_t n_names;
    /* by name: occurrences in the hypothesis, in this reference, in the best one */
    uint32_t *n_hyp, *n_ref, *n_best;
    uint32_t *name; /* of the (n-1)-gram at each position, sequence after sequence */
};

static void tally_release(struct tally *t)
{
    free(t->slot);
    free(t->n_hyp);
    free(t->n_ref);
    free(t->n_best);
    free(t->name);
}

static status tally_init(struct tally *t, size_t n_words, struct err *err)
{
    *t = (struct tally){.n_slots = slots_for(n_words)};
    TRY(mem_alloc(&t->slot, t->n_slots, sizeof *t->slot, err));
    TRY(mem_alloc(&t->n_hyp, n_words, sizeof *t->n_hyp, err));
    TRY(mem_alloc(&t->n_ref, n_words, sizeof *t->n_ref, err));
    TRY(mem_alloc(&t->n_best, n_words, sizeof *t->n_best, err));
    return mem_alloc(&t->name, n_words, sizeof *t->name, err);
}

/* Forget the n-grams of the last order, keep their names in t->name. */
static void tally_next_order(struct tally *t)
{
    memset(t->slot, 0, t->n_slots * sizeof *t->slot);
    memset(t->n_hyp, 0, t->n_names * sizeof *t->n_hyp);
    memset(t->n_best, 0, t->n_names * sizeof *t->n_best);
    t->n_names = 0;
}

static uint32_t name_of(struct tally *t, uint64_t pair)
{
    size_t i = mix(pair) & (t->n_slots - 1);

    while (t->slot[i].is_taken && t->slot[i].pair != pair)
        i = (i + 1) & (t->n_slots - 1);
    if (!t->slot[i].is_taken)
        t->slot[i] = (struct pair_slot){pair, t->n_names++, true};
    return t->slot[i].name;
}

/*
 * Name the n-grams of one sequence and count them. name[i] goes from the (n-1)-gram at
 * i to the n-gram at i; before order 1 all names are 0, those of the empty n-gram.
 */
static void count(struct tally *t, uint32_t *times, uint32_t *name, struct ngram_words s,
                  size_t order)
{
    for (size_t i = 0; i + order <= s.n; i++) {
        name[i] = name_of(t, (uint64_t)name[i] << 32 | s.word[i + order - 1]);
        times[name[i]]++;
    }
}

/* What one reference allows; leaves n_ref zeroed for the next. */
static void take_best(struct tally *t, const uint32_t *name, size_t n_names)
{
    for (size_t i = 0; i < n_names; i++) {
        const uint32_t k = name[i];
        if (t->n_ref[k] > t->n_best[k])
            t->n_best[k] = t->n_ref[k];
    }
    for (size_t i = 0; i < n_names; i++)
        t->n_ref[name[i]] = 0;
}

static uint64_t match_order(struct tally *t, struct ngram_words hyp,
                            const struct ngram_words *ref, size_t n_refs, size_t order)
{
    uint32_t *name = t->name + hyp.n;
    uint64_t match = 0;

    tally_next_order(t);
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
    struct tally t;
    size_t n_words = hyp.n;

    for (size_t r = 0; r < n_refs; r++)
        n_words += ref[r].n;
    if (n_words > UINT32_MAX)
        return err_set(err, ERR_FORMAT, "a segment of %zu words is too long to score",
                       n_words);
    const status s = tally_init(&t, n_words, err);
    for (size_t order = 1; s == OK && order <= NGRAM_MAX && order <= hyp.n; order++) {
        match[order - 1] += match_order(&t, hyp, ref, n_refs, order);
        total[order - 1] += hyp.n - order + 1;
    }
    tally_release(&t);
    return s;
}

struct ngram_slot {
    const char *text; /* NULL: free */
    size_t n;
    uint32_t number;
};

static uint64_t hash_text(const char *text, size_t n)
{
    uint64_t h = n;

    for (; n >= 8; text += 8, n -= 8) {
        uint64_t block;
        memcpy(&block, text, 8);
        h = mix(h ^ block);
    }
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001B3u;
    return mix(h);
}

static struct ngram_slot *find(const struct ngram_numbers *k, const char *text, size_t n)
{
    size_t i = hash_text(text, n) & (k->n_slots - 1);

    while (k->slot[i].text &&
           (k->slot[i].n != n || memcmp(k->slot[i].text, text, n) != 0))
        i = (i + 1) & (k->n_slots - 1);
    return &k->slot[i];
}

/* Room for n more different words. */
static status widen(struct ngram_numbers *k, size_t n, struct err *err)
{
    struct ngram_numbers wide = *k;

    if (2 * (k->n_used + n) <= k->n_slots)
        return OK;
    wide.n_slots = slots_for(k->n_used + n);
    TRY(mem_alloc(&wide.slot, wide.n_slots, sizeof *wide.slot, err));
    for (size_t i = 0; i < k->n_slots; i++)
        if (k->slot[i].text)
            *find(&wide, k->slot[i].text, k->slot[i].n) = k->slot[i];
    free(k->slot);
    *k = wide;
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
    TRY(widen(k, n_more, err));
    TRY(mem_grow(&k->word, &k->cap, k->n_words + n_more, sizeof *k->word, err));
    for (size_t i = 0, w = 0; w < n_more; w++) {
        const char *blank = memchr(text + i, ' ', n - i);
        const size_t len = blank ? (size_t)(blank - text) - i : n - i;
        struct ngram_slot *slot = find(k, text + i, len);
        if (!slot->text)
            *slot = (struct ngram_slot){text + i, len, (uint32_t)k->n_used++};
        k->word[k->n_words++] = slot->number;
        i += len + 1;
    }
    return OK;
}

void ngram_numbers_release(struct ngram_numbers *k)
{
    free(k->slot);
    free(k->word);
    *k = (struct ngram_numbers){0};
}

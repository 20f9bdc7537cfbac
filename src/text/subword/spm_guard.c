#include "text/subword/spm_guard.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "text/subword/wire.h"

/* Field numbers of the model message and of the normaliser message inside it. */
enum { MODEL_NORMALIZER = 3, MODEL_DENORMALIZER = 5, NORMALIZER_CHARSMAP = 2 };

/*
 * A unit of a Darts double array. Bit 31 marks a value; otherwise bits 0..7 are the label
 * that leads here, bit 8 says that a value stands at the base, bit 9 that the offset in
 * bits 10.. is shifted by 8. The base of unit i is i ^ offset; from there byte c leads to
 * base ^ c if the label of that unit is c. The walk starts at unit 0, whatever it is.
 */
enum { BLOCK = 256, LEAF = 1 << 8, SHIFTED = 1 << 9 };
#define VALUE (1u << 31)

/* How many rules SentencePiece has room for at one place; it does not count them. */
enum { MAX_MATCHES = 32 };

/* Twenty times the largest that SentencePiece brings along. */
enum { MAX_TRIE_BYTES = 4 << 20 };

struct trie {
    struct wire units;
    size_t n_units;
};

static uint32_t unit_at(const struct trie *t, size_t i)
{
    uint32_t unit;

    memcpy(&unit, t->units.data + 4 * i, sizeof unit);
    return unit;
}

static size_t base_of(const struct trie *t, size_t i)
{
    const uint32_t unit = unit_at(t, i);

    return i ^ (size_t)(unit >> 10) << (unit & SHIFTED ? 8 : 0);
}

/*
 * Every base lies in the array, and so does its block, of which the array has whole ones;
 * every value points into the strings.
 */
static bool stays_inside(const struct trie *t, size_t n_text)
{
    for (size_t i = 0; i < t->n_units; i++) {
        const uint32_t unit = unit_at(t, i);
        const size_t base = base_of(t, i);
        if ((unit & VALUE) && i > 0)
            continue;
        if (base >= t->n_units)
            return false;
        if ((unit & LEAF) && (unit_at(t, base) & ~VALUE) >= n_text)
            return false;
    }
    return true;
}

/* Bases still to be looked at, and 1 + the most matches on a way to each (0: no way). */
struct walk {
    unsigned char *best;
    bool *is_waiting;
    uint32_t *stack;
    size_t n_waiting;
};

static void visit(struct walk *w, size_t base, unsigned best)
{
    w->best[base] = (unsigned char)best;
    if (!w->is_waiting[base])
        w->stack[w->n_waiting++] = (uint32_t)base;
    w->is_waiting[base] = true;
}

/*
 * No way through the trie meets more than MAX_MATCHES values. A base is looked at again
 * only when a way with more matches leads there, so that a trie with loops ends too.
 */
static bool matches_are_few(const struct trie *t, struct walk *w)
{
    visit(w, base_of(t, 0), 1);
    while (w->n_waiting) {
        const size_t base = w->stack[--w->n_waiting];
        w->is_waiting[base] = false;
        for (size_t c = 0; c < BLOCK; c++) {
            const uint32_t unit = unit_at(t, base ^ c);
            if ((unit & (VALUE | (BLOCK - 1))) != c)
                continue;
            const unsigned best = w->best[base] + (unit & LEAF ? 1u : 0u);
            const size_t next = base_of(t, base ^ c);
            if (best > 1 + MAX_MATCHES)
                return false;
            if (best > w->best[next])
                visit(w, next, best);
        }
    }
    return true;
}

static status check_trie(const struct trie *t, size_t n_text, bool *is_safe,
                         struct err *err)
{
    struct walk w = {0};
    status s = OK;

    *is_safe = stays_inside(t, n_text);
    if (!*is_safe)
        return OK;
    if ((s = mem_alloc(&w.best, t->n_units, sizeof *w.best, err)) == OK &&
        (s = mem_alloc(&w.is_waiting, t->n_units, sizeof *w.is_waiting, err)) == OK &&
        (s = mem_alloc(&w.stack, t->n_units, sizeof *w.stack, err)) == OK)
        *is_safe = matches_are_few(t, &w);
    free(w.best);
    free(w.is_waiting);
    free(w.stack);
    return s;
}

/* uint32 size of the trie, the trie, then NUL-terminated strings. */
static status check_charsmap(struct wire map, bool *is_safe, struct err *err)
{
    struct wire size;
    struct trie t;
    uint32_t n_bytes;

    *is_safe = map.n == 0;
    if (!wire_take(&map, sizeof n_bytes, &size))
        return OK;
    memcpy(&n_bytes, size.data, sizeof n_bytes);
    if (n_bytes == 0 || n_bytes % (BLOCK * 4) != 0 || n_bytes > MAX_TRIE_BYTES ||
        !wire_take(&map, n_bytes, &t.units) || map.n == 0 || map.data[map.n - 1] != '\0')
        return OK;
    t.n_units = n_bytes / 4;
    return check_trie(&t, map.n, is_safe, err);
}

static status check_normalizer(struct wire message, bool *is_safe, struct err *err)
{
    struct wire_field f;

    *is_safe = true;
    while (message.n && *is_safe) {
        *is_safe = wire_take_field(&message, &f);
        if (*is_safe && f.number == NORMALIZER_CHARSMAP)
            TRY(check_charsmap(f.body, is_safe, err));
    }
    return OK;
}

status spm_guard_model(const void *bytes, size_t n_bytes, struct err *err)
{
    struct wire message = {bytes, n_bytes};
    struct wire_field f;
    bool is_safe = true;

    if (n_bytes == 0)
        return err_set(err, ERR_FORMAT, "an empty file is not a SentencePiece model");
    if (n_bytes > SPM_GUARD_MAX_BYTES)
        return err_set(err, ERR_FORMAT,
                       "%zu bytes are too many for a SentencePiece model, at most %d are "
                       "taken",
                       n_bytes, SPM_GUARD_MAX_BYTES);
    while (message.n) {
        if (!wire_take_field(&message, &f))
            return err_set(err, ERR_FORMAT,
                           "not a SentencePiece model, or cut short: byte %zu of %zu "
                           "cannot be read",
                           n_bytes - message.n, n_bytes);
        if (f.number == MODEL_NORMALIZER || f.number == MODEL_DENORMALIZER)
            TRY(check_normalizer(f.body, &is_safe, err));
        if (!is_safe)
            return err_set(err, ERR_FORMAT,
                           "the normalisation rules in the SentencePiece model are "
                           "damaged");
    }
    return OK;
}

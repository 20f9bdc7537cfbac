#include "text/subword/spm_guard.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <protobuf-c/protobuf-c.h>

#include "base/mem.h"
#include "text/subword/spm_parts.h"

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
    const char *units;
    size_t n_units;
};

static uint32_t unit_at(const struct trie *t, size_t i)
{
    uint32_t unit;

    memcpy(&unit, t->units + 4 * i, sizeof unit);
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
static status check_charsmap(struct line map, bool *is_safe, struct err *err)
{
    uint32_t n_bytes;

    *is_safe = map.n_bytes == 0;
    if (map.n_bytes < sizeof n_bytes)
        return OK;
    memcpy(&n_bytes, map.text, sizeof n_bytes);
    if (n_bytes == 0 || n_bytes % (BLOCK * 4) != 0 || n_bytes > MAX_TRIE_BYTES ||
        n_bytes >= map.n_bytes - sizeof n_bytes || map.text[map.n_bytes - 1] != '\0')
        return OK;
    const struct trie t = {map.text + sizeof n_bytes, n_bytes / 4};
    return check_trie(&t, map.n_bytes - sizeof n_bytes - n_bytes, is_safe, err);
}

static status check_normalizer(struct line bytes, bool *is_safe, struct err *err)
{
    ProtobufCMessage *m = spm_parts_fields(bytes);
    status s = OK;

    *is_safe = m != NULL;
    for (unsigned i = 0; s == OK && *is_safe && i < m->n_unknown_fields; i++)
        if (m->unknown_fields[i].tag == NORMALIZER_CHARSMAP)
            s = check_charsmap(spm_parts_body(&m->unknown_fields[i]), is_safe, err);
    protobuf_c_message_free_unpacked(m, NULL);
    return s;
}

/* Each message of rules by itself: of several, SentencePiece joins what they say. */
static status check_rules(struct line bytes, struct err *err)
{
    ProtobufCMessage *m = spm_parts_fields(bytes);
    bool is_safe = true;
    status s = OK;

    if (!m)
        return err_set(err, ERR_FORMAT, "not a SentencePiece model, or cut short");
    for (unsigned i = 0; s == OK && is_safe && i < m->n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *f = &m->unknown_fields[i];
        if (f->tag == MODEL_NORMALIZER || f->tag == MODEL_DENORMALIZER)
            s = check_normalizer(spm_parts_body(f), &is_safe, err);
    }
    protobuf_c_message_free_unpacked(m, NULL);
    if (s == OK && !is_safe)
        return err_set(err, ERR_FORMAT,
                       "the normalisation rules in the SentencePiece model are damaged");
    return s;
}

status spm_guard_model(const void *bytes, size_t n_bytes, struct err *err)
{
    struct spm_parts parts;

    if (n_bytes == 0)
        return err_set(err, ERR_FORMAT, "an empty file is not a SentencePiece model");
    if (n_bytes > SPM_GUARD_MAX_BYTES)
        return err_set(err, ERR_FORMAT,
                       "%zu bytes are too many for a SentencePiece model, at most %d are "
                       "taken",
                       n_bytes, SPM_GUARD_MAX_BYTES);
    TRY(check_rules((struct line){bytes, n_bytes}, err));
    TRY(spm_parts_read(&parts, bytes, n_bytes, err)); /* what follows relies on it */
    spm_parts_release(&parts);
    return OK;
}

#include "base/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { LEAST_BITS = 5, MOST_BITS = 32 };

/* Up to 7 bytes in one number, each of them at least once. */
static uint64_t short_text(const char *s, size_t n)
{
    uint32_t a = 0, b = 0;

    if (n >= 4) {
        memcpy(&a, s, 4);
        memcpy(&b, s + n - 4, 4);
        return (uint64_t)a << 32 | b;
    }
    if (n == 0)
        return 0;
    return (uint64_t)(unsigned char)s[0] << 16 | (uint64_t)(unsigned char)s[n / 2] << 8 |
           (unsigned char)s[n - 1];
}

/* Reads 8 bytes at a time, the last ones twice if need be, never past the end. */
uint64_t table_hash(const char *s, size_t n)
{
    const uint64_t k = 0x9E3779B97F4A7C15u;
    uint64_t h = n * k, v = 0;

    for (size_t i = 0; i + 8 <= n; i += 8) {
        memcpy(&v, s + i, 8);
        h = table_mix(h ^ v, k);
    }
    if (n >= 8)
        memcpy(&v, s + n - 8, 8);
    else
        v = short_text(s, n);
    return table_mix(h ^ v, 0xD6E8FEB86659FD93u);
}

static void put(struct table *t, struct table_slot slot)
{
    size_t at = slot.tag >> t->shift;

    while (t->slot[at].number)
        at = (at + 1) & (t->n_slots - 1);
    t->slot[at] = slot;
}

/* At two thirds full, most searches still stay within one cache line. */
static size_t max_numbers(const struct table *t)
{
    return t->n_slots / 3 * 2;
}

/* Where a search begins depends on bits of the tag alone, so growing needs no keys. */
status table_reserve(struct table *t, size_t n, struct err *err)
{
    struct table wide = {.n_slots = (size_t)1 << LEAST_BITS, .shift = 32 - LEAST_BITS};

    if (n <= max_numbers(t))
        return OK;
    for (; max_numbers(&wide) < n; wide.shift--, wide.n_slots *= 2)
        if (wide.shift == 32 - MOST_BITS)
            return err_set(err, ERR_MEMORY, "a table of %zu entries is too large", n);
    TRY(mem_alloc(&wide.slot, wide.n_slots, sizeof *wide.slot, err));
    for (size_t i = 0; i < t->n_slots; i++)
        if (t->slot[i].number)
            put(&wide, t->slot[i]);
    wide.n = t->n;
    free(t->slot);
    *t = wide;
    return OK;
}

status table_add(struct table *t, uint64_t hash, uint32_t number, struct err *err)
{
    TRY(table_reserve(t, t->n + 1, err));
    put(t, (struct table_slot){(uint32_t)(hash >> 32), number + 1});
    t->n++;
    return OK;
}

void table_reset(struct table *t)
{
    if (t->n)
        memset(t->slot, 0, t->n_slots * sizeof *t->slot);
    t->n = 0;
}

void table_release(struct table *t)
{
    free(t->slot);
    *t = (struct table){0};
}

bool table_set_has(const struct table_set *s, uint64_t hash)
{
    struct table_search search = table_search(&s->table, hash);

    for (uint32_t i; (i = table_next(&search)) != TABLE_NONE;)
        if (s->hash[i] == hash)
            return true;
    return false;
}

status table_set_add(struct table_set *s, uint64_t hash, struct err *err)
{
    const size_t n = s->table.n;

    if (table_set_has(s, hash))
        return OK;
    TRY(mem_grow(&s->hash, &s->cap, n + 1, sizeof *s->hash, err));
    s->hash[n] = hash;
    return table_add(&s->table, hash, (uint32_t)n, err);
}

void table_set_release(struct table_set *s)
{
    table_release(&s->table);
    free(s->hash);
    *s = (struct table_set){0};
}

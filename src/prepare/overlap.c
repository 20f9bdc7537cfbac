#include "prepare/overlap.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "corpus/checksum.h"

struct overlap_key overlap_key_of(const struct line side[PAIRS_SIDES])
{
    struct overlap_key k;

    for (int s = 0; s < PAIRS_SIDES; s++)
        k.hash[s] = checksum_of(side[s].text, side[s].n_bytes);
    k.hash[OVERLAP_PAIR] = rng_hash(k.hash[0], k.hash[1]);
    return k;
}

/* NULL when there is none. */
static struct overlap_entry *search(const struct overlap *o, int part, uint64_t hash)
{
    struct table_search s = table_search(&o->table, hash);

    for (uint32_t i; (i = table_next(&s)) != TABLE_NONE;)
        if (o->entry[i].hash == hash && o->entry[i].part == part)
            return &o->entry[i];
    return NULL;
}

status overlap_add(struct overlap *o, struct overlap_key key, struct err *err)
{
    for (int p = 0; p < N_OVERLAP; p++) {
        struct overlap_entry *e = search(o, p, key.hash[p]);
        if (!e) {
            TRY(mem_grow(&o->entry, &o->cap, o->n + 1, sizeof *o->entry, err));
            TRY(table_add(&o->table, key.hash[p], (uint32_t)o->n, err));
            e = &o->entry[o->n++];
            *e = (struct overlap_entry){.hash = key.hash[p], .part = p};
        }
        e->n_lines++;
    }
    return OK;
}

void overlap_release(struct overlap *o)
{
    free(o->entry);
    table_release(&o->table);
}

unsigned overlap_find(const struct overlap *o, struct overlap_key key)
{
    unsigned parts = 0;

    for (int p = 0; p < N_OVERLAP; p++)
        if (search(o, p, key.hash[p]))
            parts |= 1u << p;
    return parts;
}

void overlap_mark(struct overlap *o, struct overlap_key key, enum overlap_where where)
{
    for (int p = 0; p < N_OVERLAP; p++) {
        struct overlap_entry *e = search(o, p, key.hash[p]);
        if (e)
            e->is_found[where] = true;
    }
}

void overlap_count(const struct overlap *o, enum overlap_where where,
                   uint64_t n[N_OVERLAP])
{
    for (size_t i = 0; i < o->n; i++)
        n[o->entry[i].part] += o->entry[i].is_found[where] ? o->entry[i].n_lines : 0;
}

#include "prepare/clean/overlap.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "corpus/checksum.h"

struct overlap_key overlap_key_of(const struct line side[2])
{
    struct overlap_key k;

    for (int s = 0; s < 2; s++)
        k.hash[s] = checksum_of(side[s].text, side[s].n_bytes);
    k.hash[OVERLAP_PAIR] = rng_hash(k.hash[0], k.hash[1]);
    return k;
}

status overlap_add(struct overlap *o, struct overlap_key key, struct err *err)
{
    for (int p = 0; p < N_OVERLAP; p++) {
        TRY(mem_grow(&o->entry[p], &o->cap[p], o->n[p] + 1, sizeof **o->entry, err));
        o->entry[p][o->n[p]++] =
            (struct overlap_entry){.hash = key.hash[p], .n_lines = 1};
    }
    return OK;
}

void overlap_release(struct overlap *o)
{
    for (int p = 0; p < N_OVERLAP; p++)
        free(o->entry[p]);
    *o = (struct overlap){0};
}

static int by_hash(const void *a, const void *b)
{
    const struct overlap_entry *x = a, *y = b;

    return (x->hash > y->hash) - (x->hash < y->hash);
}

/* Sort, and make equal entries one. */
void overlap_ready(struct overlap *o)
{
    for (int p = 0; p < N_OVERLAP; p++) {
        struct overlap_entry *e = o->entry[p];
        size_t n = 0;

        if (o->n[p])
            qsort(e, o->n[p], sizeof *e, by_hash);
        for (size_t i = 0; i < o->n[p]; i++)
            if (n && e[n - 1].hash == e[i].hash)
                e[n - 1].n_lines += e[i].n_lines;
            else
                e[n++] = e[i];
        o->n[p] = n;
    }
}

static struct overlap_entry *search(const struct overlap *o, int part, uint64_t hash)
{
    const struct overlap_entry key = {.hash = hash};

    return o->n[part] ? bsearch(&key, o->entry[part], o->n[part], sizeof key, by_hash)
                      : NULL;
}

unsigned overlap_find(const struct overlap *o, struct overlap_key key)
{
    unsigned parts = 0;

    for (int p = 0; p < N_OVERLAP; p++)
        if (search(o, p, key.hash[p]))
            parts |= 1u << p;
    return parts;
}

void overlap_mark(struct overlap *o, struct overlap_key key)
{
    for (int p = 0; p < N_OVERLAP; p++) {
        struct overlap_entry *e = search(o, p, key.hash[p]);
        if (e)
            e->is_found = true;
    }
}

uint64_t overlap_count(const struct overlap *o, enum overlap_part part)
{
    uint64_t n = 0;

    for (size_t i = 0; i < o->n[part]; i++)
        n += o->entry[part][i].is_found ? o->entry[part][i].n_lines : 0;
    return n;
}

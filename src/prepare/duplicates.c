#include "prepare/duplicates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "corpus/checksum.h"

#define BINS "hashes"

struct record {
    struct duplicates_key key;
    uint64_t pair;
};

struct duplicates_key duplicates_key_of(const struct line text[2],
                                        const struct line core[2])
{
    struct duplicates_key k;

    for (int s = 0; s < 2; s++) {
        k.text[s] = checksum_of(text[s].text, text[s].n_bytes);
        k.core[s] = core[s].text == text[s].text
                        ? k.text[s]
                        : checksum_of(core[s].text, core[s].n_bytes);
    }
    return k;
}

status duplicates_open(struct duplicates *d, const char *dir, uint64_t n_pairs,
                       uint64_t max_bytes, struct err *err)
{
    *d = (struct duplicates){0};
    snprintf(d->dir, sizeof d->dir, "%s", dir);
    TRY(bin_sort_plan(&d->n_bins, n_pairs * sizeof(struct record), n_pairs, max_bytes,
                      "hashes of pairs", err));
    return bin_sort_open(&d->sort, dir, BINS, d->n_bins, err);
}

void duplicates_abort(struct duplicates *d)
{
    bin_sort_abort(&d->sort);
    *d = (struct duplicates){0};
}

status duplicates_add(struct duplicates *d, struct duplicates_key key, struct err *err)
{
    const struct record r = {key, d->n_pairs++};

    return bin_sort_add(&d->sort, key.core[0],
                        &(const struct bin_sort_piece){&r, sizeof r}, 1, err);
}

static bool same_core(const struct record *a, const struct record *b)
{
    return memcmp(a->key.core, b->key.core, sizeof a->key.core) == 0;
}

/* Equal cores together, in them equal texts, in them the first pair first. */
static int compare(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    const int key = memcmp(&x->key, &y->key, sizeof x->key);

    return key ? key : (x->pair > y->pair) - (x->pair < y->pair);
}

static void mark(struct duplicates_found *f, enum duplicates_kind kind, uint64_t pair)
{
    uint64_t *first = f->first[kind];
    size_t at = f->n[kind] < DUPLICATES_SHOWN ? (size_t)f->n[kind] : DUPLICATES_SHOWN;

    f->bit[pair / 8] |= (unsigned char)(1 << pair % 8);
    f->n[kind]++;
    for (; at > 0 && first[at - 1] > pair; at--)
        if (at < DUPLICATES_SHOWN)
            first[at] = first[at - 1];
    if (at < DUPLICATES_SHOWN)
        first[at] = pair;
}

/* Records r[0..n) have one core. */
static void mark_group(struct duplicates_found *f, const struct record *r, size_t n)
{
    uint64_t first = r[0].pair;

    for (size_t i = 1; i < n; i++)
        first = r[i].pair < first ? r[i].pair : first;
    for (size_t i = 0; i < n; i++)
        if (i && memcmp(&r[i - 1].key, &r[i].key, sizeof r->key) == 0)
            mark(f, DUPLICATES_EXACT, r[i].pair);
        else if (r[i].pair != first)
            mark(f, DUPLICATES_NEAR, r[i].pair);
}

/* Records that agree in the first hash of their core, as they come from the sort. */
struct run {
    struct duplicates_found *found;
    struct record *record;
    size_t n, cap;
};

static void end_run(struct run *g)
{
    if (g->n > 1)
        qsort(g->record, g->n, sizeof *g->record, compare);
    for (size_t from = 0, to; from < g->n; from = to) {
        for (to = from + 1; to < g->n && same_core(&g->record[from], &g->record[to]);)
            to++;
        mark_group(g->found, g->record + from, to - from);
    }
    g->n = 0;
}

static void run_release(struct run *g)
{
    free(g->record);
}

static status take_record(void *ctx, const unsigned char *bytes, size_t n,
                          struct err *err)
{
    struct run *g = ctx;
    struct record r;

    BUG_ON(n != sizeof r);
    memcpy(&r, bytes, sizeof r);
    if (g->n && g->record[0].key.core[0] != r.key.core[0])
        end_run(g);
    TRY(mem_grow(&g->record, &g->cap, g->n + 1, sizeof r, err));
    g->record[g->n++] = r;
    return OK;
}

static status find_all(struct duplicates *d, struct duplicates_found *f, struct err *err)
{
    RELEASED_BY(run_release) struct run run = {.found = f};

    TRY(mem_alloc(&f->bit, f->n_bytes, 1, err));
    TRY(bin_sort_commit(&d->sort, err));
    TRY(bin_sort_emit(d->dir, BINS, d->n_bins, take_record, &run, err));
    end_run(&run);
    return bin_sort_remove(d->dir, BINS, d->n_bins, err);
}

status duplicates_find(struct duplicates *d, struct duplicates_found *found,
                       struct err *err)
{
    *found = (struct duplicates_found){.n_bytes = (size_t)(d->n_pairs / 8 + 1)};
    const status result = find_all(d, found, err);
    duplicates_abort(d);
    if (result != OK) {
        free(found->bit);
        *found = (struct duplicates_found){0};
    }
    return result;
}

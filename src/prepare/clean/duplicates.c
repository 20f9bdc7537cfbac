#include "prepare/clean/duplicates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "corpus/checksum.h"

enum { WRITE_BUFFER = 1 << 20, BINS_MAX = 1000 };

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

static status bin_path(char out[FILE_PATH_MAX], const struct duplicates *d, size_t k,
                       struct err *err)
{
    char name[32];

    snprintf(name, sizeof name, "hashes-%zu", k);
    return file_join(out, FILE_PATH_MAX, d->dir, name, err);
}

status duplicates_open(struct duplicates *d, const char *dir, uint64_t n_pairs,
                       uint64_t max_bytes, struct err *err)
{
    const uint64_t need = n_pairs * sizeof(struct record);
    const uint64_t a_bin = max_bytes / 2 > WRITE_BUFFER ? max_bytes / 2 : WRITE_BUFFER;
    const uint64_t want = 1 + (need + need / 8) / a_bin;
    char path[FILE_PATH_MAX];

    *d = (struct duplicates){0};
    snprintf(d->dir, sizeof d->dir, "%s", dir);
    if (want > BINS_MAX || want * WRITE_BUFFER > a_bin)
        return err_set(err, ERR_USAGE,
                       "duplicates of %llu pairs cannot be found in memory_mib = %llu; "
                       "give more",
                       (unsigned long long)n_pairs,
                       (unsigned long long)(max_bytes >> 20));
    TRY(mem_alloc(&d->bin, (size_t)want, sizeof *d->bin, err));
    for (; d->n_bins < want; d->n_bins++)
        if (bin_path(path, d, d->n_bins, err) != OK ||
            file_writer_open(&d->bin[d->n_bins], path, err) != OK) {
            duplicates_abort(d);
            return err->code;
        }
    return OK;
}

void duplicates_abort(struct duplicates *d)
{
    for (size_t k = 0; k < d->n_bins; k++)
        file_writer_abort(&d->bin[k]);
    free(d->bin);
    *d = (struct duplicates){0};
}

status duplicates_add(struct duplicates *d, struct duplicates_key key, struct err *err)
{
    const struct record r = {key, d->n_pairs++};

    return file_writer_add(&d->bin[key.core[0] % d->n_bins], &r, sizeof r, err);
}

static int by_number(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int same_core(const struct record *a, const struct record *b)
{
    return memcmp(a->key.core, b->key.core, sizeof a->key.core);
}

static int same_text(const struct record *a, const struct record *b)
{
    return memcmp(a->key.text, b->key.text, sizeof a->key.text);
}

/* Equal cores together, in them equal texts, in them the first pair first. */
static int compare(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    const int core = same_core(x, y), text = core ? core : same_text(x, y);

    return text ? text : by_number(x->pair, y->pair);
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
        if (i && same_text(&r[i - 1], &r[i]) == 0)
            mark(f, DUPLICATES_EXACT, r[i].pair);
        else if (r[i].pair != first)
            mark(f, DUPLICATES_NEAR, r[i].pair);
}

static status find_in_bin(struct duplicates_found *f, const char *path, struct err *err)
{
    struct file_map map;
    struct record *r;

    TRY(file_map_open(&map, path, err));
    const size_t n = map.n_bytes / sizeof *r;
    const status result = mem_alloc(&r, n, sizeof *r, err);
    if (result == OK && n) {
        memcpy(r, map.data, n * sizeof *r);
        qsort(r, n, sizeof *r, compare);
    }
    file_map_close(&map);
    for (size_t from = 0, to; result == OK && from < n; from = to) {
        for (to = from + 1; to < n && same_core(&r[from], &r[to]) == 0;)
            to++;
        mark_group(f, r + from, to - from);
    }
    free(result == OK ? r : NULL);
    return result;
}

static status find_all(struct duplicates *d, struct duplicates_found *f, struct err *err)
{
    char path[FILE_PATH_MAX];

    for (size_t k = 0; k < d->n_bins; k++) {
        TRY(bin_path(path, d, k, err));
        TRY(file_writer_commit(&d->bin[k], err));
        TRY(find_in_bin(f, path, err));
        TRY(file_remove(path, err));
    }
    return OK;
}

status duplicates_find(struct duplicates *d, struct duplicates_found *found,
                       struct err *err)
{
    *found = (struct duplicates_found){.n_bytes = (size_t)(d->n_pairs / 8 + 1)};
    status result = mem_alloc(&found->bit, found->n_bytes, 1, err);
    if (result == OK)
        result = find_all(d, found, err);
    duplicates_abort(d);
    if (result != OK) {
        free(found->bit);
        *found = (struct duplicates_found){0};
    }
    return result;
}

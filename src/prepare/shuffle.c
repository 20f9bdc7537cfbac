/* A bin is a run of records: key (8 bytes), length (4), the bytes. */
#include "prepare/shuffle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

enum { HEAD = 12, WRITE_BUFFER = 1 << 20 };

/* Where a record of the mapped bin lies. */
struct entry {
    uint64_t key, at;
};

status shuffle_bins(size_t *n_bins, uint64_t n_bytes, uint64_t n_records,
                    uint64_t max_bytes, struct err *err)
{
    const uint64_t need = n_bytes + n_records * (HEAD + sizeof(struct entry));
    const uint64_t a_bin = max_bytes / 2 > WRITE_BUFFER ? max_bytes / 2 : WRITE_BUFFER;

    /* the bins are of nearly the same size: an eighth is room for chance */
    *n_bins = 1 + (size_t)((need + need / 8) / a_bin);
    if (*n_bins <= SHUFFLE_BINS_MAX && *n_bins * WRITE_BUFFER <= a_bin)
        return OK;
    return err_set(err, ERR_USAGE,
                   "%" PRIu64 " MiB of pairs cannot be shuffled in memory_mib = %" PRIu64
                   "; give more",
                   need >> 20, max_bytes >> 20);
}

status shuffle_path(char out[FILE_PATH_MAX], const char *dir, const char *name, size_t k,
                    struct err *err)
{
    char file[64];

    snprintf(file, sizeof file, "%s-%zu", name, k);
    return file_join(out, FILE_PATH_MAX, dir, file, err);
}

status shuffle_open(struct shuffle *s, const char *dir, const char *name, size_t n_bins,
                    uint64_t seed, struct err *err)
{
    char path[FILE_PATH_MAX];

    *s = (struct shuffle){.key = rng_key(seed, "prepare")};
    snprintf(s->dir, sizeof s->dir, "%s", dir);
    snprintf(s->name, sizeof s->name, "%s", name);
    TRY(mem_alloc(&s->bin, n_bins, sizeof *s->bin, err));
    for (s->n_bins = 0; s->n_bins < n_bins; s->n_bins++)
        if (shuffle_path(path, dir, name, s->n_bins, err) != OK ||
            file_writer_open(&s->bin[s->n_bins], path, err) != OK) {
            shuffle_abort(s);
            return err->code;
        }
    return OK;
}

void shuffle_abort(struct shuffle *s)
{
    for (size_t k = 0; k < s->n_bins; k++)
        file_writer_abort(&s->bin[k]);
    free(s->bin);
    s->bin = NULL;
    s->n_bins = 0;
}

status shuffle_add(struct shuffle *s, const struct shuffle_piece *piece, size_t n_pieces,
                   struct err *err)
{
    const uint64_t key = rng_hash(s->key, s->n_records++);
    /* the high bits choose the bin, so that the bins follow each other as the keys do */
    const size_t k = (size_t)(((unsigned __int128)key * s->n_bins) >> 64);
    unsigned char head[HEAD];
    size_t n = 0;

    for (size_t i = 0; i < n_pieces; i++)
        n += piece[i].n;
    BUG_ON(n > SHUFFLE_RECORD_MAX);
    const uint32_t len = (uint32_t)n;
    memcpy(head, &key, sizeof key);
    memcpy(head + sizeof key, &len, sizeof len);
    TRY(file_writer_add(&s->bin[k], head, sizeof head, err));
    for (size_t i = 0; i < n_pieces; i++)
        TRY(file_writer_add(&s->bin[k], piece[i].bytes, piece[i].n, err));
    return OK;
}

status shuffle_commit(struct shuffle *s, struct err *err)
{
    status result = OK;

    for (size_t k = 0; k < s->n_bins && result == OK; k++)
        result = file_writer_commit(&s->bin[k], err);
    shuffle_abort(s);
    return result;
}

static status list_entries(struct entry **entry, size_t *n, const struct file_map *map,
                           const char *path, struct err *err)
{
    size_t cap = 0;
    uint32_t len;

    for (size_t at = 0; at < map->n_bytes; at += HEAD + len) {
        if (map->n_bytes - at < HEAD)
            return err_set(err, ERR_FORMAT, "%s was cut", path);
        memcpy(&len, map->data + at + 8, sizeof len);
        if (map->n_bytes - at - HEAD < len)
            return err_set(err, ERR_FORMAT, "%s was cut", path);
        TRY(mem_grow(entry, &cap, *n + 1, sizeof **entry, err));
        struct entry *e = &(*entry)[(*n)++];
        memcpy(&e->key, map->data + at, sizeof e->key);
        e->at = at;
    }
    return OK;
}

static int by_key(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static status emit_bin(const struct file_map *map, const char *path, shuffle_fn *fn,
                       void *ctx, struct err *err)
{
    struct entry *entry = NULL;
    size_t n = 0;
    status result = list_entries(&entry, &n, map, path, err);

    if (result == OK && n)
        qsort(entry, n, sizeof *entry, by_key);
    for (size_t i = 0; i < n && result == OK; i++) {
        const unsigned char *record = map->data + entry[i].at;
        uint32_t len;
        memcpy(&len, record + 8, sizeof len);
        result = fn(ctx, record + HEAD, len, err);
    }
    free(entry);
    return result;
}

status shuffle_emit(const char *dir, const char *name, size_t n_bins, shuffle_fn *fn,
                    void *ctx, struct err *err)
{
    char path[FILE_PATH_MAX];
    struct file_map map;

    for (size_t k = 0; k < n_bins; k++) {
        TRY(shuffle_path(path, dir, name, k, err));
        TRY(file_map_open(&map, path, err));
        const status result = emit_bin(&map, path, fn, ctx, err);
        file_map_close(&map);
        TRY(result);
    }
    return OK;
}

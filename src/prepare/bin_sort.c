/* A bin is a run of records: key (8 bytes), length (4), the bytes. */
#include "prepare/bin_sort.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { HEAD = 12, WRITE_BUFFER = 1 << 20 };

/* Where a record of the mapped bin lies. */
struct entry {
    uint64_t key, at;
};

status bin_sort_plan(size_t *n_bins, uint64_t n_bytes, uint64_t n_records,
                     uint64_t max_bytes, const char *what, struct err *err)
{
    const uint64_t need = n_bytes + n_records * (HEAD + sizeof(struct entry));
    const uint64_t a_bin = max_bytes / 2 > WRITE_BUFFER ? max_bytes / 2 : WRITE_BUFFER;

    /* the bins are of nearly the same size: an eighth is room for chance */
    *n_bins = 1 + (size_t)((need + need / 8) / a_bin);
    if (*n_bins <= BIN_SORT_MOST && *n_bins * WRITE_BUFFER <= a_bin)
        return OK;
    return err_set(err, ERR_USAGE,
                   "%" PRIu64 " MiB of %s cannot be sorted in memory_mib = %" PRIu64
                   "; give more",
                   need >> 20, what, max_bytes >> 20);
}

static status bin_path(char out[FILE_PATH_MAX], const char *dir, const char *name,
                       size_t k, struct err *err)
{
    return file_path(out, err, "%s/%s-%zu", dir, name, k);
}

status bin_sort_open(struct bin_sort *s, const char *dir, const char *name, size_t n_bins,
                     struct err *err)
{
    char path[FILE_PATH_MAX];

    *s = (struct bin_sort){0};
    TRY(mem_alloc(&s->bin, n_bins, sizeof *s->bin, err));
    for (; s->n_bins < n_bins; s->n_bins++)
        if (bin_path(path, dir, name, s->n_bins, err) != OK ||
            file_writer_open(&s->bin[s->n_bins], path, err) != OK) {
            bin_sort_abort(s);
            return err->code;
        }
    return OK;
}

void bin_sort_abort(struct bin_sort *s)
{
    for (size_t k = 0; k < s->n_bins; k++)
        file_writer_abort(&s->bin[k]);
    free(s->bin);
    *s = (struct bin_sort){0};
}

status bin_sort_add(struct bin_sort *s, uint64_t key, const struct bin_sort_piece *piece,
                    size_t n_pieces, struct err *err)
{
    /* the high bits choose the bin, so that the bins follow each other as the keys do */
    const size_t k = (size_t)(((unsigned __int128)key * s->n_bins) >> 64);
    unsigned char head[HEAD];
    size_t n = 0;

    for (size_t i = 0; i < n_pieces; i++)
        n += piece[i].n;
    BUG_ON(n > BIN_SORT_RECORD_MAX);
    const uint32_t len = (uint32_t)n;
    memcpy(head, &key, sizeof key);
    memcpy(head + sizeof key, &len, sizeof len);
    TRY(file_writer_add(&s->bin[k], head, sizeof head, err));
    for (size_t i = 0; i < n_pieces; i++)
        TRY(file_writer_add(&s->bin[k], piece[i].bytes, piece[i].n, err));
    return OK;
}

status bin_sort_commit(struct bin_sort *s, struct err *err)
{
    status result = OK;

    for (size_t k = 0; k < s->n_bins && result == OK; k++)
        result = file_writer_commit(&s->bin[k], err);
    bin_sort_abort(s);
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

static status emit_bin(const struct file_map *map, const char *path, bin_sort_fn *fn,
                       void *ctx, struct err *err)
{
    RELEASED_BY(mem_release) struct entry *entry = NULL;
    size_t n = 0;
    uint32_t len;

    TRY(list_entries(&entry, &n, map, path, err));
    if (n)
        qsort(entry, n, sizeof *entry, by_key);
    for (size_t i = 0; i < n; i++) {
        const unsigned char *record = map->data + entry[i].at;
        memcpy(&len, record + 8, sizeof len);
        TRY(fn(ctx, record + HEAD, len, err));
    }
    return OK;
}

status bin_sort_emit(const char *dir, const char *name, size_t n_bins, bin_sort_fn *fn,
                     void *ctx, struct err *err)
{
    char path[FILE_PATH_MAX];

    for (size_t k = 0; k < n_bins; k++) {
        RELEASED_BY(file_map_close) struct file_map map = {0};
        TRY(bin_path(path, dir, name, k, err));
        TRY(file_map_open(&map, path, err));
        TRY(emit_bin(&map, path, fn, ctx, err));
    }
    return OK;
}

status bin_sort_remove(const char *dir, const char *name, size_t n_bins, struct err *err)
{
    char path[FILE_PATH_MAX];

    for (size_t k = 0; k < n_bins; k++) {
        TRY(bin_path(path, dir, name, k, err));
        TRY(file_remove(path, err));
    }
    return OK;
}

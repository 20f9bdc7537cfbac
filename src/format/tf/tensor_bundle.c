#include "format/tf/tensor_bundle.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "format/crc32c.h"

status tensor_bundle_data_path(char path[FILE_PATH_MAX], const char *prefix,
                               uint32_t shard, uint32_t n_shards, struct err *err)
{
    return file_path(path, err, "%s.data-%05u-of-%05u", prefix, shard, n_shards);
}

status tensor_bundle_begin(struct tensor_bundle_writer *w, const char *prefix,
                           struct err *err)
{
    char path[FILE_PATH_MAX];

    *w = (struct tensor_bundle_writer){.prefix = strdup(prefix)};
    if (!w->prefix)
        return err_set(err, ERR_MEMORY, "%s: no memory to write it", prefix);
    if (tensor_bundle_data_path(path, prefix, 0, 1, err) != OK ||
        tensor_index_writer_init(&w->index, err) != OK ||
        file_writer_open(&w->data, path, err) != OK)
        tensor_bundle_abort(w);
    return w->prefix ? OK : err->code;
}

/* The newest tensor, if any, goes into the index. */
static status end_tensor(struct tensor_bundle_writer *w, struct err *err)
{
    if (!w->is_open)
        return OK;
    if (w->n_left)
        return err_set(err, ERR_USAGE, "%s: tensor '%s' lacks %llu of its %llu bytes",
                       w->prefix, w->name, (unsigned long long)w->n_left,
                       (unsigned long long)w->tensor.n_bytes);
    w->tensor.name = w->name;
    w->tensor.masked_crc = crc32c_mask(w->crc);
    if (tensor_index_writer_add(&w->index, &w->tensor, err) != OK)
        return err_wrap(err, "%s", w->prefix);
    w->is_open = false;
    return OK;
}

static status set_name(struct tensor_bundle_writer *w, const char *name, struct err *err)
{
    if (strcmp(name, w->name ? w->name : "") <= 0)
        return err_set(err, ERR_USAGE, "%s: tensor '%s' must come after '%s'", w->prefix,
                       name, w->name ? w->name : "");
    char *copy = strdup(name);
    if (!copy)
        return err_set(err, ERR_MEMORY, "%s: no memory for a name", w->prefix);
    free(w->name);
    w->name = copy;
    return OK;
}

status tensor_bundle_add(struct tensor_bundle_writer *w, const char *name,
                         enum tensor_dtype dtype, const uint64_t *dims, size_t n_dims,
                         struct err *err)
{
    struct tensor_entry *t = &w->tensor;

    TRY(end_tensor(w, err));
    if (n_dims > TENSOR_INDEX_MAX_DIMS)
        return err_set(err, ERR_USAGE, "%s: tensor '%s' has %zu dimensions, %d is most",
                       w->prefix, name, n_dims, (int)TENSOR_INDEX_MAX_DIMS);
    TRY(set_name(w, name, err));
    *t = (struct tensor_entry){
        .dtype = (int)dtype, .n_dims = n_dims, .at = w->data.n_bytes};
    if (n_dims)
        memcpy(t->dims, dims, n_dims * sizeof *dims);
    if (tensor_index_size(name, t->dtype, t->dims, n_dims, &t->n_bytes, err) != OK)
        return err_wrap(err, "%s", w->prefix);
    w->n_left = t->n_bytes;
    w->crc = 0;
    w->is_open = true;
    return OK;
}

status tensor_bundle_add_bytes(struct tensor_bundle_writer *w, const void *bytes,
                               size_t n, struct err *err)
{
    if (!w->is_open || n > w->n_left)
        return err_set(err, ERR_USAGE,
                       "%s: %zu bytes arrive where tensor '%s' lacks %llu", w->prefix, n,
                       w->name ? w->name : "", (unsigned long long)w->n_left);
    w->n_left -= n;
    w->crc = crc32c(w->crc, bytes, n);
    return file_writer_add(&w->data, bytes, n, err);
}

static status finish(struct tensor_bundle_writer *w, struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(end_tensor(w, err));
    TRY(file_path(path, err, "%s.index", w->prefix));
    TRY(tensor_index_writer_finish(&w->index, err));
    TRY(file_writer_commit(&w->data, err));
    return file_write_str(path, &w->index.table.out, err);
}

status tensor_bundle_finish(struct tensor_bundle_writer *w, struct err *err)
{
    const status result = finish(w, err);

    tensor_bundle_abort(w);
    return result;
}

void tensor_bundle_abort(struct tensor_bundle_writer *w)
{
    file_writer_abort(&w->data);
    tensor_index_writer_release(&w->index);
    free(w->prefix);
    free(w->name);
    *w = (struct tensor_bundle_writer){0};
}

/* The data file of a tensor is there and long enough for it. */
static status open_shard(struct tensor_bundle *b, const char *prefix,
                         const struct tensor_entry *e, struct err *err)
{
    struct file_map *map = &b->shard[e->shard];
    char path[FILE_PATH_MAX];

    TRY(tensor_bundle_data_path(path, prefix, e->shard, b->index.n_shards, err));
    if (!map->data)
        TRY(file_map_open(map, path, err));
    const unsigned long long end = e->at + e->n_bytes; /* no overflow: see the index */
    if (end > map->n_bytes)
        return err_set(err, ERR_FORMAT,
                       "%s: truncated: %zu bytes, but tensor '%s' ends at byte %llu",
                       path, map->n_bytes, e->name, end);
    return OK;
}

static status open_shards(struct tensor_bundle *b, const char *prefix, struct err *err)
{
    TRY(mem_alloc(&b->shard, b->index.n_shards, sizeof *b->shard, err));
    for (size_t i = 0; i < b->index.n; i++)
        TRY(open_shard(b, prefix, &b->index.entry[i], err));
    return OK;
}

status tensor_bundle_open(struct tensor_bundle *b, const char *prefix, struct err *err)
{
    *b = (struct tensor_bundle){0};
    TRY(tensor_index_open(&b->index, prefix, err));
    const status result = open_shards(b, prefix, err);
    if (result != OK)
        tensor_bundle_close(b);
    return result;
}

/* The path of the first data file that holds a tensor and is not there, or "". */
static status find_missing(const struct tensor_index *index, const char *prefix,
                           char path[FILE_PATH_MAX], struct err *err)
{
    for (size_t i = 0; i < index->n; i++) {
        TRY(tensor_bundle_data_path(path, prefix, index->entry[i].shard, index->n_shards,
                                    err));
        if (!file_exists(path))
            return OK;
    }
    path[0] = '\0';
    return OK;
}

status tensor_bundle_open_index(struct tensor_bundle *b, const char *prefix,
                                char missing[FILE_PATH_MAX], struct err *err)
{
    *b = (struct tensor_bundle){0};
    TRY(tensor_index_open(&b->index, prefix, err));
    status result = find_missing(&b->index, prefix, missing, err);
    if (result == OK && !missing[0])
        result = open_shards(b, prefix, err);
    if (result != OK)
        tensor_bundle_close(b);
    return result;
}

void tensor_bundle_close(struct tensor_bundle *b)
{
    for (size_t i = 0; b->shard && i < b->index.n_shards; i++)
        file_map_close(&b->shard[i]);
    free(b->shard);
    tensor_index_release(&b->index);
    *b = (struct tensor_bundle){0};
}

/* Where the last tensor of a data file ends. */
static uint64_t end_of_tensors(const struct tensor_index *index, uint32_t shard)
{
    uint64_t end = 0;

    for (size_t i = 0; i < index->n; i++) {
        const struct tensor_entry *e = &index->entry[i];
        if (e->shard == shard && e->at + e->n_bytes > end)
            end = e->at + e->n_bytes;
    }
    return end;
}

status tensor_bundle_check_ends(const struct tensor_bundle *b, const char *prefix,
                                struct err *err)
{
    char path[FILE_PATH_MAX];

    if (b->index.table.n_spare)
        return err_set(err, ERR_FORMAT, "%s.index has %zu bytes that no block covers",
                       prefix, b->index.table.n_spare);
    for (uint32_t i = 0; b->shard && i < b->index.n_shards; i++) {
        const uint64_t n = b->shard[i].n_bytes, end = end_of_tensors(&b->index, i);
        if (n == 0 || n == end)
            continue;
        TRY(tensor_bundle_data_path(path, prefix, i, b->index.n_shards, err));
        return err_set(err, ERR_FORMAT, "%s has %llu bytes behind the last tensor", path,
                       (unsigned long long)(n - end));
    }
    return OK;
}

const struct tensor_entry *tensor_bundle_find(const struct tensor_bundle *b,
                                              const char *name)
{
    return tensor_index_find(&b->index, name);
}

status tensor_bundle_read(const struct tensor_bundle *b, const struct tensor_entry *e,
                          const unsigned char **bytes, struct err *err)
{
    static const unsigned char nothing[1];

    if (!b->shard)
        return err_set(err, ERR_IO, "tensor '%s' cannot be read without its data file",
                       e->name);
    const struct file_map *map = &b->shard[e->shard];
    const unsigned char *p = map->data ? map->data + e->at : nothing;

    *bytes = p;
    if (!tensor_dtype_bytes(e->dtype))
        return err_set(err, ERR_FORMAT, "tensor '%s' of type %d (%s) cannot be read",
                       e->name, e->dtype,
                       tensor_dtype_name(e->dtype) ? tensor_dtype_name(e->dtype)
                                                   : "unknown");
    if (crc32c_mask(crc32c(0, p, (size_t)e->n_bytes)) != e->masked_crc)
        return err_set(err, ERR_FORMAT,
                       "tensor '%s' fails its checksum: the data file is damaged or "
                       "belongs to another index",
                       e->name);
    return OK;
}

status tensor_bundle_copy(const struct tensor_bundle *b, const struct tensor_entry *e,
                          void *rows, size_t n_rows, size_t row_bytes,
                          size_t stride_bytes, struct err *err)
{
    const unsigned char *bytes;
    size_t total;

    if (__builtin_mul_overflow(n_rows, row_bytes, &total) || total != e->n_bytes)
        return err_set(err, ERR_USAGE,
                       "tensor '%s' has %llu bytes, not %zu rows of %zu bytes", e->name,
                       (unsigned long long)e->n_bytes, n_rows, row_bytes);
    TRY(tensor_bundle_read(b, e, &bytes, err));
    for (size_t i = 0; row_bytes && i < n_rows; i++)
        memcpy((unsigned char *)rows + i * stride_bytes, bytes + i * row_bytes,
               row_bytes);
    return OK;
}

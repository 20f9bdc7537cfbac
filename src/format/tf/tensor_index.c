#include "format/tf/tensor_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "format/tf/proto.h"
#include "tensor_bundle.pb-c.h"

_Static_assert((int)TENSOR_INDEX_MAX_DIMS == (int)PROTO_MAX_DIMS, "one limit");

enum {
    BUNDLE_VERSION = 1,
    SHARDS_MAX = 99999 /* five digits in the file name */
};

status tensor_index_size(const char *name, int dtype, const uint64_t *dims, size_t n_dims,
                         uint64_t *n_bytes, struct err *err)
{
    *n_bytes = tensor_dtype_bytes(dtype);
    if (!*n_bytes)
        return err_set(err, ERR_USAGE,
                       "tensor '%s' has type %d (%s), whose elements have no fixed size",
                       name, dtype,
                       tensor_dtype_name(dtype) ? tensor_dtype_name(dtype) : "unknown");
    for (size_t i = 0; i < n_dims; i++)
        if (__builtin_mul_overflow(*n_bytes, dims[i], n_bytes) || *n_bytes > INT64_MAX)
            return err_set(err, ERR_USAGE, "tensor '%s' is too large", name);
    return OK;
}

uint64_t tensor_index_elements(const struct tensor_entry *e)
{
    const size_t each = tensor_dtype_bytes(e->dtype);

    return each ? e->n_bytes / each : 0;
}

status tensor_index_writer_init(struct tensor_index_writer *w, struct err *err)
{
    VersionDef version = VERSION_DEF__INIT;
    BundleHeaderProto header = BUNDLE_HEADER_PROTO__INIT;

    *w = (struct tensor_index_writer){0};
    sstable_writer_init(&w->table, 0);
    version.producer = BUNDLE_VERSION;
    header.num_shards = 1;
    header.version = &version;
    proto_pack(&w->value, &header.base);
    TRY(str_check(&w->value, "the header of the index", err));
    return sstable_writer_add(&w->table, "", 0, w->value.data, w->value.len, err);
}

status tensor_index_writer_add(struct tensor_index_writer *w,
                               const struct tensor_entry *entry, struct err *err)
{
    struct proto_shape shape;
    BundleEntryProto message = BUNDLE_ENTRY_PROTO__INIT;

    if (entry->name[0] == '\0' || entry->n_dims > TENSOR_INDEX_MAX_DIMS)
        return err_set(err, ERR_USAGE,
                       "tensor '%s' with %zu dimensions needs a name and at most %d of "
                       "them",
                       entry->name, entry->n_dims, (int)TENSOR_INDEX_MAX_DIMS);
    proto_shape_init(&shape, entry->dims, entry->n_dims);
    message.dtype = entry->dtype;
    message.shape = &shape.message;
    message.shard_id = (int32_t)entry->shard;
    message.offset = (int64_t)entry->at;
    message.size = (int64_t)entry->n_bytes;
    message.crc32c = entry->masked_crc;
    str_reset(&w->value);
    proto_pack(&w->value, &message.base);
    TRY(str_check(&w->value, "an entry of the index", err));
    return sstable_writer_add(&w->table, entry->name, strlen(entry->name), w->value.data,
                              w->value.len, err);
}

status tensor_index_writer_finish(struct tensor_index_writer *w, struct err *err)
{
    return sstable_writer_finish(&w->table, err);
}

void tensor_index_writer_release(struct tensor_index_writer *w)
{
    sstable_writer_release(&w->table);
    str_release(&w->value);
}

static status check_header(const BundleHeaderProto *h, uint32_t *n_shards,
                           struct err *err)
{
    if (!h)
        return err_set(err, ERR_FORMAT, "the header of the index is malformed");
    if (h->endianness != BUNDLE_HEADER_PROTO__ENDIANNESS__LITTLE)
        return err_set(err, ERR_FORMAT,
                       "the checkpoint was written on a big-endian machine, which is "
                       "not supported");
    if (h->version && h->version->min_consumer > BUNDLE_VERSION)
        return err_set(err, ERR_FORMAT,
                       "the checkpoint needs a reader of version %d, this one is %d",
                       h->version->min_consumer, (int)BUNDLE_VERSION);
    if (h->num_shards < 1 || h->num_shards > SHARDS_MAX)
        return err_set(err, ERR_FORMAT, "the index counts %d data files", h->num_shards);
    *n_shards = (uint32_t)h->num_shards;
    return OK;
}

static status read_header(struct tensor_index *index, struct err *err)
{
    const struct sstable_entry *row = sstable_find(&index->table, "", 0);

    if (!row)
        return err_set(err, ERR_FORMAT, "the index has no header");
    BundleHeaderProto *h = bundle_header_proto__unpack(NULL, row->n_value, row->value);
    const status result = check_header(h, &index->n_shards, err);
    bundle_header_proto__free_unpacked(h, NULL);
    return result;
}

static status copy_shape(struct tensor_entry *e, const TensorShapeProto *shape,
                         struct err *err)
{
    e->n_dims = shape ? shape->n_dim : 0;
    if ((shape && shape->unknown_rank) || e->n_dims > TENSOR_INDEX_MAX_DIMS)
        return err_set(err, ERR_FORMAT, "tensor '%s' has more than %d dimensions",
                       e->name, (int)TENSOR_INDEX_MAX_DIMS);
    for (size_t i = 0; i < e->n_dims; i++) {
        if (shape->dim[i]->size < 0)
            return err_set(err, ERR_FORMAT, "tensor '%s' has a dimension of size %lld",
                           e->name, (long long)shape->dim[i]->size);
        e->dims[i] = (uint64_t)shape->dim[i]->size;
    }
    return OK;
}

/* Types without a fixed size are listed, and refused when somebody reads them. */
static status check_size(const struct tensor_entry *e, struct err *err)
{
    uint64_t n_bytes;

    if (!tensor_dtype_bytes(e->dtype))
        return OK;
    if (tensor_index_size(e->name, e->dtype, e->dims, e->n_dims, &n_bytes, err) != OK)
        return err_set(err, ERR_FORMAT, "tensor '%s' has an impossible shape", e->name);
    if (n_bytes != e->n_bytes)
        return err_set(
            err, ERR_FORMAT, "tensor '%s' has %llu bytes where its shape asks for %llu",
            e->name, (unsigned long long)e->n_bytes, (unsigned long long)n_bytes);
    return OK;
}

static status copy_entry(struct tensor_entry *e, const BundleEntryProto *m,
                         uint32_t n_shards, struct err *err)
{
    if (!m)
        return err_set(err, ERR_FORMAT, "the entry of tensor '%s' is malformed", e->name);
    if (m->n_slices)
        return err_set(err, ERR_FORMAT,
                       "tensor '%s' is a partitioned variable (saved in slices), which "
                       "is not supported; save it unpartitioned",
                       e->name);
    if (m->shard_id < 0 || (uint32_t)m->shard_id >= n_shards || m->offset < 0 ||
        m->size < 0 || m->offset > INT64_MAX - m->size)
        return err_set(err, ERR_FORMAT,
                       "tensor '%s' is said to lie at byte %lld of data file %d", e->name,
                       (long long)m->offset, m->shard_id);
    e->dtype = m->dtype;
    e->shard = (uint32_t)m->shard_id;
    e->at = (uint64_t)m->offset;
    e->n_bytes = (uint64_t)m->size;
    e->masked_crc = m->crc32c;
    TRY(copy_shape(e, m->shape, err));
    return check_size(e, err);
}

/* Slices of partitioned variables have keys that start with a NUL. */
static status read_entry(struct tensor_entry *e, const struct sstable_entry *row,
                         uint32_t n_shards, struct err *err)
{
    e->name = row->key;
    if (row->key[0] == '\0')
        return err_set(err, ERR_FORMAT,
                       "the checkpoint holds slices of a partitioned variable, which is "
                       "not supported; save it unpartitioned");
    if (strlen(row->key) != row->n_key)
        return err_set(err, ERR_FORMAT, "the tensor name '%s' holds a NUL", row->key);

    BundleEntryProto *m = bundle_entry_proto__unpack(NULL, row->n_value, row->value);
    const status result = copy_entry(e, m, n_shards, err);
    bundle_entry_proto__free_unpacked(m, NULL);
    return result;
}

status tensor_index_read(struct tensor_index *index, const unsigned char *bytes,
                         size_t n_bytes, struct err *err)
{
    *index = (struct tensor_index){0};
    TRY(sstable_read(&index->table, bytes, n_bytes, err));
    status result = read_header(index, err);
    THEN(result, mem_alloc(&index->entry, index->table.n, sizeof *index->entry, err));
    for (size_t i = 1; result == OK && i < index->table.n; i++)
        result = read_entry(&index->entry[index->n++], &index->table.entry[i],
                            index->n_shards, err);
    for (size_t i = 0; i < index->table.n; i++)
        index->table.entry[i].value = NULL; /* borrowed from `bytes` */
    if (result != OK)
        tensor_index_release(index);
    return result;
}

status tensor_index_open(struct tensor_index *index, const char *prefix, struct err *err)
{
    RELEASED_BY(file_map_close) struct file_map map = {0};
    char path[FILE_PATH_MAX];

    TRY(file_path(path, err, "%s.index", prefix));
    TRY(file_map_open(&map, path, err));
    if (tensor_index_read(index, map.data, map.n_bytes, err) != OK)
        return err_wrap(err, "%s", path);
    return OK;
}

void tensor_index_release(struct tensor_index *index)
{
    free(index->entry);
    sstable_release(&index->table);
    *index = (struct tensor_index){0};
}

const struct tensor_entry *tensor_index_find(const struct tensor_index *index,
                                             const char *name)
{
    const struct sstable_entry *row = sstable_find(&index->table, name, strlen(name));

    if (!row || row == index->table.entry) /* the header, under the empty name */
        return NULL;
    return &index->entry[row - index->table.entry - 1];
}

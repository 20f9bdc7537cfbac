#include "format/foreign/tensors_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

size_t tensors_item_bytes(const struct tensors_item *item)
{
    return item->n * tensors_type_bytes(item->type);
}

static status copy_name(char **to, const char *name, struct err *err)
{
    *to = strdup(name);
    return *to ? OK : err_set(err, ERR_MEMORY, "out of memory for the names of tensors");
}

status tensors_list_add(struct tensors_list *l, const char *name, enum tensors_type type,
                        const uint64_t *dim, size_t n_dims, struct err *err)
{
    struct tensors_item item = {.type = type, .n_dims = n_dims, .n = 1};

    BUG_ON(n_dims > TENSORS_DIMS);
    for (size_t i = 0; i < n_dims; i++) {
        item.dim[i] = dim[i];
        TRY(mem_mul(&item.n, item.n, (size_t)dim[i], err));
    }
    TRY(mem_grow(&l->item, &l->cap, l->n + 1, sizeof *l->item, err));
    TRY(copy_name(&item.name, name, err));
    l->item[l->n++] = item;
    return OK;
}

status tensors_list_alias(struct tensors_list *l, const char *name, size_t of,
                          struct err *err)
{
    struct tensors_alias alias = {.of = of};

    BUG_ON(of >= l->n);
    TRY(mem_grow(&l->alias, &l->alias_cap, l->n_aliases + 1, sizeof *l->alias, err));
    TRY(copy_name(&alias.name, name, err));
    l->alias[l->n_aliases++] = alias;
    return OK;
}

void tensors_list_release(struct tensors_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->item[i].name);
    for (size_t i = 0; i < l->n_aliases; i++)
        free(l->alias[i].name);
    free(l->item);
    free(l->alias);
    *l = (struct tensors_list){0};
}

status tensors_sink_make(struct tensors_sink *s, size_t i, struct err *err)
{
    return s->make(s->ctx, i, s->bytes, err);
}

status tensors_sink_put(struct tensors_sink *s, size_t i, struct err *err)
{
    TRY(tensors_sink_make(s, i, err));
    return file_writer_add(s->out, s->bytes, tensors_item_bytes(&s->list->item[i]), err);
}

static status write_all(struct tensors_sink *s, enum tensors_format format,
                        struct err *err)
{
    switch (format) {
    case TENSORS_SAFETENSORS:
        return tensors_write_safetensors(s, err);
    case TENSORS_NPZ:
        return tensors_write_npz(s, err);
    case TENSORS_CTRANSLATE2:
        return tensors_write_ctranslate2(s, err);
    default:
        BUG_ON(true); /* torch's are read alone */
    }
    return OK;
}

status tensors_write(const struct tensors_list *l, enum tensors_format format,
                     const char *path, tensors_make *make, void *ctx, struct err *err)
{
    RELEASED_BY(mem_release) unsigned char *bytes = NULL;
    struct file_writer out = {0};
    struct tensors_sink s = {.list = l, .out = &out, .make = make, .ctx = ctx};
    size_t most = 0;

    for (size_t i = 0; i < l->n; i++) {
        const size_t n = tensors_item_bytes(&l->item[i]);
        most = n > most ? n : most;
    }
    TRY(mem_alloc(&bytes, most, 1, err));
    s.bytes = bytes;
    TRY(file_writer_open(&out, path, err));
    status result = write_all(&s, format, err);
    THEN(result, file_writer_commit(&out, err));
    file_writer_abort(&out);
    return result;
}

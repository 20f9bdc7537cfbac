/*
 * safetensors as safetensors_read.c describes it. The head is padded with blanks so that
 * the bytes of tensors begin at a multiple of eight; "format": "pt" says to transformers
 * that matrices are as PyTorch has them.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "format/foreign/tensors_list.h"
#include "format/le.h"

enum { ALIGN = 8 };

static json_t *describe(const struct tensors_item *item, uint64_t at)
{
    const uint64_t end = at + tensors_item_bytes(item);
    json_t *shape = json_array();

    for (size_t i = 0; i < item->n_dims; i++)
        json_array_append_new(shape, json_integer((json_int_t)item->dim[i]));
    return json_pack("{s:s, s:o, s:[I,I]}", "dtype", tensors_type_name(item->type),
                     "shape", shape, "data_offsets", (json_int_t)at, (json_int_t)end);
}

/* The object; NULL: no memory. */
static char *head_of(const struct tensors_list *l)
{
    json_t *root = json_pack("{s:{s:s}}", "__metadata__", "format", "pt");
    bool is_whole = root != NULL;
    uint64_t at = 0;

    for (size_t i = 0; i < l->n; i++) {
        is_whole = is_whole && json_object_set_new(root, l->item[i].name,
                                                   describe(&l->item[i], at)) == 0;
        at += tensors_item_bytes(&l->item[i]);
    }
    char *text = is_whole ? json_dumps(root, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
    json_decref(root);
    return text;
}

static status write_head(struct tensors_sink *s, const char *head, struct err *err)
{
    static const char blanks[ALIGN] = "       ";
    const size_t n = strlen(head), n_blanks = (ALIGN - n % ALIGN) % ALIGN;
    unsigned char length[8];

    le_put64(length, n + n_blanks);
    TRY(file_writer_add(s->out, length, sizeof length, err));
    TRY(file_writer_add(s->out, head, n, err));
    return file_writer_add(s->out, blanks, n_blanks, err);
}

status tensors_write_safetensors(struct tensors_sink *s, struct err *err)
{
    char *head = head_of(s->list);

    if (!head)
        return err_set(err, ERR_MEMORY, "out of memory for the names of tensors");
    const status result = write_head(s, head, err);
    free(head);
    TRY(result);
    for (size_t i = 0; i < s->list->n; i++)
        TRY(tensors_sink_put(s, i, err));
    return OK;
}

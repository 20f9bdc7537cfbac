/* CTranslate2's model.bin of version 6, as ctranslate2_read.c describes it: a
 * TransformerSpec of revision 7, tensors and aliases in the order of the list. */
#include <string.h>

#include "format/foreign/tensors_list.h"
#include "format/le.h"

enum { VERSION = 6, REVISION = 7 };

static status put(struct tensors_sink *s, uint64_t x, size_t n, struct err *err)
{
    unsigned char bytes[8];

    le_put64(bytes, x);
    return file_writer_add(s->out, bytes, n, err);
}

static status put_text(struct tensors_sink *s, const char *text, struct err *err)
{
    const size_t n = strlen(text) + 1;

    TRY(put(s, n, 2, err));
    return file_writer_add(s->out, text, n, err);
}

/* The number of a type in that format. */
static unsigned type_number(enum tensors_type type)
{
    static const unsigned numbers[N_TENSORS_TYPES] = {
        [TENSORS_F32] = 0, [TENSORS_I8] = 1,  [TENSORS_I16] = 2,
        [TENSORS_I32] = 3, [TENSORS_F16] = 4, [TENSORS_BF16] = 5};

    BUG_ON(!numbers[type] && type != TENSORS_F32);
    return numbers[type];
}

static status put_tensor(struct tensors_sink *s, size_t i, struct err *err)
{
    const struct tensors_item *item = &s->list->item[i];
    const uint64_t n = tensors_item_bytes(item);

    if (n > UINT32_MAX)
        return err_set(err, ERR_USAGE,
                       "tensor %s has %llu bytes; CTranslate2's files hold at most 4 GiB "
                       "of one: quantization=float16 halves it",
                       item->name, (unsigned long long)n);
    TRY(put_text(s, item->name, err));
    TRY(put(s, item->n_dims, 1, err));
    for (size_t d = 0; d < item->n_dims; d++)
        TRY(put(s, item->dim[d], 4, err));
    TRY(put(s, type_number(item->type), 1, err));
    TRY(put(s, n, 4, err));
    return tensors_sink_put(s, i, err);
}

status tensors_write_ctranslate2(struct tensors_sink *s, struct err *err)
{
    const struct tensors_list *l = s->list;

    TRY(put(s, VERSION, 4, err));
    TRY(put_text(s, "TransformerSpec", err));
    TRY(put(s, REVISION, 4, err));
    TRY(put(s, l->n, 4, err));
    for (size_t i = 0; i < l->n; i++)
        TRY(put_tensor(s, i, err));
    TRY(put(s, l->n_aliases, 4, err));
    for (size_t i = 0; i < l->n_aliases; i++) {
        TRY(put_text(s, l->alias[i].name, err));
        TRY(put_text(s, l->item[l->alias[i].of].name, err));
    }
    return OK;
}

/*
 * CTranslate2's model.bin, version 6: u32 version; a text (u16 length with its NUL, the
 * bytes) that names the kind of model; u32 revision; u32 number of tensors, each with its
 * name as such a text, u8 rank, u32 sides, u8 type, u32 bytes and the bytes; u32 number
 * of aliases, each two names: another one, and that of the tensor it stands for, whose
 * scale (NAME_scale) it shares.
 */
#include <stdio.h>
#include <string.h>

#include "format/foreign/tensors.h"
#include "format/le.h"

enum { NAME_MOST = 256 };

struct reader {
    const unsigned char *at, *end;
    bool is_bad;
};

static uint64_t take(struct reader *r, size_t n)
{
    uint64_t x = 0;

    if ((size_t)(r->end - r->at) < n) {
        r->is_bad = true;
        r->at = r->end;
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        x |= (uint64_t)r->at[i] << (8 * i);
    r->at += n;
    return x;
}

/* A text without its NUL. */
static const char *take_text(struct reader *r, size_t *n)
{
    const size_t n_all = (size_t)take(r, 2);
    const char *text = (const char *)r->at;

    if (!n_all || (size_t)(r->end - r->at) < n_all || text[n_all - 1]) {
        r->is_bad = true;
        *n = 0;
        return "";
    }
    r->at += n_all;
    *n = n_all - 1;
    return text;
}

static bool find_type(uint64_t number, enum tensors_type *type)
{
    static const enum tensors_type types[] = {TENSORS_F32, TENSORS_I8,  TENSORS_I16,
                                              TENSORS_I32, TENSORS_F16, TENSORS_BF16};

    if (number >= sizeof types / sizeof *types)
        return false;
    *type = types[number];
    return true;
}

static status damaged(struct err *err)
{
    return err_set(err, ERR_FORMAT, "no CTranslate2 model, or cut short");
}

static status take_tensor(struct tensors *t, struct reader *r, struct err *err)
{
    struct tensors_item item = {0};
    size_t n_name;
    const char *name = take_text(r, &n_name);

    item.n_dims = (size_t)take(r, 1);
    if (r->is_bad || item.n_dims > TENSORS_DIMS)
        return damaged(err);
    for (size_t i = 0; i < item.n_dims; i++)
        item.dim[i] = take(r, 4);
    const uint64_t type = take(r, 1), n_bytes = take(r, 4);
    if (r->is_bad || n_bytes > (uint64_t)(r->end - r->at))
        return damaged(err);
    if (!find_type(type, &item.type))
        return err_set(err, ERR_FORMAT, "tensor %.100s is of type %u, which is not read",
                       name, (unsigned)type);
    TRY(tensors_add(t, name, n_name, item,
                    (uint64_t)(r->at - (const unsigned char *)t->map.data), n_bytes,
                    err));
    r->at += n_bytes;
    return OK;
}

static status add_alias(struct tensors *t, const char *name, size_t n,
                        const struct tensors_item *of, struct err *err)
{
    const struct tensors_item copy = *of;
    const uint64_t at = (uint64_t)(copy.bytes - (const unsigned char *)t->map.data);

    return tensors_add(t, name, n, copy, at,
                       (uint64_t)copy.n * tensors_type_bytes(copy.type), err);
}

/* The name of a tensor's scale; false: it is too long for any. */
static bool scale_name(char out[NAME_MOST], const char *name)
{
    return snprintf(out, NAME_MOST, "%s_scale", name) < NAME_MOST;
}

/* Another name of a tensor is one of its scale as well. */
static status take_alias(struct tensors *t, struct reader *r, struct err *err)
{
    char other[NAME_MOST], scale[NAME_MOST];
    size_t n, n_of;
    const char *name = take_text(r, &n), *of = take_text(r, &n_of);
    const struct tensors_item *item = r->is_bad ? NULL : tensors_find(t, of);

    if (!item)
        return damaged(err);
    TRY(add_alias(t, name, n, item, err));
    if (!scale_name(scale, of) || !scale_name(other, name))
        return OK;
    item = tensors_find(t, scale);
    return item && !tensors_find(t, other) ? add_alias(t, other, strlen(other), item, err)
                                           : OK;
}

status ctranslate2_read(struct tensors *t, struct err *err)
{
    struct reader r = {t->map.data, (const unsigned char *)t->map.data + t->map.n_bytes,
                       false};
    size_t n_name;
    const uint64_t version = take(&r, 4);

    if (r.is_bad || version < 5 || version > 6)
        return err_set(err, ERR_FORMAT,
                       "no CTranslate2 model of version 5 or 6; convert it again with "
                       "CTranslate2 3 or later");
    (void)take_text(&r, &n_name);
    (void)take(&r, 4);
    const uint64_t n = take(&r, 4);
    for (uint64_t i = 0; i < n; i++)
        TRY(take_tensor(t, &r, err));
    const uint64_t n_aliases = take(&r, 4);
    for (uint64_t i = 0; i < n_aliases; i++)
        TRY(take_alias(t, &r, err));
    return r.is_bad ? damaged(err) : OK;
}

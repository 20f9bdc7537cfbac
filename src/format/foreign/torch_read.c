/*
 * PyTorch's archives: a zip of stored members in one folder; data.pkl says which tensors
 * there are (format/foreign/pickle.h), data/KEY has the numbers of a storage, which
 * several tensors may share, byteorder says which byte of a number comes first.
 */
#include <string.h>

#include "base/str.h"
#include "format/foreign/pickle.h"
#include "format/foreign/tensors.h"
#include "format/foreign/zip.h"

/* An archive and the folder that all of it is in. */
struct archive {
    struct zip zip;
    const struct zip_member *pickle;
    size_t n_folder; /* bytes of the name, the slash counted */
};

static const struct zip_member *find_in(const struct archive *a, const char *name,
                                        struct line key)
{
    enum { PATH_MOST = 256 };
    struct str out = str_new(PATH_MOST);
    const struct zip_member *m;

    str_add(&out, a->pickle->name, a->n_folder);
    str_puts(&out, name);
    str_add(&out, key.text, key.n_bytes);
    m = out.bad ? NULL : zip_find(&a->zip, str_text(&out));
    str_release(&out);
    return m;
}

/* Are the numbers those of a whole tensor, row by row? */
static bool is_row_by_row(const struct pickle_tensor *p)
{
    uint64_t want = 1;

    for (size_t i = p->n_dims; i-- > 0;) {
        if (p->dim[i] != 1 && p->stride[i] != want)
            return false;
        if (p->dim[i] > UINT32_MAX || want > UINT32_MAX)
            return false;
        want *= p->dim[i] ? p->dim[i] : 1;
    }
    return true;
}

static status add(struct tensors *t, const struct archive *a,
                  const struct pickle_tensor *p, struct err *err)
{
    const int n_name = (int)(p->name.n_bytes < 100 ? p->name.n_bytes : 100);
    const struct zip_member *m = find_in(a, "data/", p->key);
    struct tensors_item item = {.type = p->type, .n_dims = p->n_dims};
    const uint64_t size = tensors_type_bytes(p->type);
    uint64_t n = 1;

    if (!m || m->is_deflated)
        return err_set(err, ERR_FORMAT,
                       "tensor %.*s: the archive does not have its numbers, stored",
                       n_name, p->name.text);
    if (!is_row_by_row(p))
        return err_set(err, ERR_FORMAT, "tensor %.*s does not lie row by row", n_name,
                       p->name.text);
    for (size_t i = 0; i < p->n_dims; i++) {
        if (p->dim[i] && n > m->n / p->dim[i])
            return err_set(err, ERR_FORMAT, "tensor %.*s is larger than its storage",
                           n_name, p->name.text);
        n *= p->dim[i];
        item.dim[i] = p->dim[i];
    }
    if (p->n_stored > m->n / size || p->first > p->n_stored || n > p->n_stored - p->first)
        return err_set(err, ERR_FORMAT, "tensor %.*s is larger than its storage", n_name,
                       p->name.text);
    return tensors_add(t, p->name.text, p->name.n_bytes, item, m->at + p->first * size,
                       n * size, err);
}

static status find_pickle(struct archive *a, struct err *err)
{
    for (size_t i = 0; i < a->zip.n; i++)
        if (str_ends(a->zip.member[i].name, "/data.pkl")) {
            a->pickle = &a->zip.member[i];
            a->n_folder = strlen(a->pickle->name) - strlen("data.pkl");
        }
    if (!a->pickle || a->pickle->is_deflated)
        return err_set(err, ERR_FORMAT, "the archive has no data.pkl: none of PyTorch");
    const struct zip_member *order = find_in(a, "byteorder", (struct line){"", 0});
    if (order && !order->is_deflated && order->n == 3 &&
        memcmp(a->zip.bytes + order->at, "big", 3) == 0)
        return err_set(err, ERR_FORMAT,
                       "its numbers begin with their highest byte, which is not read");
    return OK;
}

static status read_archive(struct tensors *t, struct archive *a, struct err *err)
{
    struct pickle pickle;
    status result = OK;

    TRY(find_pickle(a, err));
    TRY(zip_check(a->pickle, a->zip.bytes + a->pickle->at, err));
    TRY(pickle_read(&pickle, a->zip.bytes + a->pickle->at, (size_t)a->pickle->n, err));
    for (size_t i = 0; i < pickle.n; i++)
        THEN(result, add(t, a, &pickle.tensor[i], err));
    pickle_close(&pickle);
    return result;
}

status torch_read(struct tensors *t, struct err *err)
{
    struct archive a = {.n_folder = 0};

    if (t->map.n_bytes && t->map.data[0] == 0x80) /* a bare pickle */
        return err_set(err, ERR_FORMAT,
                       "it was written by PyTorch before 1.6, or without its zip format: "
                       "load it there and save it again");
    TRY(zip_open(&a.zip, t->map.data, t->map.n_bytes, err));
    const status result = read_archive(t, &a, err);
    zip_close(&a.zip);
    return result;
}

#include "foreign/tensor_file.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "format/le.h"

const char *tensor_file_format_name(enum tensors_format format)
{
    static const char *const names[N_TENSORS_FORMATS] = {
        [TENSORS_SAFETENSORS] = "safetensors",
        [TENSORS_NPZ] = "NumPy .npz",
        [TENSORS_CTRANSLATE2] = "CTranslate2 model.bin",
        [TENSORS_TORCH] = "PyTorch archive"};

    return names[format];
}

/* An archive of PyTorch has a pickle, one of NumPy arrays. */
static bool format_of_zip(const void *bytes, size_t n, enum tensors_format *format)
{
    struct zip zip;
    struct err ignored;
    bool is_known = false;

    if (zip_open(&zip, bytes, n, &ignored) != OK)
        return false;
    for (size_t i = 0; i < zip.n && !is_known; i++) {
        const bool is_torch = str_ends(zip.member[i].name, "/data.pkl");
        is_known = is_torch || str_ends(zip.member[i].name, ".npy");
        *format = is_torch ? TENSORS_TORCH : TENSORS_NPZ;
    }
    zip_close(&zip);
    return is_known;
}

bool tensor_file_format(const void *bytes, size_t n, enum tensors_format *format)
{
    enum { HEAD = 16, NAME_MOST = 64 };
    const unsigned char *at = bytes;

    if (n < HEAD)
        return false;
    if (zip_is(bytes, n))
        return format_of_zip(bytes, n, format);
    *format = TENSORS_SAFETENSORS;
    if (le_get64(at) <= n - 8 && at[8] == '{')
        return true;
    *format = TENSORS_CTRANSLATE2; /* a version, and the name of the kind of model */
    return le_get32(at) - 2 < 8 && le_get16(at + 4) && le_get16(at + 4) < NAME_MOST &&
           (size_t)le_get16(at + 4) + 6 < n && !at[le_get16(at + 4) + 5];
}

static void see(void *ctx, const char *name)
{
    char *found = ctx;

    if (str_ends(name, ".npz") && !strstr(name, ".optimizer.") &&
        strlen(name) < FILE_PATH_MAX && strcmp(name, found) > 0)
        memcpy(found, name, strlen(name) + 1);
}

/* The file with the weights in a place; false: none. */
static bool find_file(struct tensor_file *w)
{
    static const char *const names[] = {"model.safetensors", "pytorch_model.bin",
                                        "model.bin"};
    const char *name = place_find(&w->place, names, sizeof names / sizeof *names);

    if (name)
        snprintf(w->name, sizeof w->name, "%s", name);
    else
        place_each(&w->place, see, w->name);
    return w->name[0];
}

static status read_tensors(struct tensor_file *w, struct err *err)
{
    if (!tensor_file_format(w->file.data, w->file.n_bytes, &w->format))
        return err_set(err, ERR_FORMAT, "it is no file of tensors that is read here");
    return tensors_parse(&w->tensors, w->format, w->file.data, w->file.n_bytes, err);
}

static status open_place(struct tensor_file *w, const char *path, struct err *err)
{
    TRY(place_open(&w->place, path, false, err));
    if (!find_file(w))
        return err_set(err, ERR_FORMAT, "%s has no file of weights", path);
    TRY(place_read(&w->place, w->name, &w->file, err));
    return read_tensors(w, err) == OK ? OK : place_wrap(&w->place, w->name, err);
}

static status open_file(struct tensor_file *w, const char *path, struct err *err)
{
    TRY(file_map_open(&w->file.map, path, err));
    w->file.data = w->file.map.data;
    w->file.n_bytes = w->file.map.n_bytes;
    return read_tensors(w, err) == OK ? OK : err_wrap(err, "%s", path);
}

status tensor_file_open(struct tensor_file *w, const char *path, struct err *err)
{
    struct place_file f = {0};
    enum tensors_format format;
    bool is_archive = file_is_dir(path);

    *w = (struct tensor_file){.format = TENSORS_SAFETENSORS};
    if (!is_archive) {
        TRY(file_map_open(&f.map, path, err));
        is_archive = zip_is(f.map.data, f.map.n_bytes) &&
                     !tensor_file_format(f.map.data, f.map.n_bytes, &format);
        place_file_close(&f);
    }
    const status result = is_archive ? open_place(w, path, err) : open_file(w, path, err);
    if (result != OK)
        tensor_file_close(w);
    return result;
}

void tensor_file_close(struct tensor_file *w)
{
    tensors_close(&w->tensors);
    place_file_close(&w->file);
    place_close(&w->place);
    *w = (struct tensor_file){.format = TENSORS_SAFETENSORS};
}

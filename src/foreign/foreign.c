#include "foreign/foreign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "foreign/readers.h"

static bool has_end(const char *name, const char *const *ends, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_ends(name, ends[i]))
            return true;
    return false;
}

bool foreign_is_part(const char *name)
{
    static const char *const ends[] = {".bin", ".json", ".model", ".npz", ".safetensors",
                                       ".spm", ".txt",  ".vocab", ".yml", ".yaml"};

    return has_end(name, ends, sizeof ends / sizeof *ends);
}

static bool is_name_of_weights(const char *path)
{
    static const char *const ends[] = {".npz", ".safetensors"};

    return has_end(path, ends, sizeof ends / sizeof *ends);
}

bool foreign_is_weights(const char *path)
{
    return is_name_of_weights(path) && !file_is_dir(path);
}

status foreign_directory(char dir[FILE_PATH_MAX], const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');

    if (!foreign_is_weights(path))
        return file_path(dir, err, "%s", path);
    if (slash && slash > path)
        return file_path(dir, err, "%.*s", (int)(slash - path), path);
    return file_path(dir, err, "%s", slash ? "/" : ".");
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool is_any(const struct place *p)
{
    return foreign_is_ctranslate2(p) || foreign_is_own(p) || foreign_is_huggingface(p) ||
           foreign_is_marian(p);
}

/* Read, not mapped: somebody may be cutting it short. */
static bool is_zip_file(const char *path)
{
    char head[64];
    FILE *f = file_is_special(path) ? NULL : fopen(path, "rbe");

    if (!f)
        return false;
    const size_t n = fread(head, 1, sizeof head, f);
    fclose(f);
    return zip_is(head, n);
}

bool foreign_is(const char *path)
{
    struct place p;
    struct err ignored;

    if (foreign_is_weights(path))
        return file_exists(path);
    if (!file_is_dir(path))
        return is_zip_file(path); /* what is wrong with it is said when it is opened */
    if (place_open(&p, path, true, &ignored) != OK)
        return false;
    const bool is_one = is_any(&p);
    place_close(&p);
    return is_one;
}

static status open_kind(struct foreign *f, const struct place *p, const char *file,
                        const char *map, struct err *err)
{
    const bool is_mapped = *map || (file && str_ends(file, ".safetensors"));

    if (file && str_ends(file, ".npz"))
        return foreign_open_marian(f, p, file, err);
    if (is_mapped && !foreign_is_own(p))
        return err_set(err, ERR_USAGE,
                       "%s has no config.json of a FerryTransformer, which says what the "
                       "tensors are",
                       p->path);
    if (is_mapped || (!foreign_is_ctranslate2(p) && foreign_is_own(p)))
        return foreign_open_own(f, p, file, map, err);
    if (foreign_is_ctranslate2(p))
        return foreign_open_ctranslate2(f, p, err);
    if (foreign_is_huggingface(p))
        return foreign_open_huggingface(f, p, err);
    if (foreign_is_marian(p))
        return foreign_open_marian(f, p, NULL, err);
    return err_set(err, ERR_FORMAT,
                   "%s holds no model of Hugging Face, Marian or CTranslate2", p->path);
}

status foreign_open_place(struct foreign *f, const struct place *p, const char *file,
                          const char *map, struct err *err)
{
    *f = (struct foreign){.kind = ""};
    const status result = open_kind(f, p, file, map, err);
    if (result != OK)
        foreign_close(f);
    return result;
}

static status open_at(struct foreign *f, const char *path, const char *map,
                      bool in_memory, struct err *err)
{
    const char *file = foreign_is_weights(path) ? name_of(path) : NULL;
    char dir[FILE_PATH_MAX];
    struct place place;

    *f = (struct foreign){.kind = ""};
    TRY(foreign_directory(dir, path, err));
    TRY(place_open(&place, dir, in_memory, err));
    const status result = foreign_open_place(f, &place, file, map, err);
    place_close(&place);
    if (result == OK)
        return OK;
    return strstr(err->msg, dir) ? err->code : err_wrap(err, "%s", path);
}

status foreign_open_mapped(struct foreign *f, const char *path, const char *map,
                           struct err *err)
{
    return open_at(f, path, map, false, err);
}

status foreign_open(struct foreign *f, const char *path, struct err *err)
{
    return open_at(f, path, "", false, err);
}

status foreign_open_in_memory(struct foreign *f, const char *path, struct err *err)
{
    return open_at(f, path, "", true, err);
}

void foreign_drop_weights(struct foreign *f)
{
    free(f->flat);
    f->flat = NULL;
}

void foreign_close(struct foreign *f)
{
    foreign_drop_weights(f);
    params_close(&f->params);
    spm_free(f->spm);
    *f = (struct foreign){.kind = ""};
}

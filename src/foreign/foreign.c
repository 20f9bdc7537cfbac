#include "foreign/foreign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "foreign/readers.h"

static bool has(const char *dir, const char *name)
{
    const char *const names[] = {name};
    char path[FILE_PATH_MAX];

    return readers_find(path, dir, names, 1);
}

static bool is_huggingface(const char *dir)
{
    return has(dir, "config.json") && has(dir, "vocab.json") && !has(dir, "model.bin");
}

static bool is_marian(const char *dir)
{
    char path[FILE_PATH_MAX];
    struct err ignored;

    return !has(dir, "config.yaml") && marian_find(path, dir, &ignored) == OK;
}

bool foreign_is(const char *path)
{
    if (!file_is_dir(path))
        return str_ends(path, ".npz") && file_exists(path);
    return has(path, "model.bin") || is_huggingface(path) || is_marian(path);
}

/* The directory that a file is in. */
static void parent(char dir[FILE_PATH_MAX], const char *path)
{
    const char *slash = strrchr(path, '/');
    const size_t n = slash ? (size_t)(slash - path) : 0;

    snprintf(dir, FILE_PATH_MAX, "%.*s", (int)(slash && !n ? 1 : n), path);
    if (!slash)
        snprintf(dir, FILE_PATH_MAX, ".");
}

static status open_kind(struct foreign *f, const char *path, struct err *err)
{
    char npz[FILE_PATH_MAX], dir[FILE_PATH_MAX];

    if (!file_is_dir(path)) {
        if (strlen(path) >= FILE_PATH_MAX)
            return err_set(err, ERR_USAGE, "the path is too long");
        parent(dir, path);
        return marian_open(f, path, dir, err);
    }
    if (has(path, "model.bin"))
        return ctranslate2_open(f, path, err);
    if (is_huggingface(path))
        return huggingface_open(f, path, err);
    TRY(marian_find(npz, path, err));
    return marian_open(f, npz, path, err);
}

status foreign_open(struct foreign *f, const char *path, struct err *err)
{
    *f = (struct foreign){.kind = ""};
    if (open_kind(f, path, err) == OK)
        return OK;
    foreign_close(f);
    return err_wrap(err, "%s", path);
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

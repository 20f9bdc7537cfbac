#include "foreign/place.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The folder that all members are in, with its slash. */
static size_t common_folder(const struct zip *z)
{
    const char *slash = z->n ? strchr(z->member[0].name, '/') : NULL;
    const size_t n = slash ? (size_t)(slash - z->member[0].name) + 1 : 0;

    for (size_t i = 1; n && i < z->n; i++)
        if (strncmp(z->member[i].name, z->member[0].name, n) != 0)
            return 0;
    return n;
}

static status open_zip(struct place *p, const void *bytes, size_t n, struct err *err)
{
    TRY(zip_open(&p->zip, bytes, n, err));
    p->n_folder = common_folder(&p->zip);
    return OK;
}

static status open_file(const struct place *p, struct file_map *m, const char *path,
                        struct err *err)
{
    return p->in_memory ? file_map_copy(m, path, err) : file_map_open(m, path, err);
}

status place_open(struct place *p, const char *path, bool in_memory, struct err *err)
{
    *p = (struct place){.is_zip = !file_is_dir(path), .in_memory = in_memory};
    if (strlen(path) >= sizeof p->path)
        return err_set(err, ERR_USAGE, "%.200s...: the path is too long", path);
    memcpy(p->path, path, strlen(path) + 1);
    if (!p->is_zip)
        return OK;
    TRY(open_file(p, &p->map, path, err));
    if (open_zip(p, p->map.data, p->map.n_bytes, err) == OK)
        return OK;
    place_close(p);
    return err_wrap(err, "%s", path);
}

status place_over(struct place *p, const void *bytes, size_t n, struct err *err)
{
    *p = (struct place){.path = "archive", .is_zip = true};
    return open_zip(p, bytes, n, err);
}

void place_close(struct place *p)
{
    zip_close(&p->zip);
    file_map_close(&p->map);
    *p = (struct place){0};
}

static const struct zip_member *find_member(const struct place *p, const char *name)
{
    char path[FILE_PATH_MAX];
    const char *folder = p->n_folder ? p->zip.member[0].name : "";

    if (snprintf(path, sizeof path, "%.*s%s", (int)p->n_folder, folder, name) >=
        (int)sizeof path)
        return NULL;
    return zip_find(&p->zip, path);
}

bool place_has(const struct place *p, const char *name)
{
    char path[FILE_PATH_MAX];
    struct err ignored;

    if (p->is_zip)
        return find_member(p, name);
    return file_join(path, sizeof path, p->path, name, &ignored) == OK &&
           file_exists(path);
}

const char *place_find(const struct place *p, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (place_has(p, names[i]))
            return names[i];
    return NULL;
}

void place_each(const struct place *p, void (*see)(void *ctx, const char *name),
                void *ctx)
{
    DIR *dir = p->is_zip ? NULL : opendir(p->path);

    for (size_t i = 0; i < p->zip.n; i++)
        see(ctx, p->zip.member[i].name + p->n_folder);
    for (struct dirent *e; dir && (e = readdir(dir));)
        see(ctx, e->d_name);
    if (dir)
        closedir(dir);
}

static status unpack(const struct place *p, const struct zip_member *m,
                     struct place_file *f, struct err *err)
{
    if (!m->is_deflated) {
        f->data = p->zip.bytes + m->at;
        f->n_bytes = (size_t)m->n;
        return zip_check(m, f->data, err);
    }
    TRY(mem_alloc(&f->own, (size_t)m->n, 1, err));
    f->data = f->own;
    f->n_bytes = (size_t)m->n;
    return zip_unpack(&p->zip, m, f->own, err);
}

status place_read(const struct place *p, const char *name, struct place_file *f,
                  struct err *err)
{
    char path[FILE_PATH_MAX];

    *f = (struct place_file){0};
    if (!p->is_zip) {
        TRY(file_join(path, sizeof path, p->path, name, err));
        TRY(open_file(p, &f->map, path, err));
        f->data = f->map.data;
        f->n_bytes = f->map.n_bytes;
        return OK;
    }
    const struct zip_member *m = find_member(p, name);
    if (!m)
        return err_set(err, ERR_IO, "%s has no %s", p->path, name);
    if (unpack(p, m, f, err) == OK)
        return OK;
    place_file_close(f);
    return err_wrap(err, "%s", p->path);
}

void place_file_close(struct place_file *f)
{
    file_map_close(&f->map);
    free(f->own);
    *f = (struct place_file){0};
}

status place_wrap(const struct place *p, const char *name, struct err *err)
{
    return err_wrap(err, "%s/%s", p->path, name);
}

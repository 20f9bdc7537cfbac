#include "fetch/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "fetch/archives.h"
#include "fetch/catalog.h"
#include "fetch/debian.h"

static const struct opt rows[] = {
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct fetch_config, field), field, __VA_ARGS__)
    FETCH_OPTIONS(X)
#undef X
};

const struct opt_table fetch_config_table = {rows, sizeof rows / sizeof *rows};

const char *fetch_set_name(enum fetch_set set)
{
    static const char *const names[] = {"train", "valid", "test"};

    return names[set];
}

const char *fetch_side_name(enum fetch_side side)
{
    static const char *const names[] = {"en", "de"};

    return names[side];
}

void fetch_result_release(struct fetch_result *r)
{
    str_release(&r->summary);
    for (enum fetch_set set = 0; set < N_FETCH_SETS; set++)
        for (enum fetch_side side = 0; side < N_FETCH_SIDES; side++)
            str_release(&r->files[set][side]);
}

/* Held until *fd is closed. */
static status lock(int *fd, const char *dir, struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(file_join(path, sizeof path, dir, ".fetch.lock", err));
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*fd < 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0)
        return OK;
    close(*fd);
    return err_set(err, ERR_USAGE, "%s: another ferry fetch is at work here", dir);
}

static status check_config(const struct fetch_config *c, bool is_debian, struct err *err)
{
    if (is_debian ? c->mirror[0] : c->english[0] || c->german[0])
        return err_set(err, ERR_USAGE,
                       is_debian ? "mirror is not for debian-de-en: apt knows its own"
                                 : "english and german are for debian-de-en alone");
    if (!c->english[0] != !c->german[0])
        return err_set(err, ERR_USAGE, "give both english and german, or neither");
    return OK;
}

static status run_locked(const struct fetch_config *c, const struct catalog *catalog,
                         const char *dir, struct progress *progress,
                         struct fetch_result *r, struct err *err)
{
    int fd;

    TRY(file_make_dirs(dir, err));
    TRY(lock(&fd, dir, err));
    const status result = catalog->n_files
                              ? archives_fetch(c, catalog, dir, progress, r, err)
                              : debian_fetch(c, dir, progress, r, err);
    close(fd);
    return result;
}

status fetch_run(const struct fetch_config *c, const char *name, const char *dir,
                 struct progress *progress, struct fetch_result *r, struct err *err)
{
    const bool is_debian = strcmp(name, "debian-de-en") == 0;
    struct catalog catalog = {0};

    *r = (struct fetch_result){0};
    TRY(check_config(c, is_debian, err));
    if (!is_debian)
        TRY(catalog_open(&catalog, name, err));
    const status result = run_locked(c, &catalog, dir, progress, r, err);
    catalog_close(&catalog);
    return result;
}

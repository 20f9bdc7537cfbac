#include "fetch/archive.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/file.h"
#include "format/stream.h"
#include "format/tar.h"

enum { STEP = 1 << 16 };

struct member {
    const struct catalog_member *want;
    struct digest *digest;
    struct file_writer to;
    bool is_found, is_same; /* same: it stands in its place already */
};

struct archive {
    const struct catalog_file *file;
    const char *dir;
    struct member member[CATALOG_MEMBERS];
};

static status read_stream(void *from, void *buf, size_t n, size_t *got, struct err *err)
{
    return stream_read(from, buf, n, got, err);
}

/* The catalogue's member with the last part of this name, or NULL. */
static struct member *wanted(struct archive *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    for (size_t i = 0; i < a->file->n_members; i++)
        if (strcmp(a->file->member[i].name, name) == 0)
            return &a->member[i];
    return NULL;
}

static status unpack_member(struct archive *a, struct member *m, struct tar *t,
                            struct err *err)
{
    unsigned char buf[STEP];
    char path[FILE_PATH_MAX];
    size_t got;

    m->is_found = true;
    digest_start(m->digest);
    TRY(file_join(path, sizeof path, a->dir, m->want->name, err));
    TRY(file_writer_open(&m->to, path, err));
    for (;;) {
        TRY(tar_data(t, buf, sizeof buf, &got, err));
        if (got == 0)
            return OK;
        digest_add(m->digest, buf, got);
        TRY(file_writer_add(&m->to, buf, got, err));
    }
}

static status take_entry(struct archive *a, struct tar *t, const struct tar_entry *e,
                         struct err *err)
{
    struct member *m = wanted(a, e->path);

    if (!m || e->kind == TAR_DIR)
        return OK;
    if (e->kind != TAR_FILE)
        return err_set(
            err, ERR_FORMAT,
            "%s: member '%.200s' is a link, not a file; the archive is refused", t->name,
            e->path);
    if (m->is_found)
        return err_set(err, ERR_FORMAT, "%s: member '%.200s' occurs twice", t->name,
                       e->path);
    return unpack_member(a, m, t, err);
}

static status check_member(struct archive *a, struct member *m, struct err *err)
{
    const struct catalog_member *want = m->want;

    if (!m->is_found)
        return err_set(err, ERR_FORMAT, "%s: has no member %s", a->file->name,
                       want->name);
    const uint64_t n =
        want->unit == CATALOG_LINES ? digest_lines(m->digest) : m->digest->n_segments;
    if (n != want->n)
        return err_set(
            err, ERR_FORMAT, "%s: member %s has %" PRIu64 " %s, and should have %" PRIu64,
            a->file->name, want->name, n, catalog_unit_name(want->unit), want->n);
    digest_end(m->digest);
    return OK;
}

static status read_archive(struct archive *a, const char *path, struct progress *progress,
                           struct err *err)
{
    RELEASED_BY(stream_close) struct stream s = {0};
    const int64_t n = file_bytes(path);
    unsigned char rest[STEP];
    struct tar_entry e;
    struct tar t;
    bool has = true;

    TRY(stream_open(&s, path, a->file->name, err));
    progress_begin(progress, "unpack", "kB", n > 0 ? (uint64_t)n / 1000 : 0);
    tar_open(&t, read_stream, &s, a->file->name);
    for (;;) {
        TRY(tar_next(&t, &e, &has, err));
        if (!has)
            break;
        TRY(take_entry(a, &t, &e, err));
        progress_update(progress, s.n_in / 1000);
    }
    for (size_t got = 1; got;) /* padding, and the compressor's checksum behind it */
        TRY(stream_read(&s, rest, sizeof rest, &got, err));
    progress_end(progress, s.n_in / 1000);
    for (size_t i = 0; i < a->file->n_members; i++)
        TRY(check_member(a, &a->member[i], err));
    return OK;
}

/* Nothing that the user may have put there is overwritten. */
static status compare(struct member *m, struct err *err)
{
    struct digest there;

    if (!file_exists(m->to.path))
        return OK;
    TRY(digest_file(&there, m->to.path, err));
    m->is_same = strcmp(there.sha256, m->digest->sha256) == 0;
    if (!m->is_same)
        return err_set(err, ERR_USAGE,
                       "%s exists and is not the file of the corpus; move it away first",
                       m->to.path);
    return OK;
}

static void release(struct archive *a)
{
    for (size_t i = 0; i < a->file->n_members; i++)
        file_writer_abort(&a->member[i].to);
}

status archive_unpack(struct digest member[CATALOG_MEMBERS], const char *path,
                      const struct catalog_file *file, const char *dir,
                      struct progress *progress, struct err *err)
{
    RELEASED_BY(release) struct archive a = {.file = file, .dir = dir};

    for (size_t i = 0; i < file->n_members; i++)
        a.member[i] = (struct member){.want = &file->member[i], .digest = &member[i]};
    TRY(read_archive(&a, path, progress, err));
    for (size_t i = 0; i < file->n_members; i++)
        TRY(compare(&a.member[i], err));
    for (size_t i = 0; i < file->n_members; i++)
        if (!a.member[i].is_same)
            TRY(file_writer_commit(&a.member[i].to, err));
    return OK;
}

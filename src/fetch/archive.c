#include "fetch/archive.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/stream.h"
#include "format/tar.h"

enum { STEP = 1 << 16 };

static status read_stream(void *from, void *buf, size_t n, size_t *got, struct err *err)
{
    return stream_read(from, buf, n, got, err);
}

/* The catalogue's member with the last part of this name, or NULL. */
static struct archive_member *wanted(struct archive *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    for (size_t i = 0; i < a->file->n_members; i++)
        if (strcmp(a->file->member[i].name, name) == 0)
            return &a->member[i];
    return NULL;
}

static status unpack_member(struct archive *a, struct archive_member *m, struct tar *t,
                            struct err *err)
{
    const struct catalog_member *want = &a->file->member[m - a->member];
    unsigned char buf[STEP];
    char path[FILE_PATH_MAX];
    size_t got;

    m->is_found = true;
    tally_init(&m->tally);
    TRY(file_join(path, sizeof path, a->dir, want->name, err));
    TRY(file_writer_open(&m->to, path, err));
    for (;;) {
        TRY(tar_data(t, buf, sizeof buf, &got, err));
        if (got == 0)
            return OK;
        tally_add(&m->tally, buf, got);
        TRY(file_writer_add(&m->to, buf, got, err));
    }
}

static status take_entry(struct archive *a, struct tar *t, const struct tar_entry *e,
                         struct err *err)
{
    struct archive_member *m = wanted(a, e->path);

    if (!m || e->kind == TAR_DIR)
        return OK;
    if (e->kind != TAR_FILE)
        return err_set(
            err, ERR_FORMAT,
            "%s: member '%.200s' is a link, not a file; the archive is refused", t->name,
            e->path);
    if (m->is_found)
        return err_set(err, ERR_FORMAT, "%s: member '%.200s' is there twice", t->name,
                       e->path);
    return unpack_member(a, m, t, err);
}

static status check_member(struct archive *a, size_t i, struct err *err)
{
    const struct catalog_member *want = &a->file->member[i];
    struct archive_member *m = &a->member[i];

    if (!m->is_found)
        return err_set(err, ERR_FORMAT, "%s: has no member %s", a->file->name,
                       want->name);
    const uint64_t n =
        want->unit == CATALOG_LINES ? tally_lines(&m->tally) : m->tally.n_segments;
    if (n != want->n)
        return err_set(
            err, ERR_FORMAT, "%s: member %s has %" PRIu64 " %s, and should have %" PRIu64,
            a->file->name, want->name, n, catalog_unit_name(want->unit), want->n);
    tally_hex(&m->tally, m->sha256);
    return OK;
}

static status unpack(struct archive *a, struct stream *s, struct progress *progress,
                     struct err *err)
{
    struct tar_entry e;
    struct tar t;
    unsigned char rest[STEP];
    size_t got = 1;
    bool has = true;

    tar_open(&t, read_stream, s, a->file->name);
    for (;;) {
        TRY(tar_next(&t, &e, &has, err));
        if (!has)
            break;
        TRY(take_entry(a, &t, &e, err));
        progress_update(progress, s->n_in / 1000);
    }
    while (got) /* padding, and the packer's checksum behind it */
        TRY(stream_read(s, rest, sizeof rest, &got, err));
    progress_end(progress, s->n_in / 1000);
    for (size_t i = 0; i < a->file->n_members; i++)
        TRY(check_member(a, i, err));
    return OK;
}

status archive_open(struct archive *a, const char *path, const struct catalog_file *file,
                    const char *dir, struct progress *progress, struct err *err)
{
    struct stream s;
    const int64_t n = file_bytes(path);

    *a = (struct archive){.file = file, .dir = dir};
    TRY(stream_open(&s, path, file->name, err));
    progress_begin(progress, "unpack", "kB", n > 0 ? (uint64_t)n / 1000 : 0);
    const status result = unpack(a, &s, progress, err);
    stream_close(&s);
    if (result != OK)
        archive_abort(a);
    return result;
}

/* Nothing that the user may have put there is overwritten. */
static status compare(struct archive_member *m, struct err *err)
{
    struct tally there;
    char sha256[SHA256_HEX];

    if (!file_exists(m->to.path))
        return OK;
    TRY(tally_file(&there, m->to.path, err));
    tally_hex(&there, sha256);
    m->is_same = strcmp(sha256, m->sha256) == 0;
    if (!m->is_same)
        return err_set(err, ERR_USAGE,
                       "%s is there already and is not the file of the corpus; move it "
                       "away first",
                       m->to.path);
    return OK;
}

status archive_commit(struct archive *a, struct err *err)
{
    for (size_t i = 0; i < a->file->n_members; i++)
        if (compare(&a->member[i], err) != OK) {
            archive_abort(a);
            return err->code;
        }
    for (size_t i = 0; i < a->file->n_members; i++) {
        struct archive_member *m = &a->member[i];
        if (!m->is_same && file_writer_commit(&m->to, err) != OK) {
            archive_abort(a);
            return err->code;
        }
    }
    archive_abort(a);
    return OK;
}

void archive_abort(struct archive *a)
{
    for (size_t i = 0; a->file && i < a->file->n_members; i++)
        file_writer_abort(&a->member[i].to);
}

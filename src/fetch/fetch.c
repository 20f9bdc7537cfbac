#include "fetch/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "fetch/catalog.h"
#include "fetch/debian.h"
#include "fetch/download.h"
#include "fetch/manifest.h"
#include "format/stream.h"
#include "format/tar.h"

OPT_TABLE(fetch_config_table, struct fetch_config, FETCH_OPTIONS);

const char *const fetch_set_names[N_FETCH_SETS] = {"train", "valid", "test"};
const char *const fetch_side_names[N_FETCH_SIDES] = {"en", "de"};

void fetch_result_release(struct fetch_result *r)
{
    str_release(&r->summary);
    for (enum fetch_set set = 0; set < N_FETCH_SETS; set++)
        for (enum fetch_side side = 0; side < N_FETCH_SIDES; side++)
            str_release(&r->files[set][side]);
}

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

/* The bytes of an archive, and where they must end. */
struct unpacking {
    struct stream stream;
    uint64_t max_bytes;
};

static void stop_unpacking(struct unpacking *u)
{
    stream_close(&u->stream);
}

static status read_stream(void *from, void *buf, size_t n, size_t *got, struct err *err)
{
    struct unpacking *u = from;

    TRY(stream_read(&u->stream, buf, n, got, err));
    if (u->stream.n_out <= u->max_bytes)
        return OK;
    return err_set(err, ERR_FORMAT,
                   "%s: unpacks to more than %" PRIu64 " MB, which the lines that it "
                   "should have cannot need; the archive is refused",
                   u->stream.name, u->max_bytes / 1000000);
}

/* The catalogue's member with the last part of this name, or NULL. */
static struct member *wanted(struct archive *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    for (struct member *m = a->member; m < a->member + CATALOG_MEMBERS && m->want; m++)
        if (strcmp(m->want->name, name) == 0)
            return m;
    return NULL;
}

static status unpack_member(struct archive *a, struct member *m, struct tar *t,
                            struct err *err)
{
    unsigned char buf[STEP];
    char path[FILE_PATH_MAX];
    size_t got;

    m->is_found = true;
    if (t->n_left > catalog_member_max(m->want))
        return err_set(err, ERR_FORMAT,
                       "%s: member %s has %" PRIu64 " bytes, and should have %" PRIu64
                       " %s, at most %" PRIu64 " bytes; the archive is refused",
                       a->file->name, m->want->name, t->n_left, m->want->n,
                       catalog_unit_name(m->want->unit), catalog_member_max(m->want));
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
    RELEASED_BY(stop_unpacking)
    struct unpacking u = {.max_bytes = catalog_file_max(a->file)};
    const struct stream *s = &u.stream;
    const int64_t n = file_bytes(path);
    unsigned char rest[STEP];
    struct tar_entry e;
    struct tar t;
    bool has = true;

    TRY(stream_open(&u.stream, path, a->file->name, err));
    progress_begin(progress, "unpack", "kB", n > 0 ? (uint64_t)n / 1000 : 0);
    tar_open(&t, read_stream, &u, a->file->name);
    for (;;) {
        TRY(tar_next(&t, &e, &has, err));
        if (!has)
            break;
        TRY(take_entry(a, &t, &e, err));
        progress_update(progress, s->n_in / 1000);
    }
    for (size_t got = 1; got;) /* padding, and the compressor's checksum behind it */
        TRY(read_stream(&u, rest, sizeof rest, &got, err));
    progress_end(progress, s->n_in / 1000);
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

static void release_archive(struct archive *a)
{
    for (size_t i = 0; i < a->file->n_members; i++)
        file_writer_abort(&a->member[i].to);
}

/*
 * Unpack `path` into `dir`; member[i] describes the i-th member of the catalogue's file.
 * The archive is read once, to its last byte, so that its own checksums count. Members go
 * to temporary files beside their places; when all are there with as many lines or
 * segments as the catalogue says, they are renamed. On failure nothing is left.
 * ERR_FORMAT: the archive is not what the catalogue says, or is damaged. ERR_USAGE: a
 * file of that name is there and differs; it is left alone.
 */
static status unpack_archive(struct digest member[CATALOG_MEMBERS], const char *path,
                             const struct catalog_file *file, const char *dir,
                             struct progress *progress, struct err *err)
{
    RELEASED_BY(release_archive) struct archive a = {.file = file, .dir = dir};

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

struct job {
    const struct fetch_config *config;
    const char *dir;
    struct progress *progress;
    struct manifest *manifest;
};

/* Names of one archive: in the manifest, whole (DIR/archives/NAME), and being downloaded
 * (DIR/archives/NAME.part). */
struct names {
    char record[CATALOG_WORD + 16];
    char whole[FILE_PATH_MAX], part[FILE_PATH_MAX];
};

static status make_names(struct names *n, const struct job *j,
                         const struct catalog_file *f, struct err *err)
{
    snprintf(n->record, sizeof n->record, "archives/%s", f->name);
    TRY(file_path(n->whole, err, "%s/%s", j->dir, n->record));
    return file_path(n->part, err, "%s.part", n->whole);
}

/* Is every member recorded and in its place? One that was changed is an error. */
static status has_members(const struct job *j, const struct catalog_file *f, bool *has,
                          struct err *err)
{
    struct digest now;

    *has = true;
    for (size_t i = 0; i < f->n_members && *has; i++) {
        const char *was = manifest_find(j->manifest, f->member[i].name, NULL);
        char path[FILE_PATH_MAX];
        TRY(file_join(path, sizeof path, j->dir, f->member[i].name, err));
        *has = was && file_exists(path);
        if (!*has)
            break;
        TRY(digest_file(&now, path, err));
        if (strcmp(was, now.sha256) != 0)
            return err_set(err, ERR_FORMAT,
                           "%s is not what was unpacked (SHA-256 %.12s..., recorded "
                           "%.12s...); remove it to unpack it again",
                           path, now.sha256, was);
    }
    return OK;
}

/* Unpack the archive at `path` and record it and its members. */
static status unpack(struct job *j, const struct catalog_file *f, const struct names *n,
                     const char *path, const char *from, const struct digest *whole,
                     struct err *err)
{
    struct digest member[CATALOG_MEMBERS];

    TRY(unpack_archive(member, path, f, j->dir, j->progress, err));
    if (path == n->part)
        TRY(download_commit(n->part, n->whole, err));
    for (size_t i = 0; i < f->n_members; i++)
        TRY(manifest_put(j->manifest, f->member[i].name, n->record, &member[i],
                         catalog_unit_name(f->member[i].unit), f->member[i].n, err));
    return manifest_put(j->manifest, n->record, from, whole, NULL, 0, err);
}

/* An archive with its own name, put there by an earlier run or by the user. */
static status use_whole(struct job *j, const struct catalog_file *f,
                        const struct names *n, struct err *err)
{
    const char *from = "found here";
    const char *was = manifest_find(j->manifest, n->record, &from);
    struct digest now;
    bool has;

    TRY(digest_file(&now, n->whole, err));
    if (was && strcmp(was, now.sha256) != 0)
        return err_set(err, ERR_FORMAT,
                       "%s is not what was first downloaded (SHA-256 %.12s..., recorded "
                       "%.12s...); remove it to download it again",
                       n->whole, now.sha256, was);
    TRY(has_members(j, f, &has, err));
    return has ? OK : unpack(j, f, n, n->whole, from, &now, err);
}

/* A download that is whole, from the first byte to a name and an entry in the manifest.
 */
static status accept_part(struct job *j, const struct catalog_file *f,
                          const struct names *n, const char *url, struct err *err)
{
    const char *was = manifest_find(j->manifest, n->record, NULL);
    struct digest now;

    TRY(digest_file(&now, n->part, err));
    if (was && strcmp(was, now.sha256) != 0)
        return err_set(err, ERR_FORMAT,
                       "%.300s is not what was first downloaded (SHA-256 %.12s..., "
                       "recorded %.12s... in %s)",
                       url, now.sha256, was, j->manifest->path);
    const status result = unpack(j, f, n, n->part, url, &now, err);
    return result == ERR_FORMAT ? err_wrap(err, "%.300s", url) : result;
}

/* One address; *is_final says that another one would not help. */
static status try_url(struct job *j, const struct catalog_file *f, const struct names *n,
                      const char *url, bool *is_final, struct err *err)
{
    const struct download_config d = {
        .retries = j->config->retries,
        .t_backoff = j->config->backoff,
        .t_stall = j->config->stall,
        .ca = j->config->ca,
        .label = f->name,
        .max_bytes = catalog_file_max(f),
        .progress = j->progress,
    };

    TRY(download_get(&d, url, n->part, is_final, err));
    const status result = accept_part(j, f, n, url, err);
    *is_final = result != ERR_FORMAT;
    if (result == ERR_FORMAT) { /* the wrong file: its bytes are of no use */
        struct err other;
        *is_final = download_discard(n->part, &other) != OK;
    }
    return result;
}

/* MIRROR + the path of `url` behind its host. */
static status mirrored(char out[DOWNLOAD_URL], const char *mirror, size_t n_mirror,
                       const char *url, struct err *err)
{
    const char *path = strchr(strstr(url, "://") + 3, '/');

    while (n_mirror && mirror[n_mirror - 1] == '/')
        n_mirror--;
    if ((!str_begins(mirror, "http://") && !str_begins(mirror, "https://")) ||
        strcspn(mirror, " \t\r\n") < n_mirror)
        return err_set(err, ERR_USAGE,
                       "mirror '%.*s' is not an address like https://host/data",
                       (int)(n_mirror < 200 ? n_mirror : 200), mirror);
    if ((size_t)snprintf(out, DOWNLOAD_URL, "%.*s%s", (int)n_mirror, mirror, path) >=
        DOWNLOAD_URL)
        return err_set(err, ERR_USAGE, "mirror '%.100s...' is too long", mirror);
    return OK;
}

/* Mirrors of the user first, in order, then what the catalogue says. */
static status download_file(struct job *j, const struct catalog_file *f,
                            const struct names *n, struct err *err)
{
    const char *mirror = j->config->mirror;
    char url[DOWNLOAD_URL], note[sizeof err->msg + 32];
    bool is_final = false;
    size_t i = 0;

    for (;;) {
        if (*mirror) {
            const size_t n_mirror = strcspn(mirror, ",");
            TRY(mirrored(url, mirror, n_mirror, f->url[0], err));
            mirror += n_mirror + (mirror[n_mirror] == ',');
        } else {
            snprintf(url, sizeof url, "%s", f->url[i++]);
        }
        if (try_url(j, f, n, url, &is_final, err) == OK)
            return OK;
        if (is_final || i == f->n_urls)
            return err->code;
        snprintf(note, sizeof note, "%s; trying the next address", err->msg);
        progress_note(j->progress, note);
    }
}

static status bring(struct job *j, const struct catalog_file *f, struct err *err)
{
    struct names n;
    bool has;

    TRY(make_names(&n, j, f, err));
    if (file_exists(n.whole))
        TRY(use_whole(j, f, &n, err));
    else {
        TRY(has_members(j, f, &has, err));
        if (!has)
            TRY(download_file(j, f, &n, err));
    }
    return j->config->keep ? OK : file_remove(n.whole, err);
}

/* "train.en" as indices; sides of other languages are not for ferry prepare's line. */
static void list_member(struct fetch_result *r, const char *dir,
                        const struct catalog_member *m)
{
    char set[32];

    str_printf(&r->summary, "%12" PRIu64 "  %s in %s/%s\n", m->n,
               catalog_unit_name(m->unit), dir, m->name);
    for (enum fetch_set s = 0; s < N_FETCH_SETS; s++)
        for (enum fetch_side side = 0; side < N_FETCH_SIDES; side++) {
            struct str *files = &r->files[s][side];
            snprintf(set, sizeof set, "%s.%s", fetch_set_names[s],
                     fetch_side_names[side]);
            if (strcmp(set, m->set) == 0)
                str_printf(files, "%s%s/%s", files->len ? "," : "", dir, m->name);
        }
}

/* Every file of a catalogue in its place: downloaded, compared with what was recorded,
 * unpacked and counted; from the next address when one of these fails. */
static status fetch_catalog(const struct fetch_config *c, const struct catalog *catalog,
                            const char *dir, struct progress *progress,
                            struct fetch_result *r, struct err *err)
{
    RELEASED_BY(manifest_close) struct manifest manifest = {0};
    struct job j = {c, dir, progress, &manifest};
    char path[FILE_PATH_MAX];

    TRY(manifest_open(&manifest, dir, catalog->name, err));
    TRY(file_join(path, sizeof path, dir, "archives", err));
    TRY(file_make_dirs(path, err));
    for (size_t i = 0; i < catalog->n_files; i++)
        TRY(bring(&j, &catalog->file[i], err));
    for (size_t i = 0; i < catalog->n_files; i++)
        for (size_t k = 0; k < catalog->file[i].n_members; k++)
            list_member(r, dir, &catalog->file[i].member[k]);
    return str_check(&r->summary, "the list of files", err);
}

/* Held until *fd is closed. */
static status lock(int *fd, const char *dir, struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(file_join(path, sizeof path, dir, ".fetch.lock", err));
    TRY(file_open_regular(fd, path, O_RDWR | O_CREAT, err));
    file_close_to_others(*fd);
    if (flock(*fd, LOCK_EX | LOCK_NB) != 0)
        return err_set(err, ERR_USAGE, "%s: another ferry fetch is running here", dir);
    return OK;
}

static status check_config(const struct fetch_config *c, bool is_debian, struct err *err)
{
    if (is_debian ? c->mirror[0] : c->english[0] || c->german[0])
        return err_set(err, ERR_USAGE,
                       is_debian
                           ? "mirror is not for debian-de-en: apt has mirrors of its own"
                           : "english and german are for debian-de-en alone");
    if (!c->english[0] != !c->german[0])
        return err_set(err, ERR_USAGE, "give both english and german, or neither");
    return OK;
}

static void unlock(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

status fetch_run(const struct fetch_config *c, const char *name, const char *dir,
                 struct progress *progress, struct fetch_result *r, struct err *err)
{
    const bool is_debian = strcmp(name, "debian-de-en") == 0;
    RELEASED_BY(catalog_close) struct catalog catalog = {0};
    RELEASED_BY(unlock) int fd = -1;

    *r = (struct fetch_result){0};
    TRY(check_config(c, is_debian, err));
    if (!is_debian)
        TRY(catalog_open(&catalog, name, err));
    TRY(file_make_dirs(dir, err));
    TRY(lock(&fd, dir, err));
    return is_debian ? debian_fetch(c, dir, progress, r, err)
                     : fetch_catalog(c, &catalog, dir, progress, r, err);
}

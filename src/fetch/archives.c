#include "fetch/archives.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "fetch/archive.h"
#include "fetch/download.h"
#include "fetch/ledger.h"
#include "fetch/tally.h"
#include "fetch/transfer.h"

struct job {
    const struct fetch_config *config;
    const char *dir;
    struct progress *progress;
    struct ledger ledger;
};

/* Names of one archive: in the ledger, whole, and on its way. */
struct names {
    char record[CATALOG_WORD + 16];
    char whole[FILE_PATH_MAX], part[FILE_PATH_MAX];
};

static status make_names(struct names *n, const struct job *j,
                         const struct catalog_file *f, struct err *err)
{
    char part[CATALOG_WORD + 32];

    snprintf(n->record, sizeof n->record, "archives/%s", f->name);
    snprintf(part, sizeof part, "%s.part", n->record);
    TRY(file_join(n->whole, sizeof n->whole, j->dir, n->record, err));
    return file_join(n->part, sizeof n->part, j->dir, part, err);
}

/* The present bytes of `path` as a ledger entry. */
static status measure(struct ledger_entry *e, const char *path, const char *from,
                      struct err *err)
{
    struct tally t;

    TRY(tally_file(&t, path, err));
    *e = (struct ledger_entry){.from = from, .n_bytes = t.n_bytes};
    tally_hex(&t, e->sha256);
    return OK;
}

static bool agrees(const struct job *j, const char *record, const struct ledger_entry *e)
{
    struct ledger_entry was;

    return !ledger_find(&j->ledger, record, &was) || strcmp(was.sha256, e->sha256) == 0;
}

/* Is every member recorded and in its place? One that was changed is an error. */
static status has_members(const struct job *j, const struct catalog_file *f, bool *has,
                          struct err *err)
{
    *has = true;
    for (size_t i = 0; i < f->n_members && *has; i++) {
        struct ledger_entry was, now;
        char path[FILE_PATH_MAX];
        TRY(file_join(path, sizeof path, j->dir, f->member[i].name, err));
        if (!file_exists(path) || !ledger_find(&j->ledger, f->member[i].name, &was)) {
            *has = false;
            break;
        }
        TRY(measure(&now, path, "", err));
        if (strcmp(was.sha256, now.sha256) != 0)
            return err_set(err, ERR_FORMAT,
                           "%s is not what was unpacked (SHA-256 %.12s..., recorded "
                           "%.12s...); remove it to unpack it again",
                           path, now.sha256, was.sha256);
    }
    return OK;
}

static status record(struct job *j, const struct catalog_file *f, const struct archive *a,
                     const struct names *n, const struct ledger_entry *whole,
                     struct err *err)
{
    for (size_t i = 0; i < f->n_members; i++) {
        struct ledger_entry e = {.from = n->record,
                                 .n_bytes = a->member[i].tally.n_bytes,
                                 .unit = catalog_unit_name(f->member[i].unit),
                                 .n = f->member[i].n};
        memcpy(e.sha256, a->member[i].sha256, sizeof e.sha256);
        TRY(ledger_put(&j->ledger, f->member[i].name, &e, err));
    }
    return ledger_put(&j->ledger, n->record, whole, err);
}

/* An archive with its own name, put there by an earlier run or by the user. */
static status use_whole(struct job *j, const struct catalog_file *f,
                        const struct names *n, struct err *err)
{
    struct ledger_entry now, was = {.from = "found here"};
    struct archive a;
    bool has;

    (void)ledger_find(&j->ledger, n->record, &was);
    TRY(measure(&now, n->whole, was.from, err));
    if (!agrees(j, n->record, &now))
        return err_set(err, ERR_FORMAT,
                       "%s is not what was first downloaded (SHA-256 %.12s..., recorded "
                       "%.12s...); remove it to download it again",
                       n->whole, now.sha256, was.sha256);
    TRY(has_members(j, f, &has, err));
    if (has)
        return OK;
    TRY(archive_open(&a, n->whole, f, j->dir, j->progress, err));
    TRY(archive_commit(&a, err));
    return record(j, f, &a, n, &now, err);
}

/* A download that is whole, from the first byte to a name and an entry in the ledger. */
static status accept_part(struct job *j, const struct catalog_file *f,
                          const struct names *n, const char *url, struct err *err)
{
    struct ledger_entry now, was;
    struct archive a;

    TRY(measure(&now, n->part, url, err));
    if (!agrees(j, n->record, &now)) {
        (void)ledger_find(&j->ledger, n->record, &was);
        return err_set(err, ERR_FORMAT,
                       "%.300s is not what was first downloaded (SHA-256 %.12s..., "
                       "recorded %.12s... in %s)",
                       url, now.sha256, was.sha256, j->ledger.path);
    }
    if (archive_open(&a, n->part, f, j->dir, j->progress, err) != OK)
        return err_wrap(err, "%.300s", url);
    TRY(archive_commit(&a, err));
    TRY(download_commit(n->part, n->whole, err));
    return record(j, f, &a, n, &now, err);
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
        .progress = j->progress,
    };

    TRY(download_get(&d, url, n->part, is_final, err));
    const status result = accept_part(j, f, n, url, err);
    *is_final = result != ERR_FORMAT;
    if (result == ERR_FORMAT) { /* the wrong file: its bytes are of no use to anybody */
        struct err other;
        *is_final = download_discard(n->part, &other) != OK;
    }
    return result;
}

/* MIRROR + the path of `url` behind its host. */
static status mirrored(char out[TRANSFER_URL], const char *mirror, size_t n_mirror,
                       const char *url, struct err *err)
{
    const char *path = strchr(strstr(url, "://") + 3, '/');

    while (n_mirror && mirror[n_mirror - 1] == '/')
        n_mirror--;
    if ((strncmp(mirror, "http://", 7) != 0 && strncmp(mirror, "https://", 8) != 0) ||
        strcspn(mirror, " \t\r\n") < n_mirror)
        return err_set(err, ERR_USAGE,
                       "mirror '%.*s' is not an address like https://host/data",
                       (int)(n_mirror < 200 ? n_mirror : 200), mirror);
    if ((size_t)snprintf(out, TRANSFER_URL, "%.*s%s", (int)n_mirror, mirror, path) >=
        TRANSFER_URL)
        return err_set(err, ERR_USAGE, "mirror '%.100s...' is too long", mirror);
    return OK;
}

/* Tell that an address failed and that the next one has its turn. */
static void note_next(struct job *j, const struct err *err)
{
    char line[sizeof err->msg + 32];

    snprintf(line, sizeof line, "%s; next address", err->msg);
    progress_note(j->progress, line);
}

/* Mirrors of the user first, in order, then what the catalogue says. */
static status download_file(struct job *j, const struct catalog_file *f,
                            const struct names *n, struct err *err)
{
    const char *mirror = j->config->mirror;
    char url[TRANSFER_URL];
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
        note_next(j, err);
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
            snprintf(set, sizeof set, "%s.%s", fetch_set_name(s), fetch_side_name(side));
            if (strcmp(set, m->set) == 0)
                str_printf(files, "%s%s/%s", files->len ? "," : "", dir, m->name);
        }
}

static status bring_all(struct job *j, const struct catalog *catalog, struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(file_join(path, sizeof path, j->dir, "archives", err));
    TRY(file_make_dirs(path, err));
    for (size_t i = 0; i < catalog->n_files; i++)
        TRY(bring(j, &catalog->file[i], err));
    return OK;
}

status archives_fetch(const struct fetch_config *c, const struct catalog *catalog,
                      const char *dir, struct progress *progress, struct fetch_result *r,
                      struct err *err)
{
    struct job j = {.config = c, .dir = dir, .progress = progress};

    TRY(ledger_open(&j.ledger, dir, catalog->name, err));
    const status result = bring_all(&j, catalog, err);
    ledger_close(&j.ledger);
    TRY(result);
    for (size_t i = 0; i < catalog->n_files; i++)
        for (size_t k = 0; k < catalog->file[i].n_members; k++)
            list_member(r, dir, &catalog->file[i].member[k]);
    return str_check(&r->summary, "the list of files", err);
}

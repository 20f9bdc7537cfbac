#include "prepare/source/pairs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "prepare/source/weights.h"
#include "text/line_reader.h"

/* Copy a pipe to a file without a name. */
static status spool(int from, int *to, struct err *err)
{
    char block[1 << 14];
    ssize_t n;

    TRY(file_nameless(to, err));
    while ((n = read(from, block, sizeof block)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_IO, "%s", strerror(errno));
        TRY(file_put(*to, block, (size_t)n, "its copy in TMPDIR", err));
    }
    return OK;
}

/* Size and age of a file that is open as `fd`; a pipe is copied first. */
static status look_at(struct pairs_file *f, int s, int fd, struct err *err)
{
    const char *name = f->path[s];
    struct stat st;

    if (fstat(fd, &st) != 0)
        return err_set(err, ERR_IO, "%s: %s", name, strerror(errno));
    if (S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode) ||
        (S_ISCHR(st.st_mode) && !isatty(fd))) /* /dev/zero has no end */
        return err_set(err, ERR_IO, "%s: not a regular file", name);
    if (!S_ISREG(st.st_mode)) {
        if (spool(fd, &f->spool[s], err) != OK)
            return err_wrap(err, "%s", name);
        if (fstat(f->spool[s], &st) != 0)
            return err_set(err, ERR_IO, "%s: %s", name, strerror(errno));
    }
    f->n_bytes[s] = (uint64_t)st.st_size;
    f->changed[s] = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    return OK;
}

static status find_file(struct pairs_file *f, int s, struct err *err)
{
    const bool is_stdin = strcmp(f->path[s], "-") == 0;
    const int fd = is_stdin ? dup(0) : open(f->path[s], O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_set(err, ERR_IO, "%s: %s", f->path[s], strerror(errno));
    const status result = look_at(f, s, fd, err);
    close(fd);
    return result;
}

struct paths {
    char (*path)[FILE_PATH_MAX];
    size_t n, cap;
};

static status add_path(struct paths *p, struct line path, struct err *err)
{
    if (path.n_bytes == 0 || path.n_bytes >= FILE_PATH_MAX)
        return err_set(err, ERR_USAGE,
                       "file %zu of a list of text files has a name of %zu bytes",
                       p->n + 1, path.n_bytes);
    TRY(mem_grow(&p->path, &p->cap, p->n + 1, sizeof *p->path, err));
    snprintf(p->path[p->n++], FILE_PATH_MAX, "%.*s", (int)path.n_bytes, path.text);
    return OK;
}

/* The paths in the lines of a file, "-" for standard input. */
static status read_list_file(struct paths *p, const char *path, struct err *err)
{
    enum { FILES_MAX = 1 << 16 }; /* an endless list ends here */
    RELEASED_BY(line_reader_close) struct line_reader f = {0};
    struct line line;

    TRY(strcmp(path, "-") == 0
            ? line_reader_open_fd(&f, STDIN_FILENO, "standard input", err)
            : line_reader_open(&f, path, path, err));
    TRY(line_reader_expect_text(&f, err));
    f.max_line = FILE_PATH_MAX - 1;
    for (bool has = true; has;) {
        TRY(line_reader_next(&f, &line, &has, err));
        if (f.is_cut || p->n == FILES_MAX)
            return err_set(err, ERR_FORMAT,
                           "%s, line %" PRIu64 ": a list has a file name on each line, "
                           "of at most %d bytes, and at most %d of them",
                           f.in.name, f.n_lines, FILE_PATH_MAX - 1, FILES_MAX);
        if (has && line.n_bytes)
            TRY(add_path(p, line, err));
    }
    return OK;
}

/* The paths of "a,b,..." or of the lines of "@FILE"; none of "". */
static status read_list(struct paths *p, const char *list, struct err *err)
{
    struct line path;

    if (*list == '@')
        return read_list_file(p, list + 1, err);
    for (bool more = *list; more;) {
        path = (struct line){list, strcspn(list, ",")};
        more = list[path.n_bytes] == ',';
        list += path.n_bytes + more;
        TRY(add_path(p, path, err));
    }
    return OK;
}

static status add_file(struct pairs *p, const char *source, const char *target,
                       struct pairs_file **f, struct err *err)
{
    TRY(mem_grow(&p->file, &p->cap, p->n_files + 1, sizeof *p->file, err));
    *f = &p->file[p->n_files++];
    **f = (struct pairs_file){.spool = {-1, -1, -1}};
    memcpy((*f)->path[PAIRS_SOURCE], source, FILE_PATH_MAX);
    memcpy((*f)->path[PAIRS_TARGET], target, FILE_PATH_MAX);
    for (int s = 0; s < PAIRS_SIDES; s++)
        (*f)->kind[s] = source_kind_of((*f)->path[s]);
    return OK;
}

/* Two files of one side each must be of a kind that has one. */
static status add_sides(struct pairs *p, const char *source, const char *target,
                        struct err *err)
{
    struct pairs_file *f;

    TRY(add_file(p, source, target, &f, err));
    for (int s = 0; s < PAIRS_SIDES; s++) {
        if (source_is_both(f->kind[s]))
            return err_set(err, ERR_USAGE,
                           "%s holds both sides: name it with pairs=, not with %s=",
                           f->path[s], s == PAIRS_SOURCE ? "source" : "target");
        TRY(find_file(f, s, err));
    }
    return OK;
}

/* WMT's newer test sets hold both sides too, but are read one side at a time. */
static status add_both(struct pairs *p, const char *path, struct err *err)
{
    struct pairs_file *f;

    TRY(add_file(p, path, path, &f, err));
    for (int s = 0; s < PAIRS_SIDES; s++) /* a TSV by any other name */
        if (f->kind[s] == SOURCE_TEXT)
            f->kind[s] = SOURCE_TSV;
    const enum source_kind kind = f->kind[PAIRS_SOURCE];
    f->is_both = source_is_both(kind);
    if (kind == SOURCE_TMX && (!*p->reading.lang[0] || !*p->reading.lang[1]))
        return err_set(err, ERR_USAGE,
                       "%s: name the languages to take of it, as in source_lang=en "
                       "target_lang=de",
                       path);
    TRY(find_file(f, PAIRS_SOURCE, err));
    if (f->is_both)
        return OK;
    if (f->spool[PAIRS_SOURCE] >= 0)
        return err_set(err, ERR_USAGE, "%s: a test set cannot come from a pipe", path);
    return find_file(f, PAIRS_TARGET, err);
}

enum { LISTS = 4 };

static void release_paths(struct paths (*at)[LISTS])
{
    for (int i = 0; i < LISTS; i++)
        free((*at)[i].path);
}

/* One file for each text, in their order. */
static status add_weights(struct pairs *p, const struct paths *at, const char *list,
                          struct err *err)
{
    if (!at->n)
        return OK;
    if (at->n != p->n_files)
        return err_set(err, ERR_USAGE,
                       "%zu files of weights (%s) for %zu of text; want one for each",
                       at->n, list, p->n_files);
    for (size_t i = 0; i < at->n; i++) {
        struct pairs_file *f = &p->file[i];
        memcpy(f->path[PAIRS_WEIGHTS], at->path[i], FILE_PATH_MAX);
        f->kind[PAIRS_WEIGHTS] = SOURCE_TEXT;
        TRY(find_file(f, PAIRS_WEIGHTS, err));
    }
    return OK;
}

static status open_lists(struct pairs *p, const struct pairs_lists *l, struct err *err)
{
    RELEASED_BY(release_paths) struct paths at[LISTS] = {0};

    TRY(read_list(&at[0], l->source, err));
    TRY(read_list(&at[1], l->target, err));
    TRY(read_list(&at[2], l->both, err));
    TRY(read_list(&at[3], l->weights ? l->weights : "", err));
    if (at[0].n != at[1].n)
        return err_set(err, ERR_USAGE,
                       "%zu source files (%s) and %zu target files (%s); want as many",
                       at[0].n, l->source, at[1].n, l->target);
    for (size_t i = 0; i < at[0].n; i++)
        TRY(add_sides(p, at[0].path[i], at[1].path[i], err));
    for (size_t i = 0; i < at[2].n; i++)
        TRY(add_both(p, at[2].path[i], err));
    return add_weights(p, &at[3], l->weights, err);
}

status pairs_open(struct pairs *p, const struct pairs_lists *lists, struct err *err)
{
    *p = (struct pairs){.reading = lists->reading};
    if (open_lists(p, lists, err) == OK)
        return OK;
    pairs_close(p);
    return err->code;
}

static void close_sources(struct pairs *p)
{
    if (!p->is_open)
        return;
    for (int s = 0; s < PAIRS_FILES; s++)
        source_close(&p->source[s]);
    p->is_open = false;
}

void pairs_close(struct pairs *p)
{
    close_sources(p);
    for (size_t i = 0; i < p->n_files; i++)
        for (int s = 0; s < PAIRS_FILES; s++)
            if (p->file[i].spool[s] >= 0)
                close(p->file[i].spool[s]);
    free(p->file);
    *p = (struct pairs){0};
}

void pairs_rewind(struct pairs *p)
{
    close_sources(p);
    p->at = 0;
    p->n_read = 0;
}

static bool has_weights(const struct pairs_file *f)
{
    return *f->path[PAIRS_WEIGHTS];
}

bool pairs_have_weights(const struct pairs *p)
{
    return p->n_files && has_weights(&p->file[0]);
}

uint64_t pairs_bytes(const struct pairs *p)
{
    uint64_t n = 0;

    for (size_t i = 0; i < p->n_files; i++)
        n += p->file[i].n_bytes[PAIRS_SOURCE] +
             (p->file[i].is_both ? 0 : p->file[i].n_bytes[PAIRS_TARGET]);
    return n;
}

status pairs_open_side(const struct pairs *p, const struct pairs_file *f, int s,
                       struct source *out, struct err *err)
{
    struct source_options options = p->reading;
    char path[FILE_PATH_MAX];

    options.side = s;
    if (f->spool[s] >= 0) /* opened again, so that it is read from its start */
        snprintf(path, sizeof path, "/proc/self/fd/%d", f->spool[s]);
    else
        memcpy(path, f->path[s], sizeof path);
    return source_open(out, path, f->path[s], f->kind[s], options, err);
}

static status open_sources(struct pairs *p, struct err *err)
{
    const struct pairs_file *f = &p->file[p->at];
    const bool is_read[PAIRS_FILES] = {true, !f->is_both, has_weights(f)};

    for (int s = 0; s < PAIRS_FILES; s++)
        p->source[s] = (struct source){0};
    p->is_open = true;
    for (int s = 0; s < PAIRS_FILES; s++)
        if (is_read[s] && pairs_open_side(p, f, s, &p->source[s], err) != OK) {
            close_sources(p);
            return err->code;
        }
    return OK;
}

/* Segments of two test sets belong together by their numbers. */
static status check_ids(const struct pairs *p, const struct pairs_file *f,
                        struct err *err)
{
    const struct source *a = &p->source[PAIRS_SOURCE], *b = &p->source[PAIRS_TARGET];

    if (a->kind != SOURCE_SGM || b->kind != SOURCE_SGM || !*a->id || !*b->id)
        return OK;
    if (!strcmp(a->id, b->id) && (!*a->doc || !*b->doc || !strcmp(a->doc, b->doc)))
        return OK;
    return err_set(err, ERR_FORMAT,
                   "%s:%" PRIu64 " is segment %s of document '%s', %s:%" PRIu64
                   " is segment %s of '%s'; they should be the same",
                   f->path[0], a->line, a->id, a->doc, f->path[1], b->line, b->id,
                   b->doc);
}

/* How much the row counts, of which there `is` one. */
static status next_weight(struct pairs *p, bool is, float *weight, struct err *err)
{
    const struct pairs_file *f = &p->file[p->at];
    struct source *w = &p->source[PAIRS_WEIGHTS];
    bool has;

    *weight = 1;
    if (!has_weights(f))
        return OK;
    TRY(source_next(w, &has, err));
    if (has != is)
        return weights_count_differs(f->path[PAIRS_WEIGHTS], w->n_rows,
                                     f->path[PAIRS_SOURCE],
                                     p->source[PAIRS_SOURCE].n_rows, err);
    return has ? weights_read(weight, w->seg[0], f->path[PAIRS_WEIGHTS], w->line, err)
               : OK;
}

/* The next row of the open file; *has is false at its end. */
static status next_row(struct pairs *p, struct pairs_row *row, bool *has, struct err *err)
{
    const struct pairs_file *f = &p->file[p->at];
    struct source *a = &p->source[PAIRS_SOURCE];
    struct source *b = f->is_both ? a : &p->source[PAIRS_TARGET];
    float weight;
    bool has_b;

    TRY(source_next(a, has, err));
    has_b = *has;
    if (!f->is_both)
        TRY(source_next(b, &has_b, err));
    if (*has != has_b)
        return pairs_diverge(p, p->at, a->n_rows, b->n_rows, err);
    TRY(next_weight(p, *has, &weight, err));
    if (!*has)
        return OK;
    if (!f->is_both)
        TRY(check_ids(p, f, err));
    *row = (struct pairs_row){.side = {a->seg[0], f->is_both ? a->seg[1] : b->seg[0]},
                              .line = {a->line, b->line},
                              .file = p->at,
                              .weight = weight,
                              .is_cut = a->is_cut || b->is_cut};
    return OK;
}

status pairs_next(struct pairs *p, struct pairs_row *row, bool *has, struct err *err)
{
    for (*has = false; p->at < p->n_files; p->at++) {
        if (!p->is_open)
            TRY(open_sources(p, err));
        TRY(next_row(p, row, has, err));
        if (*has) {
            p->n_read++;
            return OK;
        }
        p->file[p->at].n_skipped = p->source[PAIRS_SOURCE].n_skipped;
        close_sources(p);
    }
    return OK;
}

/* Where counting stands, in bytes of the files, for the progress line. */
struct count {
    struct progress *progress;
    uint64_t n_done; /* of the files before */
};

static status count_side(const struct pairs *p, const struct pairs_file *f, int side,
                         struct count *c, uint64_t *n, struct err *err)
{
    RELEASED_BY(source_close) struct source s = {0};

    TRY(pairs_open_side(p, f, side, &s, err));
    for (bool has = true; has;) {
        TRY(source_next(&s, &has, err));
        if (s.n_rows % 4096 == 0)
            progress_update(c->progress, (c->n_done + source_bytes_read(&s)) >> 20);
    }
    *n = s.n_rows;
    c->n_done += f->n_bytes[side];
    return OK;
}

/* All of them are right, and as many as pairs. */
static status count_weights(const struct pairs *p, const struct pairs_file *f,
                            struct err *err)
{
    RELEASED_BY(source_close) struct source s = {0};
    float weight;

    if (!has_weights(f))
        return OK;
    TRY(pairs_open_side(p, f, PAIRS_WEIGHTS, &s, err));
    for (bool has = true; has;) {
        TRY(source_next(&s, &has, err));
        if (has)
            TRY(weights_read(&weight, s.seg[0], f->path[PAIRS_WEIGHTS], s.line, err));
    }
    if (s.n_rows == f->n_lines)
        return OK;
    return weights_count_differs(f->path[PAIRS_WEIGHTS], s.n_rows, f->path[PAIRS_SOURCE],
                                 f->n_lines, err);
}

/* Two test sets are read side by side, so that their numbers are compared. */
static bool is_by_number(const struct pairs_file *f)
{
    return !f->is_both && f->kind[0] == SOURCE_SGM && f->kind[1] == SOURCE_SGM;
}

static status compare_numbers(const struct pairs *p, size_t at, struct err *err)
{
    RELEASED_BY(pairs_rewind)
    struct pairs one = {.file = &p->file[at], .n_files = 1, .reading = p->reading};
    struct pairs_row row;

    for (bool has = true; has;)
        TRY(pairs_next(&one, &row, &has, err));
    return OK;
}

static status count_file(struct pairs *p, size_t at, struct count *c, struct err *err)
{
    struct pairs_file *f = &p->file[at];
    uint64_t n[PAIRS_SIDES];

    TRY(count_side(p, f, PAIRS_SOURCE, c, &n[PAIRS_SOURCE], err));
    n[PAIRS_TARGET] = n[PAIRS_SOURCE];
    if (!f->is_both)
        TRY(count_side(p, f, PAIRS_TARGET, c, &n[PAIRS_TARGET], err));
    for (int s = 0; s < PAIRS_SIDES; s++)
        if (n[s] == 0)
            return err_set(err, ERR_FORMAT, "%s: %s", f->path[s],
                           f->n_bytes[s] ? "there is no text in it"
                                         : "the file is empty");
    if (is_by_number(f))
        TRY(compare_numbers(p, at, err));
    if (n[PAIRS_SOURCE] != n[PAIRS_TARGET])
        return pairs_diverge(p, at, n[PAIRS_SOURCE], n[PAIRS_TARGET], err);
    f->n_lines = n[PAIRS_SOURCE];
    p->n_lines += f->n_lines;
    return count_weights(p, f, err);
}

status pairs_count(struct pairs *p, struct progress *progress, struct err *err)
{
    struct count c = {.progress = progress};

    p->n_lines = 0;
    for (size_t i = 0; i < p->n_files; i++)
        TRY(count_file(p, i, &c, err));
    return OK;
}

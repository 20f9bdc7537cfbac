#include "fetch/catalog.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "base/mem.h"
#include "base/str.h"

enum { MAX_WORDS = 6, MAX_LINE = 1024 };

const char *catalog_unit_name(enum catalog_unit unit)
{
    return unit == CATALOG_LINES ? "lines" : "segments";
}

uint64_t catalog_member_max(const struct catalog_member *m)
{
    enum { LINE_BYTES = 1 << 10, HEAD_BYTES = 1 << 20 }; /* Europarl has 150 a line */

    return m->n * LINE_BYTES + HEAD_BYTES;
}

uint64_t catalog_file_max(const struct catalog_file *f)
{
    enum { OTHERS = 32 }; /* the archives of WMT hold up to twelve languages */
    uint64_t n = 0;

    for (size_t i = 0; i < f->n_members; i++)
        n += catalog_member_max(&f->member[i]);
    return n * OTHERS;
}

/* One line as words, and where it stands. */
struct row {
    const char *where;
    size_t line;
    char text[MAX_LINE];
    char *word[MAX_WORDS];
    size_t n;
};

static status fail(const struct row *r, struct err *err, const char *what)
{
    return err_set(err, ERR_FORMAT, "%s:%zu: %s", r->where, r->line, what);
}

static status split(struct row *r, const char *text, size_t n, struct err *err)
{
    r->n = 0;
    if (n >= MAX_LINE || memchr(text, '\0', n))
        return fail(r, err, "the line is too long or holds a NUL byte");
    memcpy(r->text, text, n);
    r->text[n] = '\0';
    for (char *p = r->text;;) {
        p += strspn(p, " \t\r");
        if (*p == '\0' || *p == '#')
            return OK;
        if (r->n == MAX_WORDS)
            return fail(r, err, "the line has too many words");
        r->word[r->n++] = p;
        p += strcspn(p, " \t\r");
        if (*p)
            *p++ = '\0';
    }
}

/* What becomes the name of a file below the user's directory. */
static bool is_file_name(const char *s)
{
    return s[0] && s[0] != '.' && !strchr(s, '/') && strlen(s) < CATALOG_WORD - 16 &&
           strcmp(s, "fetch.json") != 0 && strcmp(s, "archives") != 0;
}

static bool is_url(const char *s)
{
    const char *host = str_begins(s, "https://")  ? s + 8
                       : str_begins(s, "http://") ? s + 7
                                                  : NULL;

    return host && host[0] && host[0] != '/' && strchr(host, '/') &&
           strlen(s) < CATALOG_WORD;
}

static status add_file(struct catalog *c, const struct row *r, struct err *err)
{
    if (r->n != 2 || !is_file_name(r->word[1]))
        return fail(r, err, "want: file NAME, a plain file name");
    if (c->n_files == CATALOG_FILES)
        return fail(r, err, "more than 64 files");
    for (size_t i = 0; i < c->n_files; i++)
        if (strcmp(c->file[i].name, r->word[1]) == 0)
            return fail(r, err, "the file is named twice");
    struct catalog_file *f = &c->file[c->n_files++];
    snprintf(f->name, sizeof f->name, "%s", r->word[1]);
    return OK;
}

static status add_url(struct catalog_file *f, const struct row *r, struct err *err)
{
    if (r->n != 2 || !is_url(r->word[1]))
        return fail(r, err, "want: url https://HOST/PATH");
    if (f->n_urls == CATALOG_URLS)
        return fail(r, err, "more than 8 urls of one file");
    snprintf(f->url[f->n_urls++], CATALOG_WORD, "%s", r->word[1]);
    return OK;
}

static bool is_set(const char *s)
{
    const char *side = strchr(s, '.');

    return side && side[1] && strlen(s) < 32 &&
           (str_begins(s, "train.") || str_begins(s, "valid.") || str_begins(s, "test."));
}

static bool is_named(const struct catalog *c, const char *member)
{
    for (size_t i = 0; i < c->n_files; i++)
        for (size_t k = 0; k < c->file[i].n_members; k++)
            if (strcmp(c->file[i].member[k].name, member) == 0)
                return true;
    return false;
}

static status add_member(struct catalog *c, const struct row *r, struct err *err)
{
    struct catalog_file *f = &c->file[c->n_files - 1];
    char *end = NULL;

    if (r->n != 5 || !is_set(r->word[1]) || !is_file_name(r->word[2]) ||
        r->word[3][0] < '0' || r->word[3][0] > '9')
        return fail(r, err, "want: member SET.SIDE NAME N lines|segments");
    if (f->n_members == CATALOG_MEMBERS)
        return fail(r, err, "more than 8 members of one file");
    if (is_named(c, r->word[2]))
        return fail(r, err, "the member is named twice");
    struct catalog_member *m = &f->member[f->n_members++];
    m->n = strtoull(r->word[3], &end, 10);
    if (*end || m->n == 0 || m->n > (uint64_t)1 << 40)
        return fail(r, err, "the number of lines or segments cannot be");
    m->unit = strcmp(r->word[4], "segments") == 0 ? CATALOG_SEGMENTS : CATALOG_LINES;
    if (strcmp(r->word[4], catalog_unit_name(m->unit)) != 0)
        return fail(r, err, "members are counted in lines or segments");
    snprintf(m->set, sizeof m->set, "%s", r->word[1]);
    snprintf(m->name, sizeof m->name, "%s", r->word[2]);
    return OK;
}

static status take(struct catalog *c, const struct row *r, struct err *err)
{
    const char *key = r->n ? r->word[0] : "";

    if (r->n == 0)
        return OK;
    if (strcmp(key, "corpus") == 0) {
        if (r->n != 2 || strlen(r->word[1]) >= sizeof c->name || c->name[0])
            return fail(r, err, "want one line: corpus NAME");
        snprintf(c->name, sizeof c->name, "%s", r->word[1]);
        return OK;
    }
    if (strcmp(key, "file") == 0)
        return add_file(c, r, err);
    if (strcmp(key, "url") != 0 && strcmp(key, "member") != 0)
        return fail(r, err, "a line begins with corpus, file, url or member");
    if (c->n_files == 0)
        return fail(r, err, "url and member belong below a file");
    return key[0] == 'u' ? add_url(&c->file[c->n_files - 1], r, err)
                         : add_member(c, r, err);
}

static status check(const struct catalog *c, const char *where, struct err *err)
{
    if (!c->name[0] || c->n_files == 0)
        return err_set(err, ERR_FORMAT, "%s: names no corpus, or no file of it", where);
    for (size_t i = 0; i < c->n_files; i++)
        if (c->file[i].n_urls == 0 || c->file[i].n_members == 0)
            return err_set(err, ERR_FORMAT, "%s: file %s has no url or no member", where,
                           c->file[i].name);
    return OK;
}

static status parse_lines(struct catalog *c, const char *text, size_t n,
                          const char *where, struct err *err)
{
    struct lines lines = lines_over(text, n);
    struct row r = {.where = where};
    struct line line;

    while (lines_next(&lines, &line)) {
        r.line++;
        TRY(split(&r, line.text, line.n_bytes, err));
        TRY(take(c, &r, err));
    }
    return check(c, where, err);
}

status catalog_parse(struct catalog *c, const char *text, size_t n, const char *where,
                     struct err *err)
{
    *c = (struct catalog){0};
    TRY(mem_alloc(&c->file, CATALOG_FILES, sizeof *c->file, err));
    if (parse_lines(c, text, n, where, err) != OK) {
        catalog_close(c);
        return err->code;
    }
    return OK;
}

static status unknown(const char *name, struct err *err)
{
    const char *nearest = NULL;
    RELEASED_BY(str_release) struct str known = str_new(0);

    str_nearest(&nearest, "debian-de-en", name);
    str_puts(&known, "debian-de-en");
    for (const struct catalog_text *t = catalog_texts; t->name[0]; t++) {
        str_nearest(&nearest, t->name, name);
        str_printf(&known, ", %s", t->name);
    }
    if (nearest)
        return err_set(err, ERR_USAGE, "no corpus is called '%.64s'; did you mean '%s'?",
                       name, nearest);
    return err_set(err, ERR_USAGE,
                   "no corpus is called '%.64s'; there are %s, and files named *.corpus",
                   name, str_text(&known));
}

status catalog_open(struct catalog *c, const char *name, struct err *err)
{
    RELEASED_BY(file_map_close) struct file_map m = {0};

    *c = (struct catalog){0};
    if (strchr(name, '/') ||
        (str_ends(name, ".corpus") && strcmp(name, ".corpus") != 0)) {
        TRY(file_map_open(&m, name, err));
        return catalog_parse(c, (const char *)m.data, m.n_bytes, name, err);
    }
    for (const struct catalog_text *t = catalog_texts; t->name[0]; t++)
        if (strcmp(t->name, name) == 0)
            return catalog_parse(c, t->text, strlen(t->text), name, err);
    return unknown(name, err);
}

void catalog_close(struct catalog *c)
{
    free(c->file);
    *c = (struct catalog){0};
}

#include "decode/output_name.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/str.h"
#include "format/stream.h"

bool output_name_is_pattern(const char *text)
{
    return strchr(text, '{') != NULL;
}

/* An input file's name in parts. */
struct parts {
    const char *dir, *name;
    int n_dir, n_name, n_stem;
};

static struct parts parts_of(const char *input)
{
    const char *slash = strrchr(input, '/');
    struct parts p = {.dir = ".", .n_dir = 1, .name = slash ? slash + 1 : input};

    if (slash) {
        p.dir = slash == input ? "/" : input;
        p.n_dir = slash == input ? 1 : (int)(slash - input);
    }
    p.n_name = (int)stream_stem(p.name, strlen(p.name));
    p.n_stem = p.n_name;
    for (int i = 1; i < p.n_name; i++)
        if (p.name[i] == '.')
            p.n_stem = i;
    return p;
}

static status fill_in(char name[FILE_PATH_MAX], const char *pattern, const char *input,
                      struct err *err)
{
    const struct parts p = parts_of(input);
    RELEASED_BY(str_release) struct str out = str_new(FILE_PATH_MAX);

    for (const char *at = pattern; *at;) {
        if (*at != '{') {
            str_putc(&out, *at++);
        } else if (str_begins(at, "{dir}")) {
            str_printf(&out, "%.*s", p.n_dir, p.dir);
            at += strlen("{dir}");
        } else if (str_begins(at, "{name}")) {
            str_printf(&out, "%.*s", p.n_name, p.name);
            at += strlen("{name}");
        } else if (str_begins(at, "{stem}")) {
            str_printf(&out, "%.*s", p.n_stem, p.name);
            at += strlen("{stem}");
        } else {
            return err_set(err, ERR_USAGE,
                           "output = %s: in braces only {dir}, {name} and {stem} of the "
                           "input file are known",
                           pattern);
        }
    }
    return file_path(name, err, "%s", str_text(&out));
}

/* A file or directory whatever its name is; none is where there is no such file. */
struct identity {
    bool is_there;
    dev_t device;
    ino_t inode;
};

static struct identity identity_of(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return (struct identity){0};
    return (struct identity){true, st.st_dev, st.st_ino};
}

static bool is_same(struct identity a, struct identity b)
{
    return a.is_there && b.is_there && a.device == b.device && a.inode == b.inode;
}

/* Where an output goes. */
struct place {
    struct identity dir;
    const char *path, *base; /* base: its name in the directory */
};

static struct place place_of(const char *path)
{
    char dir[FILE_PATH_MAX];
    const char *slash = strrchr(path, '/');

    snprintf(dir, sizeof dir, "%s", path);
    return (struct place){identity_of(dirname(dir)), path, slash ? slash + 1 : path};
}

/* Directories that are not there yet have only their names. */
static bool is_same_place(const struct place *a, const struct place *b)
{
    return strcmp(a->path, b->path) == 0 ||
           (is_same(a->dir, b->dir) && strcmp(a->base, b->base) == 0);
}

/* The inputs, and where the outputs of those before go. */
struct check {
    const char *pattern;
    const char *const *input; /* [n] */
    size_t n;
    struct identity *file; /* [n] of the inputs */
    struct place *place;   /* [n] */
};

/* Output i is no input, and if each input has its own, no other output. */
static status check_output(struct check *c, const char *name, size_t i, struct err *err)
{
    const struct identity file = identity_of(name);

    for (size_t k = 0; k < c->n; k++)
        if (is_same(file, c->file[k]))
            return err_set(err, ERR_USAGE,
                           "output = %s: this would overwrite the input file %s", name,
                           c->input[k]);
    c->place[i] = place_of(name);
    for (size_t k = 0; k < i; k++)
        if (is_same_place(&c->place[i], &c->place[k]))
            return err_set(err, ERR_USAGE,
                           "output = %s: %s and %s would both be written to %s",
                           c->pattern, c->input[k], c->input[i], name);
    return OK;
}

static status make(struct check *c, char (*name)[FILE_PATH_MAX], struct err *err)
{
    const bool is_pattern = output_name_is_pattern(c->pattern);

    TRY(mem_alloc(&c->file, c->n, sizeof *c->file, err));
    TRY(mem_alloc(&c->place, c->n, sizeof *c->place, err));
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->input[i], "-") != 0)
            c->file[i] = identity_of(c->input[i]);
        else if (is_pattern)
            return err_set(
                err, ERR_USAGE,
                "output = %s: standard input has no name; name the output file",
                c->pattern);
    for (size_t i = 0; i < c->n; i++) {
        TRY(is_pattern ? fill_in(name[i], c->pattern, c->input[i], err)
                       : file_path(name[i], err, "%s", c->pattern));
        if (is_pattern || i == 0)
            TRY(check_output(c, name[i], i, err));
    }
    return OK;
}

status output_name_make(char (*name)[FILE_PATH_MAX], const char *pattern,
                        const char *const *input, size_t n, struct err *err)
{
    struct check c = {.pattern = pattern, .input = input, .n = n};
    const status result = make(&c, name, err);

    free(c.file);
    free(c.place);
    return result;
}

#include "decode/output_name.h"

#include <string.h>
#include <sys/stat.h>

#include "base/str.h"

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
    static const char *const packed[] = {".gz", ".xz", ".zst"};
    const char *slash = strrchr(input, '/');
    struct parts p = {.dir = ".", .n_dir = 1, .name = slash ? slash + 1 : input};

    if (slash) {
        p.dir = slash == input ? "/" : input;
        p.n_dir = slash == input ? 1 : (int)(slash - input);
    }
    p.n_name = (int)strlen(p.name);
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
        if (str_ends(p.name, packed[i]) && strlen(packed[i]) < strlen(p.name))
            p.n_name = (int)(strlen(p.name) - strlen(packed[i]));
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

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

static status check_inputs(const char *name, const char *const *input, size_t n,
                           struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(input[i], "-") != 0 && is_same_file(name, input[i]))
            return err_set(err, ERR_USAGE,
                           "output = %s: this would overwrite the input file %s", name,
                           input[i]);
    return OK;
}

status output_name_make(char (*name)[FILE_PATH_MAX], const char *pattern,
                        const char *const *input, size_t n, struct err *err)
{
    const bool is_pattern = output_name_is_pattern(pattern);

    for (size_t i = 0; i < n; i++) {
        if (is_pattern && strcmp(input[i], "-") == 0)
            return err_set(
                err, ERR_USAGE,
                "output = %s: standard input has no name; name the output file", pattern);
        TRY(is_pattern ? fill_in(name[i], pattern, input[i], err)
                       : file_path(name[i], err, "%s", pattern));
        TRY(check_inputs(name[i], input, n, err));
        for (size_t k = 0; is_pattern && k < i; k++)
            if (strcmp(name[i], name[k]) == 0)
                return err_set(err, ERR_USAGE,
                               "output = %s: %s and %s would both be written to %s",
                               pattern, input[k], input[i], name[i]);
    }
    return OK;
}

#include "corpus/pairs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static size_t list_length(const char *list)
{
    size_t n = 1;

    for (; *list; list++)
        n += *list == ',';
    return n;
}

/* Open the files of one list as side `s`. */
static status open_side(struct pairs *p, int s, const char *list, struct err *err)
{
    for (size_t i = 0; i < p->n_files; i++) {
        const size_t len = strcspn(list, ",");
        char *path = p->file[i].path[s];

        if (len == 0 || len >= FILE_PATH_MAX)
            return err_set(err, ERR_USAGE,
                           "file %zu of a list of text files has a name of %zu bytes",
                           i + 1, len);
        snprintf(path, FILE_PATH_MAX, "%.*s", (int)len, list);
        TRY(lines_open(&p->file[i].text[s], path, err));
        list += len + (list[len] == ',');
    }
    return OK;
}

static status count_lines(struct pairs *p, struct err *err)
{
    for (size_t i = 0; i < p->n_files; i++) {
        struct pairs_file *f = &p->file[i];
        uint64_t n[PAIRS_SIDES];

        for (int s = 0; s < PAIRS_SIDES; s++) {
            n[s] = lines_count(&f->text[s]);
            if (n[s] == 0)
                return err_set(err, ERR_FORMAT, "%s: the file is empty", f->path[s]);
        }
        if (n[PAIRS_SOURCE] != n[PAIRS_TARGET])
            return err_set(err, ERR_FORMAT,
                           "%s has %" PRIu64 " lines and %s has %" PRIu64
                           "; parallel files need the same number",
                           f->path[PAIRS_SOURCE], n[PAIRS_SOURCE], f->path[PAIRS_TARGET],
                           n[PAIRS_TARGET]);
        f->n_lines = n[PAIRS_SOURCE];
        p->n_lines += f->n_lines;
    }
    return OK;
}

status pairs_open(struct pairs *p, const char *source, const char *target,
                  struct err *err)
{
    *p = (struct pairs){.n_files = list_length(source)};
    if (list_length(target) != p->n_files)
        return err_set(err, ERR_USAGE,
                       "%zu source files (%s) and %zu target files (%s); want as many",
                       p->n_files, source, list_length(target), target);
    TRY(mem_alloc(&p->file, p->n_files, sizeof *p->file, err));
    if (open_side(p, PAIRS_SOURCE, source, err) != OK ||
        open_side(p, PAIRS_TARGET, target, err) != OK || count_lines(p, err) != OK) {
        pairs_close(p);
        return err->code;
    }
    return OK;
}

void pairs_close(struct pairs *p)
{
    for (size_t i = 0; p->file && i < p->n_files; i++)
        for (int s = 0; s < PAIRS_SIDES; s++)
            lines_close(&p->file[i].text[s]);
    free(p->file);
    *p = (struct pairs){0};
}

bool pairs_next(struct pairs *p, struct line side[PAIRS_SIDES])
{
    for (; p->at < p->n_files; p->at++) {
        struct lines *text = p->file[p->at].text;
        if (lines_next(&text[PAIRS_SOURCE], &side[PAIRS_SOURCE]) &&
            lines_next(&text[PAIRS_TARGET], &side[PAIRS_TARGET]))
            return true;
    }
    return false;
}

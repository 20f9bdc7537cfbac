#include "train/eval/references.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/opt.h"
#include "base/utf8.h"
#include "format/stream.h"
#include "score/tokenize.h"

static status add(struct references *r, const char *path, size_t n_lines, struct err *err)
{
    if (r->n == REFERENCES_MAX)
        return err_set(err, ERR_USAGE, "references names more than %d files",
                       REFERENCES_MAX);
    struct lines *file = &r->file[r->n];
    struct line **line = &r->line[r->n];
    TRY(lines_open(file, path, err));
    r->n++;
    if (stream_is_packed(file->text, (size_t)(file->end - file->text)))
        return err_set(err, ERR_FORMAT,
                       "%s is compressed; unpack it, references are read as they are",
                       path);
    if (lines_count(file) != n_lines)
        return err_set(err, ERR_FORMAT, "%s has %llu lines, the set %zu pairs", path,
                       (unsigned long long)lines_count(file), n_lines);
    TRY(mem_alloc(line, n_lines, sizeof **line, err));
    for (size_t i = 0; i < n_lines && lines_next(file, &(*line)[i]); i++) {
        struct line *one = &(*line)[i];
        if (!utf8_valid(one->text, one->n_bytes))
            return err_set(err, ERR_FORMAT, "%s: line %zu is not UTF-8", path, i + 1);
        one->n_bytes = tokenize_trimmed(one->text, one->n_bytes);
    }
    return OK;
}

status references_open(struct references *r, const char *paths, size_t n_lines,
                       struct err *err)
{
    char names[OPT_TEXT_MAX], *rest;
    status result = OK;

    *r = (struct references){0};
    snprintf(names, sizeof names, "%s", paths);
    for (char *path = strtok_r(names, ",", &rest); path && result == OK;
         path = strtok_r(NULL, ",", &rest))
        result = add(r, path, n_lines, err);
    if (result != OK)
        references_close(r);
    return result;
}

void references_close(struct references *r)
{
    for (size_t i = 0; i < r->n; i++) {
        free(r->line[i]);
        lines_close(&r->file[i]);
    }
    *r = (struct references){0};
}

size_t references_of(const struct references *r, size_t i, struct line *out)
{
    const size_t n = r ? r->n : 0;

    for (size_t k = 0; k < n; k++)
        out[k] = r->line[k][i];
    return n;
}

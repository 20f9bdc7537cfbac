#include "report/show/report.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "report/judge/judgement.h"
#include "report/show/compare.h"

enum { PAGE_MAX = 1 << 28 };

/* PATH.html -> PATH + ending; another ending, or none, is kept. */
static status path_beside(char *out, size_t n, const char *path, const char *ending,
                          struct err *err)
{
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    const bool is_html = dot && (!slash || dot > slash) && strcmp(dot, ".html") == 0;
    const int len =
        snprintf(out, n, "%.*s%s", (int)(is_html ? dot - path : INT_MAX), path, ending);

    if (len < 0 || (size_t)len >= n)
        return err_set(err, ERR_USAGE, "%.40s...: the path of the report is too long",
                       path);
    return OK;
}

typedef status render_fn(struct str *out, const struct judgement *runs, size_t n,
                         struct err *err);

static status render_page(struct str *out, const struct judgement *runs, size_t n,
                          struct err *err)
{
    return n > 1 ? compare_write(out, runs, n, err) : report_page_write(out, runs, err);
}

static status write_as(render_fn *render, const char *path, const struct judgement *runs,
                       size_t n, struct err *err)
{
    struct str text = str_new(PAGE_MAX);

    status result = render(&text, runs, n, err);
    THEN(result, str_check(&text, path, err));
    THEN(result, file_write(path, text.data, text.len, err));
    str_release(&text);
    return result;
}

static status write_all(const struct report_request *q, const struct judgement *runs,
                        struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(write_as(render_page, q->out, runs, q->n_runs, err));
    TRY(path_beside(path, sizeof path, q->out, ".md", err));
    TRY(write_as(report_text_markdown, path, runs, q->n_runs, err));
    TRY(path_beside(path, sizeof path, q->out, ".json", err));
    return write_as(report_text_json, path, runs, q->n_runs, err);
}

/* Directories of one name are told apart by their whole paths. */
static void tell_apart(struct judgement *runs, size_t n)
{
    bool is_shared[REPORT_RUNS_MAX] = {false};

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            is_shared[i] |= j != i && strcmp(runs[i].run.name, runs[j].run.name) == 0;
    for (size_t i = 0; i < n; i++)
        if (is_shared[i])
            snprintf(runs[i].run.name, sizeof runs[i].run.name, "%.255s",
                     runs[i].run.sources.given);
}

status report_write(const struct report_request *q, struct err *err)
{
    struct judgement *runs;
    size_t n = 0;
    status result = OK;

    if (q->n_runs < 1 || q->n_runs > REPORT_RUNS_MAX)
        return err_set(err, ERR_USAGE, "give one to %d runs", REPORT_RUNS_MAX);
    TRY(mem_alloc(&runs, q->n_runs, sizeof *runs, err));
    while (result == OK && n < q->n_runs) {
        result = judgement_open(&runs[n], &q->run[n], clock_wall(), q->to_steps, err);
        n += result == OK ? 1 : 0;
    }
    if (result == OK) {
        tell_apart(runs, n);
        result = write_all(q, runs, err);
    }
    while (n > 0)
        judgement_close(&runs[--n]);
    free(runs);
    return result;
}

#include "report/show/report.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/lines.h"
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

static status write_as(render_fn *render, const char *path,
                       const struct report_request *q, const struct judgement *runs,
                       struct err *err)
{
    struct str text = str_new(PAGE_MAX);

    status result = render(&text, runs, q->n_runs, err);
    THEN(result, str_check(&text, path, err));
    THEN(result,
         (q->is_named ? file_write_output : file_write)(path, text.data, text.len, err));
    str_release(&text);
    return result;
}

static status write_all(const struct report_request *q, const struct judgement *runs,
                        struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(write_as(render_page, q->out, q, runs, err));
    if (file_is_special(q->out))
        return OK;
    TRY(path_beside(path, sizeof path, q->out, ".md", err));
    TRY(write_as(report_text_markdown, path, q, runs, err));
    TRY(path_beside(path, sizeof path, q->out, ".json", err));
    return write_as(report_text_json, path, q, runs, err);
}

/* The next component of a path from *at on, without slashes and "."; n 0: none. */
static struct line next_part(const char **at)
{
    size_t n;

    for (;;) {
        *at += strspn(*at, "/");
        n = strcspn(*at, "/");
        if (n != 1 || **at != '.')
            break;
        ++*at;
    }
    const struct line part = {*at, n};
    *at += n;
    return part;
}

enum { PARTS = 64 };

static size_t split_path(struct line part[PARTS], const char *path)
{
    size_t n = 0;

    for (struct line p; n < PARTS && (p = next_part(&path)).n_bytes;)
        part[n++] = p;
    return n;
}

static bool is_same(struct line a, struct line b)
{
    return a.n_bytes == b.n_bytes && memcmp(a.text, b.text, a.n_bytes) == 0;
}

/* The paths of runs as lists of their components. */
struct paths {
    struct line part[REPORT_RUNS_MAX][PARTS];
    size_t n_parts[REPORT_RUNS_MAX], n;
};

/* Components beyond `head` that all paths share, at their beginning or at their end. */
static size_t count_shared(const struct paths *p, size_t head, bool at_end)
{
    for (size_t k = 0;; k++)
        for (size_t i = 0; i < p->n; i++) {
            if (head + k >= p->n_parts[i] || head + k >= p->n_parts[0])
                return k;
            const size_t at = at_end ? p->n_parts[i] - 1 - k : head + k;
            const size_t first = at_end ? p->n_parts[0] - 1 - k : head + k;
            if (!is_same(p->part[i][at], p->part[0][first]))
                return k;
        }
}

/*
 * Directories of one name are told apart by the part of their paths that differs:
 * a/lr1/run and a/lr2/run are lr1 and lr2. With one path given twice, or inside another,
 * the whole paths stay.
 */
static void tell_apart(struct judgement *runs, size_t n)
{
    struct paths p = {.n = n};
    bool is_shared = false, has_names = true;

    for (size_t i = 0; i < n; i++) {
        p.n_parts[i] = split_path(p.part[i], runs[i].run.sources.given);
        for (size_t j = 0; j < i; j++)
            is_shared |= strcmp(runs[i].run.name, runs[j].run.name) == 0;
    }
    const size_t head = count_shared(&p, 0, false), tail = count_shared(&p, head, true);
    for (size_t i = 0; i < n; i++)
        has_names &= head + tail < p.n_parts[i];
    for (size_t i = 0; i < n && is_shared; i++) {
        char *name = runs[i].run.name;
        const size_t size = sizeof runs[i].run.name;
        if (!has_names) {
            snprintf(name, size, "%.255s", runs[i].run.sources.given);
            continue;
        }
        const struct line first = p.part[i][head],
                          last = p.part[i][p.n_parts[i] - 1 - tail];
        snprintf(name, size, "%.*s", (int)(last.text + last.n_bytes - first.text),
                 first.text);
    }
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

#include <stddef.h>
#include <stdio.h>

#include "base/file.h"
#include "cli/cmd.h"
#include "report/show/report.h"

/* kind, field, default, help, limits */
#define REPORT_OPTIONS(X)                                                             \
    X(STR, out, "", "path of the page; empty: in RUN, or here for several runs", ANY) \
    X(INT, steps, "0", "also predict the time to this many steps", RANGE(0, 1e12))

struct report_options {
    REPORT_OPTIONS(OPT_FIELD)
};

static const struct opt rows[] = {
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct report_options, field), field, __VA_ARGS__)
    REPORT_OPTIONS(X)
#undef X
};

const struct opt_table cmd_report_options = {rows, sizeof rows / sizeof *rows};

/* RUN/report.html; beside a log that is a file, LOG.report.html; here for several. */
static status default_path(char *out, size_t n, const struct opt_words *words,
                           struct err *err)
{
    const char *run = words->word[0];

    if (words->n > 1)
        return file_join(out, n, ".", REPORT_FILE, err);
    if (file_is_dir(run) || !file_exists(run))
        return file_join(out, n, run, REPORT_FILE, err);
    const int len = snprintf(out, n, "%s." REPORT_FILE, run);
    return len > 0 && (size_t)len < n
               ? OK
               : err_set(err, ERR_USAGE, "%.40s...: the path is too long", run);
}

status cmd_report(int argc, char **argv, struct err *err)
{
    struct report_options options;
    struct opt_words words = {.max = REPORT_RUNS_MAX};
    char in_run[FILE_PATH_MAX];

    TRY(opt_read(cmd_report_options, &options, &words, argc, argv, err));
    if (words.n < 1)
        return err_set(err, ERR_USAGE, "give the run directory: ferry report RUN");
    TRY(default_path(in_run, sizeof in_run, &words, err));
    const struct report_request request = {
        .run = words.word,
        .n_runs = words.n,
        .out = options.out[0] ? options.out : in_run,
        .to_steps = (double)options.steps,
    };
    TRY(report_write(&request, err));
    puts(request.out);
    return OK;
}

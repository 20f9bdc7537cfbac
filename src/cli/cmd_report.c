#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/cmd.h"
#include "report/read/sources.h"
#include "report/show/report.h"

/* kind, field, default, help, limits */
#define REPORT_OPTIONS(X)                                                             \
    X(STR, out, "", "path of the page; empty: in RUN, or here for several runs", ANY) \
    X(INT, steps, "0", "also predict the time to this many steps", RANGE(0, 1e12))    \
    X(BOOL, join, "true", "take files that another program left as one run", ANY)

struct report_options {
    REPORT_OPTIONS(OPT_FIELD)
};

OPT_TABLE(cmd_report_options, struct report_options, REPORT_OPTIONS);

/* RUN/report.html; beside a log that is a file, LOG.report.html; here for several, and
 * for a directory that must not be written to. */
static status default_path(char *out, size_t n, const struct sources *run, size_t n_runs,
                           struct err *err)
{
    const bool is_dir = file_is_dir(run->given);

    if (n_runs > 1 || (is_dir && access(run->given, W_OK) != 0))
        return file_join(out, n, ".", REPORT_FILE, err);
    if (is_dir)
        return file_join(out, n, run->given, REPORT_FILE, err);
    const int len = snprintf(out, n, "%s." REPORT_FILE, run->given);
    return len > 0 && (size_t)len < n
               ? OK
               : err_set(err, ERR_USAGE, "%.40s...: the path is too long", run->given);
}

static status write_report(const struct report_options *o, const struct sources *runs,
                           size_t n, struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(default_path(path, sizeof path, runs, n, err));
    const struct report_request request = {
        .run = runs,
        .n_runs = n,
        .out = o->out[0] ? o->out : path,
        .is_named = o->out[0] != '\0',
        .to_steps = (double)o->steps,
    };
    TRY(report_write(&request, err));
    puts(request.out);
    return OK;
}

status cmd_report(int argc, char **argv, struct err *err)
{
    struct report_options options;
    struct opt_words words = {.max = REPORT_RUNS_MAX};
    struct sources *runs;
    size_t n;

    TRY(opt_read(cmd_report_options, &options, &words, argc, argv, err));
    if (words.n < 1)
        return err_set(err, ERR_USAGE, "give the run directory: ferry report RUN");
    TRY(mem_alloc(&runs, words.n, sizeof *runs, err));
    status result = sources_group(runs, &n, words.word, words.n, options.join, err);
    THEN(result, write_report(&options, runs, n, err));
    free(runs);
    return result;
}

#include <stddef.h>
#include <stdio.h>

#include "base/file.h"
#include "cli/cmd.h"
#include "report/report.h"

/* kind, field, default, help, limits */
#define REPORT_OPTIONS(X) X(STR, out, "", "the page; empty: RUN/" REPORT_FILE, ANY)

struct report_options {
#define X(kind, field, ...) OPT_FIELD_##kind(field)
    REPORT_OPTIONS(X)
#undef X
};

static const struct opt rows[] = {
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct report_options, field), field, __VA_ARGS__)
    REPORT_OPTIONS(X)
#undef X
};

const struct opt_table cmd_report_options = {rows, sizeof rows / sizeof *rows};

status cmd_report(int argc, char **argv, struct err *err)
{
    struct report_options options;
    struct opt_words words = {.max = 1};
    char in_run[FILE_PATH_MAX];

    TRY(opt_defaults(cmd_report_options, &options, err));
    TRY(opt_parse(cmd_report_options, &options, &words, argc, argv, err));
    if (words.n != 1)
        return err_set(err, ERR_USAGE, "give the run directory: ferry report RUN");
    TRY(file_join(in_run, sizeof in_run, words.word[0], REPORT_FILE, err));
    const char *out = options.out[0] ? options.out : in_run;
    TRY(report_write(words.word[0], out, err));
    puts(out);
    return OK;
}

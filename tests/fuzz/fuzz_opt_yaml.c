/* Any bytes as a configuration file: an error or a config that a dump repeats. */
#include <stdlib.h>
#include <string.h>

#include "base/opt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define FUZZ_OPTIONS(X)                                         \
    X(INT, steps, "1", "count", RANGE(0, 1e9))                  \
    X(REAL, rate, "0.5", "number", RANGE(1e-9, 1e3))            \
    X(BOOL, pin, "false", "flag", ANY)                          \
    X(CHOICE, rule, "adam", "choice", ONE_OF("adam|adamw|sgd")) \
    X(STR, data, "", "text", ANY)

struct config {
    FUZZ_OPTIONS(OPT_FIELD)
};

static const struct opt rows[] = {
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct config, field), field, __VA_ARGS__)
    FUZZ_OPTIONS(X)
#undef X
};
static const struct opt_table table = {rows, sizeof rows / sizeof *rows};

static void must(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct config a, b;
    struct err err = {0};
    struct str first = str_new(0), second = str_new(0);

    must(opt_defaults(table, &a, &err) == OK && opt_defaults(table, &b, &err) == OK);
    if (opt_yaml(table, &a, data, n, "input", OPT_SKIP_UNKNOWN, &err) != OK) {
        must(err.code != OK && err.msg[0]);
        return 0;
    }
    opt_dump(table, &a, &first);
    must(opt_yaml(table, &b, first.data, first.len, "dump", OPT_REFUSE_UNKNOWN, &err) ==
         OK);
    opt_dump(table, &b, &second);
    must(strcmp(str_text(&first), str_text(&second)) == 0);
    str_release(&first);
    str_release(&second);
    return 0;
}

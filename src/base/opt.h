/*
 * opt - one table drives the command line, the YAML file, the defaults, the range
 * checks, --help and the resolved configuration that goes into the run directory.
 *
 * An option is one line of an X-list; the list makes both the struct field and the
 * table row, so the two cannot disagree:
 *
 *     #define TRAIN_OPTIONS(X)                                               \
 *         X(INT, max_steps, "100000", "optimizer updates", RANGE(0, 1e9))    \
 *         X(CHOICE, optimizer, "adam", "update rule", ONE_OF("adam|adamw"))  \
 *         X(STR, data, "", "directory made by `ferry prepare`", ANY)
 *
 * `max_steps` is max_steps=N or --max-steps N on the command line and `max_steps: N`
 * in a file. Later settings win: defaults, then the file, then the command line.
 * Strings are stored in the struct, so that a config is copied by assignment.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"

enum opt_type { OPT_INT, OPT_REAL, OPT_BOOL, OPT_CHOICE, OPT_STR };

enum { OPT_TEXT_MAX = 1024, OPT_CHOICE_MAX = 32 };

struct opt {
    enum opt_type type;
    const char *name;
    size_t at;           /* offset of the field in the config struct */
    const char *initial; /* parsed by the same code as the user's text */
    double lo, hi;       /* inclusive; INT and REAL only */
    const char *choices; /* "a|b|c"; CHOICE only */
    const char *help;
};

/* The fields of a config struct: struct x { X_OPTIONS(OPT_FIELD) }; */
#define OPT_FIELD(kind, field, ...) OPT_FIELD_##kind(field)

#define OPT_FIELD_INT(name)    int64_t name;
#define OPT_FIELD_REAL(name)   double name;
#define OPT_FIELD_BOOL(name)   bool name;
#define OPT_FIELD_CHOICE(name) char name[OPT_CHOICE_MAX];
#define OPT_FIELD_STR(name)    char name[OPT_TEXT_MAX];

#define RANGE(low, high) .lo = (low), .hi = (high)
#define ONE_OF(list)     .choices = (list)
#define ANY              .lo = 0

/* A table row for field `field` at `offset`. */
#define OPT_ROW(kind, offset, field, init, text, ...) \
    {.type = OPT_##kind,                              \
     .name = #field,                                  \
     .at = (offset),                                  \
     .initial = (init),                               \
     .help = (text),                                  \
     __VA_ARGS__},

struct opt_table {
    const struct opt *opt;
    size_t n;
};

/* The table of one list, whose fields are members of `type`; one for a file, since its
 * rows find the type by its second name. */
#define OPT_TABLE(table, type, LIST)                      \
    typedef type opt_owner;                               \
    static const struct opt rows[] = {LIST(OPT_OWN_ROW)}; \
    const struct opt_table table = {rows, sizeof rows / sizeof *rows}
#define OPT_OWN_ROW(kind, field, ...) \
    OPT_ROW(kind, offsetof(opt_owner, field), field, __VA_ARGS__)

/* "max-steps" is given for max_steps, of options as of commands. */
bool opt_same_name(const char *given, const char *name);

/* NULL when the table has no such name. */
const struct opt *opt_find(struct opt_table t, const char *name);

status opt_defaults(struct opt_table t, void *config, struct err *err);

/* One option from text; ERR_USAGE names the option, the value and what is wanted. */
status opt_set(struct opt_table t, void *config, const char *name, const char *text,
               struct err *err);

/* Words that are not options, in order. */
struct opt_words {
    const char *word[1024];
    size_t n, max; /* more than max words are an error */
};

/*
 * Read argv[1..argc), argv[argc] being NULL: key=value, --key value, --key=value,
 * --flag, --no-flag, and plain words. "--" ends the options. A value that itself begins
 * with "--" is typed as key=value.
 */
status opt_parse(struct opt_table t, void *config, struct opt_words *words, int argc,
                 char **argv, struct err *err);
/* The defaults, then opt_parse. */
status opt_read(struct opt_table t, void *config, struct opt_words *words, int argc,
                char **argv, struct err *err);

/* The value of one option as it would be typed. */
void opt_value(const struct opt *o, const void *config, struct str *out);

/* "key: value" lines that opt_file reads back to the same config. */
void opt_dump(struct opt_table t, const void *config, struct str *out);

/* Its help, limits and default, as in "updates (0 to 1e9) [100000]". */
void opt_describe(const struct opt *o, struct str *out);

/* Every option with its help, limits and default, in columns. */
void opt_help(struct opt_table t, FILE *out);

enum opt_unknown { OPT_REFUSE_UNKNOWN, OPT_SKIP_UNKNOWN };

/*
 * Apply a YAML mapping of scalars (a list of scalars is joined by commas). A key given
 * twice, a second document and a nested mapping are errors; messages name path:line.
 */
status opt_file(struct opt_table t, void *config, const char *path,
                enum opt_unknown unknown, struct err *err);
/* The same for n bytes at hand; `path` stands for them in messages. */
status opt_yaml(struct opt_table t, void *config, const void *bytes, size_t n,
                const char *path, enum opt_unknown unknown, struct err *err);

/* Every option table of every command. */
#include "base/opt.h"

#include <stdlib.h>

#include "cli/cmd.h"
#include "test.h"

static const struct {
    const char *name, *words, *summary;
    const struct opt_table *options;
} commands[] = {
#define C(name, options, words, summary) {#name, words, summary, &options},
    COMMAND_LIST(C)
#undef C
};

enum { N_COMMANDS = sizeof commands / sizeof *commands, CONFIG_BYTES = 1 << 20 };

/* What fails is said with the command and the option. */
static void want(bool holds, size_t command, const struct opt *o, const char *what)
{
    if (!holds)
        test_fail(__FILE__, __LINE__, "ferry %s, option %s: want %s",
                  commands[command].name, o ? o->name : "-", what);
}

/* A row's name, as a table of its own, looked up among the rows before it. */
static bool is_new(struct opt_table t, size_t i)
{
    return !opt_find((struct opt_table){t.opt, i}, t.opt[i].name);
}

TEST(commands_have_a_summary_and_unique_names)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        want(*commands[i].summary, i, NULL, "a summary");
        want(strlen(commands[i].summary) <= 80, i, NULL, "a summary of one line");
        for (size_t j = 0; j < i; j++)
            want(strcmp(commands[i].name, commands[j].name) != 0, i, NULL, "a new name");
    }
}

TEST(option_names_are_plain_and_unique)
{
    for (size_t c = 0; c < N_COMMANDS; c++)
        for (size_t i = 0; i < commands[c].options->n; i++) {
            const struct opt *o = &commands[c].options->opt[i];
            want(o->name[0] && !o->name[strspn(o->name, "abcdefghijklmnopqrstuvwxyz"
                                                        "0123456789_")],
                 c, o, "lower case, digits and _");
            want(is_new(*commands[c].options, i), c, o, "a name used once");
            want(strncmp(o->name, "no_", 3) != 0, c, o, "a positive name");
            want(strcmp(o->name, "help") != 0, c, o, "another name");
        }
}

TEST(every_option_has_help_that_fits_on_a_line)
{
    for (size_t c = 0; c < N_COMMANDS; c++)
        for (size_t i = 0; i < commands[c].options->n; i++) {
            const struct opt *o = &commands[c].options->opt[i];
            want(o->help && *o->help, c, o, "help");
            want(strlen(o->help) <= 70, c, o, "help of at most 70 bytes");
            want(o->help[strlen(o->help) - 1] != '.', c, o, "help without a full stop");
        }
}

TEST(limits_are_limits_and_choices_fit_their_field)
{
    for (size_t c = 0; c < N_COMMANDS; c++)
        for (size_t i = 0; i < commands[c].options->n; i++) {
            const struct opt *o = &commands[c].options->opt[i];
            const bool is_number = o->type == OPT_INT || o->type == OPT_REAL;
            want(!is_number || o->lo < o->hi, c, o, "a range");
            want((o->type == OPT_CHOICE) == (o->choices != NULL), c, o,
                 "choices for a choice, and only there");
            for (const char *p = o->choices; p && *p; p += *p == '|') {
                const size_t n = strcspn(p, "|");
                want(n < OPT_CHOICE_MAX, c, o, "shorter choices");
                p += n;
            }
        }
}

TEST(defaults_pass_their_own_check_and_survive_a_dump)
{
    for (size_t c = 0; c < N_COMMANDS; c++) {
        const struct opt_table t = *commands[c].options;
        struct str first = str_new(0), again = str_new(0);
        struct err err = {0};
        char *config = calloc(2, CONFIG_BYTES), *copy = config + CONFIG_BYTES;
        for (size_t i = 0; i < t.n; i++)
            want(t.opt[i].at + OPT_TEXT_MAX <= CONFIG_BYTES, c, &t.opt[i], "a field");
        CHECK_OK(opt_defaults(t, config, &err), &err);
        opt_dump(t, config, &first);
        CHECK_OK(opt_yaml(t, copy, str_text(&first), first.len, commands[c].name,
                          OPT_REFUSE_UNKNOWN, &err),
                 &err);
        opt_dump(t, copy, &again);
        CHECK_STR(str_text(&again), str_text(&first));
        str_release(&first);
        str_release(&again);
        free(config);
    }
}

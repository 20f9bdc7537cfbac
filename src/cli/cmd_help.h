/*
 * cmd_help - the commands by name, and their help.
 *
 * The table is constant; everything is borrowed for ever. Any thread.
 */
#pragma once

#include <stdio.h>

#include "base/err.h"

struct opt_table;

struct command {
    const char *name, *words, *summary;
    status (*run)(int argc, char **argv, struct err *err);
    const struct opt_table *options;
};

/* NULL, with the nearest name in the message, when there is none. */
const struct command *cmd_help_find(const char *name, struct err *err);

/* All commands and exit statuses. */
void cmd_help_overview(FILE *out);

/* One command with its options. */
void cmd_help_print(const struct command *c, FILE *out);

/* The program: finds the command, and is the one place that prints an error. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/cmd_help.h"
#include "dist/comm/comm.h"

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* What the user asked for, except for the printing of errors. */
static status run(int argc, char **argv, const struct command **command, struct err *err)
{
    if (argc < 2) {
        cmd_help_overview(stderr);
        return err_set(err, ERR_USAGE, "a command is needed");
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    else if (strcmp(name, "--version") == 0)
        name = "version";
    *command = cmd_help_find(name, err);
    if (!*command)
        return err->code;
    if (asks_for_help(argc - 1, argv + 1)) {
        cmd_help_print(*command, stdout);
        return OK;
    }
    return (*command)->run(argc - 1, argv + 1, err);
}

/* Output that never reached the disk must not look like success. A reader that left
 * (errno is EPIPE when a command ignores the signal) wanted no more. */
static status close_stdout(struct err *err)
{
    const bool lost = ferror(stdout);

    errno = 0;
    if ((fclose(stdout) == 0 && !lost) || errno == EPIPE)
        return OK;
    return err_set(err, ERR_IO, "standard output: %s",
                   errno ? strerror(errno) : "not everything could be written");
}

/* A message may quote foreign bytes; none of them may reach the terminal as commands. */
static void print_error(const struct command *c, char *msg)
{
    for (char *p = msg; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7F)
            *p = ' ';
    fprintf(stderr, "ferry%s%s: %s\n", c ? " " : "", c ? c->name : "", msg);
}

int main(int argc, char **argv)
{
    const struct command *command = NULL;
    struct err err = {0};

    signal(SIGPIPE, SIG_DFL); /* some parents ignore it; `ferry ... | head` shall end */
    status result = run(argc, argv, &command, &err);
    if (result != OK)
        print_error(command, err.msg);
    struct err lost = {0};
    if (close_stdout(&lost) != OK && result == OK) {
        print_error(command, lost.msg);
        result = lost.code;
    }
    if (cmd_has_peers)
        comm_abort(result);
    return (int)result;
}

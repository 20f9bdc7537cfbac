/* The program: finds the command, and is the one place that prints an error. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/opt.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "dist/comm/comm.h"

struct command {
    const char *name, *words, *summary;
    status (*run)(int argc, char **argv, struct err *err);
    const struct opt_table *options;
};

#define ROW(name, options, words, summary) {#name, words, summary, cmd_##name, &options},
static const struct command commands[] = {COMMAND_LIST(ROW)};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

static const struct command *find_command(const char *name, struct err *err)
{
    const char *nearest = NULL;

    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
        str_nearest(&nearest, commands[i].name, name);
    }
    if (nearest)
        (void)err_set(err, ERR_USAGE, "unknown command '%.64s'; did you mean '%s'?", name,
                      nearest);
    else
        (void)err_set(err, ERR_USAGE, "unknown command '%.64s'; ferry --help lists them",
                      name);
    return NULL;
}

static void print_usage(FILE *out)
{
    fputs("Ferry trains Transformer translation models and shows what a run measured.\n\n"
          "usage: ferry COMMAND [WORD | key=value | --key value]...\n\n",
          out);
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\n"
          "ferry COMMAND --help   the command's options\n"
          "ferry --version        which Ferry this is\n\n"
          "exit status:\n",
          out);
#define X(code, exit_status, text) fprintf(out, "  %-10d %s\n", exit_status, text);
    STATUS_LIST(X)
#undef X
}

static void print_command_help(const struct command *c, FILE *out)
{
    fprintf(out, "usage: ferry %s %s [key=value | --key value]...\n\n%s\n", c->name,
            c->words, c->summary);
    if (c->options->n)
        fputs("\noptions, each as key=value or --key value [default]:\n", out);
    opt_help(*c->options, out);
}

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
        print_usage(stderr);
        return err_set(err, ERR_USAGE, "a command is needed");
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_usage(stdout);
        return OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("ferry " FERRY_VERSION);
        return OK;
    }
    *command = find_command(argv[1], err);
    if (!*command)
        return err->code;
    if (asks_for_help(argc - 1, argv + 1)) {
        print_command_help(*command, stdout);
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

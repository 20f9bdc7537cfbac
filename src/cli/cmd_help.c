/* The table of commands, and what `ferry help`, --help and -h print of it. */
#include "cli/cmd_help.h"

#include <string.h>

#include "base/str.h"
#include "cli/cmd.h"

const struct opt_table cmd_help_options = {NULL, 0};

#define ROW(name, options, words, summary) {#name, words, summary, cmd_##name, &options},
static const struct command commands[] = {COMMAND_LIST(ROW)};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

const struct command *cmd_help_find(const char *name, struct err *err)
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
        (void)err_set(err, ERR_USAGE, "unknown command '%.64s'; ferry help lists them",
                      name);
    return NULL;
}

void cmd_help_overview(FILE *out)
{
    fputs("Ferry trains Transformer translation models and shows what a run measured.\n\n"
          "usage: ferry COMMAND [WORD | key=value | --key value]...\n\n",
          out);
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\n"
          "ferry help COMMAND lists the command's options; so do ferry COMMAND -h and "
          "--help.\n\n"
          "from sentence pairs to a translator (docs/tutorial.md):\n"
          "  ferry prepare pairs=mine.tsv valid=1000 test=1000 out=data\n"
          "  ferry train data=data run=run\n"
          "  ferry eval run\n"
          "  ferry translate run < text\n\n"
          "exit status (docs/troubleshooting.md says what to do):\n",
          out);
#define X(code, exit_status, text) fprintf(out, "  %-10d %s\n", exit_status, text);
    STATUS_LIST(X)
#undef X
}

/* The command's words, its options before a "--". */
void cmd_help_print(const struct command *c, FILE *out)
{
    const char *rest = strstr(c->words, " -- ");
    const int n = (int)(rest ? (size_t)(rest - c->words) : strlen(c->words));

    fprintf(out, "usage: ferry %s%s%.*s%s%s\n\n%s\n", c->name, n ? " " : "", n, c->words,
            c->options->n ? " [key=value | --key value]..." : "", rest ? rest : "",
            c->summary);
    if (c->options->n)
        fputs("\noptions, each as key=value or --key value [default]; --key alone is "
              "true:\n",
              out);
    opt_help(*c->options, out);
}

status cmd_help(int argc, char **argv, struct err *err)
{
    struct opt_words words = {.max = 1};

    TRY(opt_read(cmd_help_options, NULL, &words, argc, argv, err));
    if (!words.n) {
        cmd_help_overview(stdout);
        return OK;
    }
    const struct command *c = cmd_help_find(words.word[0], err);
    if (!c)
        return err->code;
    cmd_help_print(c, stdout);
    return OK;
}

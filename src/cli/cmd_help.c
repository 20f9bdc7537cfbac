/* The table of commands, and what `ferry help`, --help and -h print of it. */
#include "cli/cmd_help.h"

#include <string.h>

#include "base/str.h"
#include "cli/cmd.h"

#define HELP_OPTIONS(X)     \
    X(BOOL, table, "false", \
      "print commands and options as tab-separated lines, for programs", ANY)

struct help_config {
    HELP_OPTIONS(OPT_FIELD)
};
OPT_TABLE(cmd_help_options, struct help_config, HELP_OPTIONS);

#define ROW(name, options, words, summary) {#name, words, summary, cmd_##name, &options},
static const struct command commands[] = {COMMAND_LIST(ROW)};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

/* As it is typed: score-pairs, which C calls score_pairs. */
struct typed {
    char name[32];
};

static struct typed typed(const struct command *c)
{
    struct typed t;

    snprintf(t.name, sizeof t.name, "%s", c->name);
    for (char *p = t.name; *p; p++)
        *p = *p == '_' ? '-' : *p;
    return t;
}

const struct command *cmd_help_find(const char *name, struct err *err)
{
    const char *nearest = NULL;

    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (opt_same_name(name, commands[i].name))
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

static const char tagline[] =
    "Ferry trains Transformer translation models and shows what a run measured.";
static const char usage[] = "ferry COMMAND [WORD | key=value | --key value]...";
static const char *const examples[] = {
    "ferry prepare pairs=mine.tsv valid=1000 test=1000 out=data",
    "ferry train data=data run=run",
    "ferry eval run",
    "ferry translate run < text",
};

enum { N_EXAMPLES = sizeof examples / sizeof *examples };

void cmd_help_overview(FILE *out)
{
    fprintf(out, "%s\n\nusage: %s\n\n", tagline, usage);
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-11s %s\n", typed(&commands[i]).name, commands[i].summary);
    fputs("\n"
          "ferry help COMMAND lists the command's options; so do ferry COMMAND -h and "
          "--help.\n\n"
          "from sentence pairs to a translator (docs/tutorial.md):\n",
          out);
    for (size_t i = 0; i < N_EXAMPLES; i++)
        fprintf(out, "  %s\n", examples[i]);
    fputs("\nexit status (docs/troubleshooting.md says what to do):\n", out);
#define X(code, exit_status, text) fprintf(out, "  %-11d %s\n", exit_status, text);
    STATUS_LIST(X)
#undef X
}

/* The command's words, its options before a "--". */
void cmd_help_print(const struct command *c, FILE *out)
{
    const char *rest = strstr(c->words, " -- ");
    const int n = (int)(rest ? (size_t)(rest - c->words) : strlen(c->words));

    fprintf(out, "usage: ferry %s%s%.*s%s%s\n\n%s\n", typed(c).name, n ? " " : "", n,
            c->words, c->options->n ? " [key=value | --key value]..." : "",
            rest ? rest : "", c->summary);
    if (c->options->n)
        fputs("\noptions, each as key=value or --key value [default]; --key alone is "
              "true:\n",
              out);
    opt_help(*c->options, out);
}

/* What completes the value of an option: its choices, or what kind of text it is. */
static const char *value_of(const struct opt *o)
{
    switch (o->type) {
    case OPT_INT:
    case OPT_REAL:
        return "number";
    case OPT_BOOL:
        return "true|false";
    case OPT_CHOICE:
        return o->choices;
    case OPT_STR:
        break;
    }
    return "text";
}

static void print_rows(const struct command *c)
{
    const struct typed name = typed(c);
    struct str text = str_new(1 << 16);

    printf("command\t%s\t%s\t%s\n", name.name, c->words, c->summary);
    for (size_t i = 0; i < c->options->n; i++) {
        const struct opt *o = &c->options->opt[i];
        str_reset(&text);
        opt_describe(o, &text);
        printf("option\t%s\t%s\t%s\t%s\n", name.name, o->name, value_of(o),
               str_text(&text));
    }
    str_release(&text);
}

/* Of this tools/make-pages makes the manual pages and the completions of shells. */
static void print_table(void)
{
    printf("version\t" FERRY_VERSION "\nabout\t%s\nusage\t%s\n", tagline, usage);
    for (size_t i = 0; i < N_EXAMPLES; i++)
        printf("example\t%s\n", examples[i]);
#define X(code, exit_status, text) printf("status\t%d\t%s\n", exit_status, text);
    STATUS_LIST(X)
#undef X
    for (size_t i = 0; i < N_COMMANDS; i++)
        print_rows(&commands[i]);
}

status cmd_help(int argc, char **argv, struct err *err)
{
    struct opt_words words = {.max = 1};
    struct help_config c;

    TRY(opt_read(cmd_help_options, &c, &words, argc, argv, err));
    if (c.table) {
        print_table();
        return OK;
    }
    if (!words.n) {
        cmd_help_overview(stdout);
        return OK;
    }
    const struct command *command = cmd_help_find(words.word[0], err);
    if (!command)
        return err->code;
    cmd_help_print(command, stdout);
    return OK;
}

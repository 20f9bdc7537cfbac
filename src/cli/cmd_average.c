#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/cmd.h"
#include "decode/average.h"
#include "decode/model_dir.h"
#include "train/eval/averaging.h"

/* kind, field, default, help, limits */
#define AVERAGE_OPTIONS(X)                                                           \
    X(INT, last, "5",                                                                \
      "number of newest checkpoints; near the end of training 3 to 10 help",         \
      RANGE(1, 1000))                                                                \
    X(STR, steps, "", "those of these steps instead, such as 100,200,300", ANY)      \
    X(STR, out, "", "directory to create for the result", ANY)                       \
    X(STR, data, "", "data directory to measure the mean on; empty: the run's", ANY) \
    X(BOOL, force, "false", "even checkpoints 100 or more epochs apart", ANY)

struct command {
    AVERAGE_OPTIONS(OPT_FIELD)
};

OPT_TABLE(cmd_average_options, struct command, AVERAGE_OPTIONS);

/* The checkpoints named after RUN, or those that last or steps select. */
static status choose(struct average *a, const struct command *c,
                     const struct opt_words *words, struct err *err)
{
    if (words->n > 1 && c->steps[0])
        return err_set(err, ERR_USAGE,
                       "steps = %s and checkpoints by name: give one or the other",
                       c->steps);
    for (size_t i = 1; i < words->n; i++)
        TRY(average_add(a, words->word[0], words->word[i], err));
    if (words->n > 1)
        return OK;
    if (c->steps[0])
        return average_add_steps(a, words->word[0], c->steps, err);
    return average_add_newest(a, words->word[0], (size_t)c->last, err);
}

static status run(struct average *a, struct model_dir *model, const struct command *c,
                  const struct opt_words *words, struct err *err)
{
    const char *name = words->word[0];

    if (!file_is_dir(name))
        return err_set(err, ERR_IO, "%s: no such run directory", name);
    TRY(choose(a, c, words, err));
    if (*a->note)
        fprintf(stderr, "%s; taking the newest that are there\n", a->note);
    TRY(model_dir_describe(model, name, a->prefix[0], &a->bundle[0], err));
    if (!c->force)
        TRY(averaging_check(a, err));
    TRY(average_write(a, model, c->out, err));
    const bool is_newest = words->n == 1 && !c->steps[0];
    fprintf(stderr, "averaged %zu checkpoint%s", a->n, a->n == 1 ? "" : "s");
    if (is_newest && a->n < (size_t)c->last)
        fprintf(stderr, ", all that %s has (last = %" PRId64 ")", name, c->last);
    fprintf(stderr, ":\n");
    for (size_t i = 0; i < a->n; i++) {
        char shown[FILE_PATH_MAX];
        utf8_spell(shown, sizeof shown, a->prefix[i]);
        fprintf(stderr, "  %s\n", shown);
    }
    averaging_tell(a, name, c->out, c->data, stderr);
    printf("%s\n", c->out);
    return OK;
}

status cmd_average(int argc, char **argv, struct err *err)
{
    struct command c;
    struct opt_words words = {.max = 64};
    struct average a = {0};
    struct model_dir model = {0};

    TRY(opt_read(cmd_average_options, &c, &words, argc, argv, err));
    if (words.n == 0)
        return err_set(err, ERR_USAGE,
                       "which run? usage: ferry average RUN [PREFIX...] out=DIR");
    if (!c.out[0])
        return err_set(err, ERR_USAGE, "out is not set: where shall the result go?");
    const status result = run(&a, &model, &c, &words, err);
    average_release(&a);
    model_dir_close(&model);
    return result;
}

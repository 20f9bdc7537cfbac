#include "train/eval/averaging.h"

#include <math.h>
#include <string.h>

#include "train/eval/eval.h"
#include "train/eval/evaluate.h"
#include "train/save/state.h"

/* Passes over the corpus behind a checkpoint; false when it does not say. */
static bool epochs_of(const char *prefix, double *epochs)
{
    char path[FILE_PATH_MAX];
    struct err ignored = {0};
    struct state s;

    if (file_path(path, &ignored, "%s.state", prefix) != OK ||
        state_read(&s, path, &ignored) != OK || !s.corpus_pairs)
        return false;
    /* with a mix an epoch may be longer than the corpus */
    *epochs =
        (double)s.cursor.epoch + fmin((double)s.cursor.next / (double)s.corpus_pairs, 1);
    return true;
}

status averaging_check(const struct average *a, struct err *err)
{
    const char *first = NULL, *last = NULL;
    double low = 0, high = 0, at;

    for (size_t i = 0; i < a->n; i++) {
        if (!epochs_of(a->prefix[i], &at))
            continue;
        if (!first || at < low) {
            low = at;
            first = a->prefix[i];
        }
        if (!last || at > high) {
            high = at;
            last = a->prefix[i];
        }
    }
    if (high - low < AVERAGING_MAX_EPOCHS)
        return OK;
    return err_set(err, ERR_USAGE,
                   "%s and %s are %.0f epochs apart; the mean of such models is rarely a "
                   "good one: take newer checkpoints (last, steps), or force = true",
                   first, last, high - low);
}

static status loss_of(double *loss, const char *run, const char *checkpoint,
                      const char *data, struct err *err)
{
    struct eval_config c;
    struct evaluate_result r = {0};

    TRY(opt_defaults(eval_options, &c, err));
    snprintf(c.data, sizeof c.data, "%s", data);
    snprintf(c.set, sizeof c.set, "valid");
    snprintf(c.checkpoint, sizeof c.checkpoint, "%s", checkpoint);
    c.bleu = false;
    TRY(eval_measure(&c, run, &r, err));
    *loss = r.valid_loss;
    return OK;
}

/* The mean beside one model. */
static void compare(const char *name, double loss, double mean, FILE *console)
{
    const double percent = 100 * fabs(loss - mean) / loss;

    if (!(percent >= 0.05))
        fprintf(console, "  %.4f  %s: the mean is as good\n", loss, name);
    else
        fprintf(console, "  %.4f  %s: the mean is %.1f %% %s\n", loss, name, percent,
                loss > mean ? "better" : "worse");
}

/* The checkpoint that has seen most; the last one named where none says. */
static const char *newest_of(const struct average *a)
{
    const char *newest = a->prefix[a->n - 1];
    double most, at;

    if (!epochs_of(newest, &most))
        return newest;
    for (size_t i = 0; i < a->n; i++)
        if (epochs_of(a->prefix[i], &at) && at > most) {
            most = at;
            newest = a->prefix[i];
        }
    return newest;
}

void averaging_tell(const struct average *a, const char *run, const char *out,
                    const char *data, FILE *console)
{
    const char *newest = newest_of(a);
    double mean, last, best;
    struct err err = {0};

    if (loss_of(&mean, out, "last", data, &err) != OK ||
        loss_of(&last, run, newest, data, &err) != OK) {
        fprintf(console, "not measured on the validation set: %s\n", err.msg);
        return;
    }
    fprintf(console, "loss on the validation set:\n  %.4f  the mean\n", mean);
    compare(newest, last, mean, console);
    const bool has_best = loss_of(&best, run, "best", data, &err) == OK;
    if (has_best)
        compare("the best checkpoint of the run", best, mean, console);
    if (a->n > 1 && (mean >= last || (has_best && mean >= best)))
        fprintf(console, "averaging helps near the end of training, when the loss falls "
                         "slowly and the checkpoints are close together\n");
}

/* Files: the training set, and what a checkpoint holds, to the byte. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "report/answers.h"
#include "report/fmt.h"
#include "report/page.h"
#include "report/run.h"

#define DROPPED "dropped: "

static void row_of_text(struct answer *a, const struct rundir *d, const char *label,
                        const char *side, struct err *err)
{
    char suffix[64];

    snprintf(suffix, sizeof suffix, ": %s: bytes", side);
    const double bytes = rundir_sum(d, "sets: train: inputs: ", suffix);
    snprintf(suffix, sizeof suffix, ": %s: lines", side);
    const double lines = rundir_sum(d, "sets: train: inputs: ", suffix);
    if (isfinite(bytes))
        answers_row(a, err, label, "%s (%s bytes), %s lines", fmt_bytes(bytes).s,
                    fmt_count(bytes).s, fmt_count(lines).s);
    else
        answers_row(a, err, label, "missing");
}

/* prepare.json: what came in, what cleaning took away, what was packed. */
static void rows_of_prepare(struct answer *a, const struct rundir *d, struct err *err)
{
    if (!d->has_data) {
        answers_row(a, err, "before preparation", "missing: %s%s",
                    d->data_path ? d->data_path : "the log names no data directory",
                    d->data_path ? " could not be read here" : "");
        return;
    }
    row_of_text(a, d, "raw text, source", "source", err);
    row_of_text(a, d, "raw text, target", "target", err);
    answers_row(a, err, "pairs before cleaning", "%s",
                fmt_count(rundir_number(d, "pairs_in")).s);
    for (size_t i = 0; i < d->n_facts; i++)
        if (strncmp(d->fact[i].key, DROPPED, strlen(DROPPED)) == 0 &&
            rundir_number(d, d->fact[i].key) > 0) {
            char label[300];
            snprintf(label, sizeof label, "dropped, %s",
                     d->fact[i].key + strlen(DROPPED));
            answers_row(a, err, label, "%s",
                        fmt_count(rundir_number(d, d->fact[i].key)).s);
        }
    answers_row(a, err, "packed for training", "%s",
                fmt_bytes(rundir_number(d, "sets: train: bytes")).s);
}

static void say_kept(struct answer *a, const struct rundir *d)
{
    const double in = rundir_number(d, "pairs_in"), kept = rundir_number(d, "pairs_kept");

    if (in > 0 && isfinite(kept))
        answers_say(a, a->tone, "Cleaning kept %s of %s pairs (%s).", fmt_count(kept).s,
                    fmt_count(in).s, fmt_percent(kept / in).s);
}

void answers_files_data(struct answer *a, const struct run *run, struct err *err)
{
    const struct runlog_start *s = runlog_latest(&run->log);
    const double tokens = s ? s->train_source_tokens + s->train_target_tokens : NAN;

    if (!s || !isfinite(s->train_pairs)) {
        answers_missing(a, "the log does not say how many pairs it trained on");
        return;
    }
    answers_number(a, "%s pairs", fmt_count(s->train_pairs).s);
    if (isfinite(tokens))
        answers_say(a, ANSWER_PLAIN,
                    "Sentence pairs, of together %s subword tokens: %s source and %s "
                    "target.",
                    fmt_count(tokens).s, fmt_count(s->train_source_tokens).s,
                    fmt_count(s->train_target_tokens).s);
    else
        answers_say(a, ANSWER_PLAIN, "The number of tokens is missing.");
    say_kept(a, &run->files);
    answers_row(a, err, "validation pairs", "%s", fmt_count(s->valid_pairs).s);
    answers_row(a, err, "tokenizer pieces", "%s", fmt_count(s->tokenizer_pieces).s);
    if (run->log.n_step)
        answers_row(a, err, "epochs begun", "%s",
                    fmt_count(run->log.step[run->log.n_step - 1].epoch + 1).s);
    rows_of_prepare(a, &run->files, err);
}

static void row_of_file(struct answer *a, const struct rundir_file *f, struct err *err)
{
    if (f->bytes < 1000)
        answers_row(a, err, f->name, "%s: %s", fmt_bytes(f->bytes).s, f->purpose);
    else
        answers_row(a, err, f->name, "%s (%s bytes): %s", fmt_bytes(f->bytes).s,
                    fmt_count(f->bytes).s, f->purpose);
}

void answers_files_checkpoint(struct answer *a, const struct run *run, struct err *err)
{
    const struct rundir *d = &run->files;
    double bytes = 0;
    size_t n = 0;

    if (!isfinite(d->newest_step)) {
        answers_missing(a, "the run directory holds no checkpoint");
        return;
    }
    for (size_t i = 0; i < d->n_files; i++) {
        if (d->file[i].is_newest || strcmp(d->file[i].name, "checkpoint") == 0)
            row_of_file(a, &d->file[i], err);
        if (d->file[i].is_newest) {
            bytes += d->file[i].bytes;
            n++;
        }
    }
    answers_number(a, "%zu files, %s", n, fmt_bytes(bytes).s);
    answers_say(a, ANSWER_PLAIN,
                "The newest checkpoint is of step %s. The run directory keeps %zu "
                "checkpoint%s, %s together.",
                fmt_count(d->newest_step).s, d->n_checkpoints,
                d->n_checkpoints == 1 ? "" : "s", fmt_bytes(d->checkpoint_bytes).s);
    if (d->n_best)
        answers_say(a, a->tone, "best_models holds %zu more, %s.", d->n_best,
                    fmt_bytes(d->best_bytes).s);
}

static struct page_part part(const char *name, double bytes, int color)
{
    struct page_part p = {.name = name, .size = bytes, .color = color};

    snprintf(p.text, sizeof p.text, "%s", fmt_bytes(bytes).s);
    return p;
}

/* Arrays of one fp32 number a parameter in a data file. */
struct arrays {
    double weights, moments, average; /* bytes */
};

enum { COUNTER_BYTES = 4 + 4 + 8 }; /* powers of both betas in fp32, step in int64 */

static void rows_of_arrays(struct answer *a, const struct arrays *b, struct err *err)
{
    const struct page_part parts[] = {
        part("weights", b->weights, 1), part("moving average", b->average, 5),
        part("moments", b->moments, 3), part("counters", COUNTER_BYTES, 6)};

    page_bar(&a->picture, "What fills the data file", parts,
             sizeof parts / sizeof *parts);
    answers_row(a, err, "weights, fp32", "%s bytes", fmt_count(b->weights).s);
    if (b->average > 0)
        answers_row(a, err, "their moving average", "%s bytes", fmt_count(b->average).s);
    answers_row(a, err, "Adam\u2019s two moments", "%s bytes", fmt_count(b->moments).s);
    answers_row(a, err, "counters", "%d bytes: beta1_power 4, beta2_power 4, step 8",
                COUNTER_BYTES);
    answers_row(a, err, "together", "%s bytes",
                fmt_count(b->weights + b->average + b->moments + COUNTER_BYTES).s);
}

static void compare_size(struct answer *a, const struct rundir_file *data,
                         double expected, struct err *err)
{
    if (!data) {
        answers_say(a, ANSWER_UNKNOWN,
                    "Computed for Adam in fp32; no checkpoint is there to compare with.");
        return;
    }
    answers_row(a, err, "data file on disk", "%s bytes", fmt_count(data->bytes).s);
    if (data->bytes == expected)
        answers_say(a, ANSWER_GOOD,
                    "What the optimizer keeps for each parameter, and %d bytes of "
                    "counters, explain the data file to the byte.",
                    COUNTER_BYTES);
    else
        answers_say(a, ANSWER_WATCH,
                    "Adam in fp32 explains %s bytes; the data file has %s bytes %s. "
                    "Another optimizer keeps other numbers.",
                    fmt_count(expected).s, fmt_count(fabs(data->bytes - expected)).s,
                    data->bytes > expected ? "more" : "less");
}

/* Adam keeps two moments for each weight, all in fp32; a moving average is one more. */
void answers_files_sizes(struct answer *a, const struct run *run, struct err *err)
{
    const struct runlog_start *s = runlog_latest(&run->log);
    const double each = s ? 4 * s->parameters : NAN;
    const bool is_averaged = run_config(run, "moving_average") > 0;
    const struct arrays b = {each, 2 * each, is_averaged ? each : 0};

    if (!s || !isfinite(each)) {
        answers_missing(a, "the log does not give the number of parameters");
        return;
    }
    answers_number(a, "%d bytes a parameter", is_averaged ? 16 : 12);
    answers_row(a, err, "parameters", "%s", fmt_count(s->parameters).s);
    rows_of_arrays(a, &b, err);
    compare_size(a, rundir_newest(&run->files, ".data-00000-of-00001"),
                 b.weights + b.average + b.moments + COUNTER_BYTES, err);
}

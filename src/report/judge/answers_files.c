/* Files: the training set, and what a checkpoint holds, to the byte. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "report/judge/answers.h"
#include "report/judge/run.h"
#include "report/read/tensors.h"

#define DROPPED "dropped: "

/* The files of one kind: a side each, or both sides in one. */
static bool row_of_text(struct answer *a, const struct rundir *d, const char *label,
                        const char *kind)
{
    static const char inputs[] = "sets: train: inputs: ";
    const double bytes = rundir_sum(d, inputs, fmt_printf(": %s: bytes", kind).s);
    const double lines = rundir_sum(d, inputs, fmt_printf(": %s: lines", kind).s);

    if (isfinite(bytes))
        answers_row(a, label, "%s (%s bytes), %s lines", fmt_bytes(bytes).s,
                    fmt_count(bytes).s, fmt_count(lines).s);
    return isfinite(bytes);
}

static void rows_of_text(struct answer *a, const struct rundir *d)
{
    bool is_known = row_of_text(a, d, "raw text, source", "source");

    is_known |= row_of_text(a, d, "raw text, target", "target");
    is_known |= row_of_text(a, d, "raw text, both sides", "pairs");
    if (!is_known)
        answers_row(a, "raw text", "missing");
}

/* A stage, as in prepare.json, and whether the text is tokens before and after it. */
static const struct stage {
    const char *name;
    bool is_tokens[2];
} stages[] = {{"count", {false, false}},
              {"clean", {false, false}},
              {"learn", {false, false}},
              {"encode", {false, true}},
              {"pack", {true, true}}};

/* The training text at one end of a stage, and its numbers under their names. */
static struct str end_of_stage(struct answer *a, const struct rundir *d,
                               const struct stage *s, int end)
{
    static const char *const field[] = {"pairs", "source_bytes", "target_bytes"};
    const char *when = end ? "after" : "before";
    struct str out = str_new(0);
    double v[3];

    for (int i = 0; i < 3; i++) {
        v[i] =
            rundir_number(d, fmt_printf("stages: %s: %s: %s", s->name, when, field[i]).s);
        answers_value(a, fmt_printf("%s_%s_%s", s->name, field[i], when).s, v[i]);
    }
    str_printf(&out, "%s pairs, ", fmt_count(v[0]).s);
    if (s->is_tokens[end]) /* of two bytes each */
        str_printf(&out, "%s + %s tokens, ", fmt_count(v[1] / 2).s,
                   fmt_count(v[2] / 2).s);
    str_printf(&out, "%s + %s", fmt_bytes(v[1]).s, fmt_bytes(v[2]).s);
    return out;
}

/* A stage that says the same as the one before it shares its row. */
static void row_of_stage(struct answer *a, const char *name, const char *before,
                         const char *after)
{
    const bool is_same = strcmp(before, after) == 0;
    struct str text = str_new(0);

    str_printf(&text, is_same ? "%s, unchanged" : "%s \u2192 %s", before, after);
    struct answer_row *last = a->n_rows ? &a->row[a->n_rows - 1] : NULL;
    if (last && str_begins(str_text(&last->label), "stage: ") &&
        strcmp(str_text(&last->value), str_text(&text)) == 0)
        str_printf(&last->label, ", %s", name);
    else
        answers_row(a, fmt_printf("stage: %s", name).s, "%s", str_text(&text));
    str_release(&text);
}

/* Pairs, tokens and bytes (source + target) before and after each stage, where they were
 * kept. */
static void rows_of_stages(struct answer *a, const struct rundir *d)
{
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        const char *name = stages[i].name;
        if (!isfinite(rundir_number(d, fmt_printf("stages: %s: after: pairs", name).s)))
            continue;
        struct str before = end_of_stage(a, d, &stages[i], 0),
                   after = end_of_stage(a, d, &stages[i], 1);
        row_of_stage(a, name, str_text(&before), str_text(&after));
        str_release(&before);
        str_release(&after);
    }
}

/* Whether a fact counts pairs that cleaning dropped. */
static bool is_dropped(const struct rundir *d, size_t i)
{
    return str_begins(d->fact[i].key, DROPPED) && rundir_number(d, d->fact[i].key) > 0;
}

/* The tokens in front of sources: those that were learned, and this corpus' own. */
static void row_of_marks(struct answer *a, const struct rundir *d)
{
    const char *learned = rundir_text(d, "options: marks"),
               *own = rundir_text(d, "options: mark");

    if (own && own[0])
        answers_row(a, "mark before each source", "%s", own);
    if (learned && learned[0])
        answers_row(a, "marks that sources may begin with", "%s", learned);
}

/* prepare.json: what came in, what cleaning took away, what was packed. */
static void rows_of_prepare(struct answer *a, const struct rundir *d)
{
    if (!d->has_data) {
        answers_row(a, "before preparation", "missing: %s%s",
                    d->data_path ? d->data_path : "the log names no data directory",
                    d->data_path ? " could not be read here" : "");
        return;
    }
    rows_of_text(a, d);
    answers_row(a, "pairs before cleaning", "%s",
                fmt_count(rundir_number(d, "pairs_in")).s);
    for (size_t i = 0; i < d->n_facts; i++)
        if (is_dropped(d, i)) {
            char label[300];
            snprintf(label, sizeof label, "dropped, %s",
                     d->fact[i].key + strlen(DROPPED));
            answers_row(a, label, "%s", fmt_count(rundir_number(d, d->fact[i].key)).s);
        }
    row_of_marks(a, d);
    answers_row(a, "packed for training", "%s",
                fmt_bytes(rundir_number(d, "sets: train: bytes")).s);
    rows_of_stages(a, d);
}

/* What cleaning kept and why it dropped the rest. */
static void bar_of_cleaning(struct answer *a, const struct rundir *d)
{
    struct page_part parts[ANSWER_PARTS_MAX];
    size_t n = 0;

    if (!(rundir_number(d, "pairs_kept") > 0))
        return;
    parts[n++] = (struct page_part){"kept", rundir_number(d, "pairs_kept"), 1};
    for (size_t i = 0; i < d->n_facts && n < ANSWER_PARTS_MAX; i++)
        if (is_dropped(d, i)) {
            parts[n] = (struct page_part){d->fact[i].key + strlen(DROPPED),
                                          rundir_number(d, d->fact[i].key),
                                          2 + (int)(n - 1) % 5};
            n++;
        }
    answers_bar(a, "Sentence pairs kept and dropped", fmt_count, parts, n);
}

static void say_kept(struct answer *a, const struct rundir *d)
{
    const double in = rundir_number(d, "pairs_in"), kept = rundir_number(d, "pairs_kept");

    if (in > 0 && isfinite(kept))
        answers_say(a, a->tone, "Cleaning kept %s of %s pairs (%s).", fmt_count(kept).s,
                    fmt_count(in).s, fmt_percent(kept / in).s);
}

/* Which corpora an epoch is made of, where there are several. */
static void rows_of_mix(struct answer *a, const struct run *run)
{
    const char *also = runlog_config(&run->log, "also_data"),
               *mix = runlog_config(&run->log, "mix"),
               *data = runlog_config(&run->log, "data");

    if (!also || !also[0])
        return;
    answers_row(a, "corpora", "%s, %s", data ? data : "?", also);
    answers_row(a, "shares of an epoch", "%s",
                mix && mix[0] ? mix : "every pair of all of them once");
}

/* A log of another program counts steps and pairs a step, not its training set. */
static void answer_pairs_seen(struct answer *a, const struct run *run)
{
    const double pairs = run_pairs(run);
    const char *source = runlog_config(&run->log, "source_file");

    if (!isfinite(pairs * run->step)) {
        answers_missing(a, "the log says neither how many pairs there are nor how many a "
                           "step takes");
        return;
    }
    a->code = "bounded";
    answers_value(a, "pairs_seen", pairs * run->step);
    answers_number(a, "at most %s pairs", fmt_short(pairs * run->step).s);
    answers_say(a, ANSWER_PLAIN,
                "The log does not count the training set. %s steps of %s pairs went over "
                "%s of them, each as often as the data was repeated.",
                fmt_count(run->step).s, fmt_count(pairs).s,
                fmt_count(pairs * run->step).s);
    if (source)
        answers_row(a, "source file", "%s", source);
    if (source && strstr(source, "wmt16"))
        answers_row(a, "if it is WMT16 as OpenSeq2Seq prepares it",
                    "4.5 million pairs: %s times over them",
                    fmt_number(pairs * run->step / 4.525e6, 3).s);
    if (isfinite(run->log.foreign.tokens_per_s * run->log.foreign.t_step))
        answers_row(a, "tokens per step", "%s, source and target",
                    fmt_count(run->log.foreign.tokens_per_s * run->log.foreign.t_step).s);
}

void answers_files_data(struct answer *a, const struct run *run)
{
    const struct runlog_start *s = runlog_latest(&run->log);
    const double tokens = s ? s->train_source_tokens + s->train_target_tokens : NAN;

    if (run->log.foreign.origin && !(s && isfinite(s->train_pairs))) {
        answer_pairs_seen(a, run);
        return;
    }
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
    a->code = "counted";
    answers_value(a, "pairs", s->train_pairs);
    answers_value(a, "source_tokens", s->train_source_tokens);
    answers_value(a, "target_tokens", s->train_target_tokens);
    answers_value(a, "pairs_before_cleaning", rundir_number(&run->files, "pairs_in"));
    say_kept(a, &run->files);
    bar_of_cleaning(a, &run->files);
    rows_of_mix(a, run);
    answers_row(a, "validation pairs", "%s", fmt_count(s->valid_pairs).s);
    answers_row(a, "tokenizer pieces", "%s", fmt_count(s->tokenizer_pieces).s);
    if (run->log.n_step)
        answers_row(a, "epochs begun", "%s",
                    fmt_count(run->log.step[run->log.n_step - 1].epoch + 1).s);
    rows_of_prepare(a, &run->files);
}

static void row_of_file(struct answer *a, const struct rundir_file *f)
{
    if (f->bytes < 1000)
        answers_row(a, f->name, "%s: %s", fmt_bytes(f->bytes).s, f->purpose);
    else
        answers_row(a, f->name, "%s (%s bytes): %s", fmt_bytes(f->bytes).s,
                    fmt_count(f->bytes).s, f->purpose);
}

static void bar_of_files(struct answer *a, const struct rundir *d)
{
    struct page_part parts[8];
    size_t n = 0;

    for (size_t i = 0; i < d->n_files && n < sizeof parts / sizeof *parts; i++)
        if (d->file[i].is_newest) {
            parts[n] =
                (struct page_part){d->file[i].name, d->file[i].bytes, 1 + (int)(n % 6)};
            n++;
        }
    answers_bar(a, "Files of the newest checkpoint", fmt_bytes, parts, n);
}

/* What the reference writes, when none of it is here. */
static void answer_files_known(struct answer *a, const struct run *run)
{
    static const char *const names[] = {"model.ckpt-N.data-00000-of-00001",
                                        "model.ckpt-N.index", "model.ckpt-N.meta",
                                        "checkpoint"};
    const double every = run_config(run, "save_checkpoint_steps");

    a->code = "bounded";
    answers_number(a, "3 files a checkpoint");
    answers_say(a, ANSWER_PLAIN,
                "None is here; this is what TensorFlow writes. Give the directory of its "
                "checkpoints beside the log for their sizes.");
    if (isfinite(every))
        answers_row(a, "saved", "every %s steps, and at the end", fmt_count(every).s);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        answers_row(a, names[i], "%s", rundir_purpose(names[i]));
}

void answers_files_checkpoint(struct answer *a, const struct run *run)
{
    const struct rundir *d = &run->files;
    double bytes = 0;
    size_t n = 0;

    if (!isfinite(d->newest_step) && run->log.foreign.origin) {
        answer_files_known(a, run);
        return;
    }
    if (!isfinite(d->newest_step)) {
        answers_missing(a, "the run directory holds no checkpoint");
        return;
    }
    for (size_t i = 0; i < d->n_files; i++) {
        if (d->file[i].is_newest || strcmp(d->file[i].name, "checkpoint") == 0)
            row_of_file(a, &d->file[i]);
        if (d->file[i].is_newest) {
            bytes += d->file[i].bytes;
            n++;
        }
    }
    answers_number(a, "%zu file%s, %s", n, n == 1 ? "" : "s", fmt_bytes(bytes).s);
    a->code = "listed";
    answers_value(a, "files", (double)n);
    answers_value(a, "bytes", bytes);
    answers_value(a, "step", d->newest_step);
    answers_value(a, "checkpoints", (double)d->n_checkpoints);
    answers_value(a, "best_models", (double)d->n_best);
    bar_of_files(a, d);
    if (!d->n_checkpoints)
        answers_say(a, ANSWER_PLAIN,
                    "Only best models are here; the newest is of step %s.",
                    fmt_count(d->newest_step).s);
    else
        answers_say(a, ANSWER_PLAIN,
                    "The newest checkpoint is of step %s. The run directory keeps %zu "
                    "checkpoint%s, %s together.",
                    fmt_count(d->newest_step).s, d->n_checkpoints,
                    d->n_checkpoints == 1 ? "" : "s", fmt_bytes(d->checkpoint_bytes).s);
    if (d->n_best)
        answers_say(a, a->tone, "best_models holds %zu more, %s.", d->n_best,
                    fmt_bytes(d->best_bytes).s);
}

static void rows_of_tensors(struct answer *a, const struct tensors *t, double parameters)
{
    struct page_part parts[TENSORS_N];
    size_t n = 0;

    for (int k = 0; k < TENSORS_N; k++) {
        const char *name = tensors_looks[k].name;
        if (!(t->bytes[k] > 0))
            continue;
        parts[n++] = (struct page_part){name, t->bytes[k], tensors_looks[k].color};
        if (k == TENSORS_COUNTERS)
            answers_row(a, name, "%s bytes: %s", fmt_count(t->bytes[k]).s, t->counters);
        else
            answers_row(a, name, "%s bytes in %zu tensors: %s per parameter",
                        fmt_count(t->bytes[k]).s, t->n[k],
                        fmt_number(t->bytes[k] / parameters, 3).s);
    }
    answers_row(a, "together", "%s bytes", fmt_count(t->total).s);
    answers_bar(a, "What fills the data file", fmt_bytes, parts, n);
}

static void compare_size(struct answer *a, const struct rundir_file *data,
                         const struct tensors *t)
{
    if (!data) {
        answers_say(a, ANSWER_UNKNOWN, "The data file itself is missing here.");
        return;
    }
    answers_value(a, "data_file_bytes", data->bytes);
    answers_row(a, "data file on disk", "%s bytes", fmt_count(data->bytes).s);
    if (data->bytes == t->total) {
        a->code = "exact";
        answers_say(a, ANSWER_PLAIN,
                    "The tensors that the index lists explain the data file to the "
                    "byte: there is no header, no padding and nothing else in it.");
    } else {
        a->code = "differs";
        answers_say(a, ANSWER_WATCH,
                    "The tensors that the index lists fill %s bytes; the data file has "
                    "%s bytes %s: it is not whole, or not of this index.",
                    fmt_count(t->total).s, fmt_count(fabs(data->bytes - t->total)).s,
                    data->bytes > t->total ? "more" : "less");
    }
}

/* No checkpoint is here: what the reference writes for a model of this size. */
static void answer_size_computed(struct answer *a, const struct run *run)
{
    const char *precision = runlog_config(&run->log, "dtype");
    const bool is_mixed = precision && strcmp(precision, "mixed") == 0;
    const double n = run_parameters(run), each = is_mixed ? 14 : 12;

    a->code = "computed";
    answers_value(a, "computed", 1);
    answers_value(a, "bytes", each * n);
    answers_number(a, "about %s", fmt_bytes(each * n).s);
    answers_say(a, ANSWER_PLAIN,
                "Computed: a checkpoint of OpenSeq2Seq has %s bytes per parameter, %s.",
                fmt_count(each).s,
                is_mixed ? "4 for the weight in fp32, 2 for its copy in fp16 and 8 for "
                           "the two moments of Adam"
                         : "4 for the weight and 8 for the two moments of Adam");
    answers_row(a, "parameters", "%s", fmt_count(n).s);
    answers_row(a, "to explain it to the byte",
                "give the directory of its checkpoints beside the log");
}

/* Layers of a stack that have one set of weights. */
static void row_of_tying(struct answer *a, const struct run *run, const char *stack)
{
    const double n_sets = run_config(run, fmt_printf("unique_%s_layers", stack).s),
                 n = run_config(run, fmt_printf("%s_layers", stack).s);
    const char *order = runlog_config(&run->log, "layer_order");

    if (n_sets > 0 && n_sets < n)
        answers_row(a, fmt_printf("shared by %s layers", stack).s,
                    "%s sets of weights for %s layers, layer_order=%s",
                    fmt_count(n_sets).s, fmt_count(n).s, order ? order : "?");
}

/* By the index of the newest checkpoint. */
void answers_files_sizes(struct answer *a, const struct run *run)
{
    const struct tensors *t = &run->files.tensors;
    const double parameters = run_parameters(run);

    if (!t->is_known && run->log.foreign.origin && isfinite(parameters)) {
        answer_size_computed(a, run);
        return;
    }
    if (!t->is_known) {
        answers_missing(a, t->why[0] ? t->why : "the run directory holds no checkpoint");
        return;
    }
    answers_value(a, "bytes", t->total);
    answers_value(a, "weights_bytes", t->bytes[TENSORS_WEIGHTS]);
    answers_value(a, "moments_bytes", t->bytes[TENSORS_MOMENTS]);
    answers_value(a, "average_bytes", t->bytes[TENSORS_AVERAGE]);
    answers_value(a, "counters_bytes", t->bytes[TENSORS_COUNTERS]);
    answers_number(a, "%s bytes per parameter", fmt_number(t->total / parameters, 3).s);
    answers_row(a, "parameters", "%s", fmt_count(parameters).s);
    row_of_tying(a, run, "encoder");
    row_of_tying(a, run, "decoder");
    rows_of_tensors(a, t, parameters);
    compare_size(a, rundir_newest(&run->files, ".data-00000-of-00001"), t);
}

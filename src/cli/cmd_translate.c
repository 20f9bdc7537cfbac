#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/progress.h"
#include "cli/cmd.h"
#include "decode/model_dir.h"
#include "decode/translate.h"
#include "decode/translate_stream.h"
#include "device/device.h"
#include "text/line_reader.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define COMMAND_OPTIONS(X)                                                             \
    X(BOOL, greedy, "false", "the same as beam=1", ANY)                                \
    X(BOOL, scores, "false", "append a tab and the score to each line", ANY)               \
    X(STR, checkpoint, "last", "last, best, or a checkpoint's prefix", ANY)            \
    X(BOOL, average, "true", "moving average of the weights, if there is one", ANY)    \
    X(STR, output, "", "write to this file instead of standard output", ANY)           \
    X(INT, window, "4096", "lines read ahead and sorted by length", RANGE(1, 1e6))     \
    X(CHOICE, device, "auto", "where to compute", ONE_OF(DEVICE_KINDS))        \
    X(INT, threads, "0", "threads; 0: one per core", RANGE(0, 1024))
/* clang-format on */

struct command {
    struct translate_config search;
    COMMAND_OPTIONS(OPT_FIELD)
};

static const struct opt rows[] = {
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct command, search.field), field, __VA_ARGS__)
    TRANSLATE_OPTIONS(X)
#undef X
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct command, field), field, __VA_ARGS__)
        COMMAND_OPTIONS(X)
#undef X
};

const struct opt_table cmd_translate_options = {rows, sizeof rows / sizeof *rows};

/* Everything that is open while text is translated. */
struct work {
    struct command config;
    const char *input; /* "-": standard input */
    int fd;
    struct model_dir dir;
    struct device device;
    struct model model;
    struct translator translator;
    struct progress progress;
    struct file_writer file;
};

static status write_stdout(void *ctx, const void *bytes, size_t n, struct err *err)
{
    (void)ctx;
    if (fwrite(bytes, 1, n, stdout) != n || fflush(stdout) != 0)
        return err_set(err, ERR_IO, "standard output: %s", strerror(errno));
    return OK;
}

static status write_file(void *ctx, const void *bytes, size_t n, struct err *err)
{
    return file_writer_add(ctx, bytes, n, err);
}

static status open_input(struct work *w, struct err *err)
{
    if (strcmp(w->input, "-") == 0) {
        w->fd = STDIN_FILENO;
        return OK;
    }
    if (file_is_dir(w->input))
        return err_set(err, ERR_IO, "%s is a directory, not a text to translate",
                       w->input);
    w->fd = open(w->input, O_RDONLY | O_CLOEXEC);
    if (w->fd < 0)
        return err_set(err, ERR_IO, "%s: %s", w->input, strerror(errno));
    return OK;
}

static status open_model(struct work *w, const char *run, struct err *err)
{
    const struct command *c = &w->config;
    const struct device_options options = {.threads = (size_t)c->threads};

    TRY(model_dir_open(&w->dir, run, c->checkpoint, err));
    if (w->dir.note[0])
        progress_note(&w->progress, w->dir.note);
    TRY(device_open(&w->device, c->device, options, err));
    TRY(model_open(&w->model, &w->device, &w->dir.config, false, err));
    TRY(model_dir_load_weights(&w->model, w->dir.prefix, c->average, err));
    return translate_open(&w->translator, &w->model, w->dir.spm, &c->search, err);
}

/* Lines of the input when they can be counted without using them up, else 0. */
static uint64_t count_lines(const struct work *w)
{
    struct line_reader r;
    struct line line;
    struct err ignored = {0};
    bool has = true;
    uint64_t n = 0;

    if (w->fd == STDIN_FILENO || file_bytes(w->input) <= 0 ||
        line_reader_open(&r, w->input, w->input, &ignored) != OK)
        return 0;
    while (line_reader_next(&r, &line, &has, &ignored) == OK && has)
        n = r.n_lines;
    line_reader_close(&r);
    return n;
}

static void say_what_was_cut(struct work *w)
{
    char note[160];

    if (!w->translator.n_cut)
        return;
    snprintf(note, sizeof note,
             "%llu of %llu lines are longer than max_length = %lld tokens and were cut",
             (unsigned long long)w->translator.n_cut,
             (unsigned long long)w->translator.n_done,
             (long long)w->config.search.max_length);
    progress_note(&w->progress, note);
}

static status translate(struct work *w, struct err *err)
{
    const bool is_talk = isatty(w->fd) == 1; /* someone types and waits */
    const bool is_file = w->config.output[0] != '\0';
    const bool is_shown = !is_talk && (is_file || isatty(STDOUT_FILENO) != 1);
    const struct translate_stream stream = {
        .fd = w->fd,
        .name = w->fd == STDIN_FILENO ? "standard input" : w->input,
        .window = is_talk ? 1 : (size_t)w->config.window,
        .has_scores = w->config.scores,
        .write = is_file ? write_file : write_stdout,
        .ctx = &w->file};

    if (!is_shown)
        return translate_stream_run(&stream, &w->translator, err);
    w->translator.progress = &w->progress;
    progress_begin(&w->progress, "translated", "lines", count_lines(w));
    const status result = translate_stream_run(&stream, &w->translator, err);
    progress_end(&w->progress, w->translator.n_done);
    return result;
}

static status run(struct work *w, const char *name, struct err *err)
{
    if (w->config.greedy)
        w->config.search.beam = 1;
    TRY(translate_config_check(&w->config.search, err));
    TRY(open_input(w, err));
    TRY(open_model(w, name, err));
    if (w->config.output[0])
        TRY(file_writer_open(&w->file, w->config.output, err));
    TRY(translate(w, err));
    say_what_was_cut(w);
    return w->config.output[0] ? file_writer_commit(&w->file, err) : OK;
}

static void work_close(struct work *w)
{
    file_writer_abort(&w->file);
    translate_close(&w->translator);
    model_close(&w->model);
    device_close(&w->device);
    model_dir_close(&w->dir);
    if (w->fd > STDIN_FILENO)
        close(w->fd);
}

status cmd_translate(int argc, char **argv, struct err *err)
{
    struct work w = {.fd = -1, .progress = progress_to(stderr)};
    struct opt_words words = {.max = 2};

    TRY(opt_read(cmd_translate_options, &w.config, &words, argc, argv, err));
    if (words.n == 0)
        return err_set(err, ERR_USAGE, "which run? usage: ferry translate RUN [FILE]");
    w.input = words.n > 1 ? words.word[1] : "-";
    const status result = run(&w, words.word[0], err);
    work_close(&w);
    return result;
}

#include "decode/translate_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/progress.h"
#include "decode/model_dir.h"
#include "text/line_reader.h"

#define OF_SEARCH(kind, field, ...) \
    OPT_ROW(kind, offsetof(opt_owner, search.field), field, __VA_ARGS__)
#define ALL_OPTIONS(X) TRANSLATE_OPTIONS(OF_SEARCH) TRANSLATE_TEXT_OPTIONS(X)

OPT_TABLE(translate_text_options, struct translate_text_config, ALL_OPTIONS);

/* ---- a text of any length ---- */

struct window {
    struct line_reader reader;
    struct str in; /* its lines, one behind the other */
    struct line *lines;
    size_t n;
    struct translations found;
    struct str out;
    uint64_t n_before; /* lines of earlier windows */
};

/* The lines of the next window. One of very long lines ends early. */
static status fill(struct window *w, const struct translate_text_stream *s,
                   struct err *err)
{
    struct line line;
    bool has = true;
    size_t at = 0;

    str_reset(&w->in);
    for (w->n = 0; w->n < s->window && w->in.len < TRANSLATE_TEXT_LINE_MAX; w->n++) {
        if (!w->reader.is_cut)
            TRY(line_reader_next(&w->reader, &line, &has, err));
        if (!has || (w->reader.is_cut && w->n)) /* the lines before it come first */
            break;
        if (w->reader.is_cut)
            return err_set(err, ERR_FORMAT, "%s: line %llu is longer than %d MiB",
                           s->name, (unsigned long long)w->reader.n_lines,
                           TRANSLATE_TEXT_LINE_MAX >> 20);
        str_add(&w->in, line.text, line.n_bytes);
        w->lines[w->n].n_bytes = line.n_bytes;
    }
    for (size_t i = 0; i < w->n; at += w->lines[i++].n_bytes)
        w->lines[i].text = str_text(&w->in) + at;
    return str_check(&w->in, s->name, err);
}

static void put_line(struct window *w, const struct translate_text_stream *s, size_t i)
{
    const struct translations *f = &w->found;

    for (size_t rank = 0; rank < f->n_found[i]; rank++) {
        const double score = f->item[i * f->n_best + rank].score;
        const char *text = translate_get(f, i, rank);
        if (f->n_best > 1)
            str_printf(&w->out, "%llu ||| %s ||| %.6f\n",
                       (unsigned long long)w->n_before + i, text, score);
        else if (s->has_scores)
            str_printf(&w->out, "%s\t%.6f\n", text, score);
        else
            str_printf(&w->out, "%s\n", text);
    }
}

static status run_windows(struct window *w, const struct translate_text_stream *s,
                          struct translator *t, struct err *err)
{
    w->in = str_new(SIZE_MAX / 2);
    w->out = str_new(SIZE_MAX / 2);
    TRY(mem_alloc(&w->lines, s->window, sizeof *w->lines, err));
    TRY(line_reader_open_fd(&w->reader, s->fd, s->name, err));
    w->reader.max_line = TRANSLATE_TEXT_LINE_MAX;
    for (;;) {
        TRY(fill(w, s, err));
        if (!w->n)
            return OK;
        if (translate_lines(t, w->lines, w->n, &w->found, err) != OK)
            return err_wrap(err, "%s", s->name);
        str_reset(&w->out);
        for (size_t i = 0; i < w->n; i++)
            put_line(w, s, i);
        TRY(str_check(&w->out, "the translations", err));
        TRY(s->write(s->ctx, w->out.data, w->out.len, err));
        w->n_before += w->n;
    }
}

status translate_text_stream(const struct translate_text_stream *s, struct translator *t,
                             struct err *err)
{
    struct window w = {0};
    const status result = run_windows(&w, s, t, err);

    line_reader_close(&w.reader);
    str_release(&w.in);
    str_release(&w.out);
    translate_release(&w.found);
    free(w.lines);
    return result;
}

/* ---- from options to files ---- */

/* Everything that is open while text is translated. */
struct work {
    struct translate_text_config config;
    const char *input; /* "-": standard input */
    int fd;
    struct model_dir dir;
    struct device device;
    struct model model;
    struct translator translator;
    struct progress progress;
    struct file_writer file;
    FILE *out;
};

static status write_lines(void *ctx, const void *bytes, size_t n, struct err *err)
{
    struct work *w = ctx;

    if (w->config.output[0])
        return file_writer_add(&w->file, bytes, n, err);
    if (fwrite(bytes, 1, n, w->out) != n || fflush(w->out) != 0)
        return err_set(err, ERR_IO, "standard output: %s", strerror(errno));
    return OK;
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
    const struct translate_text_config *c = &w->config;
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
    const bool is_shown = !is_talk && (is_file || isatty(fileno(w->out)) != 1);
    const struct translate_text_stream stream = {
        .fd = w->fd,
        .name = w->fd == STDIN_FILENO ? "standard input" : w->input,
        .window = is_talk ? 1 : (size_t)w->config.window,
        .has_scores = w->config.scores,
        .write = write_lines,
        .ctx = w};

    if (!is_shown)
        return translate_text_stream(&stream, &w->translator, err);
    w->translator.progress = &w->progress;
    progress_begin(&w->progress, "translated", "lines", count_lines(w));
    const status result = translate_text_stream(&stream, &w->translator, err);
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

status translate_text_run(const struct translate_text_config *c, const char *run_dir,
                          const char *input, FILE *out, FILE *console, struct err *err)
{
    struct work w = {.config = *c,
                     .input = input,
                     .fd = -1,
                     .progress = progress_to(console),
                     .out = out};
    const status result = run(&w, run_dir, err);

    file_writer_abort(&w.file);
    translate_close(&w.translator);
    model_close(&w.model);
    device_close(&w.device);
    model_dir_close(&w.dir);
    if (w.fd > STDIN_FILENO)
        close(w.fd);
    return result;
}

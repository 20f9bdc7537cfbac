#include "decode/translate_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/progress.h"
#include "base/utf8.h"
#include "decode/loaded.h"
#include "decode/output_name.h"
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
    double t_first;    /* when the first line was there */
};

/* A window that has a line does not wait longer than this for more, however steadily they
 * come; a file on disk takes less. */
static const double t_window_max = 1;

/* The next line, unless the window has some already and the input pauses. */
static status next_line(struct window *w, const struct translate_text_stream *s,
                        struct line *line, bool *has, struct err *err)
{
    if (!w->n || s->pause_ms < 0)
        return line_reader_next(&w->reader, line, has, err);
    const bool is_late = clock_now() - w->t_first > t_window_max;
    return line_reader_next_within(&w->reader, line, has, is_late ? 0 : s->pause_ms, err);
}

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
            TRY(next_line(w, s, &line, &has, err));
        if (!has || (w->reader.is_cut && w->n)) /* the lines before it come first */
            break;
        if (w->reader.is_cut)
            return err_set(err, ERR_FORMAT, "%s: line %llu is longer than %d MiB",
                           s->name, (unsigned long long)w->reader.n_lines,
                           TRANSLATE_TEXT_LINE_MAX >> 20);
        str_add(&w->in, line.text, line.n_bytes);
        w->lines[w->n].n_bytes = line.n_bytes;
        w->t_first = w->n ? w->t_first : clock_now();
    }
    for (size_t i = 0; i < w->n; at += w->lines[i++].n_bytes)
        w->lines[i].text = str_text(&w->in) + at;
    return str_check(&w->in, s->name, err);
}

/* White space may hold tabs; those between fields are the only ones. */
static void put_untabbed(struct str *out, const char *text, size_t n)
{
    const size_t at = out->len;

    utf8_mend(out, text, n);
    for (size_t i = at; i < out->len; i++)
        if (out->data[i] == '\t')
            out->data[i] = ' ';
}

static status put_alignment(struct window *w, size_t i, const struct translation *item,
                            struct err *err)
{
    const struct translations *f = &w->found;

    return alignments_pharaoh(&w->out, w->lines[i],
                              (struct line){f->text.data + item->at, item->n_bytes},
                              f->link + item->first_link, item->n_links, err);
}

/* A translation with the fields that are asked for behind it. */
static status put_item(struct window *w, const struct translate_text_stream *s, size_t i,
                       size_t rank, struct err *err)
{
    const struct translations *f = &w->found;
    const struct translation *item = &f->item[i * f->n_best + rank];
    const char *text = translate_get(f, i, rank);
    const bool is_list = f->n_best > 1 && !s->has_pairs;

    if (s->has_pairs) {
        put_untabbed(&w->out, w->lines[i].text, w->lines[i].n_bytes);
        str_putc(&w->out, '\t');
    }
    if (is_list)
        str_printf(&w->out, "%llu ||| %s ||| %.6f", (unsigned long long)w->n_before + i,
                   text, item->score);
    else if (s->has_pairs || s->has_scores || s->has_alignments)
        put_untabbed(&w->out, text, strlen(text));
    else
        str_puts(&w->out, text);
    if (!is_list && s->has_scores)
        str_printf(&w->out, "\t%.6f", item->score);
    if (s->has_alignments) {
        str_puts(&w->out, is_list ? " ||| " : "\t");
        TRY(put_alignment(w, i, item, err));
    }
    str_putc(&w->out, '\n');
    return OK;
}

static status put_line(struct window *w, const struct translate_text_stream *s, size_t i,
                       struct err *err)
{
    for (size_t rank = 0; rank < w->found.n_found[i]; rank++)
        TRY(put_item(w, s, i, rank, err));
    return OK;
}

static status run_windows(struct window *w, const struct translate_text_stream *s,
                          struct translator *t, struct err *err)
{
    w->n_before = s->n_before;
    t->n_done_before = t->n_done;
    w->in = str_new(SIZE_MAX / 2);
    w->out = str_new(SIZE_MAX / 2);
    TRY(mem_alloc(&w->lines, s->window, sizeof *w->lines, err));
    TRY(line_reader_open_fd(&w->reader, s->fd, s->name, err));
    TRY(line_reader_expect_text(&w->reader, err));
    w->reader.max_line = TRANSLATE_TEXT_LINE_MAX;
    for (;;) {
        TRY(fill(w, s, err));
        if (!w->n)
            return OK;
        if (translate_lines(t, w->lines, w->n, &w->found, err) != OK)
            return err_wrap(err, "%s", s->name);
        str_reset(&w->out);
        for (size_t i = 0; i < w->n; i++)
            TRY(put_line(w, s, i, err));
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
    const char *const *input;      /* [n] "-": standard input */
    char (*output)[FILE_PATH_MAX]; /* [n]; NULL: standard output */
    size_t n;
    struct loaded model;
    struct translator translator;
    struct progress progress;
    struct file_writer file;
    FILE *out;
};

static bool is_stdin(const char *input)
{
    return strcmp(input, "-") == 0;
}

static status write_lines(void *ctx, const void *bytes, size_t n, struct err *err)
{
    struct work *w = ctx;

    if (w->output)
        return file_writer_add(&w->file, bytes, n, err);
    if (fwrite(bytes, 1, n, w->out) != n || fflush(w->out) != 0)
        return err_set(err, ERR_IO, "standard output: %s", strerror(errno));
    return OK;
}

static status open_input(int *fd, const char *input, struct err *err)
{
    *fd = is_stdin(input) ? STDIN_FILENO : open(input, O_RDONLY | O_CLOEXEC);
    if (*fd < 0)
        return err_set(err, ERR_IO, "%s: %s", input, strerror(errno));
    return OK;
}

static void close_input(int fd)
{
    if (fd > STDIN_FILENO)
        close(fd);
}

/* What can be read twice is text. */
static status check_text(const char *input, struct err *err)
{
    RELEASED_BY(line_reader_close) struct line_reader r = {0};

    if (file_bytes(input) <= 0)
        return OK;
    TRY(line_reader_open(&r, input, input, err));
    return line_reader_expect_text(&r, err);
}

/* A file of phrases is there; what is in it is seen with the tokenizer. */
static status check_terms(const char *path, struct err *err)
{
    if (path[0] && access(path, R_OK) != 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    return OK;
}

/* Every input can be read and every output written: before the model is loaded. A pipe
 * with a name is opened only once, or its writer would think that we left. */
static status check_files(struct work *w, struct err *err)
{
    TRY(check_terms(w->config.search.forbid, err));
    TRY(check_terms(w->config.search.require, err));
    for (size_t i = 0; i < w->n; i++) {
        const char *input = w->input[i];
        if (is_stdin(input))
            continue;
        if (file_is_dir(input))
            return err_set(err, ERR_IO, "%s is a directory, not a text to translate",
                           input);
        if (access(input, R_OK) != 0)
            return err_set(err, ERR_IO, "%s: %s", input, strerror(errno));
        TRY(check_text(input, err));
    }
    if (!w->config.output[0])
        return OK;
    TRY(mem_alloc(&w->output, w->n, sizeof *w->output, err));
    TRY(output_name_make(w->output, w->config.output, w->input, w->n, err));
    for (size_t i = 0; i < w->n; i++)
        TRY(file_check_output(w->output[i], err));
    return OK;
}

static status open_model(struct work *w, const char *run, struct err *err)
{
    const struct translate_text_config *c = &w->config;
    const size_t n_threads = c->threads ? (size_t)c->threads : pool_cores();
    char note[POOL_NOTE];

    TRY(loaded_open(&w->model, run,
                    (struct loaded_options){.checkpoint = c->checkpoint,
                                            .average = c->average,
                                            .device = c->device,
                                            .n_threads = n_threads,
                                            .n_workers = (size_t)c->workers,
                                            .has_shortlist = c->shortlist,
                                            .ensemble = c->ensemble},
                    err));
    if (*w->model.note)
        progress_note(&w->progress, w->model.note);
    if (pool_crowded(note, 1, n_threads))
        progress_note(&w->progress, note);
    return loaded_translator(&w->model, &w->translator, &c->search, NULL, err);
}

/* Lines of all inputs when they can be counted without using them up, else 0. */
static uint64_t count_lines(const struct work *w)
{
    uint64_t n = 0;

    for (size_t i = 0; i < w->n; i++) {
        struct line_reader r;
        struct line line;
        struct err ignored = {0};
        bool has = true;
        if (is_stdin(w->input[i]) || file_bytes(w->input[i]) <= 0 ||
            line_reader_open(&r, w->input[i], w->input[i], &ignored) != OK)
            return 0;
        while (line_reader_next(&r, &line, &has, &ignored) == OK && has)
            n++;
        line_reader_close(&r);
    }
    return n;
}

static void PRINTF(3, 4) say(struct work *w, uint64_t n, const char *fmt, ...)
{
    char what[200], note[256];
    va_list ap;

    if (!n)
        return;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    snprintf(note, sizeof note, "%llu of %llu lines %s", (unsigned long long)n,
             (unsigned long long)w->translator.n_done, what);
    progress_note(&w->progress, note);
}

/* What the reader of the translations should know, a sentence each. */
static void say_what_happened(struct work *w)
{
    const struct translator *t = &w->translator;
    const struct translate_config *c = &t->config; /* as far as the model goes */

    say(w, t->n_cut, "are longer than max_length = %lld tokens and were cut",
        (long long)c->max_length);
    say(w, t->n_divided,
        "have a sentence of more than max_length = %lld tokens, which was translated in "
        "parts",
        (long long)c->max_length);
    say(w, t->n_invalid, "hold bytes that are not UTF-8; U+FFFD was read in their place");
    say(w, t->n_lengthened,
        "have a sentence that would have had a translation of fewer than min_length = "
        "%lld pieces; the next best was taken",
        (long long)c->min_length);
    say(w, t->n_unrepeated,
        "have a sentence in whose translation the same four pieces could have occurred "
        "more often than max_repeats = %lld allows",
        (long long)c->max_repeats);
    say(w, t->n_copied,
        "were copied, at least in part, because the model does not know their letters "
        "or has no text for them");
    say(w, t->n_stopped,
        "have a sentence whose translation had no end within its limit and was cut "
        "there; extra_decode_length = %lld",
        (long long)c->extra_decode_length);
    say(w, t->n_unmet, "have a sentence whose translation lacks a required phrase");
}

/* How long a pause of the input ends a window. Whoever writes line by line and waits for
 * answers is slower than this; a program that writes a long text is not. */
static int pause_of(const struct translate_text_config *c)
{
    enum { PAUSE_MS = 20 };

    return strcmp(c->stream, "true") == 0    ? 0
           : strcmp(c->stream, "false") == 0 ? -1
                                             : PAUSE_MS;
}

/* Input i. What goes to one place is numbered as one text. */
static status translate_input(struct work *w, size_t i, struct err *err)
{
    const bool has_own_output = w->output && output_name_is_pattern(w->config.output);
    int fd;

    TRY(open_input(&fd, w->input[i], err));
    const struct translate_text_stream stream = {
        .fd = fd,
        .name = is_stdin(w->input[i]) ? "standard input" : w->input[i],
        .window = (size_t)w->config.window,
        .pause_ms = pause_of(&w->config),
        .n_before = has_own_output ? 0 : w->translator.n_done,
        .has_pairs = w->config.pairs,
        .has_scores = w->config.search.scores,
        .has_alignments = w->config.search.alignments,
        .write = write_lines,
        .ctx = w};
    status result = OK;
    if (i > 0 && has_own_output) /* the first is open already */
        result = file_writer_open_output(&w->file, w->output[i], err);
    THEN(result, translate_text_stream(&stream, &w->translator, err));
    if (result == OK && w->output && (i == w->n - 1 || has_own_output))
        result = file_writer_commit(&w->file, err);
    close_input(fd);
    return result;
}

static status translate(struct work *w, struct err *err)
{
    const bool is_talk = w->n == 1 && is_stdin(w->input[0]) &&
                         isatty(STDIN_FILENO) == 1; /* someone types */
    const bool is_shown = !is_talk && (w->output || isatty(fileno(w->out)) != 1);
    status result = OK;

    if (w->output)
        TRY(file_writer_open_output(&w->file, w->output[0], err));
    if (is_shown) {
        w->translator.progress = &w->progress;
        progress_begin(&w->progress, "translated", "lines", count_lines(w));
    }
    for (size_t i = 0; i < w->n && result == OK; i++)
        result = translate_input(w, i, err);
    if (is_shown)
        progress_end(&w->progress, w->translator.n_done);
    if (is_shown && result == OK && *w->translator.search->note)
        progress_note(&w->progress, w->translator.search->note);
    if (result == OK)
        say_what_happened(w);
    return result;
}

static status run(struct work *w, const char *name, struct err *err)
{
    if (w->config.search.greedy)
        w->config.search.beam = 1;
    TRY(translate_config_check(&w->config.search, err));
    if (w->config.pairs && w->config.search.prefix)
        return err_set(
            err, ERR_USAGE,
            "pairs = true writes sources, and with prefix = true a line is not "
            "one; leave one of them out");
    TRY(check_files(w, err));
    TRY(open_model(w, name, err));
    return translate(w, err);
}

status translate_text_run(const struct translate_text_config *c, const char *run_dir,
                          const char *const *input, size_t n, FILE *out, FILE *console,
                          struct err *err)
{
    struct work w = {.config = *c,
                     .input = input,
                     .n = n,
                     .progress = progress_to(console),
                     .out = out};
    const status result = run(&w, run_dir, err);

    file_writer_abort(&w.file);
    translate_close(&w.translator);
    loaded_close(&w.model);
    free(w.output);
    return result;
}

#include "decode/pairs/score_pairs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/progress.h"
#include "base/utf8.h"
#include "decode/loaded.h"
#include "decode/output_name.h"
#include "decode/pairs/likeliest.h"
#include "decode/pairs/scorer.h"
#include "decode/translate_text.h"
#include "text/line_reader.h"

OPT_TABLE(score_pairs_options, struct score_pairs_config, SCORE_PAIRS_OPTIONS);

/* Bytes of a line: what `ferry translate` reads and its translation, which may be as
 * long, with a mark and a tab. */
enum { LINE_MAX_BYTES = 2 * TRANSLATE_TEXT_LINE_MAX + 64 };

struct work {
    const struct score_pairs_config *c;
    struct loaded model;
    struct scorer *scorer;
    struct likeliest all; /* with keep: of every pair */
    struct str text;      /* of the window's lines */
    struct str whole;     /* with least alone: as they came, with their ends */
    struct span *span;
    struct line *source, *target;
    size_t n; /* lines of the window */
    struct str result;
    struct progress progress;
    struct file_writer file;
    FILE *out;
    uint64_t n_done, n_cut;
};

/* ---- a window ---- */

/* Where the sides of a line are; the text may move while it grows. */
struct span {
    size_t at, n_source, n_target, whole_at, n_whole;
};

/* Fields behind the second are left alone: a corpus may have more columns. */
static status split(struct line line, const char *name, uint64_t number,
                    struct line side[2], struct err *err)
{
    const char *end = line.text + line.n_bytes;
    const char *tab = memchr(line.text, '\t', line.n_bytes);

    if (!tab)
        return err_set(err, ERR_FORMAT,
                       "%s: line %llu has no tab; want the source, a tab and its "
                       "translation",
                       name, (unsigned long long)number);
    const char *next = memchr(tab + 1, '\t', (size_t)(end - tab - 1));
    side[0] = (struct line){line.text, (size_t)(tab - line.text)};
    side[1] = (struct line){tab + 1, (size_t)((next ? next : end) - tab - 1)};
    return OK;
}

/* The numbers need no line as it came, and what is kept is read again. */
static bool writes_whole(const struct score_pairs_config *c)
{
    return c->least < 0 && !(c->keep > 0);
}

static void add_line(struct work *w, struct span *span, struct line line,
                     const struct line side[2])
{
    span->whole_at = w->whole.len;
    if (writes_whole(w->c)) {
        str_add(&w->whole, line.text, line.n_bytes);
        str_putc(&w->whole, '\n');
    }
    span->n_whole = w->whole.len - span->whole_at;
    span->at = w->text.len;
    utf8_mend(&w->text, side[0].text, side[0].n_bytes);
    span->n_source = w->text.len - span->at;
    utf8_mend(&w->text, side[1].text, side[1].n_bytes);
    span->n_target = w->text.len - span->at - span->n_source;
}

static status fill(struct work *w, struct line_reader *r, const char *name,
                   struct err *err)
{
    struct line line, side[2] = {{0}};
    bool has = true;

    str_reset(&w->text);
    str_reset(&w->whole);
    for (w->n = 0; w->n < (size_t)w->c->window && w->text.len < LINE_MAX_BYTES; w->n++) {
        TRY(line_reader_next(r, &line, &has, err));
        if (!has)
            break;
        if (r->is_cut)
            return err_set(err, ERR_FORMAT, "%s: line %llu is longer than %d MiB", name,
                           (unsigned long long)r->n_lines, LINE_MAX_BYTES >> 20);
        TRY(split(line, name, r->n_lines, side, err));
        add_line(w, &w->span[w->n], line, side);
    }
    for (size_t i = 0; i < w->n; i++) {
        const struct span *span = &w->span[i];
        const char *text = str_text(&w->text) + span->at;
        w->source[i] = (struct line){text, span->n_source};
        w->target[i] = (struct line){text + span->n_source, span->n_target};
    }
    TRY(str_check(&w->whole, name, err));
    return str_check(&w->text, name, err);
}

/* "-12.345678 TAB -1.543210", and with tokens TAB "piece:-0.1 piece:-2.3". */
static void put_numbers(struct work *w, const struct scorer_pair p, double each)
{
    str_printf(&w->result, "%.6f\t%.6f", p.sum, each);
    for (size_t k = 1; w->c->tokens && k < p.n; k++)
        str_printf(&w->result, "%c%s:%.6f", k == 1 ? '\t' : ' ',
                   spm_piece(spm_target(w->model.spm), p.id[k]), p.log_prob[k]);
    str_putc(&w->result, '\n');
}

/* Of line i what is asked for, as far as it is known by now. */
static status put(struct work *w, size_t i, struct err *err)
{
    const struct scorer_pair p = scorer_get(w->scorer, i);
    const struct span *span = &w->span[i];
    const double each = p.sum / (double)(p.n - 1);

    w->n_cut += p.is_cut;
    if (w->c->keep > 0)
        return likeliest_add(&w->all, w->c->least < 0 && each < w->c->least ? NAN : each,
                             err);
    if (!(w->c->least < 0))
        put_numbers(w, p, each);
    else if (each >= w->c->least)
        str_add(&w->result, w->whole.data + span->whole_at, span->n_whole);
    return OK;
}

static status write_result(struct work *w, struct err *err)
{
    TRY(str_check(&w->result, "the scores", err));
    if (*w->c->output)
        return file_writer_add(&w->file, w->result.data, w->result.len, err);
    if (fwrite(w->result.data, 1, w->result.len, w->out) != w->result.len ||
        fflush(w->out) != 0)
        return err_set(err, ERR_IO, "standard output: %s", strerror(errno));
    return OK;
}

static status score_input(struct work *w, struct line_reader *r, const char *name,
                          struct err *err)
{
    for (;;) {
        TRY(fill(w, r, name, err));
        if (!w->n)
            return OK;
        TRY(scorer_run(w->scorer, w->source, w->target, w->n, err));
        str_reset(&w->result);
        for (size_t i = 0; i < w->n; i++)
            TRY(put(w, i, err));
        TRY(write_result(w, err));
        w->n_done += w->n;
        progress_update(&w->progress, w->n_done);
    }
}

static bool is_stdin(const char *input)
{
    return strcmp(input, "-") == 0;
}

static status open_and_score(struct work *w, const char *input, struct err *err)
{
    RELEASED_BY(line_reader_close) struct line_reader r = {0};
    const char *name = is_stdin(input) ? "standard input" : input;

    if (is_stdin(input))
        TRY(line_reader_open_fd(&r, STDIN_FILENO, name, err));
    else
        TRY(line_reader_open(&r, input, name, err));
    r.max_line = LINE_MAX_BYTES;
    TRY(line_reader_expect_text(&r, err));
    return score_input(w, &r, name, err);
}

/* ---- the likeliest ---- */

static status changed(const char *input, struct err *err)
{
    return err_set(err, ERR_IO, "%s changed while it was read", input);
}

/* The lines of a file that stay; those of the files before it were the first *at. */
static status copy_kept(struct work *w, const char *input, size_t *at, struct err *err)
{
    enum { ENOUGH = 1 << 20 };
    RELEASED_BY(line_reader_close) struct line_reader r = {0};
    struct line line;

    TRY(line_reader_open(&r, input, input, err));
    r.max_line = LINE_MAX_BYTES;
    for (bool has = true;;) {
        TRY(line_reader_next(&r, &line, &has, err));
        if (!has || w->result.len > ENOUGH) {
            TRY(write_result(w, err));
            str_reset(&w->result);
        }
        if (!has)
            return OK;
        if (*at == w->all.n)
            return changed(input, err);
        if (!likeliest_stays(&w->all, (*at)++))
            continue;
        str_add(&w->result, line.text, line.n_bytes);
        str_putc(&w->result, '\n');
    }
}

static status write_kept(struct work *w, const char *const *input, size_t n,
                         struct err *err)
{
    size_t at = 0;

    TRY(likeliest_choose(&w->all, w->c->keep, err));
    str_reset(&w->result);
    for (size_t i = 0; i < n; i++)
        TRY(copy_kept(w, input[i], &at, err));
    return at == w->all.n ? OK : changed(input[n - 1], err);
}

/* What is asked for goes together. */
static status check_kept(const struct score_pairs_config *c, const char *const *input,
                         size_t n, struct err *err)
{
    if (c->tokens && (c->keep > 0 || c->least < 0))
        return err_set(err, ERR_USAGE,
                       "tokens = true writes numbers, keep and least write pairs; leave "
                       "one of them out");
    for (size_t i = 0; c->keep > 0 && i < n; i++)
        if (is_stdin(input[i]) || file_is_special(input[i]))
            return err_set(err, ERR_USAGE,
                           "keep = %g reads its input twice, and %s is not a file; write "
                           "it into one, or give least=X",
                           c->keep, is_stdin(input[i]) ? "standard input" : input[i]);
    return OK;
}

/* ---- all ---- */

static status open_all(struct work *w, const char *model, struct err *err)
{
    const struct score_pairs_config *c = w->c;

    if (*c->output)
        TRY(file_check_output(c->output, err));
    TRY(loaded_open(&w->model, model,
                    (struct loaded_options){.checkpoint = c->checkpoint,
                                            .average = c->average,
                                            .device = c->device,
                                            .n_threads = (size_t)c->threads},
                    err));
    if (*w->model.note)
        progress_note(&w->progress, w->model.note);
    w->text = str_new(SIZE_MAX / 2);
    w->whole = str_new(SIZE_MAX / 2);
    w->result = str_new(SIZE_MAX / 2);
    TRY(mem_alloc(&w->span, (size_t)c->window, sizeof *w->span, err));
    TRY(mem_alloc(&w->source, (size_t)c->window, sizeof *w->source, err));
    TRY(mem_alloc(&w->target, (size_t)c->window, sizeof *w->target, err));
    return scorer_open(&w->scorer, w->model.network, w->model.spm,
                       (struct scorer_options){w->model.kernels, (size_t)c->threads,
                                               (size_t)c->max_length},
                       err);
}

/* The output is none of the inputs. */
static status check_output(const char *output, const char *const *input, size_t n,
                           struct err *err)
{
    RELEASED_BY(mem_release) char(*name)[FILE_PATH_MAX] = NULL;

    if (output_name_is_pattern(output))
        return err_set(err, ERR_USAGE, "output = %s: want the name of one file", output);
    TRY(mem_alloc(&name, n, sizeof *name, err));
    return output_name_make(name, output, input, n, err);
}

static status run(struct work *w, const char *model, const char *const *input, size_t n,
                  struct err *err)
{
    TRY(check_kept(w->c, input, n, err));
    if (*w->c->output)
        TRY(check_output(w->c->output, input, n, err));
    TRY(open_all(w, model, err));
    if (*w->c->output)
        TRY(file_writer_open_output(&w->file, w->c->output, err));
    progress_begin(&w->progress, "scored", "pairs", 0);
    for (size_t i = 0; i < n; i++)
        TRY(open_and_score(w, input[i], err));
    progress_end(&w->progress, w->n_done);
    if (w->c->keep > 0)
        TRY(write_kept(w, input, n, err));
    return *w->c->output ? file_writer_commit(&w->file, err) : OK;
}

status score_pairs_run(const struct score_pairs_config *c, const char *model,
                       const char *const *input, size_t n, FILE *out, FILE *console,
                       struct err *err)
{
    struct work w = {.c = c, .progress = progress_to(console), .out = out};
    char note[128];
    const status result = run(&w, model, input, n, err);

    if (result == OK && w.n_cut) {
        const size_t longest = architecture_longest(&w.model.network->config.arch);
        const size_t most = (size_t)c->max_length;
        snprintf(note, sizeof note,
                 "%llu of %llu pairs are longer than max_length = %zu "
                 "tokens and were cut",
                 (unsigned long long)w.n_cut, (unsigned long long)w.n_done,
                 most < longest ? most : longest);
        progress_note(&w.progress, note);
    }
    file_writer_abort(&w.file);
    scorer_close(w.scorer);
    loaded_close(&w.model);
    likeliest_release(&w.all);
    str_release(&w.text);
    str_release(&w.whole);
    str_release(&w.result);
    free(w.span);
    free(w.source);
    free(w.target);
    return result;
}

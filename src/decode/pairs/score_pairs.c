#include "decode/pairs/score_pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/progress.h"
#include "base/utf8.h"
#include "decode/loaded.h"
#include "decode/output_name.h"
#include "decode/pairs/scorer.h"
#include "text/line_reader.h"

OPT_TABLE(score_pairs_options, struct score_pairs_config, SCORE_PAIRS_OPTIONS);

struct work {
    const struct score_pairs_config *c;
    struct loaded model;
    struct scorer *scorer;
    struct str text; /* of the window's lines */
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
    size_t at, n_source, n_target;
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

static void add_line(struct work *w, struct span *span, const struct line side[2])
{
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
    for (w->n = 0; w->n < (size_t)w->c->window; w->n++) {
        TRY(line_reader_next(r, &line, &has, err));
        if (!has)
            break;
        if (r->is_cut)
            return err_set(err, ERR_FORMAT, "%s: line %llu is longer than %d MiB", name,
                           (unsigned long long)r->n_lines, LINE_READER_MAX >> 20);
        TRY(split(line, name, r->n_lines, side, err));
        add_line(w, &w->span[w->n], side);
    }
    for (size_t i = 0; i < w->n; i++) {
        const struct span *span = &w->span[i];
        const char *text = str_text(&w->text) + span->at;
        w->source[i] = (struct line){text, span->n_source};
        w->target[i] = (struct line){text + span->n_source, span->n_target};
    }
    return str_check(&w->text, name, err);
}

/* "-12.345678 TAB -1.543210", and with tokens TAB "piece:-0.1 piece:-2.3". */
static void put(struct work *w, size_t i)
{
    const struct scorer_pair p = scorer_get(w->scorer, i);

    w->n_cut += p.is_cut;
    str_printf(&w->result, "%.6f\t%.6f", p.sum, p.sum / (double)(p.n - 1));
    for (size_t k = 1; w->c->tokens && k < p.n; k++)
        str_printf(&w->result, "%c%s:%.6f", k == 1 ? '\t' : ' ',
                   spm_piece(spm_target(w->model.spm), p.id[k]), p.log_prob[k]);
    str_putc(&w->result, '\n');
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
            put(w, i);
        TRY(write_result(w, err));
        w->n_done += w->n;
        progress_update(&w->progress, w->n_done);
    }
}

static status open_and_score(struct work *w, const char *input, struct err *err)
{
    RELEASED_BY(line_reader_close) struct line_reader r = {0};
    const bool is_stdin = strcmp(input, "-") == 0;
    const char *name = is_stdin ? "standard input" : input;

    if (is_stdin)
        TRY(line_reader_open_fd(&r, STDIN_FILENO, name, err));
    else
        TRY(line_reader_open(&r, input, name, err));
    TRY(line_reader_expect_text(&r, err));
    return score_input(w, &r, name, err);
}

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
    if (*w->c->output)
        TRY(check_output(w->c->output, input, n, err));
    TRY(open_all(w, model, err));
    if (*w->c->output)
        TRY(file_writer_open_output(&w->file, w->c->output, err));
    progress_begin(&w->progress, "scored", "pairs", 0);
    for (size_t i = 0; i < n; i++)
        TRY(open_and_score(w, input[i], err));
    progress_end(&w->progress, w->n_done);
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
    str_release(&w.text);
    str_release(&w.result);
    free(w.span);
    free(w.source);
    free(w.target);
    return result;
}

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/lines.h"
#include "base/utf8.h"
#include "cli/cmd.h"
#include "score/bleu.h"
#include "text/line_reader.h"

/* kind, field, default, help, limits */
#define SCORE_OPTIONS(X)                                                                 \
    X(CHOICE, tokenize, "13a", "tokenizer", ONE_OF("13a|none"))                          \
    X(CHOICE, smooth, "exp", "smoothing for n-gram orders without a match",              \
      ONE_OF(SMOOTH_NAMES))                                                              \
    X(REAL, smooth_value, "0", "value for floor and add-k; 0: 0.1 and 1", RANGE(0, 1e6)) \
    X(BOOL, effective_order, "no", "skip n-gram orders longer than the text", ANY)       \
    X(BOOL, sentence, "no", "one score per line, with effective order", ANY)             \
    X(INT, width, "2", "decimals of the score", RANGE(0, 9))                             \
    X(BOOL, json, "no", "print JSON", ANY)                                               \
    X(BOOL, score_only, "no", "print only the number", ANY)

#define SMOOTH_NAMES "exp|floor|add-k|none"

struct score_config {
    SCORE_OPTIONS(OPT_FIELD)
};

OPT_TABLE(cmd_score_options, struct score_config, SCORE_OPTIONS);

enum { MAX_FILES = 16 };

/* The hypothesis file is [0], its references follow. */
struct inputs {
    const char *name[MAX_FILES];
    struct str text[MAX_FILES];
    struct lines file[MAX_FILES];
    struct line line[MAX_FILES];
    size_t n;
};

static status inputs_check(const struct inputs *in, struct err *err)
{
    const uint64_t n_hyp = lines_count(&in->file[0]);

    for (size_t i = 0; i < in->n; i++) {
        const uint64_t n = lines_count(&in->file[i]);
        if (n == 0)
            return err_set(err, ERR_FORMAT, "%s has no lines; there is nothing to score",
                           in->name[i]);
        if (n != n_hyp)
            return err_set(err, ERR_FORMAT,
                           "%s has %" PRIu64 " lines but %s has %" PRIu64
                           "; line n of one must translate line n of the other",
                           in->name[i], n, in->name[0], n_hyp);
    }
    return OK;
}

/* REF... HYP, or one REF and the hypothesis on standard input. */
static status inputs_open(struct inputs *in, const struct opt_words *words,
                          struct err *err)
{
    bool has_stdin = false;

    if (words->n == 0)
        return err_set(err, ERR_USAGE,
                       "give a file of references and one of translations to score");
    const size_t n_refs = words->n == 1 ? 1 : words->n - 1;
    for (size_t i = 0; i <= n_refs; i++) {
        const char *path = i == 0 ? "-" : words->word[i - 1];
        if (i == 0 && words->n > 1)
            path = words->word[n_refs];
        const bool is_stdin = strcmp(path, "-") == 0;
        if (is_stdin && has_stdin)
            return err_set(err, ERR_USAGE, "only one file can be standard input");
        has_stdin |= is_stdin;
        in->name[i] = is_stdin ? "standard input" : path;
        in->text[i] = str_new(SIZE_MAX / 2);
        in->n = i + 1;
        TRY(line_reader_all(&in->text[i], path, err));
        in->file[i] = lines_over(in->text[i].data, in->text[i].len);
    }
    return inputs_check(in, err);
}

/* The next line of every file; *more is false at the end. */
static status inputs_next(struct inputs *in, bool *more, struct err *err)
{
    struct line line;

    *more = true;
    for (size_t i = 0; i < in->n; i++) {
        struct lines *f = &in->file[i];
        *more &= lines_next(f, &line);
        if (!*more)
            return OK;
        /* sacreBLEU takes a byte order mark for part of the first word. */
        const size_t n_mark = f->has_mark && f->n_read == 1 ? 3 : 0;
        in->line[i] = (struct line){line.text - n_mark, line.n_bytes + n_mark};
        if (!utf8_valid(line.text, line.n_bytes))
            return err_set(err, ERR_FORMAT, "%s: line %" PRIu64 " is not UTF-8",
                           in->name[i], f->n_read);
    }
    return OK;
}

struct scorer {
    struct score_config config;
    struct bleu_options options;
    struct str out; /* the result of a line or of the file */
    size_t n_refs;
};

static status print_score(struct scorer *s, const struct bleu_stats *stats,
                          struct err *err)
{
    const struct bleu b = bleu_score(stats, &s->options);
    const int width = (int)s->config.width;

    str_reset(&s->out);
    if (s->config.score_only)
        str_printf(&s->out, "%.*f", width, b.score);
    else if (s->config.json)
        bleu_json(&s->out, &b, &s->options, s->n_refs, width, s->config.sentence);
    else
        bleu_line(&s->out, &b, &s->options, s->n_refs, width);
    str_putc(&s->out, '\n');
    TRY(str_check(&s->out, "a score", err));
    if (fwrite(s->out.data, 1, s->out.len, stdout) != s->out.len)
        return err_set(err, ERR_IO, "standard output: %s", strerror(errno));
    return OK;
}

static status score_files(struct scorer *s, struct inputs *in, struct err *err)
{
    struct bleu_stats all = {0};
    bool more;

    for (;;) {
        struct bleu_stats one = {0};
        TRY(inputs_next(in, &more, err));
        if (!more)
            break;
        TRY(bleu_add(&one, s->options.tokenize, in->line[0], in->line + 1, s->n_refs,
                     err));
        if (s->config.sentence)
            TRY(print_score(s, &one, err));
        bleu_merge(&all, &one);
    }
    if (!s->config.sentence)
        TRY(print_score(s, &all, err));
    if (fflush(stdout) != 0)
        return err_set(err, ERR_IO, "standard output: %s", strerror(errno));
    return OK;
}

status cmd_score(int argc, char **argv, struct err *err)
{
    struct scorer s = {.out = str_new(0)};
    struct opt_words words = {.max = MAX_FILES};
    struct inputs in = {0};

    TRY(opt_read(cmd_score_options, &s.config, &words, argc, argv, err));
    s.options = (struct bleu_options){
        .tokenize = tokenize_find(s.config.tokenize),
        .smooth = bleu_smooth_find(s.config.smooth),
        .smooth_value = s.config.smooth_value,
        .is_effective_order = s.config.effective_order || s.config.sentence,
    };
    status result = inputs_open(&in, &words, err);
    s.n_refs = in.n ? in.n - 1 : 0;
    THEN(result, score_files(&s, &in, err));
    for (size_t i = 0; i < in.n; i++)
        str_release(&in.text[i]);
    str_release(&s.out);
    return result;
}

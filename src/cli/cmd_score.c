#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/cmd.h"
#include "score/metric.h"
#include "text/line_reader.h"

/* kind, field, default, help, limits */
#define SCORE_OPTIONS(X)                                                                 \
    X(CHOICE, metric, "bleu", "what is computed", ONE_OF(METRIC_NAMES))                  \
    X(CHOICE, tokenize, "13a", "tokenizer", ONE_OF("13a|none"))                          \
    X(CHOICE, smooth, "exp", "smoothing for n-gram orders without a match",              \
      ONE_OF(SMOOTH_NAMES))                                                              \
    X(REAL, smooth_value, "0", "value for floor and add-k; 0: 0.1 and 1", RANGE(0, 1e6)) \
    X(BOOL, effective_order, "no", "skip n-gram orders longer than the text", ANY)       \
    X(INT, chrf_char_order, "6", "longest character n-grams of chrF",                    \
      RANGE(1, CHRF_CHARS_MAX))                                                          \
    X(INT, chrf_word_order, "-1", "longest word n-grams; -1: none, two for chrf++",      \
      RANGE(-1, CHRF_WORDS_MAX))                                                         \
    X(INT, chrf_beta, "2", "weight of recall over precision in chrF", RANGE(1, 100))     \
    X(BOOL, chrf_whitespace, "no", "chrF counts white space too", ANY)                   \
    X(BOOL, chrf_eps_smoothing, "no", "chrF is the mean of F over all orders", ANY)      \
    X(BOOL, sentence, "no", "one score per line, BLEU with effective order", ANY)        \
    X(INT, width, "2", "decimals of the score", RANGE(0, 9))                             \
    X(BOOL, json, "no", "print JSON", ANY)                                               \
    X(BOOL, score_only, "no", "print only the number", ANY)

#define SMOOTH_NAMES "exp|floor|add-k|none"

struct score_config {
    SCORE_OPTIONS(OPT_FIELD)
};

OPT_TABLE(cmd_score_options, struct score_config, SCORE_OPTIONS);

enum { MAX_FILES = 16 };

/* The hypothesis file is [0], its references follow. They are read side by side, so that
 * memory does not depend on their length. */
struct inputs {
    const char *name[MAX_FILES];
    struct line_reader file[MAX_FILES];
    struct line line[MAX_FILES];
    size_t n;
};

static void inputs_close(struct inputs *in)
{
    for (size_t i = 0; i < in->n; i++)
        line_reader_close(&in->file[i]);
}

static status inputs_add(struct inputs *in, const char *path, struct err *err)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "standard input" : path;
    struct line_reader *f = &in->file[in->n];

    for (size_t i = 0; i < in->n && is_stdin; i++)
        if (strcmp(in->name[i], name) == 0)
            return err_set(err, ERR_USAGE, "only one file can be standard input");
    TRY(is_stdin ? line_reader_open_fd(f, STDIN_FILENO, name, err)
                 : line_reader_open(f, path, name, err));
    in->name[in->n++] = name;
    TRY(line_reader_expect_text(f, err));
    line_reader_keep_mark(f); /* sacreBLEU takes it for part of the first word */
    return OK;
}

/* REF... HYP, or one REF and the hypothesis on standard input. */
static status inputs_open(struct inputs *in, const struct opt_words *words,
                          struct err *err)
{
    if (words->n == 0)
        return err_set(err, ERR_USAGE,
                       "give a file of references and one of translations to score");
    const size_t n_refs = words->n == 1 ? 1 : words->n - 1;
    TRY(inputs_add(in, words->n == 1 ? "-" : words->word[n_refs], err));
    for (size_t i = 0; i < n_refs; i++)
        TRY(inputs_add(in, words->word[i], err));
    return OK;
}

/* File `ended` has no further line, file `longer` has. */
static status unequal(const struct inputs *in, size_t ended, size_t longer,
                      struct err *err)
{
    const uint64_t n = in->file[ended].n_lines;

    return err_set(err, ERR_FORMAT,
                   "%s has %" PRIu64 " line%s but %s has more; line n of one must "
                   "translate line n of the other",
                   in->name[ended], n, n == 1 ? "" : "s", in->name[longer]);
}

/* Line i is whole and text. */
static status check_line(const struct inputs *in, size_t i, struct err *err)
{
    const struct line_reader *f = &in->file[i];

    if (f->is_cut)
        return err_set(err, ERR_FORMAT, "%s: line %" PRIu64 " is longer than %zu bytes",
                       in->name[i], f->n_lines, f->max_line);
    if (!utf8_valid(in->line[i].text, in->line[i].n_bytes))
        return err_set(err, ERR_FORMAT, "%s: line %" PRIu64 " is not UTF-8", in->name[i],
                       f->n_lines);
    return OK;
}

/* The next line of every file; *more is false at the end. */
static status inputs_next(struct inputs *in, bool *more, struct err *err)
{
    for (size_t i = 0; i < in->n; i++) {
        bool has;
        TRY(line_reader_next(&in->file[i], &in->line[i], &has, err));
        if (!has && in->file[i].n_lines == 0)
            return err_set(err, ERR_FORMAT, "%s has no lines; there is nothing to score",
                           in->name[i]);
        if (i > 0 && has != *more)
            return has ? unequal(in, 0, i, err) : unequal(in, i, 0, err);
        *more = has;
        if (has)
            TRY(check_line(in, i, err));
    }
    return OK;
}

struct scorer {
    struct score_config config;
    struct metric_options options;
    struct str out; /* the result of a line or of the file */
    size_t n_refs;
};

/* sacreBLEU's command takes white space off the ends of lines, its library does not. */
static void trim(struct inputs *in)
{
    for (size_t i = 0; i < in->n; i++)
        in->line[i].n_bytes = tokenize_trimmed(in->line[i].text, in->line[i].n_bytes);
}

static status print_score(struct scorer *s, const struct metric_sums *sums,
                          struct err *err)
{
    RELEASED_BY(result_release)
    struct result r = metric_result(sums, &s->options, s->n_refs);
    const int width = (int)s->config.width;

    str_reset(&s->out);
    if (s->config.score_only)
        str_printf(&s->out, "%.*f", width, r.score);
    else if (s->config.json)
        result_json(&s->out, &r, width, s->config.sentence);
    else
        result_line(&s->out, &r, width);
    str_putc(&s->out, '\n');
    TRY(str_check(&s->out, "a score", err));
    if (fwrite(s->out.data, 1, s->out.len, stdout) != s->out.len)
        return err_set(err, ERR_IO, "standard output: %s", strerror(errno));
    return OK;
}

static status score_files(struct scorer *s, struct inputs *in, struct err *err)
{
    struct metric_sums sums = {0};
    bool more;

    for (;;) {
        TRY(inputs_next(in, &more, err));
        if (!more)
            break;
        trim(in);
        TRY(metric_add(&sums, &s->options, in->line[0], in->line + 1, s->n_refs, err));
        if (!s->config.sentence)
            continue;
        TRY(print_score(s, &sums, err));
        sums = (struct metric_sums){0};
    }
    if (!s->config.sentence)
        TRY(print_score(s, &sums, err));
    if (fflush(stdout) != 0)
        return err_set(err, ERR_IO, "standard output: %s", strerror(errno));
    return OK;
}

/* What the options ask for. */
static void choose(struct scorer *s)
{
    const struct score_config *c = &s->config;
    struct metric_options *o = &s->options;

    *o = metric_options(metric_find(c->metric));
    o->bleu = (struct bleu_options){
        .tokenize = tokenize_find(c->tokenize),
        .smooth = bleu_smooth_find(c->smooth),
        .smooth_value = c->smooth_value,
        .is_effective_order = c->effective_order || c->sentence,
    };
    o->chrf.char_order = (size_t)c->chrf_char_order;
    if (c->chrf_word_order >= 0)
        o->chrf.word_order = (size_t)c->chrf_word_order;
    o->chrf.beta = (unsigned)c->chrf_beta;
    o->chrf.keeps_space = c->chrf_whitespace;
    o->chrf.is_smoothed = c->chrf_eps_smoothing;
}

status cmd_score(int argc, char **argv, struct err *err)
{
    struct scorer s = {.out = str_new(0)};
    struct opt_words words = {.max = MAX_FILES};
    struct inputs in = {0};

    TRY(opt_read(cmd_score_options, &s.config, &words, argc, argv, err));
    choose(&s);
    status result = inputs_open(&in, &words, err);
    s.n_refs = in.n ? in.n - 1 : 0;
    THEN(result, score_files(&s, &in, err));
    inputs_close(&in);
    str_release(&s.out);
    return result;
}

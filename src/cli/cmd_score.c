#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/cmd.h"
#include "score/comparison.h"
#include "text/line_reader.h"

/* kind, field, default, help, limits */
#define SCORE_OPTIONS(X)                                                                 \
    X(CHOICE, metric, "bleu", "what is computed", ONE_OF(METRIC_NAMES))                  \
    X(STR, tokenize, "13a", "tokenizer of BLEU: 13a, none, intl, char or zh", ANY)       \
    X(BOOL, lowercase, "no", "BLEU and chrF do not tell capital letters apart", ANY)     \
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
    X(BOOL, ter_normalized, "no", "TER: punctuation marks become words", ANY)            \
    X(BOOL, ter_no_punct, "no", "TER: without punctuation marks", ANY)                   \
    X(BOOL, ter_asian_support, "no", "TER: the same of Chinese and Japanese", ANY)       \
    X(BOOL, ter_case_sensitive, "no", "TER tells capital letters apart", ANY)            \
    X(BOOL, sentence, "no", "one score per line, BLEU with effective order", ANY)        \
    X(BOOL, confidence, "no", "the interval of 95 % of resampled files", ANY)            \
    X(STR, against, "", "other systems' files, each tested against HYP", ANY)            \
    X(CHOICE, test, "bootstrap", "how they are tested",                                  \
      ONE_OF("bootstrap|randomisation"))                                                 \
    X(INT, trials, "0", "samples; 0: 1000, of randomisation 10000", RANGE(0, 1e6))       \
    X(INT, seed, "12345", "of the samples", RANGE(0, 1e15))                              \
    X(INT, width, "2", "decimals of the score", RANGE(0, 9))                             \
    X(BOOL, json, "no", "print JSON", ANY)                                               \
    X(BOOL, short_signature, "no", "abbreviate the keys of the signature", ANY)          \
    X(BOOL, score_only, "no", "print only the number", ANY)

#define SMOOTH_NAMES "exp|floor|add-k|none"

struct score_config {
    SCORE_OPTIONS(OPT_FIELD)
};

OPT_TABLE(cmd_score_options, struct score_config, SCORE_OPTIONS);

enum { MAX_FILES = 16 };

/* ---- the files ---- */

/* Read side by side, so that memory does not depend on their length. The translations are
 * [0], their references follow, then the other systems' translations. */
struct inputs {
    const char *name[MAX_FILES];
    struct line_reader file[MAX_FILES];
    struct line line[MAX_FILES];
    size_t n, n_refs;
    char others[OPT_TEXT_MAX]; /* names of other systems */
};

static status inputs_add(struct inputs *in, const char *path, struct err *err)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "standard input" : path;

    if (in->n == MAX_FILES)
        return err_set(err, ERR_USAGE, "%s is one file too many; at most %d are scored",
                       name, MAX_FILES);
    for (size_t i = 0; i < in->n && is_stdin; i++)
        if (strcmp(in->name[i], name) == 0)
            return err_set(err, ERR_USAGE, "only one file can be standard input");
    struct line_reader *f = &in->file[in->n];
    TRY(is_stdin ? line_reader_open_fd(f, STDIN_FILENO, name, err)
                 : line_reader_open(f, path, name, err));
    in->name[in->n++] = name;
    TRY(line_reader_expect_text(f, err));
    line_reader_keep_mark(f); /* sacreBLEU takes it for part of the first word */
    return OK;
}

static status inputs_add_others(struct inputs *in, const char *against, struct err *err)
{
    char *rest;

    snprintf(in->others, sizeof in->others, "%s", against);
    for (char *name = strtok_r(in->others, ",", &rest); name;
         name = strtok_r(NULL, ",", &rest))
        TRY(inputs_add(in, name, err));
    return OK;
}

/* REF... HYP, or one REF and the translations on standard input; `against` is a list of
 * other systems' translations, joined by commas. */
static status inputs_open(struct inputs *in, const struct opt_words *words,
                          const char *against, struct err *err)
{
    if (words->n == 0)
        return err_set(err, ERR_USAGE,
                       "give a file of references and one of translations to score");
    in->n_refs = words->n == 1 ? 1 : words->n - 1;
    TRY(inputs_add(in, words->n == 1 ? "-" : words->word[in->n_refs], err));
    for (size_t i = 0; i < in->n_refs; i++)
        TRY(inputs_add(in, words->word[i], err));
    return inputs_add_others(in, against, err);
}

static void inputs_close(struct inputs *in)
{
    for (size_t i = 0; i < in->n; i++)
        line_reader_close(&in->file[i]);
    *in = (struct inputs){0};
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

/* sacreBLEU's command takes white space off the ends of lines, its library does not. */
static void trim(struct line *line)
{
    line->n_bytes = tokenize_trimmed(line->text, line->n_bytes);
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
        if (!has)
            continue;
        TRY(check_line(in, i, err));
        trim(&in->line[i]);
    }
    return OK;
}

static size_t inputs_systems(const struct inputs *in)
{
    return in->n - in->n_refs;
}

/* The place of the i-th system. */
static size_t inputs_system(const struct inputs *in, size_t i)
{
    return i ? in->n_refs + i : 0;
}

/* ---- what is made of them ---- */

struct scorer {
    struct score_config config;
    struct metric_options options;
    struct inputs in;
    struct significance_kept kept[MAX_FILES]; /* by system */
    struct str out;                           /* the result of a line or of the file */
};

static void scorer_release(struct scorer *s)
{
    inputs_close(&s->in);
    for (size_t i = 0; i < MAX_FILES; i++)
        significance_release(&s->kept[i]);
    str_release(&s->out);
}

/* ---- what the options ask for ---- */

static status choose_tokenizer(struct bleu_options *o, const char *name, struct err *err)
{
    o->tokenize = tokenize_find(name);
    if (tokenize_is_elsewhere(name))
        return err_set(err, ERR_USAGE,
                       "tokenize = %s needs a model or a dictionary that Ferry does not "
                       "have; cut all files into words with it and give tokenize=none",
                       name);
    if (o->tokenize == N_TOKENIZE)
        return err_set(err, ERR_USAGE, "tokenize = %s: want one of " TOKENIZE_NAMES,
                       name);
    return OK;
}

static void choose_chrf(struct chrf_options *o, const struct score_config *c)
{
    o->char_order = (size_t)c->chrf_char_order;
    if (c->chrf_word_order >= 0)
        o->word_order = (size_t)c->chrf_word_order;
    o->beta = (unsigned)c->chrf_beta;
    o->keeps_space = c->chrf_whitespace;
    o->is_smoothed = c->chrf_eps_smoothing;
    o->is_lowercase = c->lowercase;
}

static status choose(struct scorer *s, struct err *err)
{
    const struct score_config *c = &s->config;
    struct metric_options *o = &s->options;

    *o = metric_options(metric_find(c->metric));
    o->bleu = (struct bleu_options){
        .smooth = bleu_smooth_find(c->smooth),
        .smooth_value = c->smooth_value,
        .is_effective_order = c->effective_order || c->sentence,
        .is_lowercase = c->lowercase,
    };
    choose_chrf(&o->chrf, c);
    o->ter = (struct ter_options){.is_normalized = c->ter_normalized,
                                  .without_punctuation = c->ter_no_punct,
                                  .is_asian = c->ter_asian_support,
                                  .is_case_sensitive = c->ter_case_sensitive};
    if (c->sentence && (c->confidence || *c->against))
        return err_set(err, ERR_USAGE,
                       "sentence = true gives each line a score, of which there are no "
                       "samples; leave out confidence and against");
    return choose_tokenizer(&o->bleu, c->tokenize, err);
}

static size_t n_trials(const struct score_config *c, size_t usual)
{
    return c->trials ? (size_t)c->trials : usual;
}

static struct significance_how how_of(const struct score_config *c)
{
    const bool is_shuffled = strcmp(c->test, "bootstrap") != 0;

    return (struct significance_how){
        .is_shuffled = is_shuffled,
        .n_trials =
            n_trials(c, is_shuffled ? SIGNIFICANCE_SHUFFLES : SIGNIFICANCE_RESAMPLES),
        .n_resamples = is_shuffled && c->confidence ? SIGNIFICANCE_RESAMPLES : 0,
        .seed = (uint64_t)c->seed,
    };
}

/* ---- printing ---- */

static status print(struct str *out, struct err *err)
{
    str_putc(out, '\n');
    TRY(str_check(out, "a score", err));
    if (fwrite(out->data, 1, out->len, stdout) != out->len)
        return err_set(err, ERR_IO, "standard output: %s", strerror(errno));
    str_reset(out);
    return OK;
}

static status print_score(struct scorer *s, struct result *r, struct err *err)
{
    const int width = (int)s->config.width;

    if (s->config.short_signature && !s->config.json) /* which names its keys */
        result_shorten(r);
    if (s->config.score_only)
        result_number(&s->out, r, width);
    else if (s->config.json)
        result_json(&s->out, r, width, s->config.sentence);
    else
        result_line(&s->out, r, width);
    return print(&s->out, err);
}

static status print_sums(struct scorer *s, const struct metric_sums *sums,
                         struct err *err)
{
    RELEASED_BY(result_release)
    struct result r = metric_result(sums, &s->options, s->in.n_refs);

    return print_score(s, &r, err);
}

/* ---- samples of several systems ---- */

/* The result of the whole file, for its name and signature. */
static struct result head_of(const struct scorer *s)
{
    return metric_result(&s->kept[0].whole, &s->options, s->in.n_refs);
}

static status test_system(struct comparison_system *c, const struct scorer *s, size_t i,
                          struct err *err)
{
    const struct significance_how how = how_of(&s->config);

    c->name = s->in.name[inputs_system(&s->in, i)];
    c->is_baseline = i == 0;
    if (i == 0)
        return significance_baseline(&c->result, &s->kept[0], &s->options, &how, err);
    return significance_compare(&c->result, &s->kept[0], &s->kept[i], &s->options, &how,
                                err);
}

static status print_tests(struct scorer *s, struct err *err)
{
    const int width = (int)s->config.width;
    const struct significance_how how = how_of(&s->config);
    const size_t n = inputs_systems(&s->in);
    RELEASED_BY(result_release) struct result head = head_of(s);
    struct comparison_system system[MAX_FILES];

    comparison_note(&head, &how);
    if (s->config.short_signature)
        result_shorten(&head);
    for (size_t i = 0; i < n; i++)
        TRY(test_system(&system[i], s, i, err));
    if (s->config.score_only)
        comparison_scores(&s->out, system, n, width);
    else if (s->config.json)
        comparison_json(&s->out, &head, system, n, width);
    else
        comparison_lines(&s->out, &head, system, n, width);
    return print(&s->out, err);
}

static status print_confidence(struct scorer *s, struct err *err)
{
    const struct significance_how how = {.n_trials =
                                             n_trials(&s->config, SIGNIFICANCE_RESAMPLES),
                                         .seed = (uint64_t)s->config.seed};
    RELEASED_BY(result_release) struct result r = head_of(s);
    struct significance_result found;

    TRY(significance_interval(&found, &s->kept[0], &s->options, how.n_trials, how.seed,
                              err));
    r.has_interval = true;
    r.mean = found.mean;
    r.half = found.half;
    comparison_note(&r, &how);
    return print_score(s, &r, err);
}

/* ---- reading ---- */

/* The sums of every system's translation of the lines just read. */
static status keep_line(struct scorer *s, struct err *err)
{
    for (size_t i = 0; i < inputs_systems(&s->in); i++) {
        const struct line hyp = s->in.line[inputs_system(&s->in, i)];
        struct metric_sums sums = {0};
        TRY(metric_add(&sums, &s->options, hyp, s->in.line + 1, s->in.n_refs, err));
        TRY(significance_keep(&s->kept[i], &s->options, &sums, err));
    }
    return OK;
}

static status score_samples(struct scorer *s, struct err *err)
{
    for (bool more = true;;) {
        TRY(inputs_next(&s->in, &more, err));
        if (!more)
            break;
        TRY(keep_line(s, err));
    }
    return *s->config.against ? print_tests(s, err) : print_confidence(s, err);
}

static status score_lines(struct scorer *s, struct err *err)
{
    struct metric_sums sums = {0};

    for (bool more = true;;) {
        TRY(inputs_next(&s->in, &more, err));
        if (!more)
            break;
        TRY(metric_add(&sums, &s->options, s->in.line[0], s->in.line + 1, s->in.n_refs,
                       err));
        if (!s->config.sentence)
            continue;
        TRY(print_sums(s, &sums, err));
        sums = (struct metric_sums){0};
    }
    return s->config.sentence ? OK : print_sums(s, &sums, err);
}

status cmd_score(int argc, char **argv, struct err *err)
{
    RELEASED_BY(scorer_release) struct scorer s = {.out = str_new(0)};
    struct opt_words words = {.max = MAX_FILES};

    TRY(opt_read(cmd_score_options, &s.config, &words, argc, argv, err));
    TRY(choose(&s, err));
    TRY(inputs_open(&s.in, &words, s.config.against, err));
    if (s.config.confidence || *s.config.against)
        TRY(score_samples(&s, err));
    else
        TRY(score_lines(&s, err));
    if (fflush(stdout) != 0)
        return err_set(err, ERR_IO, "standard output: %s", strerror(errno));
    return OK;
}

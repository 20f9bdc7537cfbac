/* What runs were trained and scored on: whether their numbers compare, their scores on
 * test sets, and how they translate the same sentences. */
#include <math.h>
#include <string.h>

#include "page/fmt.h"
#include "report/judge/judgement.h"
#include "report/show/compare.h"

enum { SAMPLES = 8 };

/* Both known, and not the same. */
static bool is_other(const char *a, const char *b)
{
    return a && b && a[0] && b[0] && strcmp(a, b) != 0;
}

static bool is_other_number(double a, double b)
{
    return isfinite(a) && isfinite(b) && a != b;
}

static bool has_other_option(const struct run *a, const struct run *b, const char *key)
{
    return is_other(runlog_config(&a->log, key), runlog_config(&b->log, key));
}

static bool has_other_direction(const struct run *a, const struct run *b)
{
    return has_other_option(a, b, "source_lang") || has_other_option(a, b, "target_lang");
}

/* Logs of older programs hold numbers instead of hashes. */
static bool has_other_vocabulary(const struct runlog_start *a,
                                 const struct runlog_start *b)
{
    return is_other(a->tokenizer_hash, b->tokenizer_hash) ||
           is_other_number(a->tokenizer_pieces, b->tokenizer_pieces);
}

static bool has_other_validation(const struct runlog_start *a,
                                 const struct runlog_start *b)
{
    return is_other(a->valid_hash, b->valid_hash) ||
           is_other_number(a->valid_pairs, b->valid_pairs);
}

/* A packed corpus is made of pieces: with other ones it differs anyway. */
static bool has_other_training(const struct runlog_start *a, const struct runlog_start *b)
{
    return is_other_number(a->train_pairs, b->train_pairs) ||
           (!has_other_vocabulary(a, b) &&
            (is_other(a->train_hash, b->train_hash) ||
             is_other_number(a->train_target_tokens, b->train_target_tokens)));
}

/* Adds those of these options, up to a NULL, in which they differ. Old logs lack some. */
static void list_others(struct str *list, const struct run *a, const struct run *b,
                        const char *const *key)
{
    for (; *key; key++) {
        const char *x = runlog_config(&a->log, *key), *y = runlog_config(&b->log, *key);
        if (x && y && strcmp(x, y) != 0)
            str_printf(list, "%s%s", list->len ? ", " : "", *key);
    }
}

static bool cuts_variously(const struct run *run)
{
    return run_config(run, "bpe_dropout") > 0 || run_config(run, "subword_alpha") > 0;
}

/* The options in which they differ that change what is trained on, or how hard it is
 * made: "mix, word_dropout". */
static struct str other_hardships(const struct run *a, const struct run *b)
{
    static const char *const mix[] = {"mix", NULL};
    static const char *const side[] = {"bpe_dropout_side", NULL};
    struct str list = str_new(0);

    list_others(&list, a, b, mix);
    list_others(&list, a, b, run_hardships);
    list_others(&list, a, b, run_variations);
    if (cuts_variously(a) && cuts_variously(b))
        list_others(&list, a, b, side);
    return list;
}

bool compare_data_losses_compare(const struct run *a, const struct run *b)
{
    const struct runlog_start *x = runlog_latest(&a->log), *y = runlog_latest(&b->log);

    return !x || !y ||
           !(has_other_direction(a, b) || has_other_vocabulary(x, y) ||
             has_other_validation(x, y) || has_other_option(a, b, "label_smoothing"));
}

static const char *option(const struct run *run, const char *key)
{
    const char *v = runlog_config(&run->log, key);

    return v && v[0] ? v : "?";
}

static status warn_of_losses(struct compare *c, const struct run *a, const struct run *b,
                             struct err *err)
{
    const struct runlog_start *x = runlog_latest(&a->log), *y = runlog_latest(&b->log);

    if (has_other_direction(a, b))
        TRY(compare_say(&c->warnings, err,
                        "%s translates %s to %s, %s %s to %s: neither their losses nor "
                        "their BLEU compare.",
                        b->name, option(b, "source_lang"), option(b, "target_lang"),
                        a->name, option(a, "source_lang"), option(a, "target_lang")));
    if (has_other_vocabulary(x, y))
        TRY(compare_say(&c->warnings, err,
                        "%s has another vocabulary than %s (%s and %s pieces): a loss is "
                        "a mean over pieces, so their losses do not compare. BLEU on the "
                        "same text does.",
                        b->name, a->name, fmt_count(y->tokenizer_pieces).s,
                        fmt_count(x->tokenizer_pieces).s));
    if (has_other_option(a, b, "label_smoothing"))
        TRY(compare_say(
            &c->warnings, err,
            "%s has label_smoothing %s, %s has %s: it is part of the loss, so "
            "their losses do not compare.",
            b->name, option(b, "label_smoothing"), a->name,
            option(a, "label_smoothing")));
    if (has_other_option(a, b, "smoothing"))
        TRY(compare_say(
            &c->warnings, err,
            "%s smooths labels by smoothing = %s, %s by %s: their training losses do not "
            "compare. Their validation losses do, which always smooth alike.",
            b->name, option(b, "smoothing"), a->name, option(a, "smoothing")));
    if (has_other_validation(x, y))
        TRY(compare_say(&c->warnings, err,
                        "%s was validated on other sentences than %s: neither validation "
                        "losses nor validation BLEU compare. `ferry eval` of both on one "
                        "test set does.",
                        b->name, a->name));
    return OK;
}

/* How the newest evaluation with BLEU computed it, or NULL. */
static const char *signature_of(const struct runlog *log)
{
    for (size_t i = log->n_eval; i > 0; i--)
        if (log->eval[i - 1].bleu_signature)
            return log->eval[i - 1].bleu_signature;
    return NULL;
}

/* Of runs that have computed none the options tell what they would compute; older ones
 * have no such options. */
static status warn_of_words(struct compare *c, const struct run *a, const struct run *b,
                            struct err *err)
{
    const char *x = signature_of(&a->log), *y = signature_of(&b->log);

    if (is_other(x, y))
        return compare_say(&c->warnings, err,
                           "The validation BLEU of %s is %s, that of %s %s: they do not "
                           "compare.",
                           b->name, y, a->name, x);
    if ((x && y) || !(has_other_option(a, b, "score_tokenize") ||
                      has_other_option(a, b, "score_lowercase")))
        return OK;
    return compare_say(&c->warnings, err,
                       "%s compares words with score_tokenize = %s and score_lowercase "
                       "= %s, %s with %s and %s: their validation BLEU does not compare.",
                       b->name, option(b, "score_tokenize"), option(b, "score_lowercase"),
                       a->name, option(a, "score_tokenize"),
                       option(a, "score_lowercase"));
}

status compare_data_warn(struct compare *c, const struct run *a, const struct run *b,
                         struct err *err)
{
    const struct runlog_start *x = runlog_latest(&a->log), *y = runlog_latest(&b->log);
    const struct runlog_test *s = runlog_tested(&a->log), *t = runlog_tested(&b->log);

    if (!x || !y)
        return OK;
    TRY(warn_of_losses(c, a, b, err));
    TRY(warn_of_words(c, a, b, err));
    if (has_other_training(x, y))
        TRY(compare_say(&c->warnings, err,
                        "%s was trained on other data than %s (%s and %s pairs): their "
                        "training losses do not compare.%s",
                        b->name, a->name, fmt_count(y->train_pairs).s,
                        fmt_count(x->train_pairs).s,
                        compare_data_losses_compare(a, b)
                            ? " Validation losses do, on the same sentences."
                            : ""));
    RELEASED_BY(str_release) struct str hardships = other_hardships(a, b);
    if (hardships.len)
        TRY(compare_say(&c->warnings, err,
                        "%s and %s differ in %s: their training losses do not compare.",
                        a->name, b->name, str_text(&hardships)));
    if (s && t &&
        (is_other(s->text_hash, t->text_hash) ||
         is_other_number(s->sentences, t->sentences)))
        TRY(compare_say(&c->warnings, err,
                        "The test BLEU of %s is of other sentences than that of %s: they "
                        "do not compare.",
                        b->name, a->name));
    else if (s && t && is_other(s->bleu_signature, t->bleu_signature))
        TRY(compare_say(&c->warnings, err,
                        "The test BLEU of %s is %s, that of %s %s: they do not compare.",
                        b->name, t->bleu_signature, a->name, s->bleu_signature));
    return OK;
}

/* ---- samples ---- */

/* Those of the newest evaluation that has any: sample[first .. n_sample). */
static size_t newest_samples(const struct runlog *log)
{
    size_t first = log->n_sample;

    while (first > 0 &&
           log->sample[first - 1].step == log->sample[log->n_sample - 1].step)
        first--;
    return first;
}

/* How a run translated this sentence last, or NULL. */
static const char *translation_of(const struct runlog *log, const char *source)
{
    for (size_t i = newest_samples(log); i < log->n_sample; i++)
        if (log->sample[i].source && strcmp(log->sample[i].source, source) == 0)
            return log->sample[i].translation;
    return NULL;
}

static status add_sample(struct compare_table *t, const struct judgement *runs, size_t n,
                         const struct runlog_sample *s, struct err *err)
{
    TRY(compare_add(t, s->source, err));
    TRY(compare_add(t, s->reference ? s->reference : "", err));
    for (size_t i = 0; i < n; i++) {
        const char *text = translation_of(&runs[i].run.log, s->source);
        TRY(compare_add(t, text ? text : "not sampled", err));
    }
    return OK;
}

status compare_data_samples(struct compare_table *t, const struct judgement *runs,
                            size_t n, struct err *err)
{
    const struct runlog *log = &runs[0].run.log;

    t->n_columns = n + 2;
    TRY(compare_add(t, "source", err));
    TRY(compare_add(t, "reference", err));
    for (size_t i = 0; i < n; i++)
        TRY(compare_add(t, runs[i].run.name, err));
    for (size_t k = newest_samples(log); k < log->n_sample && t->n_rows <= SAMPLES; k++) {
        bool is_shared = false;
        for (size_t i = 1; i < n && log->sample[k].source; i++)
            is_shared |= translation_of(&runs[i].run.log, log->sample[k].source) != NULL;
        if (is_shared)
            TRY(add_sample(t, runs, n, &log->sample[k], err));
    }
    return OK;
}

/*
 * score_cases - tests/data/score_cases.json, what sacreBLEU gives
 * (tools/golden_score.py).
 */
#pragma once

#include <jansson.h>

#include "score/metric.h"

#include "test.h"

enum { CASES_REFS_MAX = 4 };

/* One part of the file; the caller drops it. */
static inline json_t *cases_open(const char *part, size_t at_least)
{
    json_error_t why;
    json_t *root = json_load_file(test_data("score_cases.json"), JSON_ALLOW_NUL, &why);

    if (!root)
        test_fail(__FILE__, __LINE__, "score_cases.json: %s", why.text);
    json_t *list = json_incref(json_object_get(root, part));
    json_decref(root);
    CHECK(json_is_object(list) || json_array_size(list) >= at_least);
    return list;
}

static inline struct line cases_line(const json_t *s)
{
    return (struct line){json_string_value(s), json_string_length(s)};
}

static inline bool cases_flag(const json_t *c, const char *name)
{
    return json_is_true(json_object_get(json_object_get(c, "how"), name));
}

static inline double cases_number(const json_t *c, const char *name, double otherwise)
{
    const json_t *x = json_object_get(json_object_get(c, "how"), name);

    return json_is_number(x) ? json_number_value(x) : otherwise;
}

static inline struct bleu_options cases_bleu(const json_t *c)
{
    const json_t *how = json_object_get(c, "how");
    const char *tokenize = json_string_value(json_object_get(how, "tokenize"));
    const char *smooth = json_string_value(json_object_get(how, "smooth_method"));

    return (struct bleu_options){
        .tokenize = tokenize ? tokenize_find(tokenize) : TOKENIZE_13A,
        .smooth = smooth ? bleu_smooth_find(smooth) : BLEU_SMOOTH_EXP,
        .smooth_value = cases_number(c, "smooth_value", 0),
        .is_effective_order = cases_flag(c, "effective_order"),
        .is_lowercase = cases_flag(c, "lowercase"),
    };
}

static inline struct metric_options cases_options(const json_t *c)
{
    const char *name = json_string_value(json_object_get(c, "metric"));
    const enum metric m = strcmp(name, "BLEU") == 0  ? METRIC_BLEU
                          : strcmp(name, "TER") == 0 ? METRIC_TER
                                                     : METRIC_CHRF;
    struct metric_options o = metric_options(m);

    o.bleu = cases_bleu(c);
    o.chrf = (struct chrf_options){
        .char_order = (size_t)cases_number(c, "char_order", 6),
        .word_order = (size_t)cases_number(c, "word_order", 0),
        .beta = (unsigned)cases_number(c, "beta", 2),
        .keeps_space = cases_flag(c, "whitespace"),
        .is_smoothed = cases_flag(c, "eps_smoothing"),
        .is_lowercase = cases_flag(c, "lowercase"),
    };
    o.ter = (struct ter_options){.is_normalized = cases_flag(c, "normalized"),
                                 .without_punctuation = cases_flag(c, "no_punct"),
                                 .is_asian = cases_flag(c, "asian_support"),
                                 .is_case_sensitive = cases_flag(c, "case_sensitive")};
    return o;
}

static inline size_t cases_n_refs(const json_t *c)
{
    return json_array_size(json_object_get(c, "refs"));
}

/* Segment i of the translations called `name`. */
static inline void cases_add(struct metric_sums *s, const json_t *c, const char *name,
                             size_t i)
{
    const json_t *refs = json_object_get(c, "refs");
    const struct metric_options o = cases_options(c);
    const size_t n_refs = cases_n_refs(c);
    struct line ref[CASES_REFS_MAX];
    struct err err = {0};

    CHECK(n_refs <= CASES_REFS_MAX);
    for (size_t r = 0; r < n_refs; r++)
        ref[r] = cases_line(json_array_get(json_array_get(refs, r), i));
    CHECK_OK(metric_add(s, &o, cases_line(json_array_get(json_object_get(c, name), i)),
                        ref, n_refs, &err),
             &err);
}

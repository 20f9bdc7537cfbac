#include "score/bleu.h"

#include <stdlib.h>

#include <jansson.h>

#include "base/rng.h"
#include "score/ngram.h"

#include "test.h"

enum { MAX_REFS = 8 };

static json_t *open_golden(const char *part)
{
    json_error_t why;
    json_t *root = json_load_file(test_data("bleu_cases.json"), JSON_ALLOW_NUL, &why);

    if (!root)
        test_fail(__FILE__, __LINE__, "bleu_cases.json: %s", why.text);
    json_t *list = json_incref(json_object_get(root, part));
    json_decref(root);
    CHECK(json_is_array(list));
    return list;
}

static struct line text_of(const json_t *s)
{
    return (struct line){json_string_value(s), json_string_length(s)};
}

static struct bleu_options options_of(const json_t *c)
{
    return (struct bleu_options){
        .tokenize = tokenize_find(json_string_value(json_object_get(c, "tokenize"))),
        .smooth = bleu_smooth_find(json_string_value(json_object_get(c, "smooth"))),
        .smooth_value = json_number_value(json_object_get(c, "smooth_value")),
        .is_effective_order = json_is_true(json_object_get(c, "effective_order")),
    };
}

static struct bleu_stats stats_of(const json_t *c, const struct bleu_options *o)
{
    const json_t *hyps = json_object_get(c, "hyp"), *refs = json_object_get(c, "refs");
    struct bleu_stats s = {0};
    struct err err = {0};

    for (size_t i = 0; i < json_array_size(hyps); i++) {
        struct line ref[MAX_REFS];
        for (size_t r = 0; r < json_array_size(refs); r++)
            ref[r] = text_of(json_array_get(json_array_get(refs, r), i));
        CHECK_OK(bleu_add(&s, o, text_of(json_array_get(hyps, i)), ref,
                          json_array_size(refs), &err),
                 &err);
    }
    return s;
}

TEST(prints_what_sacrebleu_prints_on_every_golden_case)
{
    json_t *cases = open_golden("bleu"), *c;
    size_t i;

    CHECK(json_array_size(cases) >= 250);
    json_array_foreach(cases, i, c)
    {
        const struct bleu_options o = options_of(c);
        const struct bleu_stats s = stats_of(c, &o);
        const struct bleu b = bleu_score(&s, &o);
        const char *want = json_string_value(json_object_get(c, "want"));
        struct str got = str_new(0);
        struct result r =
            bleu_result(&b, &o, json_array_size(json_object_get(c, "refs")));

        result_line(&got, &r, 2);
        result_release(&r);
        if (strcmp(str_text(&got), want) != 0)
            test_fail(__FILE__, __LINE__, "case '%s':\n got  %s\n want %s",
                      json_string_value(json_object_get(c, "name")), str_text(&got),
                      want);
        str_release(&got);
    }
    json_decref(cases);
}

TEST(cuts_lines_as_sacrebleu_does)
{
    json_t *cases = open_golden("tokens"), *c;
    size_t i;

    CHECK(json_array_size(cases) >= 200);
    json_array_foreach(cases, i, c)
    {
        const struct line in = text_of(json_object_get(c, "text"));
        const struct line want = text_of(json_object_get(c, "want"));
        struct str got = str_new(0);
        struct err err = {0};

        CHECK_OK(tokenize_line(&got, TOKENIZE_13A, in.text, in.n_bytes, &err), &err);
        if (got.len != want.n_bytes || memcmp(str_text(&got), want.text, got.len) != 0)
            test_fail(__FILE__, __LINE__, "'%s': got '%s', want '%s'", in.text,
                      str_text(&got), want.text);
        str_release(&got);
    }
    json_decref(cases);
}

static size_t ids_of(int32_t *id, size_t max, const json_t *list)
{
    const size_t n = json_array_size(list);

    CHECK(n <= max);
    for (size_t i = 0; i < n; i++)
        id[i] = (int32_t)json_integer_value(json_array_get(list, i));
    return n;
}

TEST(teacher_forced_bleu_is_that_of_nltk)
{
    enum { MAX = 64 };
    json_t *cases = open_golden("nltk"), *c;
    size_t i, n_above_zero = 0;

    json_array_foreach(cases, i, c)
    {
        const json_t *hyps = json_object_get(c, "hyp"), *refs = json_object_get(c, "ref");
        const double want = json_number_value(json_object_get(c, "want"));
        struct bleu_stats s = {0};
        struct err err = {0};

        for (size_t k = 0; k < json_array_size(hyps); k++) {
            int32_t hyp[MAX], ref[MAX];
            const size_t n_hyp = ids_of(hyp, MAX, json_array_get(hyps, k));
            const size_t n_ref = ids_of(ref, MAX, json_array_get(refs, k));
            CHECK_OK(bleu_add_ids(&s, hyp, n_hyp, ref, n_ref, &err), &err);
        }
        n_above_zero += want > 0;
        CHECK(bleu_nltk(&s) == want);
    }
    CHECK(n_above_zero >= 20);
    json_decref(cases);
}

static bool same_gram(const uint32_t *a, const uint32_t *b, size_t order)
{
    return memcmp(a, b, order * sizeof *a) == 0;
}

static uint64_t times(struct ngram_words s, const uint32_t *gram, size_t order)
{
    uint64_t n = 0;

    for (size_t i = 0; i + order <= s.n; i++)
        n += same_gram(s.word + i, gram, order);
    return n;
}

/* By the definition: every n-gram of the hypothesis once, against every reference. */
static uint64_t slow_match(struct ngram_words hyp, const struct ngram_words *ref,
                           size_t n_refs, size_t order)
{
    uint64_t sum = 0;

    for (size_t i = 0; i + order <= hyp.n; i++) {
        const struct ngram_words before = {hyp.word, i + order - 1};
        uint64_t best = 0;
        if (times(before, hyp.word + i, order) > 0)
            continue; /* not its first occurrence */
        for (size_t r = 0; r < n_refs; r++) {
            const uint64_t n = times(ref[r], hyp.word + i, order);
            best = n > best ? n : best;
        }
        const uint64_t n_hyp = times(hyp, hyp.word + i, order);
        sum += n_hyp < best ? n_hyp : best;
    }
    return sum;
}

static struct ngram_words random_words(struct rng *rng, uint32_t *room, size_t max)
{
    /* Few words repeat often; their numbers reach over all 32 bits of a word. */
    static const uint32_t spread[] = {1, 1 << 8, 1 << 16, 0x40000001};
    const uint32_t factor = spread[rng_below(rng, 4)];
    const size_t n = (size_t)rng_below(rng, max + 1);
    const uint64_t n_kinds = 1 + rng_below(rng, 4);

    for (size_t i = 0; i < n; i++)
        room[i] =
            (uint32_t)rng_below(rng, n_kinds) * factor + (uint32_t)rng_below(rng, 2);
    return (struct ngram_words){room, n};
}

TEST(ngram_matches_agree_with_their_definition_on_random_words)
{
    enum { MAX = 24, REFS = 3 };
    struct rng rng = rng_open(rng_key(test_seed(), "ngrams"));

    for (int round = 0; round < 2000; round++) {
        uint32_t room[REFS + 1][MAX];
        struct ngram_words ref[REFS];
        uint64_t match[BLEU_ORDER] = {0}, total[BLEU_ORDER] = {0};
        struct err err = {0};
        const size_t n_refs = 1 + (size_t)rng_below(&rng, REFS);
        const struct ngram_words hyp = random_words(&rng, room[REFS], MAX);

        for (size_t r = 0; r < n_refs; r++)
            ref[r] = random_words(&rng, room[r], MAX);
        CHECK_OK(ngram_match(match, total, BLEU_ORDER, hyp, ref, n_refs, &err), &err);
        for (size_t order = 1; order <= BLEU_ORDER; order++) {
            CHECK(total[order - 1] == (hyp.n < order ? 0 : hyp.n - order + 1));
            CHECK(match[order - 1] == slow_match(hyp, ref, n_refs, order));
        }
    }
}

TEST(words_are_equal_only_when_their_bytes_are)
{
    /* Enough words to make the table grow, with equal prefixes and embedded NULs. */
    enum { N = 3000, BYTES = 12 };
    struct ngram_numbers k = {0};
    struct err err = {0};
    static char text[2][N * BYTES];

    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < N; i++) {
            char *at = text[side] + (size_t)i * BYTES;
            snprintf(at, BYTES, "%010d", i / 2);
            at[3] = '\0';
            at[BYTES - 2] = ' ';
        }
    }
    for (int i = 0; i < N; i++)
        text[0][(size_t)i * BYTES + BYTES - 1] = 'x';
    CHECK_OK(ngram_number(&k, (struct line){text[0], BYTES - 2}, &err), &err);
    CHECK(k.n_words == 1 && k.word[0] == 0);
    for (int i = 1; i < N; i++)
        CHECK_OK(ngram_number(
                     &k, (struct line){text[i % 2] + (size_t)i * BYTES, BYTES - 2}, &err),
                 &err);
    CHECK(k.n_words == N && k.table.n == N / 2);
    for (uint32_t i = 0; i < N; i++)
        CHECK(k.word[i] == i / 2);
    ngram_numbers_release(&k);
}

static void add(struct bleu_stats *s, const char *hyp, const char *ref)
{
    const struct line r = {ref, strlen(ref)};
    struct err err = {0};

    CHECK_OK(bleu_add(s, &(struct bleu_options){0}, (struct line){hyp, strlen(hyp)}, &r,
                      1, &err),
             &err);
}

TEST(a_text_against_itself_scores_one_hundred)
{
    struct bleu_stats s = {0};
    const struct bleu_options o = {0};

    add(&s, "Das Fährboot setzt über, 3.5-mal am Tag.",
        "Das Fährboot setzt über, 3.5-mal am Tag.");
    CHECK_NEAR(bleu_score(&s, &o).score, 100, 1e-12);
    CHECK(bleu_nltk(&s) == 1);
}

TEST(statistics_merge_to_those_of_the_whole)
{
    struct bleu_stats a = {0}, b = {0}, whole = {0};

    add(&a, "a b c d e f", "a b c x e f");
    add(&b, "g h", "g h i j");
    add(&whole, "a b c d e f", "a b c x e f");
    add(&whole, "g h", "g h i j");
    bleu_merge(&a, &b);
    CHECK(memcmp(&a, &whole, sizeof a) == 0);
    CHECK(whole.hyp_len == 8 && whole.ref_len == 10);
    CHECK(whole.n_without[0] == 0 && whole.n_without[2] == 1 && whole.n_without[3] == 1);
}

TEST(a_very_long_line_is_counted_in_linear_time)
{
    /* Quadratic work on 400,000 words would not end within the test's time limit. */
    enum { N = 400000 };
    struct str text = str_new(0);
    struct bleu_stats s = {0};

    for (unsigned i = 0; i < N; i++)
        str_printf(&text, "%u ", i * 2654435761u % 50021);
    add(&s, str_text(&text), str_text(&text));
    CHECK(s.hyp_len == N && s.match[3] == N - 3);
    str_release(&text);
}

TEST(names_of_rules_and_methods_are_found_and_others_are_not)
{
    CHECK(tokenize_find("13a") == TOKENIZE_13A && tokenize_find("none") == TOKENIZE_NONE);
    CHECK(tokenize_find("13A") == N_TOKENIZE && tokenize_find("") == N_TOKENIZE);
    CHECK(bleu_smooth_find("add-k") == BLEU_SMOOTH_ADD_K);
    CHECK(bleu_smooth_find("addk") == N_BLEU_SMOOTH);
}

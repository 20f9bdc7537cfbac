/* Translations that differ in their next word behind a given beginning: each is the best
 * of all sentences whose next word is none of those before it. */
#include "decode/lines/alternatives.h"

#include <stdlib.h>

#include "toy_search.h"
#include "whole_words.h"

enum { TEXT_MAX = 64, N_ALTERNATIVES = 6 };

static struct err err;

static void text_of(const char *const *texts, const int32_t *token, size_t n,
                    char out[TEXT_MAX])
{
    *out = '\0';
    for (size_t i = 0; i < n; i++)
        snprintf(out + strlen(out), TEXT_MAX - strlen(out), "%s", texts[token[i]]);
}

/* The next word of a text behind n_given of its letters. */
static void next_word(const char *text, size_t n_given, char out[TEXT_MAX])
{
    size_t n = 0;

    text += strlen(text) < n_given ? strlen(text) : n_given;
    n += text[0] == ' ';
    if (is_letter(text[n]))
        while (is_letter(text[n]))
            n++;
    else
        n += text[n] != '\0';
    snprintf(out, TEXT_MAX, "%.*s", (int)n, text);
}

/* ---- what the next word is ---- */

TEST(the_next_word_is_a_blank_and_a_word_or_a_mark)
{
    static const char *const texts[V_MAX] = {"", "", "", " a", " ab", "b", ".", " "};
    static const struct {
        int32_t token[6];
        size_t n, n_prefix;
        const char *rest, *want;
    } cases[] = {{{2, 4, 5, 3, 1}, 5, 1, "", " abb"},
                 {{2, 4, 5, 3, 1}, 5, 2, "", "b"},
                 {{2, 4, 5, 3, 1}, 5, 3, "", " a"},
                 {{2, 4, 5, 6, 1}, 5, 3, "", "."},
                 {{2, 4, 5, 6, 1}, 5, 4, "", ""},
                 {{2, 4, 5, 3, 1}, 5, 1, " a", "bb"},
                 {{2, 4, 5, 3, 1}, 5, 1, " abb", " a"},
                 {{2, 4, 6, 3, 1}, 5, 0, "", " ab"},
                 {{2, 4, 7, 6, 5}, 5, 2, "", " ."},
                 {{2, 4, 7, 5, 6}, 5, 2, " ", "b"},
                 {{2, 4, 1}, 3, 2, " ", ""},
                 {{2, 4, 4, 4}, 4, 2, " ", "ab"}};
    struct letters letters;

    CHECK_OK(letters_open_texts(&letters, texts, V_MAX, &err), &err);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t rest[8], *code = NULL;
        size_t n_codes = 0, cap = 0;
        char got[TEXT_MAX] = "";
        for (size_t k = 0; k < strlen(cases[i].rest); k++)
            rest[k] = (uint32_t)cases[i].rest[k];
        const struct guide g = {.letters = &letters,
                                .prefix = cases[i].token,
                                .n_prefix = cases[i].n_prefix,
                                .rest = {rest, strlen(cases[i].rest)}};
        CHECK_OK(
            guide_next_word(&g, cases[i].token, cases[i].n, &code, &n_codes, &cap, &err),
            &err);
        for (size_t k = 0; k < n_codes; k++)
            got[k] = (char)code[k];
        CHECK_STR(got, cases[i].want);
        free(code);
    }
    letters_close(&letters);
}

/* ---- searches ---- */

/* Behind n_given letters, one alternative after the other. */
struct rounds {
    const char *const *texts;
    size_t n_given;
    char said[N_ALTERNATIVES][TEXT_MAX];
    size_t n;
};

static bool is_new(const struct rounds *r, const int32_t *token, size_t n)
{
    char text[TEXT_MAX], word[TEXT_MAX];

    text_of(r->texts, token, n, text);
    next_word(text, r->n_given, word);
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->said[i], word) == 0)
            return false;
    return true;
}

static bool says_another(const void *rounds, const struct plain *h)
{
    return is_new(rounds, h->token, h->n);
}

static void take(struct rounds *r, const int32_t *token, size_t n)
{
    char text[TEXT_MAX];

    text_of(r->texts, token, n, text);
    next_word(text, r->n_given, r->said[r->n++]);
}

static struct beam *search(struct toy *toy, const struct guide *g, size_t max_len,
                           struct beam_options o)
{
    struct beam *b;

    toy->width = o.width;
    CHECK_OK(beam_open(&b, max_len, o.width + o.n_extra, &err), &err);
    CHECK_OK(run(b, toy_next, toy, (struct beam_limit){.max_len = max_len, .guide = g}, o,
                 &err),
             &err);
    return b;
}

/* Words of one piece and marks, which show at once what they are: nothing is missed. */
TEST(each_alternative_is_the_best_with_another_next_word)
{
    static const char *const texts[V_MAX] = {"", "", "", " a", " b", ".", "-", " c"};
    const int32_t given[] = {2, 3};
    struct letters letters;

    CHECK_OK(letters_open_texts(&letters, texts, V_MAX, &err), &err);
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const double alpha = 0.3 * (double)(seed % 4);
        struct toy toy = {.V = V_MAX, .seed = seed};
        struct rounds r = {.texts = texts, .n_given = 2};
        struct alternatives a;
        struct guide g = {.letters = &letters, .prefix = given, .n_prefix = 2};
        const struct plain start = begun(seed, given, 2);
        CHECK_OK(alternatives_open(&a, 1, N_ALTERNATIVES, &err), &err);
        while (r.n < N_ALTERNATIVES) {
            struct plain best = {0};
            bool is_another;
            alternatives_guide(&a, 0, &g);
            struct beam *b = search(&toy, &g, 5, (struct beam_options){128, 1, alpha});
            const struct beam_hypothesis h = beam_get(b, 0);
            best_holding(&toy, &start, 2, 5, alpha, says_another, &r, &best);
            CHECK(h.n == best.n && h.is_finished);
            CHECK(memcmp(h.token, best.token, h.n * sizeof *h.token) == 0);
            CHECK_NEAR(h.score, best.score, 1e-6);
            CHECK_OK(alternatives_add(&a, 0, &g, h.token, h.n, &is_another, &err), &err);
            CHECK(is_another);
            take(&r, h.token, h.n);
            beam_close(b);
        }
        alternatives_close(&a);
    }
    letters_close(&letters);
}

/* Words of several pieces; the beginning may end inside one. */
TEST(alternatives_differ_in_their_next_word)
{
    static const char *const texts[V_MAX] = {"", "", "", " a", " ab", "b", "c", "."};
    static const uint32_t rest[] = {' ', 'a'};
    const int32_t given[] = {2, 4};
    struct letters letters;
    size_t n_longer = 0;

    CHECK_OK(letters_open_texts(&letters, texts, V_MAX, &err), &err);
    for (uint64_t seed = 1; seed <= 300; seed++) {
        const bool has_rest = seed % 2;
        struct toy toy = {.V = V_MAX, .seed = seed, .n_top = 16};
        struct rounds r = {.texts = texts, .n_given = has_rest ? 5 : 3};
        struct alternatives a;
        struct guide g = {.letters = &letters,
                          .prefix = given,
                          .n_prefix = 2,
                          .rest = {rest, has_rest ? 2 : 0}};
        const struct beam_options o = {.width = 1 + seed % 5,
                                       .n_best = 1,
                                       .alpha = 0.6,
                                       .is_greedy = seed % 5 == 0,
                                       .n_extra = seed % 3};
        CHECK_OK(alternatives_open(&a, 1, N_ALTERNATIVES, &err), &err);
        while (r.n < N_ALTERNATIVES) {
            bool is_another;
            alternatives_guide(&a, 0, &g);
            struct beam *b = search(&toy, &g, LEN_MAX, o);
            const struct beam_hypothesis h = beam_get(b, 0);
            char text[TEXT_MAX];
            text_of(texts, h.token, h.n, text);
            CHECK(strncmp(text, has_rest ? " ab a" : " ab", r.n_given) == 0);
            CHECK_OK(alternatives_add(&a, 0, &g, h.token, h.n, &is_another, &err), &err);
            CHECK(is_another && is_new(&r, h.token, h.n));
            take(&r, h.token, h.n);
            n_longer += strlen(r.said[r.n - 1]) > 2;
            beam_close(b);
        }
        alternatives_close(&a);
    }
    CHECK(n_longer > 300);
    letters_close(&letters);
}

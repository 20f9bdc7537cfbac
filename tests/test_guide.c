/* What a translation must say: every sequence of a toy vocabulary is looked at, and the
 * best of those that hold is what the search finds. */
#include "decode/steer/guide.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "decode/lines/beginnings.h"
#include "text/subword/encoder.h"
#include "toy_model.h"
#include "toy_search.h"
#include "whole_words.h"

enum { TEXT_MAX = 64 };

static struct err err;

/* Pieces of the toy vocabulary: pad, end and start have no text. */
static const char *const texts[V_MAX] = {"", "", "", " a", " ab", "b", "c", "bc"};

/* The text of a hypothesis, without its end. */
static void text_of(const int32_t *token, size_t n, char out[TEXT_MAX])
{
    *out = '\0';
    for (size_t i = 0; i < n; i++)
        snprintf(out + strlen(out), TEXT_MAX - strlen(out), "%s", texts[token[i]]);
}

static struct beam *guided(struct toy *toy, size_t max_len, const struct guide *g,
                           struct beam_options options)
{
    const struct beam_limit limit = {.max_len = max_len, .guide = g};
    struct beam *b;

    toy->width = options.width;
    CHECK_OK(beam_open(&b, max_len, options.width, &err), &err);
    CHECK_OK(run(b, toy_next, toy, limit, options, &err), &err);
    return b;
}

static void check_near(struct beam_hypothesis got, const struct plain *want)
{
    CHECK(got.n == want->n && got.is_finished == want->is_finished);
    CHECK(memcmp(got.token, want->token, got.n * sizeof *got.token) == 0);
    CHECK_NEAR(got.log_prob, want->log_prob, 1e-6); /* logits are floats */
    CHECK_NEAR(got.score, want->score, 1e-6);
}

static bool anything(const void *ctx, const struct plain *h)
{
    (void)ctx, (void)h;
    return true;
}

TEST(what_is_given_comes_first_and_costs_nothing)
{
    const int32_t given[] = {2, 3, 0};
    struct letters letters = {0};
    size_t n_longer = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        const size_t n = seed % 4, max_len = n + 3;
        const double alpha = 0.3 * (double)(seed % 5);
        const struct guide g = {.letters = &letters, .prefix = given, .n_prefix = n};
        struct toy toy = {.V = 5, .eos_bias = -1, .seed = seed};
        const struct plain start = begun(seed, given, n);
        struct plain best = {0};
        struct beam *b = guided(&toy, max_len, &g, (struct beam_options){16, 1, alpha});

        best_holding(&toy, &start, n, max_len, alpha, anything, NULL, &best);
        check_near(beam_get(b, 0), &best);
        CHECK(beam_get(b, 0).n_given == n);
        for (size_t t = 0; t <= n && t < toy.n_steps; t++)
            CHECK(toy.n_rows[t] == 1);
        n_longer += best.n > n + 1;
        beam_close(b);
    }
    CHECK(n_longer > 10);
}

TEST(a_greedy_search_takes_what_is_given_too)
{
    const int32_t given[] = {2, 4};
    struct letters letters = {0};
    const struct guide g = {.letters = &letters, .prefix = given, .n_prefix = 2};
    const struct beam_options o = {.width = 1, .n_best = 1, .is_greedy = true};

    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct toy toy = {.V = V_MAX, .seed = seed};
        struct beam *b = guided(&toy, 8, &g, o);
        struct plain want = begun(seed, given, 2);
        while (want.n < 8 && !want.is_finished) {
            double p[V_MAX] = {0}, top;
            int32_t id;
            toy_row(&toy, want.key, p);
            top_of(p, V_MAX, 1, &top, &id);
            want = extended(&want, id, top, 0);
        }
        check_near(beam_get(b, 0), &want);
        beam_close(b);
    }
}

/* S, then letters in any pieces: " abc" is " ab" and "c", " a" and "bc", or three. */
static bool begins_with(const void *ctx, const struct plain *h)
{
    char text[TEXT_MAX];

    for (size_t i = 1; i < h->n; i++) { /* a token without text does not spell */
        text_of(h->token, i, text);
        if (strlen(text) < strlen(ctx) && !texts[h->token[i]][0])
            return false;
    }
    return str_begins(text, ctx);
}

TEST(letters_are_spelled_in_the_pieces_that_are_best)
{
    static const char *const rests[] = {" a", " ab", " abc", " abcb", " ac"};
    const int32_t given[] = {2};
    struct letters letters;
    size_t n_ways[2] = {0};

    CHECK_OK(letters_open_texts(&letters, texts, V_MAX, &err), &err);
    for (uint64_t seed = 1; seed <= 60; seed++) {
        const char *rest = rests[seed % 5];
        uint32_t code[8];
        for (size_t i = 0; i <= strlen(rest); i++)
            code[i] = (uint32_t)rest[i];
        const struct guide g = {.letters = &letters,
                                .prefix = given,
                                .n_prefix = 1,
                                .rest = {code, strlen(rest)}};
        struct toy toy = {.V = V_MAX, .eos_bias = -1, .seed = seed};
        const struct plain start = begun(seed, given, 1);
        struct plain best = {0};
        struct beam *b = guided(&toy, 5, &g, (struct beam_options){128, 1, 0.6});

        best_holding(&toy, &start, 1, 5, 0.6, begins_with, rest, &best);
        check_near(beam_get(b, 0), &best);
        n_ways[best.token[1] == 4]++;
        beam_close(b);
        b = guided(&toy, 10, &g, (struct beam_options){1, 1, 0.6}); /* a narrow one too */
        const struct beam_hypothesis h = beam_get(b, 0);
        char text[TEXT_MAX];
        text_of(h.token, h.n - h.is_finished, text);
        CHECK(str_begins(text, rest));
        beam_close(b);
    }
    CHECK(n_ways[0] > 5 && n_ways[1] > 5);
    letters_close(&letters);
}

/* A word has ended: the next begins, or nothing comes. */
TEST(behind_a_blank_a_word_begins_or_the_sentence_ends)
{
    const uint32_t blank[] = {' '};
    const int32_t given[] = {2, 4};
    struct letters letters;
    size_t n_ended = 0, n_begun = 0;

    CHECK_OK(letters_open_texts(&letters, texts, V_MAX, &err), &err);
    for (uint64_t seed = 1; seed <= 60; seed++) {
        const struct guide g = {
            .letters = &letters, .prefix = given, .n_prefix = 2, .rest = {blank, 1}};
        struct toy toy = {.V = V_MAX, .seed = seed};
        struct beam *b = guided(&toy, 8, &g, (struct beam_options){4, 1, 0.6});
        const int32_t third = beam_get(b, 0).token[2];
        CHECK(third == BEAM_EOS || texts[third][0] == ' ');
        n_ended += third == BEAM_EOS;
        n_begun += third != BEAM_EOS;
        beam_close(b);
    }
    CHECK(n_ended > 0 && n_begun > 0);
    letters_close(&letters);
}

/* ---- forbidden phrases ---- */

static void forbid(struct phrases *p, const char *const *text, size_t n)
{
    *p = (struct phrases){0};
    for (size_t i = 0; i < n; i++) {
        uint32_t code[16], ignored;
        for (size_t k = 0; k < strlen(text[i]); k++)
            code[k] = (uint32_t)text[i][k];
        const struct letters_text phrase = {code, strlen(text[i])};
        CHECK_OK(phrases_add(p, phrase, &ignored, &err), &err);
    }
    CHECK_OK(phrases_build(p, &err), &err);
}

static bool holds_any(const char *const *phrase, size_t n, struct beam_hypothesis h)
{
    char text[TEXT_MAX];

    text_of(h.token, h.n - h.is_finished, text);
    for (size_t i = 0; i < n; i++)
        if (holds_phrase(text, phrase[i]))
            return true;
    return false;
}

/* "ab" may be the beginning of "abc"; the pieces of "a" are those of many words. */
TEST(forbidden_phrases_are_never_said)
{
    static const char *const phrases[] = {"ab", "a a", "abc b", "bb"};
    struct letters letters;
    struct phrases forbidden;
    size_t n_changed = 0, n_longer = 0;

    CHECK_OK(letters_open_texts(&letters, texts, V_MAX, &err), &err);
    forbid(&forbidden, phrases, 4);
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        const struct guide g = {.letters = &letters, .forbidden = &forbidden};
        struct toy toy = {.V = V_MAX, .seed = seed, .eos_bias = (double)(seed % 4) - 2};
        const struct beam_options o = {.width = 1 + seed % 4,
                                       .n_best = 1 + seed % 4,
                                       .alpha = 0.6,
                                       .is_greedy = seed % 8 == 0};
        struct beam_options with = o;
        struct beam *plain = searched(&toy, LEN_MAX, o), *b;
        with.n_extra = seed % 3;
        toy.n_top = 2 * V_MAX;
        CHECK_OK(beam_open(&b, LEN_MAX, o.width + with.n_extra, &err), &err);
        CHECK_OK(run(b, toy_next, &toy,
                     (struct beam_limit){.max_len = LEN_MAX, .guide = &g}, with, &err),
                 &err);
        for (size_t k = 0; k < beam_found(b); k++) {
            CHECK(!holds_any(phrases, 4, beam_get(b, k)));
            char text[TEXT_MAX];
            text_of(beam_get(b, k).token, beam_get(b, k).n, text);
            n_longer += strstr(text, "abc") != NULL;
        }
        n_changed += holds_any(phrases, 4, beam_get(plain, 0));
        beam_close(plain);
        beam_close(b);
    }
    CHECK(n_changed > 100 && n_longer > 20);
    letters_close(&letters);
    phrases_release(&forbidden);
}

/* " ab" or, rarely, " a"; behind " ab" the end, or "c" with this probability; then the
 * end. */
static void word_next(void *ctx, const struct beam_rows *rows, double *top, int32_t *id)
{
    const double longer = *(double *)ctx;

    for (size_t r = 0; r < rows->n; r++) {
        double p[V_MAX] = {0, 0.9, 0, 0.05, 0, 0, 0.05, 0};
        if (rows->token[r] == BEAM_START)
            p[BEAM_EOS] = 0, p[4] = 0.9, p[3] = 0.1;
        else if (rows->token[r] == 4)
            p[BEAM_EOS] = 0.95 - longer, p[6] = longer;
        for (size_t v = 0; v < V_MAX; v++)
            p[v] = log(p[v]);
        top_of(p, V_MAX, 8, top + r * 8, id + r * 8);
    }
}

TEST(a_longer_word_is_said_only_where_it_was_meant)
{
    static const char *const phrases[] = {"ab"};
    struct letters letters;
    struct phrases forbidden;

    CHECK_OK(letters_open_texts(&letters, texts, V_MAX, &err), &err);
    forbid(&forbidden, phrases, 1);
    for (int is_meant = 0; is_meant < 2; is_meant++) {
        const struct guide g = {.letters = &letters, .forbidden = &forbidden};
        const struct beam_options o = {.width = 4, .n_best = 1, .n_extra = 2};
        double longer = is_meant ? 0.6 : 0.3;
        struct beam *b;
        char text[TEXT_MAX];
        CHECK_OK(beam_open(&b, 4, 6, &err), &err);
        CHECK_OK(run(b, word_next, &longer,
                     (struct beam_limit){.max_len = 4, .guide = &g}, o, &err),
                 &err);
        text_of(beam_get(b, 0).token, beam_get(b, 0).n, text);
        CHECK_STR(text, is_meant ? " abc" : " a");
        beam_close(b);
    }
    letters_close(&letters);
    phrases_release(&forbidden);
}

/* Phrases that end where no word could go on are known at once, so that nothing but them
 * is missed. */
static const char *const marks[V_MAX] = {"", "", "", "-", "-+", "+", "*", "+*"};

static bool lacks_marks(const void *ctx, const struct plain *h)
{
    char text[TEXT_MAX] = "";

    (void)ctx;
    for (size_t i = 0; i < h->n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s",
                 marks[h->token[i]]);
    return !strstr(text, "+*") && !strstr(text, "--") && !strstr(text, "*+-");
}

TEST(the_best_of_what_is_not_forbidden_is_found)
{
    static const char *const phrases[] = {"+*", "--", "*+-"};
    struct letters letters;
    struct phrases forbidden;
    size_t n_changed = 0;

    CHECK_OK(letters_open_texts(&letters, marks, V_MAX, &err), &err);
    forbid(&forbidden, phrases, 3);
    for (uint64_t seed = 1; seed <= 60; seed++) {
        const struct guide g = {.letters = &letters, .forbidden = &forbidden};
        struct toy toy = {.V = V_MAX, .eos_bias = -2, .seed = seed};
        const struct plain start = {.key = seed};
        struct plain best = {0}, free = {0};
        struct beam *b = guided(&toy, 4, &g, (struct beam_options){128, 1, 0.6});

        best_holding(&toy, &start, 0, 4, 0.6, lacks_marks, NULL, &best);
        best_holding(&toy, &start, 0, 4, 0.6, anything, NULL, &free);
        check_near(beam_get(b, 0), &best);
        n_changed += best.score != free.score;
        beam_close(b);
    }
    CHECK(n_changed > 5);
    letters_close(&letters);
    phrases_release(&forbidden);
}

TEST(a_guide_that_refuses_nothing_changes_nothing)
{
    static const char *const phrases[] = {"zzz"};
    struct letters letters;
    struct phrases forbidden;

    CHECK_OK(letters_open_texts(&letters, texts, V_MAX, &err), &err);
    forbid(&forbidden, phrases, 1);
    for (uint64_t seed = 1; seed <= 200; seed++) {
        const struct guide g = {.letters = &letters, .forbidden = &forbidden};
        const size_t W = 1 + seed % 5;
        const struct beam_options o = {.width = W, .n_best = W, .alpha = 0.6};
        const struct beam_limit limit = {LEN_MAX, seed % 3, &g, 0};
        struct toy toy = {.V = V_MAX, .seed = seed, .eos_bias = (double)(seed % 5) - 3};
        struct beam *b, *plain;
        toy.width = W;
        CHECK_OK(beam_open(&plain, LEN_MAX, W, &err), &err);
        CHECK_OK(run(plain, toy_next, &toy,
                     (struct beam_limit){LEN_MAX, seed % 3, NULL, 0}, o, &err),
                 &err);
        CHECK_OK(beam_open(&b, LEN_MAX, W, &err), &err);
        CHECK_OK(run(b, toy_next, &toy, limit, o, &err), &err);
        CHECK(beam_found(b) == beam_found(plain));
        for (size_t k = 0; k < beam_found(b); k++) {
            const struct beam_hypothesis x = beam_get(plain, k), y = beam_get(b, k);
            CHECK(x.n == y.n && x.score == y.score);
            CHECK(memcmp(x.token, y.token, x.n * sizeof *x.token) == 0);
        }
        CHECK(beam_acts(b).repeats == beam_acts(plain).repeats);
        beam_close(plain);
        beam_close(b);
    }
    letters_close(&letters);
    phrases_release(&forbidden);
}

/* " ab" was given and stays; " abc" that began there must not come. */
TEST(what_is_given_may_hold_what_is_forbidden)
{
    static const char *const phrases[] = {"ab", "ab a"};
    const int32_t given[] = {2, 4};
    struct letters letters;
    struct phrases forbidden;
    size_t n_words = 0;

    CHECK_OK(letters_open_texts(&letters, texts, V_MAX, &err), &err);
    forbid(&forbidden, phrases, 2);
    for (uint64_t seed = 1; seed <= 200; seed++) {
        const struct guide g = {
            .letters = &letters, .forbidden = &forbidden, .prefix = given, .n_prefix = 2};
        struct toy toy = {.V = V_MAX, .seed = seed, .n_top = 2 * V_MAX};
        struct beam *b = guided(&toy, LEN_MAX, &g, (struct beam_options){2, 1, 0.6});
        const struct beam_hypothesis h = beam_get(b, 0);
        char text[TEXT_MAX];
        text_of(h.token + 2, h.n - 2, text);
        CHECK(h.token[1] == 4 && !holds_phrase(text, "ab"));
        text_of(h.token, h.n, text);
        CHECK(!holds_phrase(text, "ab a"));
        n_words += h.token[2] == BEAM_EOS;
        beam_close(b);
    }
    CHECK(n_words > 20); /* the given word may end there */
    letters_close(&letters);
    phrases_release(&forbidden);
}

/* ---- given texts ---- */

struct tokenizer {
    struct spm *spm;
    struct encoder *encoder;
};

static struct tokenizer open_tokenizer(void)
{
    struct tokenizer t = {.spm = toy_model_spm()};

    CHECK_OK(encoder_new(&t.encoder, t.spm, 0, &err), &err);
    return t;
}

static void close_tokenizer(struct tokenizer *t)
{
    encoder_free(t->encoder);
    spm_free(t->spm);
}

static struct line line_of(const char *text)
{
    return (struct line){text, strlen(text)};
}

TEST(the_letters_of_pieces_are_what_they_add_to_a_text)
{
    struct tokenizer t = open_tokenizer();
    struct letters letters;
    struct spm_ids ids = {0};
    static const char text[] = "wir warten auf die Fähre";
    char got[64] = "";
    size_t n = 0;

    CHECK_OK(letters_open(&letters, t.spm, &err), &err);
    CHECK_OK(spm_encode(t.spm, line_of(text), &ids, &err), &err);
    for (size_t i = 0; i < ids.n; i++) {
        const struct letters_text piece = letters_of(&letters, ids.id[i]);
        for (size_t k = 0; k < piece.n; k++)
            n += utf8_encode(got + n, piece.code[k]);
    }
    got[n] = '\0';
    CHECK(got[0] == ' ');
    CHECK_STR(got + 1, text);
    for (int32_t id = -1; id < ID_UNK; id++)
        CHECK(letters_of(&letters, id).n == 0);
    CHECK(letters_of(&letters, ID_UNK).n > 0);
    CHECK(letters_of(&letters, (int32_t)spm_size(t.spm)).n == 0);
    CHECK(letters_is_word('a') && letters_is_word('7') && letters_is_word(0xE4));
    CHECK(letters_is_word(0x93F) && !letters_is_word(0x6F22) && !letters_is_word('-'));
    spm_ids_release(&ids);
    letters_close(&letters);
    close_tokenizer(&t);
}

/* Text, pieces of whole words, letters behind them. */
static void check_beginning(struct tokenizer *t, const char *text, const char *whole,
                            const char *rest)
{
    struct beginnings b = {0};
    struct spm_ids ids = {0};
    struct guide g = {0};

    CHECK_OK(beginnings_add(&b, t->spm, t->encoder, line_of("die "), 99, &err), &err);
    CHECK_OK(beginnings_add(&b, t->spm, t->encoder, line_of(text), 99, &err), &err);
    beginnings_guide(&b, 1, &g);
    CHECK_OK(spm_encode(t->spm, line_of(whole), &ids, &err), &err);
    if (!whole[0] && !rest[0]) {
        CHECK(g.n_prefix == 0 && g.rest.n == 0);
    } else {
        CHECK(g.n_prefix == ids.n + 1 && g.prefix[0] == ID_BOS);
        for (size_t i = 0; i < ids.n; i++)
            CHECK(g.prefix[i + 1] == ids.id[i]);
        char got[64] = "";
        size_t n = 0;
        for (size_t i = 0; i < g.rest.n; i++)
            n += utf8_encode(got + n, g.rest.code[i]);
        got[n] = '\0';
        CHECK_STR(got, rest);
        CHECK(beginnings_length(&b, 1) == g.n_prefix + g.rest.n);
    }
    spm_ids_release(&ids);
    beginnings_release(&b);
}

TEST(whole_words_are_given_as_pieces_and_the_last_as_letters)
{
    struct tokenizer t = open_tokenizer();

    check_beginning(&t, "die Fä", "die", " Fä");
    check_beginning(&t, "die Fähre", "die", " Fähre");
    check_beginning(&t, "die Fähre ", "die Fähre", " ");
    check_beginning(&t, "  die\u00a0 ", "die", " ");
    check_beginning(&t, "d", "", " d");
    check_beginning(&t, "", "", "");
    check_beginning(&t, " \t ", "", "");
    /* what the tokenizer does not know is no letter that could be spelled */
    check_beginning(&t, "die \u65e5\u672c", "die \u65e5\u672c", "");
    check_beginning(&t, "\u65e5 d", "\u65e5", " d");
    close_tokenizer(&t);
}

static void check_join(struct tokenizer *t, const char *given, const char *translation,
                       const char *want)
{
    struct beginnings b = {0};
    struct str out = str_new(0);

    CHECK_OK(beginnings_add(&b, t->spm, t->encoder, line_of(given), 99, &err), &err);
    beginnings_join(&b, 0, line_of(translation), &out);
    CHECK_STR(str_text(&out), want);
    str_release(&out);
    beginnings_release(&b);
}

TEST(what_was_given_stays_as_it_came)
{
    struct tokenizer t = open_tokenizer();

    check_join(&t, "die Fä", "die Fähre wartet", "die Fähre wartet");
    check_join(&t, "die  Fähre ", "die Fähre wartet", "die  Fähre wartet");
    check_join(&t, "die Fähre ", "die Fähre", "die Fähre ");
    check_join(&t, "die", "", "die");
    check_join(&t, "\u65e5\u672c ", " \u2047  wartet", "\u65e5\u672c wartet");
    close_tokenizer(&t);
}

TEST(a_beginning_that_is_too_long_is_refused)
{
    struct tokenizer t = open_tokenizer();
    struct beginnings b = {0};

    CHECK_FAILS(beginnings_add(&b, t.spm, t.encoder, line_of("abcdefgh"), 8, &err), &err,
                ERR_FORMAT, "at most max_length = 8");
    beginnings_release(&b);
    close_tokenizer(&t);
}

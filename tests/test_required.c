/* Phrases that must be said: they are in every result, and with a wide beam the result is
 * the best of all sentences that hold them. */
#include "decode/steer/required.h"

#include <stdlib.h>

#include "base/str.h"
#include "decode/steer/guide.h"
#include "toy_search.h"
#include "whole_words.h"

enum { TEXT_MAX = 64, PHRASES_MAX = 4 };

static struct err err;

/* Pieces of the toy vocabulary: pad, end, start and what is unknown have no text. */
static const char *const texts[V_MAX] = {"", "", "", "", " a", " ab", "b", "c"};

static void text_of(const int32_t *token, size_t n, char out[TEXT_MAX])
{
    *out = '\0';
    for (size_t i = 0; i < n; i++)
        snprintf(out + strlen(out), TEXT_MAX - strlen(out), "%s", texts[token[i]]);
}

/* The pieces of a text behind a blank, the longest first, as a tokenizer would cut it. */
static size_t pieces_of(const char *phrase, int32_t *id)
{
    char all[2 * TEXT_MAX];
    const char *text = all;
    size_t n = 0;

    for (snprintf(all, sizeof all, " %s", phrase); *text;) {
        size_t best = 0;
        for (size_t v = 4; v < V_MAX; v++)
            if (str_begins(text, texts[v]) && strlen(texts[v]) > strlen(texts[best]))
                best = v;
        CHECK(best);
        id[n++] = (int32_t)best;
        text += strlen(texts[best]);
    }
    return n;
}

static void open_phrase(struct required *r, const struct letters *l, const char *phrase)
{
    uint32_t code[TEXT_MAX];
    int32_t id[TEXT_MAX];

    for (size_t i = 0; i < strlen(phrase); i++)
        code[i] = (uint32_t)phrase[i];
    const struct letters_text text = {code, strlen(phrase)};
    CHECK_OK(required_open(r, l, text, id, pieces_of(phrase, id), &err), &err);
}

static void open_letters(struct letters *l)
{
    CHECK_OK(letters_open_texts(l, texts, V_MAX, &err), &err);
    CHECK_OK(letters_index(l, &err), &err);
}

/* ---- a phrase ---- */

static const char *const phrases[] = {"a",   "ab",  "abc",   "a ab", "ab a ab",
                                      "abb", "acc", "a a a", "abcbc"};
enum { N_PHRASES = sizeof phrases / sizeof *phrases };

TEST(a_phrase_is_said_when_the_text_holds_it)
{
    struct letters l;
    size_t n_said = 0;

    open_letters(&l);
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        const char *phrase = phrases[seed % N_PHRASES];
        struct rng random = rng_open(rng_key(seed, "text"));
        struct required r;
        char text[TEXT_MAX] = "";
        uint16_t n = 0;
        uint32_t last = ' ';

        open_phrase(&r, &l, phrase);
        for (size_t i = 0; i < 20; i++) {
            const char c = "abc  "[rng_below(&random, 5)];
            text[i] = c;
            n = required_read(&r, n, last, (uint32_t)c);
            last = (uint32_t)c;
            CHECK(required_is_said(&r, n) == holds_phrase(text, phrase));
        }
        n_said += required_is_said(&r, n);
        required_close(&r);
    }
    CHECK(n_said > 200);
    letters_close(&l);
}

/* From wherever a text has come, the wanted tokens say the phrase in as many as are left.
 */
TEST(wanted_tokens_say_the_phrase)
{
    struct letters l;
    size_t n_midway = 0;

    open_letters(&l);
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        const char *phrase = phrases[seed % N_PHRASES];
        struct rng random = rng_open(rng_key(seed, "tokens"));
        struct required r;
        struct guide_state s;
        int32_t token[32] = {2}, wanted[GUIDE_WANTED];
        size_t n = 1;
        char text[TEXT_MAX];

        open_phrase(&r, &l, phrase);
        const struct required *list[] = {&r};
        const struct guide g = {.letters = &l, .required = list, .n_required = 1};
        guide_begin(&g, &s);
        guide_read(&g, &s, 2);
        for (size_t k = rng_below(&random, 5); k > 0; k--) {
            token[n] = 4 + (int32_t)rng_below(&random, V_MAX - 4);
            guide_read(&g, &s, token[n++]);
        }
        n_midway += s.required[0] > 0 && !guide_may_end(&g, &s);
        for (size_t left = guide_tokens(&g) - guide_progress(&g, &s); left > 0; left--) {
            CHECK(!guide_may_end(&g, &s));
            CHECK(guide_wanted(&g, &s, wanted) > 0);
            token[n] = wanted[0];
            guide_read(&g, &s, token[n++]);
            CHECK(guide_tokens(&g) - guide_progress(&g, &s) == left - 1);
        }
        text_of(token, n, text);
        CHECK(guide_may_end(&g, &s) && holds_phrase(text, phrase));
        CHECK(guide_is_met(&g, token, n));
        required_close(&r);
    }
    CHECK(n_midway > 200);
    letters_close(&l);
}

TEST(a_phrase_that_pieces_cannot_spell_is_refused)
{
    const uint32_t code[] = {'b', 'x'};
    const int32_t unknown[] = {ID_UNK}, long_one[65] = {4};
    struct letters l;
    struct required r;

    open_letters(&l);
    CHECK_FAILS(required_open(&r, &l, (struct letters_text){code, 2}, unknown, 1, &err),
                &err, ERR_FORMAT, "does not know all letters");
    CHECK_FAILS(required_open(&r, &l, (struct letters_text){code, 2}, long_one, 65, &err),
                &err, ERR_FORMAT, "has 65 pieces; at most 64");
    letters_close(&l);
}

/* ---- searches ---- */

struct wish {
    struct letters letters;
    struct required phrase[PHRASES_MAX];
    const struct required *list[PHRASES_MAX];
    const char *text[PHRASES_MAX];
    size_t n;
    struct guide guide;
};

static void open_wish(struct wish *w, const char *const *text, size_t n)
{
    *w = (struct wish){.n = n};
    open_letters(&w->letters);
    for (size_t i = 0; i < n; i++) {
        w->text[i] = text[i];
        open_phrase(&w->phrase[i], &w->letters, text[i]);
        w->list[i] = &w->phrase[i];
    }
    w->guide =
        (struct guide){.letters = &w->letters, .required = w->list, .n_required = n};
}

static void close_wish(struct wish *w)
{
    for (size_t i = 0; i < w->n; i++)
        required_close(&w->phrase[i]);
    letters_close(&w->letters);
}

static bool holds_all(const struct wish *w, const int32_t *token, size_t n)
{
    char text[TEXT_MAX];

    text_of(token, n, text);
    for (size_t i = 0; i < w->n; i++)
        if (!holds_phrase(text, w->text[i]))
            return false;
    return true;
}

static struct beam *search(struct toy *toy, const struct guide *g, size_t max_len,
                           size_t max_repeats, struct beam_options o)
{
    const struct beam_limit limit = {
        .max_len = max_len, .max_repeats = max_repeats, .guide = g};
    struct beam *b;

    toy->width = o.width;
    CHECK_OK(beam_open(&b, max_len, o.width + o.n_extra, &err), &err);
    CHECK_OK(run(b, toy_next, toy, limit, o, &err), &err);
    return b;
}

/* Phrases that share beginnings, contain and overlap each other; beams of every width,
 * with hardly more positions than the phrases need. */
TEST(required_phrases_are_in_every_result)
{
    static const char *const lists[][PHRASES_MAX] = {{"ab"},
                                                     {"abc"},
                                                     {"a ab", "ab a"},
                                                     {"ab", "abc"},
                                                     {"abc", "ab a", "a"},
                                                     {"a a", "a a a"},
                                                     {"abcbc", "ac"},
                                                     {"abb", "abcc", "a", "ab"}};
    size_t n_plain = 0, n_finished = 0;

    for (uint64_t seed = 1; seed <= 1000; seed++) {
        const char *const *list = lists[seed % 8];
        size_t n = 1;
        while (n < PHRASES_MAX && list[n])
            n++;
        struct wish w;
        open_wish(&w, list, n);
        const size_t need = guide_tokens(&w.guide) + 1;
        const size_t max_len = need + seed / 8 % (LEN_MAX + 1 - need);
        struct toy toy = {.V = V_MAX, .seed = seed, .eos_bias = (double)(seed % 5) - 1};
        const struct beam_options o = {.width = 1 + seed % 6,
                                       .n_best = 1 + seed % 6,
                                       .alpha = 0.2 * (double)(seed % 4)};
        struct beam *plain = searched(&toy, max_len, o);
        n_plain += holds_all(&w, beam_get(plain, 0).token, beam_get(plain, 0).n);
        struct beam *b = search(&toy, &w.guide, max_len, seed % 3, o);
        for (size_t k = 0; k < beam_found(b); k++) {
            const struct beam_hypothesis h = beam_get(b, k);
            CHECK(holds_all(&w, h.token, h.n) && h.n <= max_len);
            n_finished += h.is_finished;
        }
        CHECK(!beam_acts(b).unmet);
        beam_close(plain);
        beam_close(b);
        close_wish(&w);
    }
    CHECK(n_plain < 200 && n_finished > 1000);
}

static void exhaust(const struct toy *toy, const struct plain *h, size_t max_len,
                    double alpha, const struct wish *w, struct plain *best)
{
    double p[V_MAX] = {0};

    if (h->n == max_len)
        return;
    toy_row(toy, h->key, p);
    for (size_t v = 0; v < toy->V; v++) {
        const struct plain next = extended(h, (int32_t)v, p[v], alpha);
        if (!next.is_finished)
            exhaust(toy, &next, max_len, alpha, w, best);
        else if (holds_all(w, next.token, next.n) &&
                 (!best->n || next.score > best->score))
            *best = next;
    }
}

TEST(with_a_wide_beam_the_best_sentence_that_holds_is_found)
{
    static const char *const lists[][PHRASES_MAX] = {
        {"ab"}, {"abc"}, {"a ab"}, {"ab", "a"}, {"ac", "ab"}, {"abc", "ab"}};

    for (uint64_t seed = 1; seed <= 60; seed++) {
        const char *const *list = lists[seed % 6];
        const double alpha = 0.3 * (double)(seed % 4);
        struct wish w;
        open_wish(&w, list, list[1] ? 2 : 1);
        struct toy toy = {.V = V_MAX, .seed = seed, .eos_bias = (double)(seed % 3)};
        const struct plain start = {.key = seed};
        struct plain best = {0};
        struct beam *b =
            search(&toy, &w.guide, 5, 0, (struct beam_options){128, 1, alpha});
        const struct beam_hypothesis h = beam_get(b, 0);

        exhaust(&toy, &start, 5, alpha, &w, &best);
        CHECK(h.n == best.n && h.is_finished);
        CHECK(memcmp(h.token, best.token, h.n * sizeof *h.token) == 0);
        CHECK_NEAR(h.log_prob, best.log_prob, 1e-6);
        CHECK_NEAR(h.score, best.score, 1e-6);
        beam_close(b);
        close_wish(&w);
    }
}

/* With a beginning, whose last word is spelled, and another phrase that is forbidden. */
TEST(beginnings_forbidden_and_required_phrases_hold_together)
{
    static const char *const list[] = {"abc", "a ab"};
    static const uint32_t rest[] = {' ', 'a'}, bad[] = {'a', 'b', 'b'};
    const int32_t given[] = {2, 4};
    struct phrases forbidden = {0};
    uint32_t ignored;
    struct wish w;

    CHECK_OK(phrases_add(&forbidden, (struct letters_text){bad, 3}, &ignored, &err),
             &err);
    CHECK_OK(phrases_build(&forbidden, &err), &err);
    open_wish(&w, list, 2);
    w.guide.prefix = given;
    w.guide.n_prefix = 2;
    w.guide.rest = (struct letters_text){rest, 2};
    w.guide.forbidden = &forbidden;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct toy toy = {.V = V_MAX, .seed = seed, .n_top = 16};
        struct beam *b =
            search(&toy, &w.guide, LEN_MAX, 0,
                   (struct beam_options){
                       .width = 1 + seed % 5, .n_best = 1, .n_extra = seed % 3});
        const struct beam_hypothesis h = beam_get(b, 0);
        char text[TEXT_MAX];
        text_of(h.token, h.n, text);
        CHECK(str_begins(text, " a a") && holds_all(&w, h.token, h.n));
        CHECK(!holds_phrase(text, "abb"));
        beam_close(b);
    }
    close_wish(&w);
    phrases_release(&forbidden);
}

/* Some pieces of what is required may be forbidden words themselves, until more follows.
 */
static void forbid(struct phrases *p, const char *text)
{
    uint32_t code[TEXT_MAX], ignored;

    *p = (struct phrases){0};
    for (size_t i = 0; i < strlen(text); i++)
        code[i] = (uint32_t)text[i];
    const struct letters_text phrase = {code, strlen(text)};
    CHECK_OK(phrases_add(p, phrase, &ignored, &err), &err);
    CHECK_OK(phrases_build(p, &err), &err);
}

TEST(required_phrases_are_said_and_forbidden_ones_are_not)
{
    static const struct {
        const char *forbidden, *required[PHRASES_MAX];
    } cases[] = {{"ab", {"abc", "a a"}}, {"a", {"ab", "abb"}},
                 {"a ab", {"a", "ab"}},  {"abb", {"abbc"}},
                 {"ac", {"a", "abc a"}}, {"ab a", {"a", "abb", "ab"}},
                 {"a a", {"a ab a"}},    {"c", {"abc", "ac"}}};
    size_t n_met = 0;

    for (uint64_t seed = 1; seed <= 1000; seed++) {
        const size_t k = seed % (sizeof cases / sizeof *cases);
        struct phrases forbidden;
        struct wish w;
        size_t n = 1;
        while (n < PHRASES_MAX && cases[k].required[n])
            n++;
        open_wish(&w, cases[k].required, n);
        forbid(&forbidden, cases[k].forbidden);
        w.guide.forbidden = &forbidden;
        struct toy toy = {.V = V_MAX, .seed = seed, .n_top = 16};
        const struct beam_options o = {
            .width = 1 + seed / 8 % 5, .n_best = 1, .n_extra = 2};
        struct beam *b = search(&toy, &w.guide, LEN_MAX, seed % 3, o);
        const struct beam_hypothesis h = beam_get(b, 0);
        char text[TEXT_MAX];
        text_of(h.token, h.n, text);
        CHECK(!holds_phrase(text, cases[k].forbidden));
        CHECK(beam_acts(b).unmet == !holds_all(&w, h.token, h.n));
        n_met += holds_all(&w, h.token, h.n);
        beam_close(b);
        close_wish(&w);
        phrases_release(&forbidden);
    }
    CHECK(n_met == 1000);
}

TEST(what_has_no_room_is_said_to_be_missing)
{
    static const char *const list[] = {"abc", "ab a"};
    struct wish w;

    open_wish(&w, list, 2);
    for (size_t max_len = 1; max_len < guide_tokens(&w.guide); max_len++) {
        struct toy toy = {.V = V_MAX, .seed = max_len};
        struct beam *b =
            search(&toy, &w.guide, max_len, 0, (struct beam_options){4, 1, 0});
        CHECK(beam_acts(b).unmet);
        beam_close(b);
    }
    close_wish(&w);
}

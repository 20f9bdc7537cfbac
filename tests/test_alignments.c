/* Words of texts, links between them, and how they are written. */
#include "decode/forced/alignments.h"

#include <stdlib.h>
#include <string.h>

#include "decode/forced/links.h"
#include "test.h"
#include "toy_model.h"

static struct err err;

static struct line line_of(const char *text)
{
    return (struct line){text, strlen(text)};
}

static void check_word(const struct words *w, size_t i, const char *text,
                       const char *want)
{
    CHECK(i < w->n);
    CHECK(w->word[i].end - w->word[i].begin == strlen(want));
    CHECK(memcmp(text + w->word[i].begin, want, strlen(want)) == 0);
}

TEST(words_of_a_text_are_what_stands_between_white_space)
{
    static const char text[] = "  the  ferry, crosses\tthe Qriver. ";
    struct spm *spm = toy_model_spm();
    struct spm_ids ids = {0};
    struct words w = {0};

    CHECK_OK(spm_encode(spm, line_of(text), &ids, &err), &err);
    const size_t n = ids.n + 2;
    CHECK_OK(words_of_text(&w, spm, line_of(text), n, &err), &err);
    CHECK(w.n == 5 && w.n_tokens == n);
    check_word(&w, 0, text, "the");
    check_word(&w, 1, text, "ferry,");
    check_word(&w, 2, text, "crosses");
    check_word(&w, 3, text, "the");
    check_word(&w, 4, text, "Qriver.");
    CHECK(w.of[0] == WORDS_NONE && w.of[n - 1] == WORDS_NONE);
    CHECK(w.of[1] == 0 && w.of[n - 2] == 4);
    for (size_t i = 2; i + 1 < n; i++)
        CHECK(w.of[i] == w.of[i - 1] || w.of[i] == w.of[i - 1] + 1);
    CHECK_OK(words_of_text(&w, spm, line_of(text), 4, &err), &err); /* cut */
    CHECK(w.n >= 1 && w.n_tokens == 4 && w.of[2] != WORDS_NONE);
    CHECK_OK(words_of_text(&w, spm, line_of(" "), 2, &err), &err);
    CHECK(w.n == 0);
    words_release(&w);
    spm_ids_release(&ids);
    spm_free(spm);
}

TEST(a_token_of_a_script_without_blanks_is_a_word)
{
    static const char text[] = "the \xe6\xb2\xb3\xe6\xb5\x81 ferry"; /* two ideographs */
    struct spm *spm = toy_model_spm();
    struct spm_ids ids = {0};
    struct words w = {0};

    CHECK_OK(spm_encode(spm, line_of(text), &ids, &err), &err);
    CHECK_OK(words_of_text(&w, spm, line_of(text), ids.n + 2, &err), &err);
    CHECK(w.n >= 3); /* the two may be one unknown token */
    check_word(&w, 0, text, "the");
    check_word(&w, w.n - 1, text, "ferry");
    words_release(&w);
    spm_ids_release(&ids);
    spm_free(spm);
}

TEST(tokens_without_a_text_have_no_word)
{
    struct spm *spm = toy_model_spm();
    struct spm_ids ids = {0};
    struct words w = {0};
    struct str text = str_new(0);

    CHECK_OK(spm_ids_add(&ids, ID_BOS, &err), &err);
    CHECK_OK(spm_encode(spm, line_of("we wait"), &ids, &err), &err);
    CHECK_OK(spm_ids_add(&ids, ID_PAD, &err), &err);
    CHECK_OK(spm_encode(spm, line_of("slow"), &ids, &err), &err);
    CHECK_OK(spm_ids_add(&ids, (int32_t)spm_size(spm), &err), &err); /* beyond */
    CHECK_OK(spm_ids_add(&ids, ID_EOS, &err), &err);
    CHECK_OK(words_of_ids(&w, spm, ids.id, ids.n, &text, &err), &err);
    CHECK_STR(str_text(&text), "we wait slow");
    CHECK(w.n == 3 && w.n_tokens == ids.n);
    check_word(&w, 1, text.data, "wait");
    for (size_t i = 0; i < ids.n; i++) {
        const bool is_piece = ids.id[i] >= ID_UNK && ids.id[i] < (int32_t)spm_size(spm);
        CHECK((w.of[i] == WORDS_NONE) == !is_piece);
    }
    str_reset(&text);
    CHECK_OK(words_of_ids(&w, spm, ids.id, 1, &text, &err), &err);
    CHECK(w.n == 0 && text.len == 0);
    str_release(&text);
    words_release(&w);
    spm_ids_release(&ids);
    spm_free(spm);
}

/* Words of two tokens and of one, between S and EOS. */
static void words_by_hand(struct words *w, const size_t *of, size_t n)
{
    *w = (struct words){.n_tokens = n};
    w->of = calloc(n, sizeof *w->of);
    CHECK(w->of);
    memcpy(w->of, of, n * sizeof *of);
    for (size_t i = 0; i < n; i++)
        if (of[i] != WORDS_NONE && of[i] + 1 > w->n)
            w->n = of[i] + 1;
}

/* Target word 0 attends to source word 1 with one token each; word 1 of the target, two
 * tokens, to word 0, of whose two tokens neither alone has the most. */
TEST(links_are_what_words_attend_to_in_both_directions)
{
    static const size_t of_source[] = {WORDS_NONE, 0, 0, 1, WORDS_NONE};
    static const size_t of_target[] = {WORDS_NONE, 0, 1, 1, WORDS_NONE};
    static const float attention[5][5] = {{1, 0, 0, 0, 0},
                                          {0.1f, 0.1f, 0.1f, 0.6f, 0.1f},
                                          {0, 0.3f, 0.3f, 0.4f, 0},
                                          {0, 0.3f, 0.3f, 0.35f, 0.05f},
                                          {0, 0, 0, 0, 1}};
    struct words source, target;
    struct links l = {0};

    words_by_hand(&source, of_source, 5);
    words_by_hand(&target, of_target, 5);
    CHECK_OK(links_find(&l, attention[0], &source, &target, &err), &err);
    CHECK(l.n == 2);
    CHECK(l.link[0].source == 1 && l.link[0].target == 0);
    CHECK(l.link[1].source == 0 && l.link[1].target == 1);
    target.n = 0;
    CHECK_OK(links_find(&l, attention[0], &source, &target, &err), &err);
    CHECK(l.n == 0);
    words_release(&source);
    words_release(&target);
    links_release(&l);
}

TEST(pharaoh_counts_words_between_white_space)
{
    static const char source[] = " a\tbb  c", target[] = "x yy z ";
    static const struct alignments_link link[] = {
        {{7, 8}, {2, 4}}, {{1, 2}, {0, 1}}, {{7, 8}, {3, 4}}, {{1, 5}, {5, 6}}};
    struct str out = str_new(0);

    CHECK_OK(alignments_pharaoh(&out, line_of(source), line_of(target), link, 4, &err),
             &err);
    CHECK_STR(str_text(&out), "0-0 2-1 0-2 1-2");
    str_reset(&out);
    CHECK_OK(alignments_pharaoh(&out, line_of(source), line_of(""), link, 0, &err), &err);
    CHECK(out.len == 0);
    str_release(&out);
}

/* ---- with a model ---- */

struct setup {
    struct spm *spm;
    struct network network;
    struct passes *passes;
};

static void open_setup(struct setup *s, size_t n_threads)
{
    struct params p;

    *s = (struct setup){.spm = toy_model_spm()};
    const struct model_config c = toy_model_config(spm_size(s->spm));
    CHECK_OK(params_open(&p, &c, &err), &err);
    float *flat = toy_model_weights(&p, 4);
    CHECK_OK(network_open(&s->network, &c, &err), &err);
    CHECK_OK(network_pack(&s->network, &p, flat, (struct network_types){0}, &err), &err);
    CHECK_OK(passes_open(&s->passes, &s->network, kernels_choose("cpu"), n_threads, &err),
             &err);
    params_close(&p);
    free(flat);
}

static void close_setup(struct setup *s)
{
    passes_close(s->passes);
    network_close(&s->network);
    spm_free(s->spm);
}

static void frame(struct spm_ids *ids, const struct spm *spm, const char *text)
{
    CHECK_OK(spm_ids_add(ids, ID_BOS, &err), &err);
    CHECK_OK(spm_encode(spm, line_of(text), ids, &err), &err);
    CHECK_OK(spm_ids_add(ids, ID_EOS, &err), &err);
}

TEST(a_copy_is_linked_word_by_word_and_a_given_text_by_number)
{
    struct setup s;
    struct spm_ids source = {0}, target = {0};
    struct alignments a = {0}, b = {0};

    open_setup(&s, 1);
    frame(&source, s.spm, "we wait");
    frame(&target, s.spm, "wir warten");
    const struct alignments_pair copied = {line_of(" x  yz"), line_of(" x  yz"), NULL, 0};
    CHECK_OK(alignments_add(&a, NULL, 0, &err), &err);
    CHECK_OK(alignments_run(&a, s.passes, 1, s.spm, &copied, &err), &err);
    CHECK(a.item[0].n_links == 2 && a.link[1].source.begin == 4 &&
          a.link[1].target.end == 6);

    const struct alignments_pair pair[2] = {
        {line_of("we wait"), line_of("wir warten"), source.id, source.n},
        {line_of("we wait"), line_of("  WIR   WARTEN"), source.id, source.n}};
    for (int i = 0; i < 2; i++)
        CHECK_OK(alignments_add(&b, target.id, target.n, &err), &err);
    CHECK_OK(alignments_run(&b, s.passes, 1, s.spm, pair, &err), &err);
    CHECK(b.item[0].n_links > 0 && b.item[0].n_links == b.item[1].n_links);
    for (size_t i = 0; i < b.item[0].n_links; i++) {
        const struct words_range x = b.link[b.item[0].first + i].target;
        const struct words_range y = b.link[b.item[1].first + i].target;
        CHECK(y.begin == (x.begin ? 8u : 2u) && y.end - y.begin == x.end - x.begin);
    }
    alignments_release(&a);
    alignments_release(&b);
    spm_ids_release(&source);
    spm_ids_release(&target);
    close_setup(&s);
}

/* ---- passes ---- */

struct heard {
    float *attention[3];
    size_t n[3];
};

static status hear(void *ctx, size_t pair, struct passes_found found, struct err *e)
{
    struct heard *h = ctx;

    (void)e;
    h->attention[pair] = calloc(h->n[pair], sizeof(float));
    CHECK(h->attention[pair] && found.attention);
    memcpy(h->attention[pair], found.attention, h->n[pair] * sizeof(float));
    return OK;
}

/* Rows are distributions; they differ by layer, and not by what else is in the pass, by
 * threads, or by what is longer and comes later. */
TEST(attention_is_a_pairs_own)
{
    static const char *const source[] = {"the ferry", "a child waits on the river", "x"};
    static const char *const target[] = {"die Fähre und der Fluss", "ein Kind", "wir"};
    struct setup s, t;
    struct spm_ids ids[6] = {0};
    struct passes_pair pair[3];
    struct heard all = {0}, other = {0};

    open_setup(&s, 1);
    open_setup(&t, 3);
    for (size_t i = 0; i < 3; i++) {
        frame(&ids[i], s.spm, source[i]);
        frame(&ids[3 + i], s.spm, target[i]);
        pair[i] = (struct passes_pair){ids[i].id, ids[3 + i].id, ids[i].n, ids[3 + i].n};
        all.n[i] = other.n[i] = ids[i].n * ids[3 + i].n;
    }
    CHECK_OK(passes_run(t.passes, pair, 3, 1, hear, &all, &err), &err);
    for (size_t i = 0; i < 3; i++) {
        struct heard one = {.n = {all.n[i]}};
        CHECK_OK(passes_run(s.passes, &pair[i], 1, 1, hear, &one, &err), &err);
        CHECK(memcmp(one.attention[0], all.attention[i], all.n[i] * sizeof(float)) == 0);
        free(one.attention[0]);
        for (size_t k = 0; k < pair[i].n_target; k++) {
            double sum = 0;
            for (size_t n = 0; n < pair[i].n_source; n++)
                sum += (double)all.attention[i][k * pair[i].n_source + n];
            CHECK_NEAR(sum, 1, 1e-5);
        }
    }
    CHECK_OK(passes_run(s.passes, pair, 3, 0, hear, &other, &err), &err);
    CHECK(memcmp(other.attention[0], all.attention[0], all.n[0] * sizeof(float)) != 0);
    CHECK_OK(passes_run(s.passes, NULL, 0, 0, hear, &other, &err), &err);
    for (size_t i = 0; i < 3; i++) {
        free(all.attention[i]);
        free(other.attention[i]);
        spm_ids_release(&ids[i]);
        spm_ids_release(&ids[3 + i]);
    }
    close_setup(&s);
    close_setup(&t);
}

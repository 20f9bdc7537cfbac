/* One data directory made of two: every new pair as often as there are passes, general
 * pairs as evenly as can be, and none that the other text holds out. */
#include "adapt/blend.h"
#include "preparing.h"
#include "toy_run.h"
#include "weighed.h"

static struct err err;

enum { N_NEW = 120, N_HELD = 12, PASSES = 3 };

struct setup {
    struct dataset text[BLEND_TEXTS], out;
    struct blend blend;
    char first[300];
};

/* A data directory of 120 pairs, whose sides begin with these sentences, and of 12 to
 * validate. */
struct part {
    int source, target, valid;
};

static void make_data(const char *out, struct part part, const char *tokenizer)
{
    struct prepare_config c = preparing_defaults(out, "80");

    toy_write("train.en", false, part.source, N_NEW);
    toy_write("train.de", true, part.target, N_NEW);
    toy_write("valid.en", false, part.valid, N_HELD);
    toy_write("valid.de", true, part.valid, N_HELD);
    preparing_set(&c, "source", test_path("train.en"));
    preparing_set(&c, "target", test_path("train.de"));
    preparing_set(&c, "valid_source", test_path("valid.en"));
    preparing_set(&c, "valid_target", test_path("valid.de"));
    if (tokenizer)
        preparing_set(&c, "tokenizer", test_path(tokenizer));
    (void)preparing_run(&c);
}

static const struct part fresh = {0, 0, 500};
/* It has sentences 450 to 569, of which 500 to 511 are held out of the new text; it holds
 * some of its own out. */
static const struct part general = {450, 450, 700};

static void open_texts(struct setup *s, const struct part *other, uint64_t n_drawn)
{
    make_data("data", fresh, NULL);
    *s = (struct setup){0};
    snprintf(s->first, sizeof s->first, "%s", test_path("data"));
    CHECK_OK(dataset_open(&s->text[0], s->first, &err), &err);
    if (other) {
        make_data("general", *other, "data/vocab.model");
        CHECK_OK(dataset_open(&s->text[1], test_path("general"), &err), &err);
    }
    s->blend = (struct blend){.text = {&s->text[0], other ? &s->text[1] : NULL},
                              .first = s->first,
                              .how = {.passes = PASSES, .n_drawn = n_drawn}};
    CHECK_OK(blend_write(&s->blend, test_path("blend"), &err), &err);
    CHECK_OK(dataset_open(&s->out, test_path("blend"), &err), &err);
    CHECK_OK(dataset_verify(&s->out, &err), &err);
}

static void close_texts(struct setup *s)
{
    dataset_close(&s->out);
    dataset_close(&s->text[0]);
    dataset_close(&s->text[1]);
}

static bool is_same(struct sentence a, struct sentence b)
{
    return a.len == b.len && memcmp(a.token, b.token, a.len * sizeof *a.token) == 0;
}

/* How often pair i of a text stands in the training pairs of the blend. */
static size_t count(const struct setup *s, const struct corpus *c, uint32_t i)
{
    const struct corpus *all = &s->out.train;
    size_t n = 0;

    for (uint32_t k = 0; k < all->n_pairs; k++)
        n += is_same(corpus_source(all, k), corpus_source(c, i)) &&
             is_same(corpus_target(all, k), corpus_target(c, i));
    return n;
}

TEST(new_pairs_stand_there_once_a_pass_and_general_ones_evenly)
{
    struct setup s;
    size_t n_left_out = 0, n_drawn = 0;

    open_texts(&s, &general, 50); /* 150 of 108 that may be drawn */
    for (uint32_t i = 0; i < N_NEW; i++)
        CHECK(count(&s, &s.text[0].train, i) == PASSES);
    for (uint32_t i = 0; i < s.text[1].train.n_pairs; i++) {
        const size_t n = count(&s, &s.text[1].train, i);
        CHECK(n <= 2);
        n_left_out += n == 0;
        n_drawn += n;
    }
    CHECK(n_left_out == 12);
    CHECK(n_drawn == PASSES * 50);
    CHECK(s.out.train.n_pairs == PASSES * (N_NEW + 50));
    close_texts(&s);
}

static void check_held_out(const struct setup *s)
{
    const struct corpus *all = &s->out.train, *held = &s->text[0].valid.corpus;

    for (uint32_t i = 0; i < held->n_pairs; i++)
        for (uint32_t k = 0; k < all->n_pairs; k++) {
            CHECK(!is_same(corpus_source(all, k), corpus_source(held, i)));
            CHECK(!is_same(corpus_target(all, k), corpus_target(held, i)));
        }
}

TEST(a_pair_of_which_the_other_text_holds_a_side_out_is_not_trained_on)
{
    static const struct part parts[] = {
        {450, 450, 700}, {450, 2450, 700}, {2450, 450, 700}};
    struct setup s;

    for (int i = 0; i < 3; i++) {
        open_texts(&s, &parts[i], N_NEW);
        check_held_out(&s);
        close_texts(&s);
    }
}

TEST(a_new_pair_that_the_general_text_holds_out_is_not_trained_on)
{
    static const struct part other = {900, 900, 20};
    struct setup s;

    open_texts(&s, &other, 10);
    for (uint32_t i = 0; i < N_NEW; i++) {
        const size_t n = count(&s, &s.text[0].train, i);
        CHECK(n == 0 || n == PASSES);
    }
    CHECK(s.out.train.n_pairs == PASSES * (N_NEW - N_HELD + 10));
    close_texts(&s);
}

TEST(validation_pairs_of_both_texts_alternate)
{
    struct setup s;

    open_texts(&s, &general, 10);
    const struct dataset_set *set = &s.out.valid;
    CHECK(set->corpus.n_pairs == 24);
    for (uint32_t i = 0; i < 24; i++) {
        const struct dataset_set *from = &s.text[i % 2].valid;
        const struct line a = set->source.line[i], b = from->source.line[i / 2];
        CHECK(a.n_bytes == b.n_bytes && memcmp(a.text, b.text, a.n_bytes) == 0);
        CHECK(
            is_same(corpus_target(&set->corpus, i), corpus_target(&from->corpus, i / 2)));
    }
    close_texts(&s);
}

TEST(one_text_alone_is_passed_over_as_often)
{
    struct setup s;
    size_t longest = 0;
    uint64_t n_target = 0;

    open_texts(&s, NULL, 0);
    CHECK(s.out.train.n_pairs == PASSES * N_NEW);
    const struct tuning_size size = blend_measure(&s.out.train);
    for (uint32_t i = 0; i < s.out.train.n_pairs; i++) {
        const size_t a = corpus_source(&s.out.train, i).len,
                     b = corpus_target(&s.out.train, i).len;
        longest = longest > a ? longest : a;
        longest = longest > b ? longest : b;
        n_target += b + 2;
    }
    CHECK(size.n_pairs == s.out.train.n_pairs && size.n_target == n_target &&
          size.longest == longest);
    close_texts(&s);
}

TEST(the_same_texts_give_the_same_bytes)
{
    struct setup s;

    open_texts(&s, &general, 40);
    const uint64_t before = s.out.train.checksum;
    dataset_close(&s.out);
    CHECK_OK(blend_write(&s.blend, test_path("again"), &err), &err);
    CHECK_OK(dataset_open(&s.out, test_path("again"), &err), &err);
    CHECK(s.out.train.checksum == before);
    close_texts(&s);
}

TEST(pairs_take_their_weights_along)
{
    struct setup s;

    make_data("data", fresh, NULL);
    weighed_make(weighed_unlike, false);
    s = (struct setup){.blend = {.first = s.first, .how = {.passes = 2, .n_drawn = 50}}};
    snprintf(s.first, sizeof s.first, "%s", test_path("data"));
    make_data("general", general, "data/vocab.model");
    CHECK_OK(dataset_open(&s.text[0], s.first, &err), &err);
    CHECK_OK(dataset_open(&s.text[1], test_path("general"), &err), &err);
    s.blend.text[0] = &s.text[0];
    s.blend.text[1] = &s.text[1];
    CHECK_OK(blend_write(&s.blend, test_path("blend"), &err), &err);
    CHECK_OK(dataset_open(&s.out, test_path("blend"), &err), &err);
    CHECK_OK(dataset_verify(&s.out, &err), &err);
    const struct corpus *out = &s.out.train, *in = &s.text[0].train;
    size_t n_new = 0;
    for (uint32_t i = 0; i < out->n_pairs; i++) {
        float want = 1;
        for (uint32_t k = 0; k < in->n_pairs; k++)
            if (is_same(corpus_source(out, i), corpus_source(in, k))) {
                want = weighed_unlike(k);
                n_new++;
            }
        CHECK(corpus_weight(out, i) == want);
    }
    CHECK(n_new > 0 && n_new < out->n_pairs);
    close_texts(&s);
}

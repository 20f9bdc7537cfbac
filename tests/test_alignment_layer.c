/* Which decoder layer aligns words is measured in words, whatever pieces they are cut
 * into: here every word is the translation of the word in its place. */
#include "pack/alignment.h"

#include <stdlib.h>

#include "base/rng.h"
#include "toy_model.h"

static struct err err;

enum { PAIRS = 300, WORDS = 6, LINE_BYTES = 128 };

static const char *const words[] = {"ferry", "crosses", "river", "child",
                                    "waits", "other",   "side",  "wide",
                                    "slow",  "Ufer",    "Kind",  "breit"};
enum { N_WORDS = sizeof words / sizeof *words };

struct setup {
    struct spm *spm;
    struct network network;
    struct dataset data;
    struct line source[PAIRS], target[PAIRS];
    char text[PAIRS][LINE_BYTES]; /* of both, behind a mark of the source */
};

static const char mark[] = ">>de<< ";

static struct spm *tokenizer(size_t vocab_size, bool has_mark)
{
    static const char *const marks[] = {">>de<<"};
    struct lines text = lines_over(TOY_MODEL_TEXT, sizeof TOY_MODEL_TEXT - 1);
    const struct spm_train_options o = {
        .vocab_size = vocab_size, .is_at_most = true, .mark = marks, .n_marks = has_mark};
    struct spm *spm;

    CHECK_OK(train_lines(&spm, o, train_lines_next, &text, NULL, &err), &err);
    return spm;
}

/* Pairs of equal lines but for the mark, the two sides cut by their own tokenizers. */
static void make_data(struct setup *s, size_t vocab)
{
    struct corpus *c = &s->data.train;
    struct rng r = rng_open(3);
    struct corpus_file_writer w;

    CHECK_OK(corpus_file_create(&w, test_path("toy.bin"), (uint32_t)vocab, 1, &err),
             &err);
    for (size_t i = 0; i < PAIRS; i++) {
        struct spm_ids source = {0}, target = {0};
        size_t n_mark;
        int n = snprintf(s->text[i], LINE_BYTES, "%s", mark);
        for (size_t k = 0; k < WORDS; k++)
            n += snprintf(s->text[i] + n, LINE_BYTES - (size_t)n, "%s%s", k ? " " : "",
                          words[rng_below(&r, N_WORDS)]);
        s->target[i] = (struct line){s->text[i] + strlen(mark), (size_t)n - strlen(mark)};
        s->source[i] = s->target[i];
        const int32_t id = spm_mark(s->spm, (struct line){mark, strlen(mark)}, &n_mark);
        if (id >= 0) {
            s->source[i] = (struct line){s->text[i], (size_t)n};
            CHECK_OK(spm_ids_add(&source, id, &err), &err);
        }
        CHECK_OK(spm_encode(s->spm, s->target[i], &source, &err), &err);
        CHECK_OK(spm_encode(spm_target(s->spm), s->target[i], &target, &err), &err);
        CHECK_OK(corpus_file_add(&w, (struct corpus_file_side){source.id, source.n},
                                 (struct corpus_file_side){target.id, target.n}, &err),
                 &err);
        spm_ids_release(&source);
        spm_ids_release(&target);
    }
    CHECK_OK(corpus_file_commit(&w, &err), &err);
    CHECK_OK(corpus_open(c, test_path("toy.bin"), &err), &err);
    s->data.valid = (struct dataset_set){.is_there = true, .corpus = *c};
    s->data.valid.source = (struct dataset_text){.line = s->source, .n = PAIRS};
    s->data.valid.target = (struct dataset_text){.line = s->target, .n = PAIRS};
}

static void open_setup(struct setup *s, struct spm *source, struct spm *target)
{
    struct params p;

    *s = (struct setup){.spm = source};
    const struct model_config c = toy_model_config(spm_size(source));
    if (target)
        spm_join(source, target);
    CHECK_OK(params_open(&p, &c, &err), &err);
    float *flat = toy_model_weights(&p, 3);
    CHECK_OK(network_open(&s->network, &c, &err), &err);
    CHECK_OK(network_pack(&s->network, &p, flat, (struct network_types){0}, &err), &err);
    params_close(&p);
    free(flat);
    make_data(s, spm_size(source));
}

static void close_setup(struct setup *s)
{
    corpus_close(&s->data.train);
    network_close(&s->network);
    spm_free(s->spm);
}

/* The links that attention is compared with: hardly more or fewer than words. */
static void check_links(struct spm *source, struct spm *target)
{
    static struct setup s;
    struct progress silent = {0};
    const struct alignment_options how = {kernels_choose("cpu"), 1, PAIRS, PAIRS,
                                          &silent};
    struct alignment a;

    open_setup(&s, source, target);
    CHECK_OK(alignment_measure(&a, &s.network, s.spm, &s.data, how, &err), &err);
    CHECK(a.n_pairs == PAIRS && a.n_layers == 2);
    for (size_t i = 0; i < a.n_layers; i++) {
        CHECK(a.layer[i].n_wanted > PAIRS * WORDS * 9 / 10);
        CHECK(a.layer[i].n_wanted < PAIRS * WORDS * 12 / 10);
    }
    alignment_release(&a);
    close_setup(&s);
}

TEST(words_are_counted_with_one_tokenizer)
{
    check_links(tokenizer(60, false), NULL);
}

TEST(words_are_counted_with_a_tokenizer_for_each_side)
{
    check_links(tokenizer(120, false), tokenizer(80, false));
}

TEST(a_mark_in_front_of_a_source_is_no_word)
{
    check_links(tokenizer(60, true), NULL);
}

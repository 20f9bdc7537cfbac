/* What becomes of a pair in an epoch: a function, which keeps to the text's rules. */
#include "train/run/variation.h"

#include <stdlib.h>

#include "base/opt.h"
#include "base/rng.h"
#include "text/subword/encoder.h"
#include "train_lines.h"

#include "test.h"
#include "unigram_model.h"

enum { PAIRS = 200, LONGEST = 40 };

static const char learn_from[] =
    "The small dog sees the river of 1984.\nDer kleine Hund sieht 27 Flüsse!\n"
    "THE SMALL DOG SEES THE RIVER\nDER KLEINE HUND SIEHT FLÜSSE\n"
    "the old bridge, 305 stones\nDie alte Brücke, 6789 Steine?\n";

static struct spm *model_of(const char *text)
{
    static const char *const marks[] = {">>de<<"};
    struct lines lines = lines_over(text, strlen(text));
    const struct spm_train_options o = {
        .vocab_size = 151, .is_at_most = true, .mark = marks, .n_marks = 1};
    struct spm *spm;
    struct err err = {0};

    CHECK_OK(train_lines(&spm, o, train_lines_next, &lines, NULL, &err), &err);
    return spm;
}

OPT_TABLE(table, struct variation_config, VARIATION_OPTIONS);

/* Options as "key=value", NULL at the end. */
static struct variation_config config_of(const char *const *list)
{
    struct variation_config c = {0};
    struct err err = {0};
    char key[64];

    CHECK_OK(opt_defaults(table, &c, &err), &err);
    for (; *list; list++) {
        const char *sign = strchr(*list, '=');
        snprintf(key, sizeof key, "%.*s", (int)(sign - *list), *list);
        CHECK_OK(opt_set(table, &c, key, sign + 1, &err), &err);
    }
    CHECK_OK(variation_check(&c, &err), &err);
    return c;
}

#define WITH(...) config_of((const char *const[]){__VA_ARGS__, NULL})

static struct variation *open_it(const struct variation_config *c, const struct spm *spm,
                                 uint64_t seed, size_t max_length)
{
    struct variation *v;
    struct err err = {0};

    CHECK_OK(variation_open(&v, (struct variation_rule){c, seed, max_length}, spm, &err),
             &err);
    return v;
}

/* Ids of a line. */
struct row {
    uint16_t id[400];
    size_t n;
};

static struct row row_of(const struct spm *spm, const char *text)
{
    struct spm_ids ids = {0};
    struct row r = {0};
    struct err err = {0};

    CHECK_OK(spm_encode(spm, (struct line){text, strlen(text)}, &ids, &err), &err);
    CHECK(ids.n <= sizeof r.id / sizeof *r.id);
    for (; r.n < ids.n; r.n++)
        r.id[r.n] = (uint16_t)ids.id[r.n];
    spm_ids_release(&ids);
    return r;
}

static const char *text_of(const struct spm *spm, struct sentence s, struct str *text)
{
    struct spm_ids ids = {0};
    struct err err = {0};

    str_reset(text);
    for (size_t i = 0; i < s.len; i++)
        CHECK_OK(spm_ids_add(&ids, s.token[i], &err), &err);
    CHECK_OK(spm_decode(spm, ids.id, ids.n, text, &err), &err);
    spm_ids_release(&ids);
    return str_text(text);
}

static struct sentence seen(const struct row *r)
{
    return (struct sentence){r->id, r->n};
}

static bool same(struct sentence a, struct sentence b)
{
    return a.len == b.len &&
           (a.len == 0 || memcmp(a.token, b.token, a.len * sizeof *a.token) == 0);
}

static void make(struct variation *v, uint64_t epoch, uint32_t pair,
                 const struct row *ids, struct sentence out[VARIED_SIDES])
{
    const struct sentence in[] = {seen(&ids[0]), seen(&ids[1])};
    struct err err = {0};

    CHECK_OK(variation_make(v, epoch, pair, in, out, &err), &err);
}

static const char source[] = "The small dog sees 1984 stones.",
                  target[] = "Der kleine Hund sieht 1984 Steine.";

TEST(nothing_is_opened_where_nothing_varies)
{
    const struct variation_config c = WITH("bpe_dropout_side=source");
    struct spm *spm = model_of(learn_from);

    CHECK(!open_it(&c, spm, 1, LONGEST));
    variation_close(NULL);
    spm_free(spm);
}

TEST(a_pair_is_a_function_of_seed_epoch_and_number)
{
    const struct variation_config c =
        WITH("bpe_dropout=0.3", "augment_upper=0.2", "augment_typos=0.3",
             "augment_no_end=0.3", "augment_digits=0.3");
    struct spm *spm = model_of(learn_from);
    struct variation *a = open_it(&c, spm, 1, 200), *b = open_it(&c, spm, 1, 200),
                     *other = open_it(&c, spm, 2, 200);
    const struct row ids[] = {row_of(spm, source), row_of(spm, target)};
    int n_by_epoch = 0, n_by_pair = 0, n_by_seed = 0;

    for (uint32_t i = 0; i < PAIRS; i++) {
        struct sentence x[2], y[2];
        make(b, 5, i / 2, ids, y); /* which went before does not matter */
        make(a, 3, i, ids, x);
        make(b, 3, i, ids, y);
        CHECK(same(x[0], y[0]) && same(x[1], y[1]));
        make(b, 4, i, ids, y);
        n_by_epoch += !same(x[0], y[0]) && !same(x[1], y[1]);
        make(b, 3, i + 1, ids, y);
        n_by_pair += !same(x[0], y[0]) && !same(x[1], y[1]);
        make(other, 3, i, ids, y);
        n_by_seed += !same(x[0], y[0]) && !same(x[1], y[1]);
    }
    CHECK(n_by_epoch > PAIRS * 9 / 10 && n_by_pair > PAIRS * 9 / 10 &&
          n_by_seed > PAIRS * 9 / 10);
    variation_close(a);
    variation_close(b);
    variation_close(other);
    spm_free(spm);
}

TEST(dropout_keeps_the_text_and_the_side_that_has_none)
{
    const struct variation_config c = WITH("bpe_dropout=0.5", "bpe_dropout_side=target");
    struct spm *spm = model_of(learn_from);
    struct variation *v = open_it(&c, spm, 1, 200);
    const struct row ids[] = {row_of(spm, source), row_of(spm, target)};
    struct str text = str_new(0);
    struct sentence out[2];

    for (uint32_t i = 0; i < PAIRS; i++) {
        make(v, 0, i, ids, out);
        CHECK(same(out[0], seen(&ids[0])) && !same(out[1], seen(&ids[1])));
        CHECK_STR(text_of(spm, out[1], &text), target);
    }
    str_release(&text);
    variation_close(v);
    spm_free(spm);
}

/* The mark in front is not text. */
TEST(unigram_pieces_are_drawn_on_the_side_that_asks)
{
    const struct variation_config c =
        WITH("subword_alpha=0.2", "bpe_dropout_side=source", "augment_upper=0.3");
    struct spm *bpe = model_of(learn_from), *spm = unigram_of(bpe);
    struct variation *v = open_it(&c, spm, 1, 200), *again = open_it(&c, spm, 1, 200);
    const struct row ids[] = {row_of(spm, source), row_of(spm, target)};
    struct row marked[] = {{{ID_N_SPECIAL}, 1 + ids[0].n}, ids[1]};
    struct str text = str_new(0);
    struct sentence out[2], same_out[2];
    int n_upper = 0, n_changed = 0;

    memcpy(marked[0].id + 1, ids[0].id, ids[0].n * sizeof *ids[0].id);
    for (uint32_t i = 0; i < PAIRS; i++) {
        make(v, 3, i, marked, out);
        make(again, 3, i, marked, same_out);
        CHECK(same(out[0], same_out[0]) && same(out[1], same_out[1]));
        CHECK(out[0].token[0] == ID_N_SPECIAL);
        n_changed += !same(out[0], seen(&marked[0]));
        const bool is_upper = !same(out[1], seen(&ids[1]));
        CHECK_STR(text_of(spm, out[0], &text),
                  is_upper ? "THE SMALL DOG SEES 1984 STONES." : source);
        n_upper += is_upper;
    }
    CHECK(n_upper > PAIRS / 5 && n_upper < PAIRS / 2 && n_changed > PAIRS * 9 / 10);
    str_release(&text);
    variation_close(v);
    variation_close(again);
    spm_free(bpe);
    spm_free(spm);
}

TEST(both_sides_of_a_pair_are_augmented)
{
    const struct variation_config c = WITH("augment_upper=0.5", "augment_no_end=0.5");
    struct spm *spm = model_of(learn_from);
    struct variation *v = open_it(&c, spm, 1, 200);
    const struct row ids[] = {row_of(spm, source), row_of(spm, target)};
    struct str text = str_new(0);
    struct sentence out[2];
    int n_upper = 0, n_end = 0;

    for (uint32_t i = 0; i < PAIRS; i++) {
        make(v, 0, i, ids, out);
        const char *s = text_of(spm, out[0], &text);
        const bool is_upper = s[1] == 'H', has_end = s[strlen(s) - 1] == '.';
        n_upper += is_upper;
        n_end += has_end;
        s = text_of(spm, out[1], &text);
        CHECK(is_upper == (s[1] == 'E') && has_end == (s[strlen(s) - 1] == '.'));
    }
    CHECK(n_upper > PAIRS / 3 && n_upper < PAIRS * 2 / 3);
    CHECK(n_end > PAIRS / 3 && n_end < PAIRS * 2 / 3);
    str_release(&text);
    variation_close(v);
    spm_free(spm);
}

/* A mark says what is wanted, and is no text that changes. */
TEST(a_source_with_a_mark_is_augmented_behind_it)
{
    const struct variation_config c = WITH("augment_upper=1", "augment_typos=1");
    struct spm *spm = model_of(learn_from);
    struct variation *v = open_it(&c, spm, 1, 200);
    const struct row ids[] = {row_of(spm, source), row_of(spm, target)};
    struct row marked[] = {{{ID_N_SPECIAL}, 1 + ids[0].n}, ids[1]};
    struct sentence want[2], out[2];

    CHECK_STR(spm_piece(spm, ID_N_SPECIAL), ">>de<<");
    memcpy(marked[0].id + 1, ids[0].id, ids[0].n * sizeof *ids[0].id);
    make(v, 0, 1, marked, out);
    CHECK(out[0].len > 1 && out[0].token[0] == ID_N_SPECIAL);
    struct row kept[] = {{.n = out[0].len - 1}, {.n = out[1].len}};
    for (int i = 0; i < 2; i++)
        memcpy(kept[i].id, out[i].token + !i, kept[i].n * sizeof *kept[i].id);
    make(v, 0, 1, ids, want);
    CHECK(same(want[0], seen(&kept[0])) && same(want[1], seen(&kept[1])));
    CHECK(!same(want[0], seen(&ids[0])) && !same(want[1], seen(&ids[1])));
    variation_close(v);
    spm_free(spm);
}

/* "q" has no capital among the pieces, "ω" is none itself. */
TEST(a_pair_that_cannot_be_spelt_stays_as_it_is)
{
    static const char *const pairs[][2] = {{"the quay", "die Brücke"},
                                           {"the ω", "die Brücke"},
                                           {"the dog", "\u03c9 \u03c9"}};
    const struct variation_config c = WITH("augment_upper=1");
    char text[1000];
    snprintf(text, sizeof text, "%squay quay\n", learn_from);
    struct spm *spm = model_of(text);
    struct variation *v = open_it(&c, spm, 1, 200);
    struct sentence out[2];

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const struct row ids[] = {row_of(spm, pairs[i][0]), row_of(spm, pairs[i][1])};
        make(v, 0, 1, ids, out);
        CHECK(same(out[0], seen(&ids[0])) && same(out[1], seen(&ids[1])));
    }
    struct row marked[] = {row_of(spm, "the dog"), row_of(spm, "der Hund")};
    marked[0].id[marked[0].n++] = ID_PAD; /* of which no text remains */
    make(v, 0, 1, marked, out);
    CHECK(same(out[0], seen(&marked[0])) && same(out[1], seen(&marked[1])));
    const struct row damaged[] = {{{60000, 4}, 2}, {{4, 5}, 2}};
    make(v, 0, 1, damaged, out);
    CHECK(same(out[0], seen(&damaged[0])) && same(out[1], seen(&damaged[1])));
    variation_close(v);
    spm_free(spm);
}

TEST(what_would_be_too_long_stays)
{
    struct spm *spm = model_of(learn_from);
    const struct row ids[] = {row_of(spm, source), row_of(spm, target)};
    const size_t longer = ids[0].n > ids[1].n ? ids[0].n : ids[1].n;
    const struct variation_config all = WITH("bpe_dropout=1"),
                                  some = WITH("bpe_dropout=0.05"),
                                  upper = WITH("augment_upper=1");
    struct variation *v = open_it(&all, spm, 1, longer + 2);
    struct sentence out[2];
    int n_changed = 0;

    make(v, 0, 1, ids, out);
    CHECK(same(out[0], seen(&ids[0])) && same(out[1], seen(&ids[1])));
    variation_close(v);
    v = open_it(&some, spm, 1, longer + 4);
    for (uint32_t i = 0; i < PAIRS; i++) {
        make(v, 0, i, ids, out);
        CHECK(out[0].len <= longer + 2 && out[1].len <= longer + 2);
        n_changed += !same(out[0], seen(&ids[0])) + !same(out[1], seen(&ids[1]));
    }
    CHECK(n_changed > PAIRS / 10);
    variation_close(v);
    v = open_it(&upper, spm, 1, longer + 2); /* capitals take more pieces */
    make(v, 0, 1, ids, out);
    CHECK(same(out[0], seen(&ids[0])) && same(out[1], seen(&ids[1])));
    variation_close(v);
    spm_free(spm);
}

static void check_refused(const struct variation_config *c, const struct spm *spm,
                          const char *text)
{
    const struct variation_rule rule = {c, 1, LONGEST};
    struct variation *v;
    struct err err = {0};

    CHECK_FAILS(variation_open(&v, rule, spm, &err), &err, ERR_USAGE, text);
    CHECK(!v);
}

TEST(what_a_tokenizer_cannot_do_is_refused)
{
    const struct variation_config drop = WITH("bpe_dropout=0.1"),
                                  draw = WITH("subword_alpha=0.1",
                                              "bpe_dropout_side=target"),
                                  title = WITH("augment_title=0.1"),
                                  end = WITH("augment_no_end=1");
    struct variation_config cases = WITH("augment_upper=0.5", "augment_lower=0.5");
    struct spm *unigram, *small = model_of("the small dog\nder kleine hund\n");
    struct sentence out[2];
    struct err err = {0};

    CHECK_OK(spm_load(&unigram, test_data("spm_unigram.model"), &err), &err);
    check_refused(&drop, unigram,
                  "bpe_dropout = 0.1: the tokenizer of the source is a unigram model, "
                  "which has no merges to skip; set subword_alpha instead");
    check_refused(&draw, small,
                  "subword_alpha = 0.1: the tokenizer of the target is not a unigram "
                  "model, so its pieces have no probabilities; it is BPE: set "
                  "bpe_dropout instead");
    check_refused(&title, small, "no capital letter");
    struct variation *v = open_it(&end, unigram, 1, 200); /* text needs no merges */
    const struct row ids[] = {row_of(unigram, "the river."), row_of(unigram, "the.")};
    struct str text = str_new(0);
    make(v, 0, 0, ids, out);
    CHECK_STR(text_of(unigram, out[0], &text), "the river");
    CHECK_STR(text_of(unigram, out[1], &text), "the");
    str_release(&text);
    variation_close(v);
    cases.augment_title = 0.1;
    CHECK_FAILS(variation_check(&cases, &err), &err, ERR_USAGE, "add up to 1.1");
    spm_free(unigram);
    spm_free(small);
}

TEST(what_varies_is_said_as_it_is_set)
{
    const struct variation_config c = WITH("bpe_dropout=0.1", "augment_digits=0.25"),
                                  drawn = WITH("subword_alpha=0.2",
                                               "bpe_dropout_side=source");
    struct str text = str_new(0);

    variation_describe(&c, &text);
    CHECK_STR(str_text(&text),
              "bpe_dropout=0.1 bpe_dropout_side=both augment_digits=0.25");
    str_reset(&text);
    variation_describe(&drawn, &text);
    CHECK_STR(str_text(&text), "subword_alpha=0.2 bpe_dropout_side=source");
    str_release(&text);
}

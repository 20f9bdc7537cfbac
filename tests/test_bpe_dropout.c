/* Words cut again with BPE-dropout: the same text, with the shares of a plain reference.
 */
#include <stdlib.h>

#include "text/subword/encoder.h"

#include "hostile_model.h"
#include "piece_ids.h"

static struct encoder *encoder_of(const struct spm *spm)
{
    struct encoder *e;
    struct err err = {0};

    CHECK_OK(encoder_new(&e, spm, 0, &err), &err);
    CHECK(encoder_is_own(e));
    return e;
}

/* The ids of a line, in 16 bits. */
static void narrow(struct encoder *e, struct line line, struct bpe_ids *out)
{
    struct spm_ids ids = {0};
    struct err err = {0};

    CHECK_OK(encoder_encode(e, line, &ids, &err), &err);
    narrow_ids(&ids, out);
}

static void recut(struct encoder *e, const struct bpe_ids *in, double rate, uint64_t key,
                  struct bpe_ids *out)
{
    struct err err = {0};

    out->n = 0;
    CHECK_OK(encoder_recut(e, in->id, in->n, (struct bpe_dropout){rate, key}, out, &err),
             &err);
}

/* --- what stays --- */

static void check_texts(const struct spm *spm, size_t n_lines)
{
    static const double rates[] = {0.02, 0.1, 0.5, 1};
    struct encoder *e = encoder_of(spm);
    struct bpe_ids in = {0}, out = {0}, again = {0};
    struct str line = str_new(0), want = str_new(0), got = str_new(0);
    size_t n_changed = 0;

    for (size_t i = 0; i < n_lines; i++) {
        hostile_line(&line, rng_key(test_seed(), "dropout"), i);
        narrow(e, (struct line){str_text(&line), line.len}, &in);
        recut(e, &in, 0, i, &out);
        CHECK(same_ids(&in, &out));
        text_of(spm, &in, &want);
        for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
            recut(e, &in, rates[r], i, &out);
            recut(e, &in, rates[r], i, &again);
            text_of(spm, &out, &got);
            CHECK(same_ids(&out, &again));
            CHECK(got.len == want.len &&
                  memcmp(str_text(&got), str_text(&want), got.len) == 0);
            n_changed += !same_ids(&in, &out);
        }
    }
    CHECK(n_changed > n_lines); /* of four rates */
    bpe_cut_ids_release(&in);
    bpe_cut_ids_release(&out);
    bpe_cut_ids_release(&again);
    str_release(&line);
    str_release(&want);
    str_release(&got);
    encoder_free(e);
}

TEST(words_cut_again_spell_what_they_spelt)
{
    struct spm *spm = learned_model();

    check_texts(spm, 700);
    spm_free(spm);
}

TEST(characters_that_are_no_pieces_come_into_no_word)
{
    struct spm *spm = learned_model(), *holed = holed_model(spm);

    check_texts(holed, 500);
    spm_free(holed);
    spm_free(spm);
}

TEST(rate_1_leaves_characters_and_keys_differ)
{
    struct spm *spm = learned_model();
    struct encoder *e = encoder_of(spm);
    struct bpe_ids in = {0}, out = {0}, other = {0};
    const struct line line = {"the river the river", 19};
    int n_different = 0;

    narrow(e, line, &in);
    recut(e, &in, 1, 0, &out);
    CHECK(out.n == 20); /* with four marks in the place of three blanks */
    for (uint64_t key = 0; key < 50; key++) {
        recut(e, &in, 0.5, key, &out);
        recut(e, &in, 0.5, key + 1, &other);
        n_different += !same_ids(&out, &other);
        for (size_t i = 0; i < out.n / 2; i++) /* words of one line differ too */
            if (out.n % 2 || out.id[i] != out.id[i + out.n / 2]) {
                n_different++;
                break;
            }
    }
    CHECK(n_different > 60);
    bpe_cut_ids_release(&in);
    bpe_cut_ids_release(&out);
    bpe_cut_ids_release(&other);
    encoder_free(e);
    spm_free(spm);
}

/* Ids that no line gives, as of a damaged corpus, are not looked up. */
TEST(ids_beyond_the_vocabulary_stay)
{
    struct spm *spm = learned_model();
    struct encoder *e = encoder_of(spm);
    uint16_t id[] = {UINT16_MAX, ID_BOS, UINT16_MAX, ID_UNK, ID_UNK};
    const struct bpe_ids in = {id, sizeof id / sizeof *id, 0};
    struct bpe_ids out = {0};

    recut(e, &in, 1, 0, &out);
    CHECK(same_ids(&in, &out));
    bpe_cut_ids_release(&out);
    encoder_free(e);
    spm_free(spm);
}

/* --- shares of the ways to cut a word --- */

enum { MOST_PARTS = 24, MOST_WAYS = 4000, DRAWS = 15000 };

/* A way to cut: where its pieces end. */
struct ways {
    uint32_t ends[MOST_WAYS];
    int times[2][MOST_WAYS];
    int n;
};

static void count_way(struct ways *w, int who, uint32_t ends)
{
    int i = 0;

    while (i < w->n && w->ends[i] != ends)
        i++;
    CHECK(i < MOST_WAYS);
    if (i == w->n)
        w->ends[w->n++] = ends;
    w->times[who][i]++;
}

static int32_t piece_of(const struct spm *spm, const char *text, size_t n)
{
    for (int32_t id = ID_N_SPECIAL; id < (int32_t)spm_size(spm); id++)
        if (strlen(spm_piece(spm, id)) == n && memcmp(spm_piece(spm, id), text, n) == 0)
            return id;
    return -1;
}

/*
 * By the book: a list of parts. Of all neighbours that spell a piece and were not skipped
 * the best is skipped with probability `rate` and merged otherwise; a pair that a merge
 * made has not been skipped.
 */
static uint32_t plain_way(const struct spm *spm, const char *word, double rate,
                          struct rng *rng)
{
    size_t end[MOST_PARTS], n = 0;
    bool is_skipped[MOST_PARTS] = {false};
    uint32_t ends = 0;

    for (size_t at = 0; at < strlen(word); at = end[n++]) { /* the mark has 3 bytes */
        CHECK(n < MOST_PARTS);
        end[n] = at + ((unsigned char)word[at] >= 0xE0 ? 3 : 1);
    }
    for (;;) {
        size_t best = SIZE_MAX;
        double score = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            const size_t from = i ? end[i - 1] : 0;
            const int32_t id = piece_of(spm, word + from, end[i + 1] - from);
            if (id < 0 || is_skipped[i])
                continue;
            if (best == SIZE_MAX || spm_score(spm, id) > score) {
                best = i;
                score = spm_score(spm, id);
            }
        }
        if (best == SIZE_MAX)
            break;
        if (rng_unit(rng) < rate) {
            is_skipped[best] = true;
            continue;
        }
        memmove(end + best, end + best + 1, (n - best - 1) * sizeof *end);
        memmove(is_skipped + best, is_skipped + best + 1, n - best - 1);
        n--;
        is_skipped[best] = false;
        if (best)
            is_skipped[best - 1] = false;
    }
    for (size_t i = 0; i < n; i++)
        ends |= 1u << end[i];
    return ends;
}

/* Two samples of the same shares: chi-square of them; *k becomes its degrees. */
static double chi_square(const struct ways *w, int *k)
{
    double sum = 0, rare[2] = {0};

    *k = -1;
    for (int i = 0; i <= w->n; i++) {
        double a = i < w->n ? w->times[0][i] : rare[0],
               b = i < w->n ? w->times[1][i] : rare[1];
        if (i < w->n && a + b < 20) {
            rare[0] += a;
            rare[1] += b;
            continue;
        }
        if (a + b > 0) {
            sum += (a - b) * (a - b) / (a + b);
            ++*k;
        }
    }
    return sum;
}

static void check_shares(struct encoder *e, const struct spm *spm, const char *text,
                         double rate)
{
    struct ways *w = calloc(1, sizeof *w);
    struct rng rng = rng_open(rng_key(test_seed(), "plain"));
    struct bpe_ids in = {0}, out = {0};
    char word[64];
    int k;

    CHECK(w);
    snprintf(word, sizeof word, "\xE2\x96\x81%s", text);
    narrow(e, (struct line){text, strlen(text)}, &in);
    for (uint64_t i = 0; i < DRAWS; i++) {
        uint32_t ends = 0;
        size_t at = 0;
        recut(e, &in, rate, rng_hash(rng_key(test_seed(), "ours"), i), &out);
        for (size_t p = 0; p < out.n; p++)
            ends |= 1u << (at += strlen(spm_piece(spm, out.id[p])));
        count_way(w, 0, ends);
        count_way(w, 1, plain_way(spm, word, rate, &rng));
    }
    const double chi = chi_square(w, &k);
    CHECK(k >= 2);
    if (chi > k + 5 * sqrt(2.0 * k))
        test_fail(__FILE__, __LINE__, "%s at %g: chi-square %g of %d degrees", text, rate,
                  chi, k);
    bpe_cut_ids_release(&in);
    bpe_cut_ids_release(&out);
    free(w);
}

TEST(words_are_cut_as_often_in_each_way_as_by_the_plain_reference)
{
    static const char words[] = "lowest newest widest lower newer wider low new wide "
                                "banana bandana ananas lowering renewing widening ";
    struct lines lines;
    char text[10000] = "";
    const struct spm_train_options o = {.vocab_size = 90, .is_at_most = true};
    struct spm *spm;
    struct err err = {0};

    for (int i = 0; i < 20; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s\n", words);
    lines = lines_over(text, strlen(text));
    CHECK_OK(train_lines(&spm, o, train_lines_next, &lines, NULL, &err), &err);
    struct encoder *e = encoder_of(spm);
    check_shares(e, spm, "lowering", 0.1);
    check_shares(e, spm, "bandana", 0.3);
    check_shares(e, spm, "widest", 0.7);
    check_shares(e, spm, "ananas", 0.1);
    encoder_free(e);
    spm_free(spm);
}

/* Text of a unigram model cut again: with the probabilities of all segmentations, and the
 * same text. */
#include <stdlib.h>

#include "base/mem.h"
#include "text/subword/unigram_cut.h"

#include "hostile_model.h"
#include "piece_ids.h"
#include "unigram_model.h"

/* At this alpha the best segmentation is the only one that is ever drawn. */
static const double largest = 1000;

static struct unigram_cut *open_it(const struct spm *spm, double alpha)
{
    struct unigram_cut *u;
    struct err err = {0};

    CHECK_OK(unigram_cut_new(&u, spm, alpha, &err), &err);
    return u;
}

/* SentencePiece's ids of a line, in 16 bits. */
static void encode(const struct spm *spm, struct line line, struct bpe_ids *out)
{
    struct spm_ids ids = {0};
    struct err err = {0};

    CHECK_OK(spm_encode(spm, line, &ids, &err), &err);
    narrow_ids(&ids, out);
}

static void encode_text(const struct spm *spm, const char *text, struct bpe_ids *out)
{
    encode(spm, (struct line){text, strlen(text)}, out);
}

static void recut(struct unigram_cut *u, const struct bpe_ids *in, uint64_t key,
                  struct bpe_ids *out)
{
    struct err err = {0};

    out->n = 0;
    CHECK_OK(unigram_cut_again(u, in->id, in->n, key, out, &err), &err);
}

static double score_of(const struct spm *spm, const struct bpe_ids *ids)
{
    double sum = 0;

    for (size_t i = 0; i < ids->n; i++)
        if (ids->id[i] >= ID_N_SPECIAL)
            sum += spm_score(spm, ids->id[i]);
    return sum;
}

/* --- what stays --- */

static void check_texts(const struct spm *spm, size_t n_lines)
{
    struct unigram_cut *best = open_it(spm, largest), *any = open_it(spm, 0.2);
    struct bpe_ids in = {0}, out = {0}, again = {0};
    struct str line = str_new(0), want = str_new(0), got = str_new(0);
    size_t n_best = 0, n_changed = 0;

    for (size_t i = 0; i < n_lines; i++) {
        hostile_line(&line, rng_key(test_seed(), "unigram"), i);
        encode(spm, (struct line){str_text(&line), line.len}, &in);
        recut(best, &in, i, &out);
        CHECK(score_of(spm, &out) > score_of(spm, &in) - 0.1);
        n_best += same_ids(&in, &out); /* or another of the same score */
        recut(any, &in, i, &out);
        recut(any, &in, i, &again);
        CHECK(same_ids(&out, &again));
        text_of(spm, &in, &want);
        text_of(spm, &out, &got);
        CHECK(got.len == want.len &&
              memcmp(str_text(&got), str_text(&want), got.len) == 0);
        n_changed += !same_ids(&in, &out);
    }
    CHECK(n_best > n_lines * 9 / 10 && n_changed > n_lines / 4);
    bpe_cut_ids_release(&in);
    bpe_cut_ids_release(&out);
    bpe_cut_ids_release(&again);
    str_release(&line);
    str_release(&want);
    str_release(&got);
    unigram_cut_free(best);
    unigram_cut_free(any);
}

TEST(text_stays_and_the_largest_alpha_gives_the_best_segmentation)
{
    struct spm *bpe = learned_model(), *spm = unigram_of(bpe);

    check_texts(spm, 700);
    spm_free(bpe);
    spm_free(spm);
}

TEST(characters_that_are_no_pieces_stay_unknown)
{
    struct spm *bpe = learned_model(), *holed = holed_model(bpe),
               *spm = unigram_of(holed);

    check_texts(spm, 500);
    spm_free(bpe);
    spm_free(holed);
    spm_free(spm);
}

/* Words in which few letters give many pieces. */
static struct spm *small_model(void)
{
    static const char words[] = "lowest newest widest lower newer wider low new wide "
                                "banana bandana ananas lowering renewing widening";
    const struct spm_train_options o = {.vocab_size = 90, .is_at_most = true};
    struct lines lines;
    char text[10000] = "";
    struct spm *spm;
    struct err err = {0};

    for (int i = 0; i < 20; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s\n", words);
    lines = lines_over(text, strlen(text));
    CHECK_OK(train_lines(&spm, o, train_lines_next, &lines, NULL, &err), &err);
    return spm;
}

/* Ids that no line gives, as of a damaged corpus, are not looked up. */
TEST(specials_and_ids_beyond_the_vocabulary_stay)
{
    struct spm *bpe = small_model(), *spm = unigram_of(bpe);
    struct unigram_cut *u = open_it(spm, 0.1);
    uint16_t id[] = {UINT16_MAX, ID_BOS, UINT16_MAX, ID_UNK, ID_UNK};
    const struct bpe_ids in = {id, sizeof id / sizeof *id, 0};
    struct bpe_ids out = {0};

    recut(u, &in, 0, &out);
    CHECK(same_ids(&in, &out));
    bpe_cut_ids_release(&out);
    unigram_cut_free(u);
    spm_free(bpe);
    spm_free(spm);
}

static void add_piece(struct str *model, const char *text, float score,
                      enum spm_parts_kind kind)
{
    const struct spm_parts_piece p = {{text, strlen(text)}, score, kind};

    spm_parts_put_piece(model, &p);
}

/* How many of the ids are of pieces that begin so. */
static size_t count_begins(const struct spm *spm, const struct bpe_ids *ids,
                           const char *beginning)
{
    size_t n = 0;

    for (size_t i = 0; i < ids->n; i++)
        n += str_begins(spm_piece(spm, ids->id[i]), beginning);
    return n;
}

TEST(bytes_and_symbols_of_the_user_stay_whole_and_unused_pieces_do_not_come)
{
    struct spm *bpe = small_model(), *spm;
    struct str model = unigram_bytes(bpe), text = str_new(0);
    struct bpe_ids in = {0}, out = {0};
    struct err err = {0};
    size_t n_changed = 0;
    char name[16];

    for (int i = 0; i < 256; i++) {
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)i);
        add_piece(&model, name, 0, SPM_PARTS_BYTE);
    }
    add_piece(&model, "ndan", 0, SPM_PARTS_USER);
    add_piece(&model, "idenin", 0, SPM_PARTS_UNUSED);
    str_add(&model, "\x12\x03\x98\x02\x01", 5); /* unknown characters as bytes */
    CHECK_OK(spm_parse(&spm, model.data, model.len, &err), &err);
    struct unigram_cut *u = open_it(spm, 0.01);
    encode_text(spm, "wndanw \u03c9 widening", &in);
    CHECK(count_begins(spm, &in, "<0x") == 2 && count_begins(spm, &in, "ndan") == 1);
    for (uint64_t key = 0; key < 300; key++) {
        recut(u, &in, key, &out);
        CHECK(count_begins(spm, &out, "<0x") == 2 &&
              count_begins(spm, &out, "ndan") == 1 &&
              count_begins(spm, &out, "idenin") == 0);
        text_of(spm, &out, &text);
        CHECK_STR(str_text(&text), "wndanw \u03c9 widening");
        n_changed += !same_ids(&in, &out);
    }
    CHECK(n_changed > 200);
    bpe_cut_ids_release(&in);
    bpe_cut_ids_release(&out);
    str_release(&model);
    str_release(&text);
    unigram_cut_free(u);
    spm_free(bpe);
    spm_free(spm);
}

TEST(pieces_that_the_model_does_not_know_do_not_come)
{
    struct spm *bpe = small_model(), *spm = unigram_of(bpe);
    struct bpe_ids in = {0}, out = {0};
    const size_t n_known = spm_size(spm) - 3;

    encode_text(spm, "lowering renewing widening banana", &in);
    spm_limit(spm, n_known);
    struct unigram_cut *u = open_it(spm, 0.01);
    for (uint64_t key = 0; key < 300; key++) {
        recut(u, &in, key, &out);
        for (size_t i = 0; i < out.n; i++)
            CHECK(out.id[i] < n_known);
    }
    bpe_cut_ids_release(&in);
    bpe_cut_ids_release(&out);
    unigram_cut_free(u);
    spm_free(bpe);
    spm_free(spm);
}

/* --- probabilities of all segmentations --- */

enum { MOST_WAYS = 6000, DRAWS = 20000, ENOUGH = 20 /* of the expected draws */ };

/* Every way to cut a text: where its pieces end, and how probable it is. */
struct ways {
    const struct spm *spm;
    const char *text;
    double alpha, sum;
    uint64_t ends[MOST_WAYS];
    double weight[MOST_WAYS];
    int times[MOST_WAYS], n;
};

/* By the book: every piece that stands at byte `at`, and all ways from its end. */
static void find_ways(struct ways *w, size_t at, uint64_t ends, double score)
{
    const char *rest = w->text + at;

    if (!*rest) {
        CHECK(w->n < MOST_WAYS);
        w->ends[w->n] = ends;
        w->sum += w->weight[w->n++] = exp(w->alpha * score);
        return;
    }
    for (int32_t id = ID_N_SPECIAL; id < (int32_t)spm_size(w->spm); id++) {
        const size_t end = at + strlen(spm_piece(w->spm, id));
        if (str_begins(rest, spm_piece(w->spm, id)))
            find_ways(w, end, ends | UINT64_C(1) << end, score + spm_score(w->spm, id));
    }
}

static void count_way(struct ways *w, const struct bpe_ids *ids)
{
    uint64_t ends = 0;
    size_t at = 0;
    int i = 0;

    for (size_t p = 0; p < ids->n; p++) {
        at += strlen(spm_piece(w->spm, ids->id[p]));
        ends |= UINT64_C(1) << at;
    }
    while (i < w->n && w->ends[i] != ends)
        i++;
    CHECK(i < w->n);
    w->times[i]++;
}

/* Of the draws against the probabilities; *k becomes its degrees. */
static double chi_square(const struct ways *w, int *k)
{
    double sum = 0, rare_times = 0, rare_wanted = 0;

    *k = -1;
    for (int i = 0; i <= w->n; i++) {
        double times = i < w->n ? w->times[i] : rare_times,
               wanted = i < w->n ? DRAWS * w->weight[i] / w->sum : rare_wanted;
        if (i < w->n && wanted < ENOUGH) {
            rare_times += times;
            rare_wanted += wanted;
            continue;
        }
        if (wanted > 0) {
            sum += (times - wanted) * (times - wanted) / wanted;
            ++*k;
        }
    }
    return sum;
}

static void check_shares(const struct spm *spm, const char *text, const char *marked,
                         double alpha)
{
    struct ways *w = calloc(1, sizeof *w);
    struct unigram_cut *u = open_it(spm, alpha);
    struct bpe_ids in = {0}, out = {0};
    int k;

    CHECK(w);
    w->spm = spm;
    w->text = marked;
    w->alpha = alpha;
    find_ways(w, 0, 0, 0);
    encode_text(spm, text, &in);
    for (uint64_t i = 0; i < DRAWS; i++) {
        recut(u, &in, rng_hash(rng_key(test_seed(), text), i), &out);
        count_way(w, &out);
    }
    const double chi = chi_square(w, &k);
    CHECK(k >= 2);
    if (chi > k + 5 * sqrt(2.0 * k))
        test_fail(__FILE__, __LINE__, "%s at %g: chi-square %g of %d degrees", text,
                  alpha, chi, k);
    bpe_cut_ids_release(&in);
    bpe_cut_ids_release(&out);
    unigram_cut_free(u);
    free(w);
}

TEST(segmentations_are_drawn_as_often_as_they_are_probable)
{
    struct spm *bpe = small_model(), *spm = unigram_of(bpe);

    check_shares(spm, "lowering", "▁lowering", 0.1);
    check_shares(spm, "bandana", "▁bandana", 0.3);
    check_shares(spm, "widest", "▁widest", 0.001);
    check_shares(spm, "ananas", "▁ananas", 1);
    check_shares(spm, "low new", "▁low▁new", 0.5);
    spm_free(bpe);
    spm_free(spm);
}

/* Whether the same text behind and before the middle became other pieces. */
static bool has_other_halves(const struct bpe_ids *ids)
{
    const size_t half = ids->n / 2, behind = ids->n - half;

    return memcmp(ids->id, ids->id + behind, half * sizeof *ids->id) != 0;
}

TEST(keys_and_places_are_drawn_apart)
{
    struct spm *bpe = small_model(), *spm = unigram_of(bpe);
    struct unigram_cut *u = open_it(spm, 0.1);
    struct bpe_ids in = {0}, out = {0}, other = {0};
    struct err err = {0};
    int n_different = 0;

    encode_text(spm, "bandana bandana", &in);
    for (uint64_t key = 0; key < 50; key++) {
        recut(u, &in, key, &out);
        recut(u, &in, key + 1, &other);
        n_different += !same_ids(&out, &other);
        n_different += has_other_halves(&out);
    }
    const size_t half = in.n / 2;
    CHECK_OK(mem_grow(&in.id, &in.cap, in.n + 1, sizeof *in.id, &err), &err);
    memmove(in.id + half + 1, in.id + half, half * sizeof *in.id);
    in.id[half] = ID_UNK; /* which parts the text in runs */
    in.n++;
    for (uint64_t key = 0; key < 50; key++) {
        recut(u, &in, key, &out);
        n_different += has_other_halves(&out);
    }
    CHECK(n_different > 130);
    bpe_cut_ids_release(&in);
    bpe_cut_ids_release(&out);
    bpe_cut_ids_release(&other);
    unigram_cut_free(u);
    spm_free(bpe);
    spm_free(spm);
}

/* Long text of small probabilities neither runs over nor under. */
TEST(a_sentence_of_a_thousand_words_is_drawn)
{
    struct spm *bpe = small_model(), *spm = unigram_of(bpe);
    static const double alphas[] = {0.001, 1, 1000};
    struct str line = str_new(0), got = str_new(0);
    struct bpe_ids in = {0}, out = {0};

    for (int i = 0; i < 1000; i++)
        str_puts(&line, i ? " bandana" : "lowest");
    encode_text(spm, str_text(&line), &in);
    for (size_t i = 0; i < sizeof alphas / sizeof *alphas; i++) {
        struct unigram_cut *u = open_it(spm, alphas[i]);
        recut(u, &in, 1, &out);
        text_of(spm, &out, &got);
        CHECK_STR(str_text(&got), str_text(&line));
        CHECK(i == 2 ? out.n == in.n : out.n > in.n);
        unigram_cut_free(u);
    }
    bpe_cut_ids_release(&in);
    bpe_cut_ids_release(&out);
    str_release(&line);
    str_release(&got);
    spm_free(bpe);
    spm_free(spm);
}

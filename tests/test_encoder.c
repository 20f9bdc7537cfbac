#include "text/subword/encoder.h"

#include <pthread.h>
#include <stdlib.h>

#include "hostile_model.h"

static void check_line(struct encoder *e, const struct spm *spm, struct line line)
{
    struct spm_ids got = {0}, want = {0};
    struct err err = {0};

    CHECK_OK(encoder_encode(e, line, &got, &err), &err);
    CHECK_OK(spm_encode(spm, line, &want, &err), &err);
    CHECK(got.n == want.n);
    CHECK(got.n == 0 || memcmp(got.id, want.id, got.n * sizeof *got.id) == 0);
    spm_ids_release(&got);
    spm_ids_release(&want);
}

static void check_hostile(const struct spm *spm, size_t cache_bytes, size_t n,
                          const char *stream)
{
    struct encoder *e;
    struct str line = str_new(0);
    struct err err = {0};

    CHECK_OK(encoder_new(&e, spm, cache_bytes, &err), &err);
    CHECK(encoder_is_own(e));
    for (size_t i = 0; i < n; i++) {
        hostile_line(&line, rng_key(test_seed(), stream), i);
        check_line(e, spm, (struct line){str_text(&line), line.len});
    }
    encoder_free(e);
    str_release(&line);
}

TEST(hostile_lines_get_the_ids_that_sentencepiece_gives)
{
    struct spm *spm = learned_model();

    check_hostile(spm, 0, 2000, "hostile");
    spm_free(spm);
}

TEST(pieces_that_are_missing_change_nothing_about_that)
{
    struct spm *spm = learned_model(), *holed = holed_model(spm);

    check_hostile(holed, 0, 1500, "holed");
    spm_free(holed);
    spm_free(spm);
}

TEST(a_memory_that_is_always_full_changes_nothing_about_that)
{
    struct spm *spm = learned_model();

    check_hostile(spm, 1, 1500, "full");
    spm_free(spm);
}

TEST(words_at_the_edges_of_lines_and_of_each_other)
{
    static const char *const lines[] = {
        "",
        " ",
        "the",
        " the",
        "the ",
        "  the  river  ",
        "the\xE2\x96\x81",
        "the \xE2\x96\x81",
        "\xE2\x96\x81",
        "\xE2\x96\x81\xE2\x96\x81the",
        "the \xCC\x88river",
        "the\xC2\xA0",
        "\xC2\xA0the \xC2\xA0 river",
        "\x01",
        "\x01 the",
        "the \x01",
        "the \x01 river",
        "\xF0\x9F\x99\x82 \xF0\x9F\x99\x82\xF0\x9F\x99\x82",
        "\xFF \xFF\xFE the",
        "e\xCC\x81 \xC3\xA9 e \xCC\x81",
        "\xEF\xAC\x81ne \xC2\xBD",
        "a\xE3\x80\x80 b \xE3\x80\x80 c",
        "x\xE3\x80\x80y",
    };
    struct spm *spm = learned_model();
    struct encoder *e;
    struct err err = {0};

    CHECK_OK(encoder_new(&e, spm, 0, &err), &err);
    for (int round = 0; round < 2; round++) /* the second time from memory */
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
            check_line(e, spm, (struct line){lines[i], strlen(lines[i])});
    check_line(e, spm, (struct line){"nul\0inside \0 it", 15});
    encoder_free(e);
    spm_free(spm);
}

TEST(encoding_appends_and_unknowns_of_two_lines_stay_two)
{
    struct spm *spm = learned_model();
    struct encoder *e;
    struct spm_ids ids = {0};
    const struct line line = {"the \xF3\xB0\x80\x80", 8}; /* private use: no piece */
    struct err err = {0};

    CHECK_OK(encoder_new(&e, spm, 0, &err), &err);
    CHECK_OK(encoder_encode(e, line, &ids, &err), &err);
    const size_t n = ids.n;
    CHECK(n > 0 && ids.id[n - 1] == ID_UNK);
    CHECK_OK(encoder_encode(e, line, &ids, &err), &err);
    CHECK(ids.n == 2 * n && memcmp(ids.id, ids.id + n, n * sizeof *ids.id) == 0);
    spm_ids_release(&ids);
    encoder_free(e);
    spm_free(spm);
}

/* The learned model with one piece more, or with a setting changed. */
static struct spm *foreign_model(const struct spm *spm, const char *piece,
                                 enum spm_parts_kind kind)
{
    const struct line bytes = spm_bytes(spm);
    struct str out = str_new(0);
    struct spm *foreign;
    struct err err = {0};

    str_add(&out, bytes.text, bytes.n_bytes);
    spm_parts_put_piece(&out, &(struct spm_parts_piece){.text = {piece, strlen(piece)},
                                                        .score = 1,
                                                        .kind = kind});
    CHECK_OK(spm_parse(&foreign, out.data, out.len, &err), &err);
    str_release(&out);
    return foreign;
}

static void check_foreign(struct spm *spm)
{
    static const char *const lines[] = {"the river is wide", "  e r\xE2\x96\x81the ",
                                        "zq zq", "Z"};
    struct encoder *e;
    struct err err = {0};

    CHECK_OK(encoder_new(&e, spm, 0, &err), &err);
    CHECK(!encoder_is_own(e));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        check_line(e, spm, (struct line){lines[i], strlen(lines[i])});
    encoder_free(e);
    spm_free(spm);
}

TEST(models_of_another_make_are_left_to_sentencepiece)
{
    struct spm *spm = learned_model(), *unigram;
    struct err err = {0};

    CHECK_OK(spm_load(&unigram, test_data("spm_unigram.model"), &err), &err);
    check_foreign(unigram);
    check_foreign(foreign_model(spm, "r\xE2\x96\x81the", SPM_PARTS_NORMAL));
    check_foreign(foreign_model(spm, "zq", SPM_PARTS_USER));
    check_foreign(foreign_model(spm, "rive", SPM_PARTS_UNUSED));
    check_foreign(foreign_model(spm, "Z", SPM_PARTS_CONTROL));
    spm_free(spm);
}

struct worker {
    const struct spm *spm;
    pthread_t thread;
    struct spm_ids ids;
};

static void *encode_many(void *ctx)
{
    struct worker *w = ctx;
    struct encoder *e;
    struct str line = str_new(0);
    struct err err = {0};
    status s = encoder_new(&e, w->spm, 0, &err);

    for (size_t i = 0; s == OK && i < 300; i++) {
        hostile_line(&line, rng_key(3, "threads"), i);
        s = encoder_encode(e, (struct line){str_text(&line), line.len}, &w->ids, &err);
    }
    encoder_free(e);
    str_release(&line);
    return s == OK ? w : NULL;
}

TEST(threads_share_a_model_and_agree)
{
    struct spm *spm = learned_model();
    struct worker w[2] = {{.spm = spm}, {.spm = spm}};
    void *done;

    for (size_t i = 0; i < 2; i++)
        CHECK(pthread_create(&w[i].thread, NULL, encode_many, &w[i]) == 0);
    for (size_t i = 0; i < 2; i++) {
        CHECK(pthread_join(w[i].thread, &done) == 0);
        CHECK(done);
    }
    CHECK(w[0].ids.n == w[1].ids.n && w[0].ids.n > 0);
    CHECK(memcmp(w[0].ids.id, w[1].ids.id, w[0].ids.n * sizeof *w[0].ids.id) == 0);
    spm_ids_release(&w[0].ids);
    spm_ids_release(&w[1].ids);
    spm_free(spm);
}

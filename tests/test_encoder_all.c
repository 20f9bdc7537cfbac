/* ctest: slow */
#include "text/subword/encoder.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/rng.h"
#include "train_lines.h"

#include "hostile.h"
#include "test.h"

/* Both encoders over every line that `next` gives. */
static void check_all(const struct spm *spm, train_lines_fn *next, void *ctx,
                      uint64_t least)
{
    struct encoder *e;
    struct spm_ids got = {0}, want = {0};
    struct line line;
    uint64_t n = 0;
    struct err err = {0};

    CHECK_OK(encoder_new(&e, spm, 0, &err), &err);
    CHECK(encoder_is_own(e));
    for (; next(ctx, &line); n++) {
        got.n = want.n = 0;
        CHECK_OK(encoder_encode(e, line, &got, &err), &err);
        CHECK_OK(spm_encode(spm, line, &want, &err), &err);
        if (got.n != want.n || (got.n && memcmp(got.id, want.id, got.n * sizeof *got.id)))
            test_fail(__FILE__, __LINE__, "line %llu has other ids",
                      (unsigned long long)n + 1);
    }
    CHECK(n >= least);
    spm_ids_release(&got);
    spm_ids_release(&want);
    encoder_free(e);
}

struct stream {
    struct str line;
    uint64_t at, n, key;
};

static bool next_hostile(void *ctx, struct line *line)
{
    struct stream *s = ctx;

    if (s->at == s->n)
        return false;
    hostile_line(&s->line, s->key, s->at++);
    *line = (struct line){str_text(&s->line), s->line.len};
    return true;
}

TEST(a_hundred_thousand_hostile_lines_get_the_ids_that_sentencepiece_gives)
{
    struct stream learn = {.line = str_new(0), .n = 5000, .key = rng_key(1, "learn")};
    struct stream all = {.line = str_new(0), .n = 100000};
    struct spm *spm;
    struct err err = {0};

    all.key = rng_key(test_seed(), "all");
    CHECK_OK(
        train_lines(&spm,
                    (struct spm_train_options){.vocab_size = 50000, .is_at_most = true},
                    next_hostile, &learn, NULL, &err),
        &err);
    check_all(spm, next_hostile, &all, 100000);
    str_release(&learn.line);
    str_release(&all.line);
    spm_free(spm);
}

/* FERRY_TEST_TEXT may name another text, such as all of Multi30k or Tatoeba. */
TEST(a_real_text_gets_the_ids_that_sentencepiece_gives)
{
    const char *named = getenv("FERRY_TEST_TEXT");
    const char *path = named ? named : test_data("../../docs/performance.md");
    struct lines lines;
    struct spm *spm;
    struct err err = {0};

    CHECK_OK(lines_open(&lines, path, &err), &err);
    CHECK_OK(
        train_lines(&spm,
                    (struct spm_train_options){.vocab_size = 32768, .is_at_most = true},
                    train_lines_next, &lines, NULL, &err),
        &err);
    lines_rewind(&lines);
    check_all(spm, train_lines_next, &lines, 1);
    lines_close(&lines);
    spm_free(spm);
}

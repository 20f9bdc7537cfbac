/* The library as a program sees it: one model, many threads, texts with many lines, and
 * every way to ask for the impossible. */
#include "library/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "thread_count.h"
#include "toy_model.h"

static struct ferry_error error;

static const char *toy; /* a run directory of this test */

static void make_toy(void)
{
    struct spm *spm = toy_model_spm();
    const struct model_config c = toy_model_config(spm_size(spm));

    toy = test_path("run");
    toy_model_run(toy, &c, spm, 1);
    spm_free(spm);
}

static struct ferry *open_toy(void)
{
    struct ferry *m;

    make_toy();
    if (ferry_open(&m, toy, NULL, &error) != FERRY_OK)
        fail_msg("%s", error.text);
    return m;
}

TEST(lines_of_a_text_are_translated_each_by_itself)
{
    const char *texts[] = {"we wait\r\n\n the ferry\n", "we wait", " the ferry", "",
                           "\n"};
    struct ferry *m = open_toy();
    struct ferry_result *r;
    char want[512];

    CHECK(ferry_translate_many(m, texts, 5, NULL, &r, &error) == FERRY_OK);
    snprintf(want, sizeof want, "%s\r\n\n%s\n", ferry_result_text(r, 1, 0),
             ferry_result_text(r, 2, 0));
    CHECK_STR(ferry_result_text(r, 0, 0), want);
    CHECK_NEAR(ferry_result_score(r, 0, 0),
               ferry_result_score(r, 1, 0) + ferry_result_score(r, 2, 0), 1e-12);
    CHECK_STR(ferry_result_text(r, 3, 0), "");
    CHECK_STR(ferry_result_text(r, 4, 0), "\n");
    CHECK(ferry_result_count(r, 0) == 1 && ferry_result_count(r, 5) == 0);
    CHECK(!ferry_result_text(r, 5, 0) && !ferry_result_text(r, 0, 1));
    ferry_result_free(r);
    CHECK(ferry_translate_many(m, texts, 0, NULL, &r, &error) == FERRY_OK);
    ferry_result_free(r);
    ferry_result_free(NULL);
    ferry_close(m);
}

TEST(lists_of_the_best_come_with_scores_and_links)
{
    struct ferry_translate_options o = FERRY_TRANSLATE_OPTIONS;
    const char *text = "we wait\nthe ferry crosses the river";
    struct ferry *m = open_toy();
    struct ferry_result *r;
    const struct ferry_link *link;

    o.nbest = 3;
    o.alignments = 1;
    CHECK(ferry_translate(m, text, &o, &r, &error) == FERRY_OK);
    CHECK(ferry_result_count(r, 0) == 3);
    for (size_t k = 0; k < 3; k++) {
        const size_t n = ferry_result_links(r, 0, k, &link);
        for (size_t i = 0; i < n; i++) {
            CHECK(link[i].source_begin < link[i].source_end);
            CHECK(link[i].source_end <= strlen(text));
            CHECK(link[i].target_begin < link[i].target_end);
            CHECK(link[i].target_end <= strlen(ferry_result_text(r, 0, k)));
        }
        CHECK(isfinite(ferry_result_score(r, 0, k)));
    }
    CHECK(ferry_result_score(r, 0, 0) >= ferry_result_score(r, 0, 2));
    ferry_result_free(r);
    ferry_close(m);
}

TEST(options_of_an_older_program_have_the_defaults_behind_their_end)
{
    struct ferry_translate_options o = FERRY_TRANSLATE_OPTIONS;
    struct ferry *m = open_toy();
    struct ferry_result *r[2];

    CHECK(ferry_translate(m, "we wait", NULL, &r[0], &error) == FERRY_OK);
    o.size = offsetof(struct ferry_translate_options, alpha);
    o.alpha = -1; /* is not looked at */
    CHECK(ferry_translate(m, "we wait", &o, &r[1], &error) == FERRY_OK);
    CHECK_STR(ferry_result_text(r[0], 0, 0), ferry_result_text(r[1], 0, 0));
    ferry_result_free(r[0]);
    ferry_result_free(r[1]);
    ferry_close(m);
}

static void check_refused(struct ferry *m, const struct ferry_translate_options *o,
                          int want, const char *text)
{
    struct ferry_result *r;

    CHECK(ferry_translate(m, "we wait", o, &r, &error) == want);
    CHECK(!r && error.status == want && strstr(error.text, text));
    CHECK(ferry_translate(m, "we wait", o, &r, NULL) == want);
}

TEST(what_cannot_be_is_refused_with_a_sentence)
{
    struct ferry_translate_options o = FERRY_TRANSLATE_OPTIONS;
    struct ferry *m, *none;

    CHECK(ferry_open(&none, "/no/such/model", NULL, &error) == FERRY_IO && !none);
    CHECK(strstr(error.text, "/no/such/model"));
    CHECK(ferry_open(&none, "", NULL, NULL) == FERRY_USAGE && !none);
    m = open_toy();
    o.beam = 65;
    check_refused(m, &o, FERRY_USAGE, "beam");
    o.beam = 2;
    o.nbest = 3;
    check_refused(m, &o, FERRY_USAGE, "nbest");
    o.nbest = 1;
    o.forbid = "/no/such/file";
    check_refused(m, &o, FERRY_IO, "/no/such/file");
    o.size = 1;
    check_refused(m, &o, FERRY_USAGE, "FERRY_TRANSLATE_OPTIONS");
    ferry_close(m);
    ferry_close(NULL);
    CHECK(strcmp(ferry_version(), FERRY_VERSION) == 0);
}

TEST(pairs_are_scored)
{
    const char *source[] = {"we wait", "the ferry"}, *target[] = {"wir warten", ""};
    struct ferry *m = open_toy();
    double log_prob[2], again;
    size_t n_tokens[2];

    CHECK(ferry_score(m, source, target, 2, log_prob, n_tokens, &error) == FERRY_OK);
    CHECK(log_prob[0] < 0 && log_prob[1] < 0 && n_tokens[0] > n_tokens[1]);
    CHECK(ferry_score(m, source, target, 1, &again, NULL, &error) == FERRY_OK);
    CHECK_NEAR(again, log_prob[0], 1e-6);
    ferry_close(m);
}

TEST(a_cancelled_call_says_so)
{
    struct ferry_cancel cancel = {0};
    struct ferry_translate_options o = FERRY_TRANSLATE_OPTIONS;
    struct ferry *m = open_toy();

    o.cancel = &cancel;
    ferry_cancel(&cancel);
    check_refused(m, &o, FERRY_CANCELLED, "cancelled");
    ferry_close(m);
}

/* ---- stress ---- */

enum { THREADS = 16, ROUNDS = 4 };

struct stress {
    struct ferry *shared;
    const struct ferry_result *want;
    size_t number;
    struct ferry_cancel *cancel; /* of the neighbour, who may be lost by it */
    struct ferry_cancel own;
};

static const char *const lines[] = {"the ferry crosses the river", "we wait", "Fähre",
                                    "ein Kind wartet am anderen Ufer. we wait."};
enum { N_LINES = sizeof lines / sizeof *lines };

static void *work(void *arg)
{
    struct stress *s = arg;
    struct ferry_error e;

    for (size_t round = 0; round < ROUNDS; round++) {
        struct ferry_translate_options o = FERRY_TRANSLATE_OPTIONS;
        struct ferry *m = s->shared, *own = NULL;
        struct ferry_result *r;
        if ((s->number + round) % 4 == 0) {
            CHECK(ferry_open(&own, toy, NULL, &e) == FERRY_OK);
            m = own;
        }
        if (s->number % 2)
            o.cancel = &s->own;
        const int result = ferry_translate_many(m, lines, N_LINES, &o, &r, &e);
        CHECK(result == FERRY_OK || (s->number % 2 && result == FERRY_CANCELLED));
        for (size_t i = 0; i < N_LINES && result == FERRY_OK; i++)
            CHECK_STR(ferry_result_text(r, i, 0), ferry_result_text(s->want, i, 0));
        if (round == 1)
            ferry_cancel(s->cancel);
        ferry_result_free(r);
        ferry_close(own);
    }
    return NULL;
}

TEST(threads_open_translate_cancel_and_close_at_the_same_time)
{
    struct stress s[THREADS];
    pthread_t thread[THREADS];
    struct ferry_result *want;
    struct ferry *m;

    const size_t before = count_threads();
    m = open_toy();
    CHECK(ferry_translate_many(m, lines, N_LINES, NULL, &want, &error) == FERRY_OK);
    for (size_t i = 0; i < THREADS; i++)
        s[i] = (struct stress){
            .shared = m, .want = want, .number = i, .cancel = &s[(i + 1) % THREADS].own};
    for (size_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, work, &s[i]) == 0);
    for (size_t i = 0; i < THREADS; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    ferry_close(m);
    ferry_result_free(want); /* results outlive their model */
    CHECK(count_threads() == before);
}

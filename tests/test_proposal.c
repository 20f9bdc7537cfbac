/* The configuration that fits a corpus: it can be read back, and it follows its size. */
#include "base/file.h"
#include "test.h"
#include "train/run/proposal.h"

static struct proposal propose(uint64_t n_pairs, uint64_t length)
{
    const struct proposal_corpus corpus = {.n_pairs = n_pairs,
                                           .n_source = n_pairs * length,
                                           .n_target = n_pairs * length,
                                           .longest = 8 * length,
                                           .n_valid = 1000,
                                           .n_valid_tokens = 2000 * length,
                                           .n_pieces = 3000,
                                           .source_lang = "de",
                                           .target_lang = "en"};
    struct err err = {0};
    struct proposal p;

    CHECK_OK(proposal_make(&p, corpus, &err), &err);
    return p;
}

TEST(a_written_proposal_reads_back_to_the_same_configuration)
{
    const struct proposal p = propose(166000, 11);
    struct train_config back;
    struct str was = str_new(0), is = str_new(0);
    struct err err = {0};

    CHECK_OK(proposal_write(&p, test_path("proposal.yaml"), &err), &err);
    CHECK_OK(train_config_defaults(&back, &err), &err);
    CHECK_OK(opt_file(train_config_table, &back, test_path("proposal.yaml"),
                      OPT_REFUSE_UNKNOWN, &err),
             &err);
    opt_dump(train_config_table, &p.config, &was);
    opt_dump(train_config_table, &back, &is);
    CHECK(strcmp(str_text(&was), str_text(&is)) == 0);
    str_release(&was);
    str_release(&is);
}

TEST(every_size_of_corpus_gets_a_configuration_that_training_takes)
{
    double parameters = 0;

    for (uint64_t n = 1; n < 20000000; n *= 3)
        for (uint64_t length = 1; length <= 81; length *= 9) {
            struct proposal p = propose(n, length);
            struct train_config *c = &p.config;
            struct err err = {0};
            snprintf(c->data, sizeof c->data, "data");
            snprintf(c->run, sizeof c->run, "run");
            CHECK_OK(train_config_check(c, &err), &err);
            CHECK(c->max_steps >= 200 && c->patience > 0);
            CHECK(c->schedule.warmup_steps > 0 &&
                  c->schedule.warmup_steps <= c->max_steps / 4);
            CHECK(c->eval_every > 0 && c->max_steps / c->eval_every >= 10);
            CHECK(c->log_every <= c->eval_every && p.n_parameters >= parameters);
            parameters = p.n_parameters;
        }
}

TEST(the_expected_time_follows_from_the_rate)
{
    struct proposal p = propose(166000, 11);
    char buf[PROPOSAL_TIME];

    CHECK(p.seconds == 0);
    proposal_time(&p, 10000);
    CHECK(p.seconds > p.n_tokens / 10000 && p.seconds < 1.1 * p.n_tokens / 10000);
    CHECK_NEAR(p.n_tokens, (double)p.epochs * 2 * 166000 * 13, 0.02);
    CHECK(strcmp(proposal_say_time(buf, 50), "50 seconds") == 0);
    CHECK(strcmp(proposal_say_time(buf, 39 * 60), "39 minutes") == 0);
    CHECK(strcmp(proposal_say_time(buf, 7.5 * 3600), "7.5 hours") == 0);
    CHECK(strcmp(proposal_say_time(buf, 12 * 86400), "12 days") == 0);
}

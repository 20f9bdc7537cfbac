/* Trainings on several data directories, and those that are refused; how pairs are mixed
 * is in test_mix.c, resuming in test_resume.c, ranks in test_ranks.c. */
#include "test.h"
#include "toy_run.h"

TEST(corpora_and_mixes_that_do_not_fit_are_refused)
{
    struct err err = {0};
    char also[300], none[300], same[400];

    toy_data();
    toy_data_as("bt", 2000, "data/vocab.model");
    snprintf(also, sizeof also, "also_data=%s", test_path("bt"));
    snprintf(none, sizeof none, "also_data=%s", test_path("nowhere"));
    snprintf(same, sizeof same, "also_data=%s/", test_path("data"));
    toy_train("run", TOY("max_steps=2", also)); /* without a mix both are whole */
    CHECK_FAILS(toy_try("run", TOY("max_steps=4"), &err), &err, ERR_USAGE,
                "120 pairs, not 240");
    CHECK_FAILS(toy_try("run", TOY("max_steps=4", also, "mix=bt:1"), &err), &err,
                ERR_USAGE, "mix = bt:1");
    toy_train("run", TOY("max_steps=4", also));
    CHECK_FAILS(toy_try("new", TOY("max_steps=1", also, "mix=bt:1,other:1"), &err), &err,
                ERR_USAGE, "no corpus is called 'other'");
    CHECK_FAILS(toy_try("new", TOY("max_steps=1", none), &err), &err, ERR_IO,
                "no such directory");
    CHECK_FAILS(toy_try("new", TOY("max_steps=1", same), &err), &err, ERR_USAGE,
                "are both called data");
    toy_data_as("bt", 2000, NULL); /* with a vocabulary of its own */
    CHECK_FAILS(toy_try("new", TOY("max_steps=1", also), &err), &err, ERR_USAGE,
                "is not that of");
    CHECK(!file_exists(test_path("new/config.yaml")));
}

#include "launch/retry.h"

#include "test.h"

static struct retry r;

static void begin(int64_t n_most)
{
    r = (struct retry){.n_most = n_most};
}

/* A rank of host b is killed at this step. */
static enum retry_answer killed(uint64_t step)
{
    return retry_judge(&r, &(struct retry_loss){.code = ERR_COMM,
                                                .host = "",
                                                .has_begun = true,
                                                .has_worked = true,
                                                .step = step});
}

/* Before the first update all agree that this is missing at `host`. */
static enum retry_answer refused(status code, const char *host, bool may_leave_out)
{
    return retry_judge(&r, &(struct retry_loss){.code = code,
                                                .host = host,
                                                .is_agreed = true,
                                                .has_begun = true,
                                                .may_leave_out = may_leave_out});
}

/* In the midst of training a rank of `host` fails by itself. */
static enum retry_answer failed(status code, const char *host, uint64_t step)
{
    return retry_judge(&r, &(struct retry_loss){.code = code,
                                                .host = host,
                                                .has_begun = true,
                                                .has_worked = true,
                                                .step = step});
}

TEST(losses_are_counted_until_a_start_gets_further)
{
    begin(2);
    CHECK(killed(10) == RETRY_AGAIN);
    CHECK(killed(10) == RETRY_AGAIN);
    CHECK(killed(11) == RETRY_AGAIN);
    CHECK(killed(5) == RETRY_AGAIN);
    CHECK(killed(0) == RETRY_ENOUGH);
}

TEST(what_was_wrong_before_the_first_update_of_all_is_not_tried_again)
{
    begin(5);
    CHECK(refused(ERR_IO, "b", true) == RETRY_NEVER);
    begin(5);
    CHECK(refused(ERR_USAGE, "", false) == RETRY_NEVER);
    begin(5);
    CHECK(retry_judge(&r, &(struct retry_loss){.code = ERR_COMM, .host = ""}) ==
          RETRY_NEVER);
}

TEST(a_disk_that_stays_full_ends_the_job_however_many_restarts_are_left)
{
    begin(1000000);
    CHECK(killed(100) == RETRY_AGAIN);
    CHECK(refused(ERR_IO, "b", false) == RETRY_AGAIN); /* it may come a little later */
    CHECK(retry_pause(&r, RETRY_AGAIN, 1) >= 10);
    CHECK(refused(ERR_IO, "b", false) == RETRY_NEVER);
    /* other hosts, one after the other: no cause of one alone */
    begin(1000000);
    CHECK(killed(100) == RETRY_AGAIN);
    CHECK(refused(ERR_IO, "b", false) == RETRY_AGAIN);
    CHECK(refused(ERR_IO, "c", false) == RETRY_AGAIN);
    CHECK(refused(ERR_IO, "c", false) == RETRY_NEVER);
}

TEST(a_host_that_fails_alone_is_left_out_if_the_others_suffice)
{
    begin(5);
    CHECK(killed(100) == RETRY_AGAIN);
    CHECK(refused(ERR_IO, "b", true) == RETRY_WITHOUT);
    CHECK(retry_pause(&r, RETRY_WITHOUT, 1) == 0);
    CHECK(killed(200) == RETRY_AGAIN);
    CHECK(refused(ERR_USAGE, "b", true) == RETRY_WITHOUT);
    CHECK(refused(ERR_USAGE, "", true) == RETRY_NEVER);
}

TEST(one_host_after_the_other_is_not_left_out_for_ever)
{
    int n = 0;

    begin(5);
    CHECK(killed(100) == RETRY_AGAIN);
    while (refused(ERR_IO, n % 2 ? "b" : "c", true) == RETRY_WITHOUT)
        n++;
    CHECK(n < 10);
}

TEST(no_memory_twice_in_the_same_place_ends_the_job)
{
    begin(5);
    CHECK(failed(ERR_MEMORY, "b", 100) == RETRY_AGAIN);
    CHECK(failed(ERR_MEMORY, "b", 100) == RETRY_NEVER);
    begin(5);
    CHECK(failed(ERR_MEMORY, "b", 100) == RETRY_AGAIN);
    CHECK(failed(ERR_MEMORY, "b", 130) == RETRY_AGAIN); /* it got further */
    CHECK(failed(ERR_MEMORY, "b", 150) == RETRY_NEVER);
    begin(5);
    CHECK(failed(ERR_DEVICE, "b", 100) == RETRY_AGAIN);
    CHECK(killed(90) == RETRY_AGAIN);
    CHECK(failed(ERR_DEVICE, "b", 90) == RETRY_AGAIN); /* not in a row */
}

TEST(damaged_data_and_a_diverged_run_end_the_job)
{
    begin(5);
    CHECK(failed(ERR_FORMAT, "b", 100) == RETRY_NEVER);
    begin(5);
    CHECK(failed(ERR_NUMERIC, "", 100) == RETRY_NEVER);
}

TEST(pauses_grow_to_half_a_minute)
{
    begin(100);
    CHECK(killed(100) == RETRY_AGAIN);
    CHECK(retry_pause(&r, RETRY_AGAIN, 600) == 0); /* it had worked for long */
    CHECK(retry_pause(&r, RETRY_AGAIN, 3) == 1);
    CHECK(killed(100) == RETRY_AGAIN);
    CHECK(retry_pause(&r, RETRY_AGAIN, 600) == 2);
    for (int i = 0; i < 20; i++)
        CHECK(killed(100) == RETRY_AGAIN);
    CHECK(retry_pause(&r, RETRY_AGAIN, 600) == 30);
}

TEST(weeks_of_progress_between_two_troubles_keep_them_apart)
{
    begin(5);
    for (uint64_t i = 1; i < 10; i++)
        CHECK(retry_judge(&r, &(struct retry_loss){.code = ERR_IO,
                                                   .host = "b",
                                                   .has_begun = true,
                                                   .has_worked = true,
                                                   .step = 10000 * i,
                                                   .t_lasted = 86400}) == RETRY_AGAIN);
}

TEST(a_host_is_not_left_out_beyond_the_last_restart)
{
    const struct retry_loss full = {.code = ERR_IO,
                                    .host = "b",
                                    .has_begun = true,
                                    .has_worked = true,
                                    .may_leave_out = true,
                                    .step = 100};

    begin(1);
    CHECK(retry_judge(&r, &full) == RETRY_AGAIN);
    CHECK(retry_judge(&r, &full) == RETRY_ENOUGH);
    begin(2);
    CHECK(retry_judge(&r, &full) == RETRY_AGAIN);
    CHECK(retry_judge(&r, &full) == RETRY_WITHOUT);
}

TEST(several_hosts_are_left_out_at_the_same_time)
{
    struct left_out l = {.n = 0};
    status code = OK;

    retry_leave_out(&l, "b", ERR_IO, 100);
    retry_leave_out(&l, "c", ERR_MEMORY, 110);
    CHECK(retry_is_left_out(&l, "b", 120, &code) && code == ERR_IO);
    CHECK(retry_is_left_out(&l, "c", 120, &code) && code == ERR_MEMORY);
    CHECK(!retry_is_left_out(&l, "a", 120, &code));
    CHECK(!retry_is_left_out(&l, "b", 1001, &code) &&
          retry_is_left_out(&l, "c", 1001, &code));
    retry_leave_out(&l, "b", ERR_IO, 1100);
    CHECK(retry_is_left_out(&l, "b", 1200, &code) && l.n == 2);
}

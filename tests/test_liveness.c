#include "dist/watch/liveness.h"

#include "dist/watch/phase.h"
#include "test.h"

/* A job on a clock of its own: `tick` lets a quarter of a second pass, with beats of the
 * ranks that speak every second. */
struct job {
    struct liveness w;
    double now;
    struct channel_beat say[4]; /* what each rank says; seq 0: it is silent */
    struct liveness_event seen[64];
    size_t n_seen;
};

static void job_open(struct job *j, size_t n_ranks)
{
    struct err err;

    *j = (struct job){.now = 1000};
    CHECK_OK(liveness_open(&j->w, n_ranks, liveness_limits_default, j->now, &err), &err);
    for (uint32_t r = 0; r < n_ranks; r++) {
        struct channel_join join = {.rank = r, .n_ranks = (uint32_t)n_ranks};
        snprintf(join.host, sizeof join.host, "n%u", r);
        liveness_joined(&j->w, &join, j->now);
        j->say[r] =
            (struct channel_beat){.seq = 1, .phase = PHASE_COMPUTE, .span_ms = 1000};
    }
}

static void judge(struct job *j)
{
    for (struct liveness_event e;
         (e = liveness_judge(&j->w, j->now)).verdict != LIVENESS_NOTHING;) {
        CHECK(j->n_seen < 64);
        j->seen[j->n_seen++] = e;
    }
}

static void run(struct job *j, double seconds)
{
    for (int quarter = 1; quarter <= (int)(seconds * 4 + 0.5); quarter++) {
        j->now += 0.25;
        for (uint32_t r = 0; quarter % 4 == 0 && r < j->w.n_ranks; r++) {
            if (!j->say[r].seq)
                continue;
            j->say[r].seq++;
            liveness_heard(&j->w, r, &j->say[r], j->now);
        }
        judge(j);
    }
}

/* All ranks make steps of one second, each waiting its share of the time. */
static void train(struct job *j, double seconds, const uint32_t waited[])
{
    for (int s = 0; s < (int)seconds; s++) {
        for (uint32_t r = 0; r < j->w.n_ranks; r++) {
            j->say[r].step++;
            j->say[r].waited_ms = waited[r];
        }
        run(j, 1);
    }
}

static size_t count(const struct job *j, enum liveness_verdict v)
{
    size_t n = 0;

    for (size_t i = 0; i < j->n_seen; i++)
        n += j->seen[i].verdict == v;
    return n;
}

TEST(ranks_that_beat_are_left_alone)
{
    const uint32_t waited[4] = {100, 200, 150, 50};
    struct job j;

    job_open(&j, 4);
    train(&j, 300, waited);
    CHECK(j.n_seen == 0);
    CHECK(liveness_step(&j.w) == 300);
    liveness_close(&j.w);
}

TEST(eight_seconds_of_silence_are_death_and_seven_are_not)
{
    struct job j;

    job_open(&j, 2);
    run(&j, 5);
    j.say[1].step = 17;
    j.say[0].phase = j.say[1].phase = PHASE_EXCHANGE;
    run(&j, 1);
    const uint64_t seq = j.say[1].seq;
    j.say[1].seq = 0;
    run(&j, 7);
    CHECK(j.n_seen == 0);
    j.say[1].seq = seq;
    run(&j, 2);
    CHECK(j.n_seen == 0);
    j.say[1].seq = 0;
    run(&j, 8);
    CHECK(j.n_seen == 0);
    run(&j, 0.5);
    CHECK(j.n_seen == 1 && j.seen[0].verdict == LIVENESS_DEAD && j.seen[0].rank == 1);
    char text[200];
    liveness_say(&j.w, j.seen[0], text, sizeof text);
    CHECK_STR(text,
              "rank 1 on n1 is dead: silent for 8.2 s, last at step 17 in exchange");
    run(&j, 20);
    CHECK(count(&j, LIVENESS_DEAD) == 1); /* said once */
    liveness_close(&j.w);
}

TEST(a_closed_connection_is_death_unless_the_rank_comes_back_soon)
{
    const struct channel_join again = {.rank = 0, .n_ranks = 2, .host = "n0"};
    struct job j;

    job_open(&j, 2);
    run(&j, 3);
    j.say[0].seq = 0;
    liveness_hung_up(&j.w, 0, j.now);
    run(&j, 1.5);
    CHECK(j.n_seen == 0);
    liveness_joined(&j.w, &again, j.now);
    j.say[0].seq = 1;
    run(&j, 10);
    CHECK(j.n_seen == 0);
    j.say[0].seq = 0;
    liveness_hung_up(&j.w, 0, j.now);
    run(&j, 2.5);
    CHECK(j.n_seen == 1 && j.seen[0].verdict == LIVENESS_DEAD && j.seen[0].rank == 0);
    liveness_close(&j.w);
}

TEST(a_rank_that_said_goodbye_may_be_silent)
{
    struct job j;

    job_open(&j, 2);
    status result;
    for (int r = 0; r < 2; r++) {
        CHECK(!liveness_agreed(&j.w, &result));
        j.say[r].is_last = true;
        run(&j, 1);
    }
    CHECK(liveness_agreed(&j.w, &result) && result == OK);
    j.say[0].seq = j.say[1].seq = 0;
    liveness_hung_up(&j.w, 0, j.now);
    run(&j, 60);
    CHECK(j.n_seen == 0);
    CHECK(j.w.n_done == j.w.n_ranks);
    j.say[1] = (struct channel_beat){.seq = 9, .is_last = true, .result = ERR_IO};
    run(&j, 1);
    CHECK(!liveness_agreed(&j.w, &result)); /* one finished, the other did not */
    liveness_close(&j.w);
}

TEST(a_rank_that_never_joins_is_missed_after_the_start)
{
    const struct channel_join first = {.rank = 0, .n_ranks = 2, .host = "n0"};
    const struct channel_beat b = {.seq = 1, .span_ms = 1000};
    struct liveness_event e = {0};
    struct liveness w;
    struct err err;

    CHECK_OK(liveness_open(&w, 2, liveness_limits_default, 0, &err), &err);
    liveness_joined(&w, &first, 1);
    for (double now = 1; now < 62 && e.verdict != LIVENESS_MISSING; now += 1) {
        liveness_heard(&w, 0, &b, now);
        e = liveness_judge(&w, now);
        CHECK(now > 60 || e.verdict == LIVENESS_NOTHING || e.verdict == LIVENESS_WAITING);
    }
    CHECK(e.verdict == LIVENESS_MISSING && e.rank == 1);
    char text[200];
    liveness_say(&w, e, text, sizeof text);
    CHECK_STR(text, "rank 1 did not report within 61 s of the start");
    CHECK(w.n_joined < w.n_ranks);
    liveness_close(&w);
}

TEST(a_watcher_that_slept_blames_nobody)
{
    struct job j;

    job_open(&j, 3);
    run(&j, 5);
    j.now += 30; /* stopped, then continued: the beats of that time come in at once */
    judge(&j);
    CHECK(j.n_seen == 0);
    run(&j, 5);
    CHECK(j.n_seen == 0);
    j.say[2].seq = 0;
    run(&j, 9);
    CHECK(count(&j, LIVENESS_DEAD) == 1);
    liveness_close(&j.w);
}

TEST(the_rank_that_others_wait_for_is_late_and_not_dead)
{
    const uint32_t even[4] = {100, 100, 100, 100}, one_slow[4] = {700, 700, 20, 700};
    struct job j;
    char text[256];

    job_open(&j, 4);
    train(&j, 30, even);
    CHECK(j.n_seen == 0);
    train(&j, 40, one_slow);
    CHECK(j.n_seen == 1 && j.seen[0].verdict == LIVENESS_LATE && j.seen[0].rank == 2);
    liveness_say(&j.w, j.seen[0], text, sizeof text);
    CHECK(strstr(text, "rank 2 on n2 is late") && strstr(text, "training goes on"));
    train(&j, 60, even);
    CHECK(j.n_seen == 2 && j.seen[1].verdict == LIVENESS_CAUGHT_UP);
    liveness_close(&j.w);
}

TEST(a_rank_stuck_in_its_work_is_named_with_the_phase)
{
    const uint32_t even[4] = {100, 100, 100, 100};
    struct job j;
    char text[256];

    job_open(&j, 2);
    train(&j, 30, even);
    j.say[0].phase = PHASE_SAVE;
    j.say[1].phase = PHASE_EXCHANGE;
    for (int s = 1; s <= 12; s++) {
        j.say[0].age_ms = j.say[1].age_ms = (uint32_t)s * 1000;
        j.say[1].waited_ms = 1000;
        run(&j, 1);
    }
    CHECK(j.n_seen == 1 && j.seen[0].verdict == LIVENESS_LATE && j.seen[0].rank == 0);
    liveness_say(&j.w, j.seen[0], text, sizeof text);
    CHECK(strstr(text, "in save for"));
    liveness_close(&j.w);
}

TEST(when_all_wait_the_network_is_suspected_once)
{
    struct job j;

    job_open(&j, 3);
    run(&j, 5);
    for (int r = 0; r < 3; r++)
        j.say[r].phase = PHASE_EXCHANGE;
    for (int s = 1; s <= 100; s++) {
        for (int r = 0; r < 3; r++) {
            j.say[r].age_ms = (uint32_t)s * 1000;
            j.say[r].waited_ms = 1000;
        }
        run(&j, 1);
    }
    CHECK(count(&j, LIVENESS_STALLED) == 1 && j.n_seen == 1);
    for (int r = 0; r < 3; r++)
        j.say[r] = (struct channel_beat){.seq = 500, .step = 1, .span_ms = 1000};
    run(&j, 2);
    CHECK(count(&j, LIVENESS_MOVING) == 1);
    liveness_close(&j.w);
}

TEST(ranks_that_did_not_say_goodbye_are_gone_a_silence_later)
{
    struct job j;

    job_open(&j, 2);
    run(&j, 4);
    CHECK_NEAR(liveness_gone_at(&j.w), j.now + 8, 1e-9);
    liveness_hung_up(&j.w, 0, j.now);
    liveness_hung_up(&j.w, 1, j.now);
    CHECK(liveness_gone_at(&j.w) == 0);
    liveness_close(&j.w);
}

TEST(patience_follows_the_number_of_ranks_and_how_many_share_a_core)
{
    const struct liveness_limits usual = liveness_limits_default;
    const struct liveness_limits few = liveness_limits_for(usual, 4, 2);
    const struct liveness_limits many = liveness_limits_for(usual, 300, 150);
    const struct liveness_limits wide = liveness_limits_for(usual, 1000, 1);

    CHECK(few.t_start < usual.t_start + 5);
    CHECK(few.t_silence == usual.t_silence && few.t_closed == usual.t_closed);
    CHECK(many.t_start > 300 && many.t_start < 500);
    CHECK(many.t_silence > 15 && many.t_silence < 30 && many.t_join > 10);
    CHECK(wide.t_start > 100 && wide.t_silence == usual.t_silence);
}

TEST(the_waiting_for_ranks_is_told_now_and_then_and_their_absence_once)
{
    struct liveness_event e;
    struct liveness w;
    struct err err;
    char text[200];
    size_t n_waiting = 0, n_missing = 0;

    CHECK_OK(liveness_open(&w, 300, liveness_limits_default, 0, &err), &err);
    for (uint32_t r = 0; r < 60; r++) {
        const struct channel_join join = {.rank = r, .n_ranks = 300, .host = "a"};
        liveness_joined(&w, &join, 44);
    }
    for (double now = 0; now < 64; now += 1) {
        for (uint32_t r = 0; r < 60; r++)
            liveness_heard(&w, r, &(struct channel_beat){.seq = 1}, now);
        while ((e = liveness_judge(&w, now)).verdict != LIVENESS_NOTHING) {
            liveness_say(&w, e, text, sizeof text);
            if (e.verdict == LIVENESS_WAITING && ++n_waiting == 3)
                CHECK_STR(text, "waiting for 240 of 300 ranks to report, 45 s of at most "
                                "60 s");
            if (e.verdict == LIVENESS_MISSING && ++n_missing)
                CHECK_STR(text, "240 of 300 ranks, rank 60 the first of them, did not "
                                "report within 61 s of the start");
        }
    }
    CHECK(n_waiting == 4 && n_missing == 1);
    liveness_close(&w);
}

/* Two ranks whose updates take 40 s, 30 of them in the exchange. */
static void slow_update(struct job *j)
{
    for (int r = 0; r < 2; r++)
        j->say[r].phase = PHASE_COMPUTE;
    run(j, 10);
    for (int r = 0; r < 2; r++)
        j->say[r].phase = PHASE_EXCHANGE;
    run(j, 30);
    j->say[0].step = ++j->say[1].step;
}

TEST(long_updates_make_the_watch_patient)
{
    struct job j;

    job_open(&j, 2);
    for (int i = 0; i < 5; i++)
        slow_update(&j);
    CHECK(j.w.t_update > 35 && j.w.t_update < 45);
    run(&j, 150); /* of waiting: not yet four updates */
    CHECK(count(&j, LIVENESS_STALLED) == 0);
    run(&j, 100);
    CHECK(count(&j, LIVENESS_STALLED) == 1);
    liveness_close(&j.w);
}

TEST(a_rank_that_fails_alone_is_named_if_the_job_does_not_end)
{
    struct job j;
    char text[200];

    job_open(&j, 2);
    run(&j, 3);
    j.say[1].is_last = true;
    j.say[1].result = ERR_MEMORY;
    j.say[1].step = 5;
    run(&j, 1);
    j.say[1].seq = 0;
    CHECK(liveness_failed(&j.w) == &j.w.rank[1]);
    run(&j, 7);
    CHECK(j.n_seen == 0);
    run(&j, 2);
    CHECK(j.n_seen == 1 && j.seen[0].verdict == LIVENESS_DEAD && j.seen[0].rank == 1);
    liveness_say(&j.w, j.seen[0], text, sizeof text);
    CHECK_STR(text, "rank 1 on n1 failed at step 5: out of memory");
    liveness_close(&j.w);
}

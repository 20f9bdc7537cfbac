/* Also run under the thread sanitizer: make test-tsan. */
#include "base/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "test.h"

enum { MOST = 8 };

static atomic_int n_yields;

/* Linked in place of the system's: counts the calls. */
int __wrap_sched_yield(void);
int __wrap_sched_yield(void)
{
    atomic_fetch_add(&n_yields, 1);
    return 0;
}

struct job {
    atomic_int calls[MOST];
    pthread_t thread[MOST];
    size_t n_parts[MOST];
    long plain[MOST]; /* not atomic: pool_run must order the writes */
};

static void record(void *ctx, size_t part, size_t n_parts)
{
    struct job *j = ctx;

    atomic_fetch_add(&j->calls[part], 1);
    j->thread[part] = pthread_self();
    j->n_parts[part] = n_parts;
    j->plain[part] += (long)part + 1;
}

TEST(every_part_runs_exactly_once)
{
    for (size_t n = 1; n <= MOST; n++) {
        struct pool *pool;
        struct err err = {0};
        struct job job = {0};
        CHECK_OK(pool_open(&pool, n, false, &err), &err);
        CHECK(pool_size(pool) == n);
        pool_run(pool, record, &job);
        for (size_t part = 0; part < MOST; part++) {
            CHECK(job.calls[part] == (part < n));
            CHECK(job.n_parts[part] == (part < n ? n : 0));
        }
        pool_close(pool);
    }
}

TEST(a_part_stays_on_its_thread_and_part_0_on_the_caller)
{
    struct pool *pool;
    struct err err = {0};
    struct job first = {0};

    CHECK_OK(pool_open(&pool, 4, true, &err), &err);
    pool_run(pool, record, &first);
    CHECK(pthread_equal(first.thread[0], pthread_self()));
    for (size_t a = 0; a < 4; a++)
        for (size_t b = 0; b < a; b++)
            CHECK(!pthread_equal(first.thread[a], first.thread[b]));
    for (int round = 0; round < 200; round++) {
        struct job job = {0};
        pool_run(pool, record, &job);
        for (size_t part = 0; part < 4; part++)
            CHECK(pthread_equal(job.thread[part], first.thread[part]));
    }
    pool_close(pool);
}

TEST(no_job_is_lost_whether_the_threads_spin_or_sleep)
{
    enum { ROUNDS = 3000 };
    struct pool *pool;
    struct err err = {0};
    struct job job = {0};

    CHECK_OK(pool_open(&pool, 3, false, &err), &err);
    for (int round = 1; round <= ROUNDS; round++) {
        pool_run(pool, record, &job);
        for (size_t part = 0; part < 3; part++)
            CHECK(job.plain[part] == round * ((long)part + 1));
        if (round % 100 == 0)
            usleep(2000); /* long enough for the workers to fall asleep */
    }
    pool_close(pool);
}

static void dawdle(void *ctx, size_t part, size_t n_parts)
{
    (void)n_parts;
    if (part == *(size_t *)ctx)
        usleep(20000);
}

/* Neither the caller nor a worker may ask the system again and again. */
TEST(whoever_waits_long_sleeps_without_calling_the_scheduler)
{
    struct pool *pool;
    struct err err = {0};

    CHECK_OK(pool_open(&pool, 3, false, &err), &err);
    n_yields = 0;
    for (size_t slow = 0; slow < 3; slow++)
        pool_run(pool, dawdle, &slow);
    pool_close(pool);
    CHECK(n_yields == 0);
}

TEST(pools_beside_each_other_do_not_mix)
{
    struct pool *a, *b;
    struct err err = {0};
    struct job ja = {0}, jb = {0};

    CHECK_OK(pool_open(&a, 2, false, &err), &err);
    CHECK_OK(pool_open(&b, 3, false, &err), &err);
    for (int i = 0; i < 100; i++) {
        pool_run(a, record, &ja);
        pool_run(b, record, &jb);
    }
    pool_close(a);
    pool_run(b, record, &jb);
    CHECK(ja.calls[0] == 100 && ja.calls[1] == 100 && ja.calls[2] == 0);
    CHECK(jb.calls[2] == 101);
    pool_close(b);
}

TEST(pools_open_and_close_without_any_work)
{
    for (int i = 0; i < 100; i++) {
        struct pool *pool;
        struct err err = {0};
        CHECK_OK(pool_open(&pool, 1 + (size_t)i % 4, false, &err), &err);
        pool_close(pool);
    }
    pool_close(NULL);
}

TEST(zero_threads_mean_one_for_each_core)
{
    struct pool *pool;
    struct err err = {0};

    CHECK(pool_cores() >= 1);
    CHECK_OK(pool_open(&pool, 0, false, &err), &err);
    CHECK(pool_size(pool) == pool_cores());
    pool_close(pool);
}

TEST(a_split_covers_all_items_once_and_evenly)
{
    static const size_t sizes[] = {0, 1, 2, 5, 7, 64, 1000, 12345};

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t n_parts = 1; n_parts <= 9; n_parts++) {
            size_t at = 0;
            for (size_t part = 0; part < n_parts; part++) {
                const struct pool_range r = pool_split(sizes[s], part, n_parts);
                CHECK(r.begin == at && r.end >= r.begin);
                CHECK(r.end - r.begin >= sizes[s] / n_parts);
                CHECK(r.end - r.begin <= sizes[s] / n_parts + 1);
                at = r.end;
            }
            CHECK(at == sizes[s]);
        }
}

enum { ITEMS = 1000 };

struct shared {
    struct pool_queue left;
    size_t least;
    int taken[ITEMS]; /* not atomic: nobody else may take the same */
    atomic_size_t n_takes;
};

static void take_all(void *ctx, size_t part, size_t n_parts)
{
    struct shared *s = ctx;
    struct pool_range r;

    (void)part;
    while (pool_take(&s->left, s->least, n_parts, &r)) {
        const size_t n = r.end - r.begin;
        for (size_t i = r.begin; i < r.end; i++)
            s->taken[i]++;
        atomic_fetch_add(&s->n_takes, 1);
        if (n < s->least)
            CHECK(r.end == s->left.n);
        CHECK(n <= s->least || n <= s->left.n / (2 * n_parts));
    }
}

TEST(every_item_is_taken_once_whoever_takes_it)
{
    for (size_t n = 1; n <= MOST; n++)
        for (size_t least = 1; least <= 7; least += 3) {
            struct pool *pool;
            struct err err = {0};
            struct shared s = {.left = {.n = ITEMS}, .least = least};
            CHECK_OK(pool_open(&pool, n, false, &err), &err);
            pool_run(pool, take_all, &s);
            for (size_t i = 0; i < ITEMS; i++)
                CHECK(s.taken[i] == 1);
            CHECK(s.n_takes > 2 * n); /* the last ones are small */
            pool_close(pool);
        }
}

TEST(nothing_is_taken_of_nothing)
{
    struct pool_queue none = {0};
    struct pool_range r;

    CHECK(!pool_take(&none, 1, 2, &r));
}

TEST(more_threads_than_could_ever_run_are_refused)
{
    char note[POOL_NOTE];
    struct pool *pool;
    struct err err = {0};

    CHECK_FAILS(pool_open(&pool, 16 * pool_cores() + 1, false, &err), &err, ERR_USAGE,
                "threads=0 takes one per core");
    CHECK(!pool);
    CHECK(!pool_crowded(note, 1, pool_cores()) && pool_crowded(note, 2, pool_cores()));
    CHECK(strstr(note, "more threads than cores: 2 ranks of "));
}

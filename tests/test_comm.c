#include <glob.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "dist/comm/comm.h"
#include "dist/exchange/exchange.h"
#include "sim/comm_sim.h"
#include "test.h"

TEST(a_rank_alone_talks_to_itself)
{
    struct comm c;
    struct err err = {0};
    double x[2] = {1.5, -2}, all[2] = {0};
    struct str text = str_new(0);

    CHECK_OK(comm_open(&c, (struct comm_options){.kind = "self"}, &err), &err);
    CHECK(c.rank == 0 && c.size == 1 && c.node == 0 && c.n_nodes == 1);
    CHECK(c.local_rank == 0 && c.local_size == 1 && c.peer[0].host[0]);
    CHECK_STR(c.backend, "self");
    CHECK_OK(comm_barrier(&c, &err), &err);
    CHECK_OK(comm_allreduce(&c, COMM_SUM, x, 2, &err), &err);
    CHECK_OK(comm_bcast(&c, x, sizeof x, 0, &err), &err);
    CHECK_OK(comm_allgather(&c, all, x, sizeof x, &err), &err);
    CHECK(all[0] == 1.5 && all[1] == -2);
    CHECK_OK(comm_gather(&c, &text, "ab", 2, &err), &err);
    CHECK_STR(str_text(&text), "ab");
    CHECK_OK(comm_agree(&c, OK, &err), &err);
    (void)err_set(&err, ERR_IO, "no such file");
    CHECK_FAILS(comm_agree(&c, ERR_IO, &err), &err, ERR_IO, "no such file");
    CHECK(!c.setting[0]);
    str_release(&text);
    CHECK(comm_leave(&c, 1));
    comm_close(&c);
}

TEST(tasks_of_srun_that_do_not_know_each_other_are_refused)
{
    struct comm c;
    struct err err = {0};

    setenv("SLURM_STEP_NUM_TASKS", "4", 1);
    CHECK_FAILS(comm_open(&c, (struct comm_options){.kind = "auto"}, &err), &err,
                ERR_USAGE, "4 tasks");
    CHECK_OK(comm_open(&c, (struct comm_options){.kind = "self"}, &err), &err);
    comm_close(&c);
    unsetenv("SLURM_STEP_NUM_TASKS");
    CHECK_OK(comm_open(&c, (struct comm_options){.kind = "auto"}, &err), &err);
    CHECK_STR(c.backend, "self");
    comm_close(&c);
}

TEST(a_broken_network_leaves_no_shared_memory_behind)
{
    struct comm c;
    struct exchange x;
    struct err err = {0};
    char pattern[64];
    glob_t left;

    setenv("FERRY_MPI_MODULE", MPI_BROKEN, 1);
    CHECK_OK(comm_open(&c, (struct comm_options){.kind = "mpi"}, &err), &err);
    CHECK(c.size == 2 && c.local_size == 2);
    CHECK_FAILS(exchange_open(&x, &c, (struct exchange_options){.n_max = 1000}, &err),
                &err, ERR_COMM, "the network is gone");
    snprintf(pattern, sizeof pattern, "/dev/shm/ferry-%ld-*", (long)getpid());
    CHECK(glob(pattern, 0, NULL, &left) == GLOB_NOMATCH);
    comm_close(&c);
    unsetenv("FERRY_MPI_MODULE");
}

TEST(leaving_ends_in_time_when_mpi_does_not)
{
    static struct comm c; /* its thread stays */
    struct err err = {0};

    setenv("FERRY_MPI_MODULE", MPI_BROKEN, 1);
    CHECK_OK(comm_open(&c, (struct comm_options){.kind = "mpi"}, &err), &err);
    CHECK_STR(c.library, "broken MPI");
    CHECK(!comm_leave(&c, 0.05));
    unsetenv("FERRY_MPI_MODULE");
}

static status failing(struct comm *c, void *ctx, struct err *err)
{
    (void)c;
    ++*(int *)ctx;
    return err_set(err, ERR_COMM, "rank 1 on host b is gone");
}

TEST(after_a_failure_no_job_runs_and_all_return_it)
{
    struct comm c;
    struct err err = {0};
    int n_runs = 0;
    struct comm_job job = {.run = failing, .ctx = &n_runs};

    CHECK_OK(comm_open(&c, (struct comm_options){.kind = "self"}, &err), &err);
    comm_submit(&c, &job);
    CHECK_FAILS(comm_wait(&c, &job, &err), &err, ERR_COMM, "host b is gone");
    comm_submit(&c, &job);
    CHECK_FAILS(comm_wait(&c, &job, &err), &err, ERR_COMM, "host b is gone");
    CHECK(n_runs == 1);
    CHECK_FAILS(comm_barrier(&c, &err), &err, ERR_COMM, "host b is gone");
    comm_close(&c);
}

/* ------------------------------------------------------------ many ranks */

enum { RANKS = 5, BIG = 3 << 20 };
static const int three_nodes[] = {2, 1, 2};

struct seen {
    struct err err[RANKS];
    double sum[RANKS], most[RANKS], least[RANKS];
    double all[RANKS][RANKS];
    bool big_ok[RANKS];
    char text[64];
    char told[RANKS][1024];
    uint64_t root_sent;
};

/* Large enough to go out in shares, from a root that leads no node. */
static status pass_big(struct comm *c, struct seen *s, struct err *err)
{
    unsigned char *big = calloc(1, BIG);

    for (size_t i = 0; c->rank == 4 && i < BIG; i++)
        big[i] = (unsigned char)(i * 7 + i / 1000);
    const struct comm_traffic before = comm_traffic(c);
    const status result = comm_bcast(c, big, BIG, 4, err);
    if (c->rank == 4)
        s->root_sent = comm_traffic(c).sent_bytes - before.sent_bytes;
    s->big_ok[c->rank] = true;
    for (size_t i = 0; i < BIG; i++)
        s->big_ok[c->rank] &= big[i] == (unsigned char)(i * 7 + i / 1000);
    free(big);
    return result;
}

static status talk(struct comm *c, struct seen *s, struct err *err)
{
    const int me = c->rank;
    const double mine = me + 0.1;
    char text[8];
    struct str all = str_new(0);

    s->sum[me] = s->most[me] = s->least[me] = mine;
    TRY(comm_allreduce(c, COMM_SUM, &s->sum[me], 1, err));
    TRY(comm_allreduce(c, COMM_MAX, &s->most[me], 1, err));
    TRY(comm_allreduce(c, COMM_MIN, &s->least[me], 1, err));
    TRY(comm_allgather(c, s->all[me], &mine, sizeof mine, err));
    TRY(pass_big(c, s, err));
    const int n = snprintf(text, sizeof text, "%.*s", me, "abcdef");
    TRY(comm_gather(c, &all, text, (size_t)n, err));
    if (me == 0)
        snprintf(s->text, sizeof s->text, "%s", str_text(&all));
    str_release(&all);
    TRY(comm_barrier(c, err));
    TRY(comm_agree(c, OK, err));
    struct err why = {0};
    const status attempt =
        me == 2 || me == 3 ? err_set(&why, ERR_IO, "disk %d is full", me) : OK;
    if (comm_agree(c, attempt, &why) == ERR_IO)
        snprintf(s->told[me], sizeof s->told[me], "%s", why.msg);
    return OK;
}

static void talking_rank(struct comm *c, void *ctx)
{
    struct seen *s = ctx;

    s->err[c->rank].code = talk(c, s, &s->err[c->rank]);
}

TEST(many_ranks_agree_on_everything)
{
    struct err err = {0};

    for (uint64_t seed = 0; seed < 8; seed++) {
        const struct comm_sim_options o = {
            .ranks = three_nodes, .n_nodes = 3, .seed = seed, .is_parallel = seed >= 4};
        struct seen s = {0};
        CHECK_OK(comm_sim_run(&o, talking_rank, &s, &err), &err);
        for (int r = 0; r < RANKS; r++) {
            CHECK_OK(s.err[r].code, &s.err[r]);
            CHECK_NEAR(s.sum[r], 10.5, 1e-12);
            CHECK(s.sum[r] == s.sum[0] && s.most[r] == 4.1 && s.least[r] == 0.1);
            for (int q = 0; q < RANKS; q++)
                CHECK(s.all[r][q] == q + 0.1);
            CHECK(s.big_ok[r]);
            CHECK_STR(s.told[r], "rank 2 on host sim1: disk 2 is full");
        }
        CHECK_STR(s.text, "aababcabcd");
        CHECK(s.root_sent < 2 * (uint64_t)BIG); /* not once for each other rank */
    }
}

static void place_rank(struct comm *c, void *ctx)
{
    int *place = ctx;

    place[c->rank] =
        1000 * c->node + 100 * c->local_rank + 10 * c->local_size + c->n_nodes;
}

TEST(ranks_know_their_node_and_their_place_in_it)
{
    const struct comm_sim_options o = {.ranks = three_nodes, .n_nodes = 3};
    struct err err = {0};
    int place[RANKS] = {0};

    CHECK_OK(comm_sim_run(&o, place_rank, place, &err), &err);
    CHECK(place[0] == 23 && place[1] == 123 && place[2] == 1013);
    CHECK(place[3] == 2023 && place[4] == 2123);
}

static void dying_rank(struct comm *c, void *ctx)
{
    struct err *err = ctx;
    double x = 1;

    for (int i = 0; i < 50 && err[c->rank].code == OK; i++)
        err[c->rank].code = comm_allreduce(c, COMM_SUM, &x, 1, &err[c->rank]);
}

TEST(when_a_rank_dies_every_other_learns_that_somebody_is_gone)
{
    struct err err = {0};

    for (int victim = 0; victim < RANKS; victim++)
        for (uint64_t seed = 0; seed < 6; seed++) {
            const struct comm_sim_options o = {.ranks = three_nodes,
                                               .n_nodes = 3,
                                               .seed = seed,
                                               .is_parallel = seed >= 3,
                                               .fault = {COMM_SIM_DIE, victim, 20}};
            struct err seen[RANKS] = {{0}};
            CHECK_OK(comm_sim_run(&o, dying_rank, seen, &err), &err);
            for (int r = 0; r < RANKS; r++) {
                CHECK(seen[r].code == ERR_COMM);
                CHECK(r == victim || strstr(seen[r].msg, "is gone"));
            }
        }
}

/* ------------------------------------------------------------ cost */

enum { MOST_RANKS = 64, N_FACTS = 15, N_LARGE = (1 << 20) + 12345 };

struct cost {
    struct comm_traffic reduce[MOST_RANKS], bcast[MOST_RANKS], gather[MOST_RANKS],
        large[MOST_RANKS];
    double sum[MOST_RANKS];
    bool is_large_ok[MOST_RANKS];
    size_t n_gathered;
    struct err err[MOST_RANKS];
};

static struct comm_traffic since(const struct comm *c, struct comm_traffic *before)
{
    const struct comm_traffic now = comm_traffic(c), then = *before;

    *before = now;
    return (struct comm_traffic){.sent_bytes = now.sent_bytes - then.sent_bytes,
                                 .received_bytes =
                                     now.received_bytes - then.received_bytes,
                                 .n_sent = now.n_sent - then.n_sent,
                                 .n_received = now.n_received - then.n_received};
}

static unsigned char large_byte(size_t i)
{
    return (unsigned char)(i * 31 + i / 997);
}

/* From a rank in the middle, so that the ring of nodes begins there. */
static status count_large(struct comm *c, struct cost *x, struct err *err)
{
    const int root = c->size / 2;
    struct comm_traffic before = comm_traffic(c);
    unsigned char *data = calloc(1, N_LARGE);

    for (size_t i = 0; c->rank == root && i < N_LARGE; i++)
        data[i] = large_byte(i);
    const status result = comm_bcast(c, data, N_LARGE, root, err);
    x->large[c->rank] = since(c, &before);
    x->is_large_ok[c->rank] = true;
    for (size_t i = 0; i < N_LARGE; i++)
        x->is_large_ok[c->rank] &= data[i] == large_byte(i);
    free(data);
    return result;
}

static status count_costs(struct comm *c, struct cost *x, struct err *err)
{
    struct comm_traffic before = comm_traffic(c);
    double facts[N_FACTS];
    struct str all = str_new(0);

    for (size_t i = 0; i < N_FACTS; i++)
        facts[i] = 1 / (1.0 + c->rank);
    TRY(comm_allreduce(c, COMM_SUM, facts, N_FACTS, err));
    x->sum[c->rank] = facts[N_FACTS - 1];
    x->reduce[c->rank] = since(c, &before);
    TRY(comm_bcast(c, facts, sizeof facts, c->size - 1, err));
    x->bcast[c->rank] = since(c, &before);
    TRY(comm_gather(c, &all, facts, (size_t)c->rank % 9, err));
    x->gather[c->rank] = since(c, &before);
    if (c->rank == 0)
        x->n_gathered = all.len;
    str_release(&all);
    return count_large(c, x, err);
}

static void costing_rank(struct comm *c, void *ctx)
{
    struct cost *x = ctx;

    x->err[c->rank].code = count_costs(c, x, &x->err[c->rank]);
}

static bool is_within(struct comm_traffic t, uint64_t n_messages, uint64_t n_bytes)
{
    return t.n_sent <= n_messages && t.n_received <= n_messages &&
           t.sent_bytes <= n_messages * n_bytes &&
           t.received_bytes <= n_messages * n_bytes;
}

TEST(no_rank_has_more_messages_than_the_logarithm_of_their_number)
{
    static const int sizes[] = {2, 3, 4, 7, 8, 16, 31, 32, 33, 64};
    int ranks[MOST_RANKS];
    struct err err = {0};
    struct cost x;

    for (int r = 0; r < MOST_RANKS; r++)
        ranks[r] = 1;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct comm_sim_options o = {
            .ranks = ranks, .n_nodes = sizes[i], .seed = i, .is_parallel = i % 2};
        uint64_t log2_size = 0;
        size_t n_gathered = 0;
        while (1 << log2_size < sizes[i])
            log2_size++;
        memset(&x, 0, sizeof x);
        CHECK_OK(comm_sim_run(&o, costing_rank, &x, &err), &err);
        for (int r = 0; r < sizes[i]; r++) {
            CHECK_OK(x.err[r].code, &x.err[r]);
            CHECK(x.sum[r] == x.sum[0]);
            CHECK(is_within(x.reduce[r], log2_size, N_FACTS * sizeof(double)));
            CHECK(is_within(x.bcast[r], log2_size, N_FACTS * sizeof(double)));
            CHECK(x.gather[r].n_received <= 2 * log2_size && x.gather[r].n_sent <= 2);
            CHECK(x.is_large_ok[r]);
            CHECK(x.large[r].n_sent <= 2 * log2_size &&
                  x.large[r].n_received <= 2 * log2_size);
            CHECK(x.large[r].sent_bytes <= 2 * N_LARGE &&
                  x.large[r].received_bytes <= 2 * N_LARGE);
            n_gathered += (size_t)r % 9;
        }
        CHECK(x.n_gathered == n_gathered);
    }
}

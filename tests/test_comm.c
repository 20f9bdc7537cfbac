#include "base/str.h"
#include "dist/comm.h"
#include "test.h"

TEST(a_rank_alone_talks_to_itself)
{
    struct comm c;
    struct err err = {0};
    double x[2] = {1.5, -2}, all[2] = {0};
    struct str text = str_new(0);
    size_t n_each[1];
    bool any = false;

    CHECK_OK(comm_open(&c, (struct comm_options){.kind = "self"}, &err), &err);
    CHECK(c.rank == 0 && c.size == 1 && c.node == 0 && c.n_nodes == 1);
    CHECK(c.local_rank == 0 && c.local_size == 1 && c.peer[0].host[0]);
    CHECK_STR(c.backend, "self");
    CHECK_OK(comm_barrier(&c, &err), &err);
    CHECK_OK(comm_sum(&c, x, 2, &err), &err);
    CHECK_OK(comm_bcast(&c, x, sizeof x, 0, &err), &err);
    CHECK_OK(comm_allgather(&c, all, x, sizeof x, &err), &err);
    CHECK(all[0] == 1.5 && all[1] == -2);
    CHECK_OK(comm_collect(&c, &text, n_each, "ab", 2, 0, &err), &err);
    CHECK_STR(str_text(&text), "ab");
    CHECK(n_each[0] == 2);
    CHECK_OK(comm_any(&c, true, &any, &err), &err);
    CHECK(any);
    CHECK_OK(comm_agree(&c, OK, &err), &err);
    err_set(&err, ERR_IO, "no such file");
    CHECK_FAILS(comm_agree(&c, ERR_IO, &err), &err, ERR_IO, "no such file");
    CHECK(!comm_setting(&c, 0));
    CHECK(comm_health(&c).phase == COMM_IDLE && comm_health(&c).n_done > 0);
    str_release(&text);
    comm_close(&c);
    comm_close(&c);
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
    struct comm_job job = {.run = failing, .ctx = &n_runs, .phase = COMM_REDUCE};

    CHECK_OK(comm_open(&c, (struct comm_options){.kind = "self"}, &err), &err);
    comm_submit(&c, &job);
    CHECK_FAILS(comm_wait(&c, &job, &err), &err, ERR_COMM, "host b is gone");
    comm_submit(&c, &job);
    CHECK_FAILS(comm_wait(&c, &job, &err), &err, ERR_COMM, "host b is gone");
    CHECK(n_runs == 1);
    CHECK_FAILS(comm_barrier(&c, &err), &err, ERR_COMM, "host b is gone");
    comm_close(&c);
}

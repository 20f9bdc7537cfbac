/*
 * Ranks of a host divide its cores without overlap. The linker puts a function of this
 * file in front of sched_getaffinity (cmake/tests.cmake): a machine of 1,030 cores.
 */
#include <errno.h>
#include <sched.h>

#include "base/pool.h"
#include "dist/comm/comm.h"
#include "sim/comm_sim.h"
#include "test.h"
#include "train/run/peers.h"

enum { MANY = 1030 };

static bool is_large;
static _Thread_local bool is_refused;

int __real_sched_getaffinity(pid_t pid, size_t n_bytes, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t n_bytes, cpu_set_t *set);

int __wrap_sched_getaffinity(pid_t pid, size_t n_bytes, cpu_set_t *set)
{
    if (!is_large)
        return __real_sched_getaffinity(pid, n_bytes, set);
    errno = EINVAL;
    if (is_refused || n_bytes * 8 < MANY)
        return -1;
    memset(set, 0, n_bytes);
    for (size_t core = 0; core < MANY; core++)
        CPU_SET_S(core, n_bytes, set);
    return 0;
}

TEST(parts_do_not_overlap_and_use_every_core)
{
    for (size_t cores = 1; cores <= 9; cores++)
        for (size_t n = 1; n <= cores; n++) {
            size_t next = 0;
            for (size_t i = 0; i < n; i++) {
                const struct pool_range p = affinity_part(cores, i, n, 0);
                CHECK(p.begin == next && p.end > next);
                next = p.end;
            }
            CHECK(next == cores);
        }
}

TEST(ranks_with_a_number_of_threads_stand_side_by_side)
{
    for (size_t i = 0; i < 3; i++) {
        const struct pool_range p = affinity_part(8, i, 3, 2);
        CHECK(p.begin == 2 * i && p.end == 2 * i + 2);
    }
}

TEST(more_ranks_than_cores_have_one_each)
{
    for (size_t i = 0; i < 5; i++) {
        const struct pool_range p = affinity_part(2, i, 5, 0);
        CHECK(p.end == p.begin + 1 && p.begin < 2);
    }
}

TEST(a_rank_alone_has_all_cores_or_what_it_asks_for)
{
    struct comm c;
    struct affinity p;
    struct err err = {0};

    CHECK_OK(comm_open(&c, (struct comm_options){.kind = "self"}, &err), &err);
    CHECK_OK(affinity_choose(&p, &c, 0, false, &err), &err);
    CHECK(p.threads == pool_cores() && !p.is_crowded);
    CHECK_OK(affinity_choose(&p, &c, pool_cores() + 1, false, &err), &err);
    CHECK(p.threads == pool_cores() + 1 && p.is_crowded);
    comm_close(&c);
}

struct job {
    bool refuses[2];
    struct affinity place[2];
    struct err err[2];
};

static void choose(struct comm *c, void *ctx)
{
    struct job *j = ctx;

    is_refused = j->refuses[c->rank];
    CHECK_OK(affinity_choose(&j->place[c->rank], c, 0, false, &j->err[c->rank]),
             &j->err[c->rank]);
}

static void choose_on_a_large_machine(struct job *j)
{
    static const int nodes[] = {2};
    const struct comm_sim_options o = {.ranks = nodes, .n_nodes = 1};
    struct err err = {0};

    is_large = true;
    CHECK_OK(comm_sim_run(&o, choose, j, &err), &err);
    is_large = false;
}

TEST(ranks_share_more_than_1024_cores)
{
    struct job j = {0};

    choose_on_a_large_machine(&j);
    CHECK(j.place[0].threads == MANY / 2 && j.place[1].threads == MANY / 2);
}

TEST(a_rank_that_does_not_know_its_cores_does_not_leave_the_others_waiting)
{
    struct job j = {.refuses = {false, true}};

    choose_on_a_large_machine(&j);
    CHECK(j.place[0].threads == MANY && j.place[1].threads == 1);
}

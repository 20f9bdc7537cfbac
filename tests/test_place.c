/* Ranks of a host divide its cores without overlap. */
#include "base/pool.h"
#include "dist/comm.h"
#include "test.h"
#include "train/place.h"

TEST(parts_do_not_overlap_and_use_every_core)
{
    for (size_t cores = 1; cores <= 9; cores++)
        for (size_t n = 1; n <= cores; n++) {
            size_t next = 0;
            for (size_t i = 0; i < n; i++) {
                const struct place_part p = place_part(cores, i, n, 0);
                CHECK(p.first == next && p.n >= 1);
                next += p.n;
            }
            CHECK(next == cores);
        }
}

TEST(ranks_with_a_number_of_threads_stand_side_by_side)
{
    for (size_t i = 0; i < 3; i++) {
        const struct place_part p = place_part(8, i, 3, 2);
        CHECK(p.first == 2 * i && p.n == 2);
    }
}

TEST(more_ranks_than_cores_have_one_each)
{
    for (size_t i = 0; i < 5; i++) {
        const struct place_part p = place_part(2, i, 5, 0);
        CHECK(p.n == 1 && p.first < 2);
    }
}

TEST(a_rank_alone_has_all_cores_or_what_it_asks_for)
{
    struct comm c;
    struct place p;
    struct err err = {0};

    CHECK_OK(comm_open(&c, (struct comm_options){.kind = "self"}, &err), &err);
    CHECK_OK(place_choose(&p, &c, 0, false, &err), &err);
    CHECK(p.threads == pool_cores() && !p.is_crowded);
    CHECK_OK(place_choose(&p, &c, pool_cores() + 1, false, &err), &err);
    CHECK(p.threads == pool_cores() + 1 && p.is_crowded);
    comm_close(&c);
}

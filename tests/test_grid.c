#include <math.h>
#include <stdlib.h>

#include "recipe/grid.h"
#include "test.h"

enum { N_MOST = 70 };

/* Every shard has one owner and, in every row, one collector, who owns it if it is of its
 * own row; what a node collects lies side by side. */
static void check_grid(size_t n, size_t n_rows)
{
    struct err err = {0};
    struct grid g;

    CHECK_OK(grid_open(&g, n, n_rows, &err), &err);
    for (size_t node = 0; node < n; node++) {
        const size_t row = grid_row_of(&g, node), shard = g.shard[node];
        const struct grid_range nodes = grid_row(&g, row), r = grid_collected(&g, node);
        CHECK(nodes.begin <= node && node < nodes.end);
        CHECK(g.owner[shard] == node && grid_collector(&g, row, shard) == node);
        CHECK(r.begin <= shard && shard < r.end);
        /* no node has more to do than others of its row */
        CHECK(r.end - r.begin <= n / (nodes.end - nodes.begin) + 1);
        if (n % n_rows == 0)
            CHECK(r.end - r.begin == n_rows);
        for (size_t i = 0; i < n; i++)
            CHECK((grid_collector(&g, row, i) == node) == (r.begin <= i && i < r.end));
    }
    grid_close(&g);
}

TEST(every_shard_is_collected_once_in_every_row)
{
    for (size_t n = 1; n < N_MOST; n++)
        for (size_t n_rows = 1; n_rows <= n; n_rows++)
            check_grid(n, n_rows);
    for (size_t n = N_MOST; n < 400; n++)
        check_grid(n, grid_square(n));
}

/* grid_open ends the program if a shard finds no owner. */
TEST(every_shard_finds_an_owner_on_up_to_a_thousand_nodes)
{
    struct err err = {0};
    struct grid g;

    for (size_t n = 1; n <= 1024; n++) {
        CHECK_OK(grid_open(&g, n, grid_square(n), &err), &err);
        grid_close(&g);
    }
}

TEST(in_one_row_every_node_collects_its_own_shard)
{
    struct err err = {0};
    struct grid g;

    CHECK_OK(grid_open(&g, 7, 1, &err), &err);
    for (size_t node = 0; node < 7; node++)
        CHECK(g.shard[node] == node && grid_collected(&g, node).end == node + 1);
    grid_close(&g);
}

TEST(rows_are_chosen_when_messages_cost_more_than_bytes)
{
    const struct grid_link lan = {.latency = 50e-6, .message = 10e-6, .rate = 1e9};
    const struct grid_link far = {.latency = 10e-3, .message = 10e-6, .rate = 1e9};
    const double bucket = 13e6;

    CHECK(grid_choose(GRID_NODES - 1, 1, lan) == 1);
    CHECK(grid_choose(GRID_NODES, 1, lan) == 4);
    CHECK(grid_choose(32, bucket, lan) == 1); /* the bytes take much longer */
    CHECK(grid_choose(1000, bucket, lan) == 32);
    CHECK(grid_choose(1000, bucket, far) == 1); /* a leg more costs more than messages */
    CHECK_NEAR(grid_seconds(1000, 1, bucket, lan),
               2 * (999 * 10e-6 + 50e-6 + 0.999 * 13e-3), 1e-9);
    CHECK_NEAR(grid_seconds(1000, 32, bucket, lan),
               2 * ((31 + 31) * 10e-6 + 2 * 50e-6 + 0.999 * 13e-3), 1e-9);
}

TEST(a_tree_grows_with_the_logarithm)
{
    const struct grid_link l = {.latency = 50e-6, .message = 10e-6, .rate = 1e9};

    CHECK(grid_tree_seconds(1, 100, l) == 0);
    CHECK_NEAR(grid_tree_seconds(1024, 1000, l), 20 * 61e-6, 1e-9);
}

/* What the ranks would measure on a network that is as the model says; bytes as preflight
 * sends them. */
TEST(a_link_is_found_from_the_times_that_it_takes)
{
    static const size_t nodes[] = {4, 16, 64, 256, 1000};
    const struct grid_link link = {50e-6, 20e-6, 1.1e9};

    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        const size_t n = nodes[i];
        struct grid_times t = {.small_bytes = 4096.0 * (double)n,
                               .large_bytes = fmax(0x1p20, 8 * 4096.0 * (double)n)};
        t.tree = grid_tree_seconds(n, 8, link);
        t.small = 1.01 * grid_seconds(n, 1, t.small_bytes, link);
        t.large = grid_seconds(n, 1, t.large_bytes, link);
        const struct grid_link found = grid_solve(n, t);
        CHECK_NEAR(found.latency, link.latency, 0.03 * link.latency);
        CHECK_NEAR(found.message, link.message, 0.05 * link.message);
        CHECK_NEAR(found.rate, link.rate, 0.05 * link.rate);
        CHECK(grid_choose(n, 13e6, found) == grid_choose(n, 13e6, link));
    }
    CHECK(grid_choose(1000, 13e6, link) > 1);
}

TEST(times_that_contradict_each_other_give_a_link_all_the_same)
{
    const struct grid_link l =
        grid_solve(16, (struct grid_times){1e-3, 2e-3, 1e-3, 65536, 1 << 20});

    CHECK(l.rate > 0 && l.latency >= 0 && l.message >= 0);
}

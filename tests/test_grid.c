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

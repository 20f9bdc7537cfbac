#include "plan/rounds.h"

#include <stdlib.h>

#include "recipe/wire.h"
#include "test.h"

static struct err err;

enum { NODES_MAX = 64, RANKS_MAX = 256 };

struct lab {
    int per_node[NODES_MAX];
    struct rounds x;
    double t[RANKS_MAX];
};

/* n nodes of k ranks; sums and the bus inside cost nothing unless a test sets them. */
static void open_lab(struct lab *l, enum rounds_kind kind, size_t n, int k)
{
    *l = (struct lab){0};
    for (size_t i = 0; i < n; i++)
        l->per_node[i] = k;
    l->x = (struct rounds){.kind = kind,
                           .per_node = l->per_node,
                           .n_nodes = n,
                           .rate = 100e6,
                           .latency = 50e-6,
                           .message = 10e-6,
                           .inside_rate = 1e300,
                           .sum_rate = 1e300};
    CHECK_OK(rounds_open(&l->x, &err), &err);
}

/* The time until the last rank holds the sum. */
static double run(struct lab *l, double wire_bytes, double fp32_bytes)
{
    double last = 0;

    rounds_run(&l->x, (struct rounds_load){wire_bytes, fp32_bytes}, l->t);
    for (size_t r = 0; r < l->x.n_ranks; r++)
        last = fmax(last, l->t[r]);
    return last;
}

/* T = 2(p-1) a + 2(p-1)/p S/W + (p-1)/p S/g */
TEST(a_flat_ring_takes_what_its_formula_says)
{
    for (size_t n = 2; n <= 33; n++) {
        struct lab l;
        const double p = (double)n, S = 40e6;
        open_lab(&l, ROUNDS_FLAT, n, 1);
        l.x.sum_rate = 3e9;
        CHECK_NEAR(run(&l, S, S),
                   2 * (p - 1) * 50e-6 + 2 * (p - 1) / p * S / 100e6 +
                       (p - 1) / p * S / 3e9,
                   1e-12);
        rounds_close(&l.x);
    }
}

/* The link between nodes sets the pace of a ring that passes through them; its bytes are
 * those of the ring over all ranks. */
TEST(a_flat_ring_through_shared_nodes_carries_the_bytes_of_all_ranks)
{
    struct lab l;
    const double S = 243.5e6;

    open_lab(&l, ROUNDS_FLAT, 2, 2);
    const double t = run(&l, S, S);
    CHECK_NEAR(t, 6 * 50e-6 + 1.5 * S / 100e6, 1e-4);
    CHECK_NEAR(l.x.card_bytes, 1.5 * S, 1e-12);
    rounds_close(&l.x);
}

/* T = 2 ((n-1)(o + S/(nW)) + a) + (n-1)/n S/g between nodes, and inside the node ring
 * reduce-scatter, sum and all-gather. */
TEST(node_first_takes_what_its_formula_says)
{
    for (size_t n = 1; n <= 32; n *= 2)
        for (int k = 1; k <= 8; k *= 2) {
            struct lab l;
            const double S = 40e6, w = S / 2, N = (double)n, K = k;
            open_lab(&l, ROUNDS_NODE, n, k);
            l.x.inside_rate = 10e9;
            l.x.inside_latency = 5e-6;
            l.x.sum_rate = 3e9;
            const double inside = (K - 1) * 5e-6 + (K - 1) / K * S / 10e9;
            const double across =
                n > 1 ? 2 * ((N - 1) * (10e-6 + w / N / 100e6) + 50e-6) : 0;
            CHECK_NEAR(run(&l, w, S),
                       2 * inside + (K - 1) / K * S / 3e9 + across +
                           (N - 1) / N * S / 3e9,
                       1e-12);
            CHECK_NEAR(l.x.card_bytes, 2 * (N - 1) / N * w, 1e-12);
            CHECK_NEAR(l.x.card_bytes,
                       wire_step_bytes((size_t)(S / 4), WIRE_BF16, n, false), 1e-6);
            rounds_close(&l.x);
        }
}

TEST(two_trees_move_each_byte_up_and_down_once)
{
    struct lab l;

    open_lab(&l, ROUNDS_TREE, 2, 1);
    CHECK_NEAR(run(&l, 20e6, 40e6), 2 * (50e-6 + 10e6 / 100e6), 1e-12);
    rounds_close(&l.x);
    open_lab(&l, ROUNDS_TREE, 64, 1);
    const double t = run(&l, 20e6, 40e6), body = 2 * 63.0 / 64 * 20e6 / 100e6;
    CHECK(t > body && t < 1.1 * body);
    CHECK_NEAR(l.x.card_bytes, 2 * 63.0 / 64 * 20e6, 1e-12);
    rounds_close(&l.x);
}

/* Chunks that cost nothing make the pipeline as long as its bytes. */
TEST(a_tree_without_latency_is_as_fast_as_its_bytes)
{
    struct lab l;

    open_lab(&l, ROUNDS_TREE, 64, 1);
    l.x.latency = 0;
    CHECK_NEAR(run(&l, 20e6, 40e6), 2 * 63.0 / 64 * 0.2, 1e-5);
    rounds_close(&l.x);
}

TEST(a_single_rank_waits_for_nobody)
{
    for (int kind = ROUNDS_FLAT; kind <= ROUNDS_TREE; kind++) {
        struct lab l;
        open_lab(&l, (enum rounds_kind)kind, 1, 1);
        l.t[0] = 3;
        CHECK(run(&l, 1e9, 1e9) == 3);
        CHECK(l.x.card_bytes == 0);
        rounds_close(&l.x);
    }
}

/* Whoever comes late, nobody holds the sum before the last rank was ready, and a late
 * rank costs no more than its lateness. */
TEST(a_late_rank_delays_all_and_by_no_more_than_its_lateness)
{
    for (int kind = ROUNDS_FLAT; kind <= ROUNDS_TREE; kind++)
        for (size_t late = 0; late < 12; late++) {
            struct lab l;
            open_lab(&l, (enum rounds_kind)kind, 6, 2);
            const double on_time = run(&l, 1e6, 1e6);
            for (size_t r = 0; r < 12; r++)
                l.t[r] = r == late ? 0.7 : 0;
            const double t = run(&l, 1e6, 1e6);
            CHECK(t <= on_time + 0.7 + 1e-12);
            for (size_t r = 0; r < 12; r++)
                CHECK(l.t[r] > 0.7);
            rounds_close(&l.x);
        }
}

/* The rounds of a ring, one by one. */
static void plain_ring(const struct lab *l, double *t, double across, double inside)
{
    const size_t p = l->x.n_ranks;
    double before[RANKS_MAX];

    for (size_t round = 0; round + 1 < p; round++) {
        memcpy(before, t, sizeof before);
        for (size_t r = 0; r < p; r++) {
            const double from = before[(r + p - 1) % p];
            const double cost = r % (size_t)l->per_node[0] == 0 ? across : inside;
            t[r] = fmax(before[r], from) + cost;
        }
    }
}

TEST(the_solved_ring_is_the_played_ring)
{
    srand(7);
    for (int trial = 0; trial < 50; trial++) {
        struct lab l;
        const int k = 1 + rand() % 4;
        const size_t n = 2 + (size_t)(rand() % 20);
        double want[RANKS_MAX] = {0};
        open_lab(&l, ROUNDS_FLAT, n, k);
        l.x.inside_rate = 1e9;
        for (size_t r = 0; r < l.x.n_ranks; r++)
            want[r] = l.t[r] = trial % 3 ? rand() % 1000 * 1e-3 : 0;
        const double chunk = 8e6 / (double)l.x.n_ranks;
        for (int phase = 0; phase < 2; phase++)
            plain_ring(&l, want, 50e-6 + chunk / 100e6, chunk / 1e9);
        (void)run(&l, 8e6, 0);
        for (size_t r = 0; r < l.x.n_ranks; r++)
            CHECK_NEAR(l.t[r], want[r], 1e-9);
        rounds_close(&l.x);
    }
}

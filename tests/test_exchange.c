/*
 * Many ranks in one process: sums, bits, bytes and faults of one bucket. The linker puts
 * a function of this file in front of crc32c (cmake/tests.cmake) to count.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "dist/exchange/codec.h"
#include "dist/exchange/exchange.h"
#include "format/crc32c.h"
#include "layouts.h"
#include "recipe/buckets.h"
#include "recipe/grid.h"

static atomic_int n_checksums;

uint32_t __real_crc32c(uint32_t crc, const void *data, size_t n);
uint32_t __wrap_crc32c(uint32_t crc, const void *data, size_t n);

uint32_t __wrap_crc32c(uint32_t crc, const void *data, size_t n)
{
    atomic_fetch_add(&n_checksums, 1);
    return __real_crc32c(crc, data, n);
}

/* ------------------------------------------------------------ one bucket */

struct one {
    size_t n, n_rows;
    enum wire w;
    bool is_checked;
    float *g[MAX_RANKS]; /* in: nothing; out: the sum */
    struct err err[MAX_RANKS];
    struct comm_traffic traffic[MAX_RANKS];
    int node[MAX_RANKS];
};

struct one_job {
    struct exchange *x;
    const struct one *o;
    float *g;
};

static status sum_job(struct comm *c, void *ctx, struct err *err)
{
    const struct one_job *j = ctx;

    (void)c;
    return exchange_allreduce(j->x, j->g, j->o->n, j->o->w, NULL, err);
}

static void one_rank(struct comm *c, void *ctx)
{
    struct one *o = ctx;
    struct err *err = &o->err[c->rank];
    struct exchange x;

    gradient(o->g[c->rank], o->n, c->rank, 0);
    if (exchange_open(&x, c,
                      (struct exchange_options){.n_max = o->n,
                                                .widest = o->w,
                                                .is_checked = o->is_checked,
                                                .n_rows = o->n_rows},
                      err) != OK)
        return;
    const struct comm_traffic before = comm_traffic(c);
    struct one_job j = {&x, o, o->g[c->rank]};
    struct comm_job job = {.run = sum_job, .ctx = &j};
    comm_submit(c, &job);
    err->code = comm_wait(c, &job, err);
    const struct comm_traffic after = comm_traffic(c);
    o->node[c->rank] = c->node;
    o->traffic[c->rank] = (struct comm_traffic){
        .sent_bytes = after.sent_bytes - before.sent_bytes,
        .received_bytes = after.received_bytes - before.received_bytes,
        .n_sent = after.n_sent - before.n_sent,
        .n_received = after.n_received - before.n_received};
    exchange_close(&x);
}

static void one_open(struct one *o, const struct layout *l, size_t n, enum wire w)
{
    *o = (struct one){.n = n, .w = w};
    for (int r = 0; r < size_of(l); r++)
        o->g[r] = calloc(n + 1, sizeof(float));
}

static void one_close(struct one *o)
{
    for (int r = 0; r < MAX_RANKS; r++)
        free(o->g[r]);
}

/* Two roundings of terms and of their sum, or three. */
static double tolerance(enum wire w, int n_nodes, size_t n_rows)
{
    static const double step[N_WIRES] = {2e-7, 1.0 / 256, 1.0 / 2048, 0};

    if (n_nodes == 1)
        return 5e-7;
    return w == WIRE_INT8 ? 0.1 : (n_rows > 1 ? 3 : 2) * step[w];
}

static void check_sum(const struct one *o, const struct layout *l, const char *what)
{
    const int R = size_of(l);
    double *sum = calloc(o->n, sizeof *sum), *size = calloc(o->n, sizeof *size);
    float *g = calloc(o->n, sizeof *g);

    for (int r = 0; r < R; r++) {
        gradient(g, o->n, r, 0);
        for (size_t i = 0; i < o->n; i++) {
            sum[i] += (double)g[i];
            size[i] += o->w == WIRE_INT8 && l->n_nodes > 1 ? 1 : fabs((double)g[i]);
        }
    }
    for (size_t i = 0; i < o->n; i++)
        if (!(fabs((double)o->g[0][i] - sum[i]) <=
              tolerance(o->w, l->n_nodes, o->n_rows) * size[i] + 1e-12))
            test_fail(__FILE__, __LINE__, "%s: element %zu is %g, want %g", what, i,
                      (double)o->g[0][i], sum[i]);
    for (int r = 1; r < R; r++)
        if (memcmp(o->g[0], o->g[r], o->n * sizeof(float)) != 0)
            test_fail(__FILE__, __LINE__, "%s: rank %d differs from rank 0", what, r);
    free(sum);
    free(size);
    free(g);
}

TEST(a_checksum_is_computed_only_when_checks_are_on)
{
    const struct layout *two_nodes = &layouts[3];
    struct comm_sim_options options = sim(two_nodes, test_seed());
    struct err err = {0};

    for (int is_checked = 0; is_checked < 2; is_checked++) {
        struct one o;
        one_open(&o, two_nodes, 5000, WIRE_FP32);
        o.is_checked = is_checked;
        atomic_store(&n_checksums, 0);
        CHECK_OK(comm_sim_run(&options, one_rank, &o, &err), &err);
        CHECK_OK(o.err[0].code, &o.err[0]);
        /* on each node: one made and one compared, on the way there and back */
        CHECK(atomic_load(&n_checksums) == (is_checked ? 8 : 0));
        one_close(&o);
    }
}

TEST(every_rank_gets_the_sum_in_every_wire_and_layout)
{
    static const size_t sizes[] = {1, 127, 1025, 3000, 20001};
    struct err err = {0};
    struct one o;
    char what[80];

    for (size_t k = 0; k < N_LAYOUTS; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int w = 0; w < N_WIRES; w++) {
                const struct comm_sim_options options = sim(&layouts[k], k + s);
                snprintf(what, sizeof what, "layout %zu, %zu elements, %s", k, sizes[s],
                         wire_name((enum wire)w));
                one_open(&o, &layouts[k], sizes[s], (enum wire)w);
                o.is_checked = s % 2 == 1;
                CHECK_OK(comm_sim_run(&options, one_rank, &o, &err), &err);
                for (int r = 0; r < size_of(&layouts[k]); r++)
                    CHECK_OK(o.err[r].code, &o.err[r]);
                check_sum(&o, &layouts[k], what);
                one_close(&o);
            }
}

TEST(the_bits_do_not_depend_on_who_goes_first)
{
    const struct layout *l = &layouts[9];
    struct err err = {0};
    struct one first, o;

    for (int w = 0; w < N_WIRES; w++) {
        for (uint64_t seed = 0; seed < 10; seed++) {
            struct comm_sim_options options = sim(l, seed);
            options.is_parallel = seed >= 5;
            one_open(seed ? &o : &first, l, 5000, (enum wire)w);
            CHECK_OK(comm_sim_run(&options, one_rank, seed ? &o : &first, &err), &err);
            if (!seed)
                continue;
            CHECK(memcmp(first.g[0], o.g[0], 5000 * sizeof(float)) == 0);
            check_sum(&o, l, "another order");
            one_close(&o);
        }
        one_close(&first);
    }
}

/* Bytes and messages of every node are those that the model states. */
static void check_traffic(const struct one *o, const struct layout *l)
{
    const struct bucket bucket = {0, o->n};
    const struct buckets b = {.list = (struct bucket *)&bucket, .n_list = 1};
    struct err err = {0};
    struct grid g;

    CHECK_OK(grid_open(&g, (size_t)l->n_nodes, o->n_rows ? o->n_rows : 1, &err), &err);
    for (int node = 0; node < l->n_nodes; node++) {
        const struct wire_traffic want = wire_step(&b, o->w, &g, (size_t)node, false);
        struct wire_traffic t = {0};
        for (int r = 0; r < size_of(l); r++)
            if (o->node[r] == node) {
                t.sent_bytes += (double)o->traffic[r].sent_bytes;
                t.received_bytes += (double)o->traffic[r].received_bytes;
                t.n_sent += (double)o->traffic[r].n_sent;
                t.n_received += (double)o->traffic[r].n_received;
            }
        CHECK(t.sent_bytes == want.sent_bytes && t.received_bytes == want.received_bytes);
        CHECK(t.n_sent == want.n_sent && t.n_received == want.n_received);
    }
    grid_close(&g);
}

TEST(a_node_sends_what_the_byte_model_says)
{
    struct err err = {0};
    struct one o;

    for (size_t k = 0; k < N_LAYOUTS; k++)
        for (int w = 0; w < N_WIRES; w++) {
            const struct comm_sim_options options = sim(&layouts[k], 1);
            one_open(&o, &layouts[k], 20001, (enum wire)w);
            CHECK_OK(comm_sim_run(&options, one_rank, &o, &err), &err);
            check_traffic(&o, &layouts[k]);
            one_close(&o);
        }
}

/* Primes, squares and everything between; with two ranks on some nodes. */
TEST(nodes_in_rows_get_the_sum_whatever_their_number)
{
    struct err err = {0};
    struct one o;
    char what[80];

    for (int n = 2; n <= MAX_NODES; n++)
        for (int i = 0; i < 3; i++) {
            const size_t rows[] = {grid_square((size_t)n), 2, (size_t)n};
            if (i > 0 && n % 9 != 2)
                continue;
            const enum wire w = (enum wire)((n + i) % N_WIRES);
            struct layout l = {.n_nodes = n};
            for (int node = 0; node < n; node++)
                l.ranks[node] = i == 0 && node % 5 == 1 ? 2 : 1;
            struct comm_sim_options options = sim(&l, (uint64_t)(n + i));
            options.is_parallel = n % 4 == 0;
            snprintf(what, sizeof what, "%d nodes, %zu rows, %s", n, rows[i],
                     wire_name(w));
            one_open(&o, &l, i == 1 ? 3000 : (size_t)n * 1024 + 17, w);
            o.n_rows = rows[i];
            CHECK_OK(comm_sim_run(&options, one_rank, &o, &err), &err);
            for (int r = 0; r < size_of(&l); r++)
                CHECK_OK(o.err[r].code, &o.err[r]);
            check_sum(&o, &l, what);
            check_traffic(&o, &l);
            one_close(&o);
        }
}

/* The most that any node sends in an exchange whose shards are not empty. */
static double most_messages(int n, size_t n_rows)
{
    const struct bucket bucket = {0, 70 * 1024};
    const struct buckets b = {.list = (struct bucket *)&bucket, .n_list = 1};
    struct err err = {0};
    struct grid g;
    double most = 0;

    CHECK_OK(grid_open(&g, (size_t)n, n_rows, &err), &err);
    for (size_t node = 0; node < (size_t)n; node++)
        most = fmax(most, wire_step(&b, WIRE_FP32, &g, node, false).n_sent);
    grid_close(&g);
    return most;
}

TEST(in_rows_messages_grow_with_the_root_of_the_number_of_nodes)
{
    for (int n = 2; n <= 64; n++) {
        CHECK(most_messages(n, 1) == 2 * (n - 1));
        CHECK(most_messages(n, grid_square((size_t)n)) <= 4 * sqrt(n) + 2);
    }
}

/* ------------------------------------------------------------ faults */

TEST(a_flipped_bit_is_found_and_its_sender_named)
{
    struct err err = {0};
    struct one o;

    for (int w = 0; w < N_WIRES; w++) {
        struct comm_sim_options options = sim(&layouts[8], 3);
        options.fault = (struct comm_sim_fault){COMM_SIM_FLIP, 1, 0};
        one_open(&o, &layouts[8], 20001, (enum wire)w);
        o.is_checked = true;
        CHECK_OK(comm_sim_run(&options, one_rank, &o, &err), &err);
        int n_found = 0;
        for (int r = 0; r < 3; r++)
            n_found += o.err[r].code == ERR_COMM &&
                       strstr(o.err[r].msg, "from rank 1 on host sim1 arrived damaged");
        CHECK(n_found == 1);
        for (int r = 0; r < 3; r++)
            CHECK(o.err[r].code == ERR_COMM); /* nobody goes on with half a sum */
        one_close(&o);
    }
}

TEST(a_nan_on_the_wire_reaches_all_ranks_alike)
{
    struct err err = {0};
    struct one o;

    for (int w = 0; w < N_WIRES; w++) {
        struct comm_sim_options options = sim(&layouts[8], 3);
        size_t n_bad = 0;
        options.fault = (struct comm_sim_fault){COMM_SIM_NAN, 1, 0};
        one_open(&o, &layouts[8], 20001, (enum wire)w);
        CHECK_OK(comm_sim_run(&options, one_rank, &o, &err), &err);
        for (size_t i = 0; i < o.n; i++)
            n_bad += isfinite(o.g[0][i]) ? 0 : 1;
        CHECK(n_bad > 0 || w == WIRE_FP16 || w == WIRE_INT8); /* there just wrong */
        for (int r = 1; r < 3; r++)
            CHECK(memcmp(o.g[0], o.g[r], o.n * sizeof(float)) == 0);
        one_close(&o);
    }
}

/* Exchanges of messages of the first rank while the ranks get to know each other: from
 * each of its neighbours in the tree, and to all of them. */
static int n_swaps_of_start(int n_ranks)
{
    int n = 1;

    for (int step = 1; step < n_ranks; step *= 2)
        n++;
    return n;
}

TEST(a_rank_that_dies_ends_the_exchange_everywhere)
{
    struct err err = {0};
    struct one o;

    for (size_t k = 3; k < N_LAYOUTS; k++)
        for (int at = 0; at < 2; at++) {
            struct comm_sim_options options = sim(&layouts[k], (uint64_t)at);
            options.fault = (struct comm_sim_fault){
                COMM_SIM_DIE, 0, n_swaps_of_start(size_of(&layouts[k])) + at};
            options.is_parallel = at == 1;
            one_open(&o, &layouts[k], 20001, WIRE_BF16);
            CHECK_OK(comm_sim_run(&options, one_rank, &o, &err), &err);
            for (int r = 0; r < size_of(&layouts[k]); r++)
                CHECK(o.err[r].code == ERR_COMM);
            one_close(&o);
        }
}

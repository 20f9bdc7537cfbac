#include "recipe/buckets.h"
#include "recipe/grid.h"
#include "recipe/model_config.h"
#include "recipe/params.h"
#include "recipe/wire.h"
#include "test.h"

static const struct model_config base = {.vocab_size = 32768,
                                         .d_model = 512,
                                         .d_ff = 2048,
                                         .heads = 8,
                                         .encoder_layers = 6,
                                         .decoder_layers = 6};

TEST(buckets_cover_the_array_from_its_end_to_its_front)
{
    static const size_t limits[] = {1, 1000, 100000, 6250000, 1000000000};
    struct params p;
    struct buckets b;
    struct err err = {0};
    struct model_config small = base;

    small.vocab_size = 300;
    small.d_model = 16;
    small.d_ff = 40;
    CHECK_OK(params_open(&p, &small, &err), &err);
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
        size_t end = p.n_flat;
        CHECK_OK(buckets_open(&b, &p, limits[k], &err), &err);
        for (size_t i = 0; i < b.n_list; i++) {
            CHECK(b.list[i].first + b.list[i].n == end);
            CHECK(b.list[i].n > 0 && b.list[i].n <= limits[k] && b.list[i].n <= b.n_max);
            end = b.list[i].first;
        }
        CHECK(end == 0);
        buckets_close(&b);
    }
    params_close(&p);
}

TEST(buckets_of_base_end_where_layers_end)
{
    struct params p;
    struct buckets b;
    struct err err = {0};

    CHECK_OK(params_open(&p, &base, &err), &err);
    CHECK_OK(buckets_open(&b, &p, (25 << 20) / 4, &err), &err);
    const size_t embed = (size_t)base.vocab_size * (size_t)base.d_model;
    size_t i = 0;
    for (; b.list[i].first >= embed; i++) {
        bool starts_layer = false;
        for (size_t t = 0; t < p.n_list; t++)
            starts_layer |= p.list[t].at == b.list[i].first &&
                            (t == 0 || p.list[t - 1].layer != p.list[t].layer ||
                             p.list[t - 1].block != p.list[t].block);
        CHECK(starts_layer);
    }
    CHECK(i == 9);            /* six of the decoder, three of the encoder */
    CHECK(b.n_list - i == 3); /* 67 MB of embedding */
    CHECK(b.list[i].first + b.list[i].n == embed);
    buckets_close(&b);
    params_close(&p);
}

TEST(parts_of_a_bucket_are_whole_and_aligned)
{
    static const size_t sizes[] = {0, 1, 1023, 1024, 1025, 5000, 123457};

    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (size_t n_parts = 1; n_parts < 8; n_parts++) {
            size_t end = 0;
            for (size_t i = 0; i < n_parts; i++) {
                const struct wire_part p = wire_part(sizes[k], i, n_parts);
                CHECK(p.n == 0 || (p.first == end && p.first % WIRE_ALIGN == 0));
                end += p.n;
            }
            CHECK(end == sizes[k]);
        }
}

/* The table of docs/distributed.md, in MB a step of base. */
TEST(each_mode_states_its_bytes)
{
    const size_t n = 60880896;
    static const double two[N_WIRES] = {243.5, 121.8, 122.0, 62.8};

    for (int w = 0; w < N_WIRES; w++)
        CHECK_NEAR(wire_step_bytes(n, (enum wire)w, 2, false) / 1e6, two[w], 1e-3);
    CHECK_NEAR(wire_step_bytes(n, WIRE_BF16, 4, false) / 1e6, 182.6, 1e-3);
    CHECK_NEAR(wire_step_bytes(n, WIRE_FP32, 2, true) / 1e6, 243.5, 1e-3);
    CHECK_NEAR(wire_step_bytes(n, WIRE_BF16, 2, true) / 1e6, 182.6, 1e-3);
    CHECK(wire_step_bytes(n, WIRE_BF16, 1, false) == 0);
}

TEST(bytes_of_buckets_are_those_of_the_whole_but_for_the_cuts)
{
    struct params p;
    struct buckets b;
    struct err err = {0};

    CHECK_OK(params_open(&p, &base, &err), &err);
    CHECK_OK(buckets_open(&b, &p, (25 << 20) / 4, &err), &err);
    for (int w = 0; w < N_WIRES; w++)
        for (size_t n_nodes = 1; n_nodes < 6; n_nodes++)
            for (int sharded = 0; sharded < 2; sharded++) {
                const double mean =
                    wire_step_bytes(p.n_flat, (enum wire)w, n_nodes, sharded);
                double sent = 0, received = 0;
                struct grid g;
                CHECK_OK(grid_open(&g, n_nodes, 1, &err), &err);
                for (size_t node = 0; node < n_nodes; node++) {
                    const struct wire_traffic t =
                        wire_step(&b, (enum wire)w, &g, node, sharded);
                    CHECK_NEAR(t.sent_bytes, mean, 2e-3);
                    CHECK_NEAR(t.received_bytes, mean, 2e-3);
                    sent += t.sent_bytes;
                    received += t.received_bytes;
                }
                CHECK(sent == received);
                grid_close(&g);
            }
    buckets_close(&b);
    params_close(&p);
}

TEST(wires_have_names)
{
    for (int w = 0; w < N_WIRES; w++)
        CHECK((int)wire_find(wire_name((enum wire)w)) == w);
    CHECK(wire_find("fp8") == N_WIRES);
}

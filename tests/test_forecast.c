#include "plan/forecast.h"

#include "base/clock.h"
#include "plan/plan.h"
#include "plan/sweep.h"
#include "plan/workload.h"
#include "test.h"

static struct err err;

/* Transformer-base as in configs/base.yaml. */
static struct forecast_training base(void)
{
    struct forecast_training t = {
        .batch = {.pairs = 1024}, .max_length = 56, .max_steps = 300000};

    CHECK_OK(model_config_defaults(&t.model, &err), &err);
    t.model.vocab_size = 32768;
    return t;
}

/* Options as typed: name, value, ..., NULL. */
static struct forecast_options options(const char *const *word)
{
    struct plan_options o;

    CHECK_OK(opt_defaults(plan_options_table, &o, &err), &err);
    for (; *word; word += 2)
        CHECK_OK(opt_set(plan_options_table, &o, word[0], word[1], &err), &err);
    return o.forecast;
}

#define OPTIONS(...) options((const char *const[]){__VA_ARGS__, NULL})

static struct forecast_step predict(struct forecast_options o)
{
    const struct forecast_training t = base();
    struct forecast_step s;
    struct forecast f;

    CHECK_OK(forecast_open(&f, &t, &o, &err), &err);
    CHECK_OK(forecast_step(&s, &f, &f.variant, &err), &err);
    forecast_close(&f);
    return s;
}

static double seconds(struct forecast_options o)
{
    return predict(o).sim.seconds;
}

TEST(two_views_of_every_pair_are_twice_the_work)
{
    const struct forecast_options o =
        OPTIONS("nodes", "1", "per_node", "1", "device", "V100");
    struct forecast_training t = base();
    struct forecast_step s[2];

    for (int i = 0; i < 2; i++) {
        struct forecast f;
        t.views = i + 1;
        CHECK_OK(forecast_open(&f, &t, &o, &err), &err);
        CHECK_OK(forecast_step(&s[i], &f, &f.variant, &err), &err);
        forecast_close(&f);
    }
    CHECK_NEAR(s[1].operations / s[0].operations, 2, 1e-12);
    CHECK(s[1].sim.seconds > 1.8 * s[0].sim.seconds && s[1].tokens == s[0].tokens);
}

/* Rows of measured runs: what the cards showed (sent, KiB/s), seconds a step. */
static const struct run {
    const char *name, *nodes, *per_node, *device, *network, *batch, *precision;
    double seconds;
} runs[] = {
    {"A", "2", "2", "P100", "195125KiB/s", "128", "fp32", 1.9},
    {"B", "2", "2", "V100", "440000KiB/s", "128", "fp32", 0.818},
    {"C", "2", "2", "V100", "186027KiB/s", "256", "mixed", 1.941},
    {"D", "4", "1", "T4", "288000KiB/s", "128", "fp32", 1.3},
    {"F", "2", "2", "V100", "200000KiB/s", "256", "mixed", 1.685},
    {"G", "2", "2", "V100", "433692KiB/s", "256", "mixed", 0.795},
    {"H", "2", "2", "V100", "209102KiB/s", "256", "mixed", 1.606},
    {"I", "2", "2", "V100", "236941KiB/s", "256", "mixed", 1.585},
    {"K", "2", "2", "P100", "186134KiB/s", "128", "fp32", 1.715},
};

TEST(the_references_way_takes_what_was_measured)
{
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        const struct run *r = &runs[i];
        const double s =
            seconds(OPTIONS("nodes", r->nodes, "per_node", r->per_node, "device",
                            r->device, "network", r->network, "batch", r->batch,
                            "precision", r->precision, "method", "reference"));
        if (!(fabs(s / r->seconds - 1) <= 0.15))
            test_fail(__FILE__, __LINE__, "run %s: %.3f s predicted, %.3f s measured",
                      r->name, s, r->seconds);
    }
}

/* Kept aside when constants were set: how 2 and 8 cards of one machine were published to
 * scale, and another shape of cluster, whose bytes and tokens follow from its ranks. */
TEST(runs_kept_aside_are_predicted_too)
{
    static const struct {
        const char *cards;
        double n, scaling;
    } published[] = {{"2", 2, 1.93}, {"8", 8, 7.00}};
    const double alone = seconds(OPTIONS("device", "V100", "batch", "256", "precision",
                                         "mixed", "method", "reference"));

    for (size_t i = 0; i < 2; i++) {
        const double s =
            seconds(OPTIONS("per_node", published[i].cards, "device", "V100", "batch",
                            "256", "precision", "mixed", "method", "reference"));
        const double scaling = published[i].n * alone / s;
        CHECK(fabs(scaling / published[i].scaling - 1) <= 0.15);
    }
    const struct forecast_step uneven = predict(
        OPTIONS("nodes", "2", "per_node", "1,2", "device", "V100", "network", "205MB/s",
                "batch", "256", "precision", "mixed", "method", "reference"));
    CHECK_NEAR(uneven.sim.seconds, 324.7e6 / 205e6, 0.05);
    CHECK_NEAR(uneven.tokens, 0.75 * 62410, 1e-3);
}

/* The efficiency constants are set on one thing: what four V100 of one machine were
 * published to reach, 1.07 and 1.63 steps a second, which is 93 % of four alone. */
TEST(compute_times_are_those_of_the_device_they_were_set_on)
{
    CHECK_NEAR(seconds(OPTIONS("device", "V100", "batch", "256", "method", "reference")),
               0.9325 / 1.07, 0.01);
    CHECK_NEAR(seconds(OPTIONS("device", "V100", "batch", "256", "precision", "mixed",
                               "method", "reference")),
               0.9325 / 1.63, 0.01);
}

TEST(cards_carry_the_bytes_of_ring_and_node)
{
    const double S = 4.0 * 60880896;
    const struct forecast_options flat =
        OPTIONS("nodes", "2", "per_node", "2", "method", "reference", "device", "V100");

    CHECK_NEAR(predict(flat).sim.card_bytes, 1.5 * S, 1e-12);
    CHECK_NEAR(predict(OPTIONS("nodes", "2", "per_node", "1,2", "method", "reference",
                               "device", "V100"))
                   .sim.card_bytes,
               4.0 / 3 * S, 1e-12);
    CHECK_NEAR(
        predict(OPTIONS("nodes", "2", "per_node", "2", "wire", "fp32", "device", "V100"))
            .sim.card_bytes,
        S, 1e-12);
    CHECK_NEAR(
        predict(OPTIONS("nodes", "2", "per_node", "2", "device", "V100")).sim.card_bytes,
        S / 2, 1e-7); /* segments end on 4 bytes */
    CHECK(predict(OPTIONS("per_node", "4", "device", "V100")).sim.card_bytes == 0);
}

TEST(a_batch_of_the_corpus_has_its_tokens_and_its_padding)
{
    const struct forecast_step s =
        predict(OPTIONS("nodes", "2", "per_node", "2", "device", "V100", "batch", "256",
                        "method", "reference"));

    CHECK_NEAR(s.tokens, 62410, 1e-3);
    CHECK_NEAR(s.useful, 0.54, 0.01);
}

/* No overlap: T = Tc + Tcomm; the ring's closed form for each fused exchange. */
TEST(without_overlap_a_step_is_compute_and_exchange)
{
    const struct forecast_step s = predict(
        OPTIONS("nodes", "4", "device", "V100", "compute_seconds", "0.5", "overlap",
                "false", "wire", "fp32", "network", "100MB/s", "latency", "0"));
    const double S = 4.0 * 60880896, sum = 0.75 * S / 300e9;

    CHECK_NEAR(s.t_tree, 4 * 152 / 100e6, 1e-9); /* two levels, up and down */
    CHECK_NEAR(s.sim.seconds, 0.5 + 1.5 * S / 100e6 + sum + s.t_tree, 1e-6);
    CHECK_NEAR(s.sim.t_exposed, 1.5 * S / 100e6 + sum + s.t_tree, 1e-6);
}

/* As training chooses: direct among few nodes and where bytes take longer. */
TEST(many_nodes_stand_in_a_grid_where_messages_cost_more)
{
    struct forecast_step s = predict(
        OPTIONS("nodes", "1000", "device", "V100", "network", "10Gb", "batch", "128"));

    CHECK(s.n_rows == 32 && s.t_tree < 2e-3);
    s = predict(
        OPTIONS("nodes", "15", "device", "V100", "network", "100Gb", "batch", "128"));
    CHECK(s.n_rows == 1);
    s = predict(
        OPTIONS("nodes", "32", "device", "V100", "network", "1Gb", "batch", "128"));
    CHECK(s.n_rows == 1);
}

/* A slow link is busy from the first bucket to the last; a fast one leaves only what is
 * final when backward is over: the embedding and the lowest layers of the encoder. */
TEST(overlap_hides_all_but_the_last_bucket_or_all_but_the_wait_for_the_first)
{
    const double S = 4.0 * 60880896;
    const struct forecast_step slow =
        predict(OPTIONS("nodes", "2", "device", "V100", "compute_seconds", "1", "wire",
                        "fp32", "network", "50MB/s", "latency", "0"));
    const double first = slow.sim.bucket[0].t_ready;
    CHECK_NEAR(slow.sim.seconds - slow.sim.t_update, first + S / 50e6, 1e-3);

    const struct forecast_step fast =
        predict(OPTIONS("nodes", "2", "device", "V100", "compute_seconds", "1", "wire",
                        "fp32", "network", "4000MB/s", "latency", "0"));
    double last = 0;
    for (size_t i = 0; i < fast.sim.n_buckets; i++)
        if (fast.sim.bucket[i].t_ready > fast.sim.t_compute * (1 - 1e-9))
            last += fast.sim.bucket[i].elements;
    CHECK(last > 32768 * 512 && last < 32768 * 512 + 25 * 0x1p18);
    CHECK_NEAR(fast.sim.t_exposed, 4 * last / 4000e6, 0.001);
}

/* On a CPU; a card's embedding goes out whole. 400 sentences of 30.5 tokens name about a
 * seventh of the rows by Zipf's law with an offset. */
TEST(on_the_host_rows_that_no_sentence_names_go_before_backward)
{
#define ON(device, ...)                                                              \
    predict(OPTIONS("nodes", "2", "device", device, "compute_seconds", "4", "batch", \
                    "100", "network", "1Gb", "latency", "0", __VA_ARGS__))           \
        .sim
    const struct simulate_result host = ON("cpu", "wire", "fp32");
    const struct simulate_result card = ON("V100", "wire", "fp32");
    const size_t last = host.n_buckets - 1;
    double elements = 0;

    for (size_t i = 0; i <= last; i++)
        elements += host.bucket[i].elements;
    CHECK_NEAR(elements, 60880896, 1e-9);
    CHECK(host.n_buckets == card.n_buckets - 1); /* two parts instead of three buckets */
    CHECK(host.bucket[0].t_ready < host.bucket[1].t_ready);
    CHECK(host.bucket[0].elements > 0.8 * 32768 * 512);
    CHECK(host.bucket[last].elements > 0.02 * 32768 * 512);
    CHECK_NEAR(host.bucket[last].t_ready, host.t_compute, 1e-9);
    CHECK(host.t_exposed < card.t_exposed / 2); /* the last encoder layers remain */
    CHECK(ON("cpu", "wire", "int8").n_buckets == card.n_buckets);
#undef ON
}

TEST(an_exchange_on_the_computing_cores_lengthens_backward)
{
#define WITH(nodes, cpu)                                                                 \
    predict(OPTIONS("nodes", nodes, "device", "V100", "compute_seconds", "1", "network", \
                    "1Gb", "exchange_cpu", cpu))                                         \
        .sim
    CHECK_NEAR(WITH("2", "0.25").t_compute, WITH("2", "0").t_compute + 0.25, 1e-9);
    CHECK_NEAR(WITH("1", "0.25").seconds, WITH("1", "0").seconds, 1e-12);
#undef WITH
}

TEST(buckets_leave_in_order_and_after_they_are_ready)
{
    const struct forecast_step s =
        predict(OPTIONS("nodes", "2", "per_node", "2", "device", "V100"));
    double elements = 0;

    for (size_t i = 0; i < s.sim.n_buckets; i++) {
        CHECK(s.sim.bucket[i].t_begin >= s.sim.bucket[i].t_ready);
        CHECK(s.sim.bucket[i].t_end > s.sim.bucket[i].t_begin);
        CHECK(i == 0 || s.sim.bucket[i].t_begin >= s.sim.bucket[i - 1].t_end);
        elements += s.sim.bucket[i].elements;
    }
    CHECK(elements == 60880896);
    CHECK(s.sim.seconds >= s.sim.bucket[s.sim.n_buckets - 1].t_end);
}

/* The decoder's last norm first, the embedding last and only when backward is over. */
TEST(gradients_are_ready_from_the_tables_end_to_its_front)
{
    const struct workload_batch batch = {
        .pairs = 64, .mean_length = 30, .max_length = 56, .bucket_bytes = 25 * 0x1p20};
    const struct forecast_training t = base();
    struct hardware_device d;
    struct workload w;

    CHECK_OK(hardware_device(&d, "V100", &err), &err);
    CHECK_OK(workload_open(&w, &t.model, &d, &batch, 1, &err), &err);
    CHECK(w.n_pieces == 185 && w.piece[0].elements == 512);
    CHECK_NEAR(w.piece[0].t_ready, w.t_forward, 1e-12);
    const struct workload_piece *last = &w.piece[w.n_pieces - 1];
    CHECK(last->elements == 32768 * 512);
    CHECK_NEAR(last->t_ready, w.t_forward + w.t_backward, 1e-12);
    for (size_t i = 1; i < w.n_pieces; i++)
        CHECK(w.piece[i].t_ready >= w.piece[i - 1].t_ready);
    /* the first bucket holds whole decoder layers, not all of them */
    CHECK(w.bucket[0].t_ready > w.t_forward + 0.08 * w.t_backward);
    CHECK(w.bucket[0].t_ready < w.t_forward + 0.25 * w.t_backward);
    CHECK_NEAR(workload_seconds(&w), 1, 1e-12);
    workload_close(&w);
}

TEST(more_of_anything_good_is_never_slower)
{
    static const char *const rates[] = {"10Mb", "100Mb", "1Gb", "10Gb", "100Gb"};
    static const char *const wires[] = {"fp32", "bf16", "int8"};
    static const char *const methods[] = {"ferry", "reference"};

    for (int m = 0; m < 2; m++) {
        double last = INFINITY;
        for (int i = 0; i < 5; i++) {
            const double s =
                seconds(OPTIONS("nodes", "3", "per_node", "2", "device", "T4", "network",
                                rates[i], "method", methods[m]));
            CHECK(s <= last);
            last = s;
        }
    }
    double last = INFINITY;
    for (int i = 0; i < 3; i++) {
        const double s =
            seconds(OPTIONS("nodes", "8", "device", "V100", "wire", wires[i]));
        CHECK(s < last);
        last = s;
    }
    CHECK(seconds(OPTIONS("nodes", "8", "device", "V100")) <=
          seconds(OPTIONS("nodes", "8", "device", "V100", "overlap", "false")));
    CHECK(seconds(OPTIONS("nodes", "8", "device", "V100", "latency", "10us")) <
          seconds(OPTIONS("nodes", "8", "device", "V100", "latency", "10ms")));
    CHECK(seconds(OPTIONS("nodes", "4", "device", "V100", "batch", "64")) <
          seconds(OPTIONS("nodes", "4", "device", "V100", "batch", "256")));
}

TEST(a_slow_device_holds_everybody_up)
{
    const struct forecast_step s =
        predict(OPTIONS("nodes", "8", "device", "V100", "network", "100Gb", "slow_factor",
                        "2", "batch", "256"));

    CHECK(s.sim.seconds > 2 * s.t_alone * 0.98);
    const double even = seconds(
        OPTIONS("nodes", "64", "device", "V100", "network", "100Gb", "batch", "256"));
    const double spread = seconds(OPTIONS("nodes", "64", "device", "V100", "network",
                                          "100Gb", "batch", "256", "jitter", "0.1"));
    /* the largest of 64 normal draws lies 2.4 deviations above the mean */
    CHECK(spread > 1.15 * even && spread < 1.35 * even);
}

TEST(the_same_options_give_the_same_numbers)
{
    const struct forecast_options o =
        OPTIONS("nodes", "16", "device", "V100", "jitter", "0.1");
    CHECK(seconds(o) == seconds(o));
    CHECK(seconds(o) != seconds(OPTIONS("nodes", "16", "device", "V100", "jitter", "0.1",
                                        "seed", "2")));
}

TEST(the_limit_is_what_would_help_most)
{
    static const struct {
        const char *network, *latency, *nodes;
        enum forecast_limit limit;
    } cases[] = {{"100Mb", "50us", "2", FORECAST_NETWORK},
                 {"100Gb", "50us", "2", FORECAST_COMPUTE},
                 {"100Gb", "300ms", "4", FORECAST_LATENCY}};
    const struct forecast_training t = base();

    for (size_t i = 0; i < 3; i++) {
        const struct forecast_options o =
            OPTIONS("nodes", cases[i].nodes, "device", "V100", "network",
                    cases[i].network, "latency", cases[i].latency, "batch", "256");
        struct forecast_limits limits;
        struct forecast_step s;
        struct forecast f;
        CHECK_OK(forecast_open(&f, &t, &o, &err), &err);
        CHECK_OK(forecast_step(&s, &f, &f.variant, &err), &err);
        CHECK_OK(forecast_limits(&limits, &f, &s, &err), &err);
        CHECK(limits.limit == cases[i].limit);
        forecast_close(&f);
    }
}

/* A mean of what a card showed is that mean again in the simulated step. */
TEST(a_rate_that_was_seen_is_seen_again)
{
    const struct forecast_step s = predict(
        OPTIONS("nodes", "2", "per_node", "2", "device", "V100", "batch", "256",
                "precision", "mixed", "method", "reference", "network", "205MB/s"));
    const struct forecast_step link = predict(OPTIONS(
        "nodes", "2", "per_node", "2", "device", "V100", "batch", "256", "precision",
        "mixed", "method", "reference", "network", "205MB/s", "rate", "link"));

    CHECK_NEAR(s.sim.card_bytes / s.sim.seconds, 205e6, 0.01);
    CHECK(link.sim.seconds > s.sim.seconds);
    CHECK_NEAR(link.sim.card_bytes / (link.card_load * link.sim.seconds), 205e6, 1e-9);
}

TEST(the_longest_of_a_batch_grows_to_the_cut)
{
    const struct workload_lengths l = workload_lengths_of(30.5, 56);
    double last = 0;

    for (double n = 1; n <= 1024; n *= 2) {
        const double longest = workload_lengths_longest(&l, n);
        CHECK(longest >= last && longest <= 56);
        last = longest;
    }
    CHECK_NEAR(workload_lengths_longest(&l, 1), 30.5, 1e-6);
    CHECK(last > 55.99);
    CHECK(workload_lengths_mean_square(&l) > 30.5 * 30.5);
    const struct workload_lengths all = workload_lengths_of(56, 56);
    CHECK(workload_lengths_longest(&all, 9) == 56 &&
          workload_lengths_mean_square(&all) == 56 * 56);
}

/* Updates of the whole run. */
static double updates(struct forecast_training t, struct forecast_options o)
{
    struct forecast f;

    CHECK_OK(forecast_open(&f, &t, &o, &err), &err);
    const double n = f.steps;
    CHECK_NEAR(f.tokens, n * 2 * f.mean_length * f.variant.batch * (double)f.n_ranks,
               1e-12);
    forecast_close(&f);
    return n;
}

TEST(a_larger_batch_needs_fewer_updates_for_as_many_tokens)
{
    struct forecast_training t = base();

    CHECK_NEAR(updates(t, OPTIONS("nodes", "4", "batch", "512")), 300000, 1e-12);
    t.planned = t.batch;
    CHECK_NEAR(updates(t, OPTIONS("nodes", "4")), 300000, 1e-12);
    CHECK_NEAR(updates(t, OPTIONS("nodes", "4", "batch", "512")), 150000, 1e-12);
    CHECK_NEAR(updates(t, OPTIONS("tokens", "62412800")), 1000, 1e-6);
    t.planned = (struct forecast_batch){.tokens = 2048 * 60.95 / 2};
    CHECK_NEAR(updates(t, OPTIONS("nodes", "4")), 600000, 1e-6);
    t.max_epochs = 2;
    CHECK_NEAR(updates(t, OPTIONS("pairs", "1024000")), 2000, 1e-9);
    CHECK_NEAR(updates(t, OPTIONS("pairs", "1e15")), 600000, 1e-6);
}

static double gain(struct forecast_options o)
{
    const struct forecast_training t = base();
    struct forecast_step s, one;
    struct forecast f;

    CHECK_OK(forecast_open(&f, &t, &o, &err), &err);
    CHECK_OK(forecast_step(&s, &f, &f.variant, &err), &err);
    CHECK_OK(forecast_alone(&one, &f, &err), &err);
    CHECK_NEAR(one.tokens, s.tokens, 1e-12);
    CHECK(one.n_nodes == 1 && one.sim.card_bytes == 0);
    forecast_close(&f);
    return one.sim.seconds / s.sim.seconds;
}

TEST(several_machines_are_held_against_the_largest_of_them)
{
    CHECK_NEAR(gain(OPTIONS("nodes", "1")), 1, 1e-12);
    const double fast = gain(OPTIONS("nodes", "2", "device", "V100", "network", "100Gb"));
    CHECK(fast > 1.85 && fast <= 2);
    CHECK(gain(OPTIONS("nodes", "2", "per_node", "2", "device", "V100")) < 1);
    /* one machine with two devices against three devices in all */
    const double uneven = gain(
        OPTIONS("nodes", "2", "per_node", "1,2", "device", "V100", "network", "100Gb"));
    CHECK(uneven > 1.4 && uneven <= 1.5);
}

TEST(local_steps_and_shards_send_what_training_sends)
{
    struct forecast_training t = base();
    const struct forecast_options o = OPTIONS("nodes", "2", "device", "V100");
    struct forecast_step every, seldom, sharded;
    struct forecast f;

    CHECK_OK(forecast_open(&f, &t, &o, &err), &err);
    CHECK_OK(forecast_step(&every, &f, &f.variant, &err), &err);
    f.variant.local_steps = 8;
    CHECK_OK(forecast_step(&seldom, &f, &f.variant, &err), &err);
    CHECK_NEAR(seldom.sim.card_bytes, every.sim.card_bytes / 8, 1e-9);
    CHECK(seldom.sim.seconds < every.sim.seconds);
    CHECK(seldom.sim.seconds > seldom.t_alone);
    forecast_close(&f);
    t.shard_optimizer = true;
    CHECK_OK(forecast_open(&f, &t, &o, &err), &err);
    CHECK_OK(forecast_step(&sharded, &f, &f.variant, &err), &err);
    CHECK_NEAR(sharded.sim.card_bytes,
               wire_step_bytes((size_t)sharded.n_parameters, WIRE_BF16, 2, true), 1e-3);
    CHECK(sharded.sim.t_update < 0.6 * every.sim.t_update);
    CHECK(sharded.sim.seconds > every.sim.seconds);
    forecast_close(&f);
}

TEST(the_configs_wire_and_precision_count_unless_others_are_given)
{
    struct forecast_training t = base();
    struct forecast_options o = OPTIONS("nodes", "2", "device", "V100");
    struct forecast f;

    t.wire = "int8";
    t.precision = "bf16";
    CHECK_OK(forecast_open(&f, &t, &o, &err), &err);
    CHECK(f.variant.wire == WIRE_INT8 && f.variant.is_mixed);
    CHECK(!f.device.is_measured);
    forecast_close(&f);
    o = OPTIONS("nodes", "2", "wire", "fp16", "precision", "fp32");
    CHECK_OK(forecast_open(&f, &t, &o, &err), &err);
    CHECK(f.variant.wire == WIRE_FP16 && !f.variant.is_mixed);
    CHECK(f.device.is_measured);
    forecast_close(&f);
}

TEST(energy_and_cost_follow_hours_and_watts)
{
    struct forecast_training t = base();
    const struct forecast_options o =
        OPTIONS("nodes", "2", "device", "V100", "price", "2.5", "price_kwh", "0.5",
                "compute_seconds", "1", "network", "100Gb");
    t.max_steps = 3600;
    struct forecast_step s;
    struct forecast f;

    CHECK_OK(forecast_open(&f, &t, &o, &err), &err);
    CHECK_OK(forecast_step(&s, &f, &f.variant, &err), &err);
    const struct forecast_bill b = forecast_bill(&f, &s);
    CHECK_NEAR(b.hours, s.sim.seconds, 1e-12);
    CHECK_NEAR(b.kwh, 2 * (157 * 1 + 47 * (s.sim.seconds - 1)) / 1000, 1e-6);
    CHECK_NEAR(b.total, 2 * 2.5 * b.hours + 0.5 * b.kwh, 1e-12);
    forecast_close(&f);
}

static void check_refused(struct forecast_options o, const char *text)
{
    const struct forecast_training t = base();
    struct forecast f;

    CHECK_FAILS(forecast_open(&f, &t, &o, &err), &err, ERR_USAGE, text);
}

TEST(what_does_not_fit_is_refused_in_one_sentence)
{
    check_refused(OPTIONS("device", "Abacus"), "there are A100, H100, P100, T4, V100");
    check_refused(OPTIONS("link", "pigeon"), "there are ethernet, infiniband, lab");
    check_refused(OPTIONS("network", "fast"), "want a rate such as");
    check_refused(OPTIONS("nodes", "3", "per_node", "1,2"), "names 2 nodes");
    check_refused(OPTIONS("device", "cpu", "precision", "mixed"), "no 16-bit units");
    check_refused(OPTIONS("method", "reference", "wire", "bf16"), "always sends fp32");
    check_refused(OPTIONS("method", "reference", "topology", "tree"), "one flat ring");
    check_refused(OPTIONS("mean_length", "57"), "above the config's max_length = 56");
    check_refused(OPTIONS("nodes", "100000", "per_node", "64"), "at most 100000 are");
    check_refused(OPTIONS("mtbf", "0"), "mtbf = 0");
    check_refused(OPTIONS("save_time", "0"), "save_time = 0");
    check_refused(OPTIONS("latency", "5"), "latency = 5: want a time");
    check_refused(OPTIONS("vocab_size", "3"), "at least the four special tokens");
}

TEST(every_description_is_whole)
{
    for (const struct hardware_text *t = hardware_texts; *t->name; t++) {
        struct hardware_device d;
        struct hardware_link l;
        if (strcmp(t->kind, "device") == 0)
            CHECK_OK(hardware_device(&d, t->name, &err), &err);
        else
            CHECK_OK(hardware_link(&l, t->name, &err), &err);
    }
}

/* Also guards the speed: a plan of a thousand nodes must not need a coffee. */
TEST(a_thousand_nodes_are_simulated_in_seconds)
{
    const double start = clock_now();
    const struct forecast_step s =
        predict(OPTIONS("nodes", "1000", "per_node", "4", "device", "V100", "jitter",
                        "0.05", "batch", "128"));
    const struct forecast_step r =
        predict(OPTIONS("nodes", "1000", "per_node", "4", "device", "V100", "method",
                        "reference", "batch", "128"));

    CHECK(s.n_ranks == 4000 && r.n_ranks == 4000);
    CHECK(r.sim.seconds > s.sim.seconds);
    CHECK(clock_now() - start < 30); /* 0.2 s measured; sanitizers and load included */
}

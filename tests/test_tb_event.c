#include "format/tf/tb_event.h"

#include <dirent.h>
#include <stdlib.h>

#include "base/rng.h"
#include "test.h"

static struct err err;

/* The one event file of the test's directory. */
static const char *event_file(void)
{
    static char path[600];
    DIR *dir = opendir(test_dir());
    size_t n = 0;

    CHECK(dir);
    for (struct dirent *e; (e = readdir(dir));)
        if (strncmp(e->d_name, "events.out.tfevents.", 20) == 0) {
            snprintf(path, sizeof path, "%s/%s", test_dir(), e->d_name);
            n++;
        }
    closedir(dir);
    CHECK(n == 1);
    return path;
}

static void add_scalar(struct tb_event_writer *w, int64_t step, double wall_time,
                       const char *tag, float value)
{
    const struct tb_event_value one = {.tag = tag, .value = value};

    CHECK_OK(tb_event_scalars(w, step, wall_time, &one, 1, &err), &err);
}

/* What tests/interop/make_golden.py writes with TensorFlow. */
static void write_golden(void)
{
    const struct tb_event_value two[] = {{"train_loss", 7.75F},
                                         {"learning_rate", 1.2353e-5F}};
    const int64_t late = 1LL << 40;
    struct tb_event_writer w;

    CHECK_OK(tb_event_open(&w, test_dir(), 1234567890.25, &err), &err);
    CHECK_OK(tb_event_start(&w, 0, 1000.5, &err), &err);
    add_scalar(&w, 0, 1000.5, "train_loss", 9.5F);
    CHECK_OK(tb_event_scalars(&w, 100, 1100.5, two, 2, &err), &err);
    add_scalar(&w, late, 1000.5 + (double)late, "Eval_BLEU_Score", 0);
    CHECK_OK(tb_event_close(&w, &err), &err);
}

static void check_point(struct tb_event_reader *r, int64_t step, double wall,
                        const char *tag, float value)
{
    struct tb_event_point p;
    bool more;

    CHECK_OK(tb_event_next(r, &p, &more, &err), &err);
    CHECK(more && p.step == step && p.wall_time == wall);
    CHECK_STR(p.tag, tag);
    CHECK(p.value == value);
}

static void check_golden(const char *path)
{
    struct tb_event_reader r;
    struct tb_event_point p;
    bool more;

    CHECK_OK(tb_event_read(&r, path, &err), &err);
    check_point(&r, 0, 1000.5, "train_loss", 9.5F);
    check_point(&r, 100, 1100.5, "train_loss", 7.75F);
    check_point(&r, 100, 1100.5, "learning_rate", 1.2353e-5F);
    check_point(&r, 1LL << 40, 1000.5 + 1099511627776.0, "Eval_BLEU_Score", 0);
    CHECK_OK(tb_event_next(&r, &p, &more, &err), &err);
    CHECK(!more && !r.is_cut && r.n_events == 5);
    CHECK_OK(tb_event_next(&r, &p, &more, &err), &err);
    CHECK(!more);
    tb_event_read_close(&r);
    tb_event_read_close(&r);
}

TEST(an_event_file_of_tensorflow_and_ours_read_the_same)
{
    check_golden(test_data("golden.tfevents"));
    write_golden();
    check_golden(event_file());
}

/* All but the first event, which names the writer's version and time. */
TEST(our_events_equal_tensorflows_byte_for_byte)
{
    enum { THEIR_FIRST = 12 + 62 + 4, OUR_FIRST = 12 + 24 + 4 };
    struct file_map theirs, ours;

    write_golden();
    CHECK_OK(file_map_open(&theirs, test_data("golden.tfevents"), &err), &err);
    CHECK_OK(file_map_open(&ours, event_file(), &err), &err);
    CHECK(theirs.n_bytes - THEIR_FIRST == ours.n_bytes - OUR_FIRST);
    CHECK(memcmp(theirs.data + THEIR_FIRST, ours.data + OUR_FIRST,
                 ours.n_bytes - OUR_FIRST) == 0);
    CHECK(memcmp(ours.data + 12 + 9,
                 "\x1a\x0d"
                 "brain.Event:2",
                 15) == 0);
    file_map_close(&theirs);
    file_map_close(&ours);
}

/* What tests/interop/make_golden_plugins.py writes with TensorBoard's own messages. */
static void write_plugins(void)
{
    static const double limit[] = {-1, 0, 0.5, 1}, count[] = {1, 0, 2, 1};
    const struct tb_event_histogram h = {-1.5, 0.5, 4, -1.25, 2.75, limit, count, 4};
    const struct tb_event_option options[] = {
        {"data", .text = "corpora/de"},
        {"learning_rate", .number = 0.25},
        {"recompute", .number = 1, .is_bool = true}};
    struct tb_event_writer w;

    CHECK_OK(tb_event_open(&w, test_dir(), 1000.5, &err), &err);
    CHECK_OK(tb_event_text(&w, 1, 1001.5, "configuration",
                           "| option | value |\n|---|---|\n| beam | 4 |\n", &err),
             &err);
    CHECK_OK(tb_event_options(&w, 1, 1001.5, options, 3, &err), &err);
    CHECK_OK(tb_event_histogram(&w, 7, 1007.5, "gradients/encoder.0", &h, &err), &err);
    CHECK_OK(tb_event_finished(&w, 9, 1009.5, &err), &err);
    CHECK_OK(tb_event_close(&w, &err), &err);
}

TEST(events_of_plugins_equal_tensorboards_byte_for_byte)
{
    struct file_map theirs, ours;

    write_plugins();
    CHECK_OK(file_map_open(&theirs, test_data("golden_plugins.tfevents"), &err), &err);
    CHECK_OK(file_map_open(&ours, event_file(), &err), &err);
    CHECK(theirs.n_bytes == ours.n_bytes);
    CHECK(memcmp(theirs.data, ours.data, ours.n_bytes) == 0);
    file_map_close(&theirs);
    file_map_close(&ours);
}

TEST(a_reader_of_curves_passes_over_what_is_none)
{
    struct tb_event_reader r;
    struct tb_event_point p;
    bool more;

    write_plugins();
    CHECK_OK(tb_event_read(&r, event_file(), &err), &err);
    CHECK_OK(tb_event_next(&r, &p, &more, &err), &err);
    CHECK(!more && !r.is_cut && r.n_events == 5);
    tb_event_read_close(&r);
}

TEST(the_file_is_named_by_second_and_host_and_never_shared)
{
    struct tb_event_writer a, b;
    struct err none;

    CHECK_OK(tb_event_open(&a, test_dir(), 1234567890.75, &err), &err);
    CHECK(strstr(event_file(), "/events.out.tfevents.1234567890."));
    CHECK_OK(tb_event_open(&b, test_dir(), 1234567890.99, &err), &err);
    CHECK(strstr(b.records.path, "/events.out.tfevents.1234567891."));
    CHECK_OK(tb_event_close(&a, &err), &err);
    CHECK_OK(tb_event_close(&b, &err), &err);
    CHECK_FAILS(tb_event_open(&a, test_path("no-such-dir"), 1, &none), &none, ERR_IO,
                "no-such-dir");
}

TEST(flushed_events_are_readable_while_the_file_is_open)
{
    struct tb_event_writer w;
    struct tb_event_reader r;

    CHECK_OK(tb_event_open(&w, test_dir(), 1, &err), &err);
    add_scalar(&w, 7, 2, "x", 3);
    CHECK_OK(tb_event_flush(&w, &err), &err);
    CHECK_OK(tb_event_read(&r, event_file(), &err), &err);
    check_point(&r, 7, 2, "x", 3);
    tb_event_read_close(&r);
    CHECK_OK(tb_event_close(&w, &err), &err);
}

TEST(a_killed_writers_file_is_read_to_its_last_whole_event)
{
    struct tb_event_reader r;
    struct tb_event_point p;
    struct file_map map;
    bool more;

    write_golden();
    CHECK_OK(file_map_open(&map, event_file(), &err), &err);
    for (size_t n = 0; n < map.n_bytes; n++) {
        unsigned char *cut = malloc(n + 1);
        size_t n_points = 0;
        CHECK(cut);
        memcpy(cut, map.data, n);
        tb_event_read_bytes(&r, cut, n);
        for (;; n_points++) {
            CHECK_OK(tb_event_next(&r, &p, &more, &err), &err);
            if (!more)
                break;
        }
        CHECK(n_points < 4 && r.is_cut == (r.records.at != n));
        tb_event_read_close(&r);
        free(cut);
    }
    file_map_close(&map);
}

TEST(a_record_that_is_no_event_is_refused_with_its_place)
{
    struct tfrecord_writer w;
    struct tb_event_reader r;
    struct tb_event_point p;
    bool more;

    CHECK_OK(tfrecord_create(&w, test_path("events"), &err), &err);
    CHECK_OK(tfrecord_add(&w, "\x09zz", 3, &err), &err);
    CHECK_OK(tfrecord_close(&w, &err), &err);
    CHECK_OK(tb_event_read(&r, test_path("events"), &err), &err);
    CHECK_FAILS(tb_event_next(&r, &p, &more, &err), &err, ERR_FORMAT,
                "record at byte 0 is not an event");
    tb_event_read_close(&r);
}

TEST(random_scalars_come_back_bit_for_bit)
{
    enum { N = 500 };
    struct rng r = rng_open(rng_key(test_seed(), "events")), again = r;
    struct tb_event_writer w;
    struct tb_event_reader reader;
    struct tb_event_point p;
    bool more;

    CHECK_OK(tb_event_open(&w, test_dir(), 1, &err), &err);
    for (int i = 0; i < N; i++) {
        const int64_t step = (int64_t)rng_u64(&r);
        const double wall = rng_unit(&r) * 2e9;
        const uint32_t bits = (uint32_t)rng_u64(&r);
        float value;
        memcpy(&value, &bits, sizeof value);
        add_scalar(&w, step, wall, i % 2 ? "a/b" : "", value);
    }
    CHECK_OK(tb_event_close(&w, &err), &err);
    CHECK_OK(tb_event_read(&reader, event_file(), &err), &err);
    for (int i = 0; i < N; i++) {
        const int64_t step = (int64_t)rng_u64(&again);
        const double wall = rng_unit(&again) * 2e9;
        const uint32_t bits = (uint32_t)rng_u64(&again);
        uint32_t back;
        CHECK_OK(tb_event_next(&reader, &p, &more, &err), &err);
        CHECK(more && p.step == step && p.wall_time == wall);
        memcpy(&back, &p.value, sizeof back);
        CHECK(back == bits);
        CHECK_STR(p.tag, i % 2 ? "a/b" : "");
    }
    tb_event_read_close(&reader);
}

#include "format/tf/tfrecord.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/rng.h"
#include "test.h"

static struct err err;

static void add(struct tfrecord_writer *w, const char *text)
{
    CHECK_OK(tfrecord_add(w, text, strlen(text), &err), &err);
}

/* Three records: "", "abc" and "0123456789". */
static void write_three(const char *path)
{
    struct tfrecord_writer w;

    CHECK_OK(tfrecord_create(&w, path, &err), &err);
    add(&w, "");
    add(&w, "abc");
    add(&w, "0123456789");
    CHECK_OK(tfrecord_close(&w, &err), &err);
    CHECK_OK(tfrecord_close(&w, &err), &err);
}

enum { THREE_BYTES = 3 * 16 + 13 };

/* How many records come whole, how the walk ends, or ERR_FORMAT. */
static status walk(const unsigned char *bytes, size_t n, size_t *n_records,
                   enum tfrecord_state *end)
{
    struct tfrecord_reader r = {.data = bytes, .n_bytes = n};
    const unsigned char *payload;
    size_t n_payload;

    for (*n_records = 0;; ++*n_records) {
        TRY(tfrecord_next(&r, end, &payload, &n_payload, &err));
        if (*end != TFRECORD_READ)
            return OK;
        CHECK(payload + n_payload + 4 <= bytes + n);
    }
}

TEST(records_have_their_known_bytes)
{
    /* Lengths 0 and 3 with their checksums, as TensorFlow's writer makes them. */
    static const unsigned char want[] = {0,    0,    0,    0,    0,    0,    0,    0,
                                         0x29, 0x03, 0x98, 0x07, 0xd8, 0xea, 0x82, 0xa2,
                                         3,    0,    0,    0,    0,    0,    0,    0};
    struct file_map map;

    write_three(test_path("records"));
    CHECK_OK(file_map_open(&map, test_path("records"), &err), &err);
    CHECK(map.n_bytes == THREE_BYTES);
    CHECK(memcmp(map.data, want, sizeof want) == 0);
    CHECK(memcmp(map.data + 28, "abc", 3) == 0);
    file_map_close(&map);
}

TEST(random_records_come_back)
{
    enum { N = 200, MOST = 3000 };
    static unsigned char bytes[MOST];
    const uint64_t key = rng_key(test_seed(), "records");
    struct tfrecord_writer w;
    struct tfrecord_reader r = {0};
    struct file_map map;
    enum tfrecord_state end;
    const unsigned char *payload;
    size_t n;

    for (size_t i = 0; i < MOST; i++)
        bytes[i] = (unsigned char)rng_hash(key, i);
    CHECK_OK(tfrecord_create(&w, test_path("random"), &err), &err);
    for (uint64_t i = 0; i < N; i++)
        CHECK_OK(tfrecord_add(&w, bytes, rng_hash(key, i) % MOST, &err), &err);
    CHECK_OK(tfrecord_close(&w, &err), &err);

    CHECK_OK(file_map_open(&map, test_path("random"), &err), &err);
    r.data = map.data;
    r.n_bytes = map.n_bytes;
    for (uint64_t i = 0; i < N; i++) {
        CHECK_OK(tfrecord_next(&r, &end, &payload, &n, &err), &err);
        CHECK(end == TFRECORD_READ && n == rng_hash(key, i) % MOST);
        CHECK(memcmp(payload, bytes, n) == 0);
    }
    CHECK_OK(tfrecord_next(&r, &end, &payload, &n, &err), &err);
    CHECK(end == TFRECORD_END);
    file_map_close(&map);
}

TEST(a_cut_tail_is_told_apart_from_an_end_and_from_damage)
{
    struct file_map map;
    enum tfrecord_state end;
    size_t n_records;

    write_three(test_path("records"));
    CHECK_OK(file_map_open(&map, test_path("records"), &err), &err);
    for (size_t n = 0; n <= THREE_BYTES; n++) {
        unsigned char *cut = malloc(n + 1);
        const size_t whole = n < 16 ? 0 : n < 35 ? 1 : n < THREE_BYTES ? 2 : 3;
        const bool is_end = n == 0 || n == 16 || n == 35 || n == THREE_BYTES;
        CHECK(cut);
        memcpy(cut, map.data, n);
        CHECK_OK(walk(cut, n, &n_records, &end), &err);
        CHECK(n_records == whole);
        CHECK(end == (is_end ? TFRECORD_END : TFRECORD_CUT));
        free(cut);
    }
    file_map_close(&map);
}

TEST(every_flipped_bit_is_damage_with_its_place)
{
    struct file_map map;
    unsigned char copy[THREE_BYTES];
    enum tfrecord_state end;
    size_t n_records;

    write_three(test_path("records"));
    CHECK_OK(file_map_open(&map, test_path("records"), &err), &err);
    memcpy(copy, map.data, sizeof copy);
    file_map_close(&map);
    for (size_t bit = 0; bit < sizeof copy * 8; bit++) {
        copy[bit / 8] ^= (unsigned char)(1 << bit % 8);
        CHECK_FAILS(walk(copy, sizeof copy, &n_records, &end), &err, ERR_FORMAT,
                    bit / 8 < 16   ? "the record at byte 0 is damaged"
                    : bit / 8 < 35 ? "the record at byte 16 is damaged"
                                   : "the record at byte 35 is damaged");
        copy[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}

TEST(a_file_that_exists_is_not_written_over)
{
    struct tfrecord_writer w;

    write_three(test_path("records"));
    CHECK_FAILS(tfrecord_create(&w, test_path("records"), &err), &err, ERR_IO, "records");
    CHECK(file_bytes(test_path("records")) == THREE_BYTES);
}

/* /dev/full refuses every byte. The writer keeps them and goes on elsewhere. */
TEST(what_a_full_disk_refuses_is_written_later)
{
    enum { RECORD = 1 << 20 };
    struct tfrecord_writer w;
    struct file_map map;
    enum tfrecord_state end;
    size_t n_records;
    char *big = calloc(1, RECORD);
    int kept = 0;

    CHECK(big);
    CHECK_OK(tfrecord_create(&w, test_path("records"), &err), &err);
    const int file = w.fd, full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    CHECK(full >= 0);
    w.fd = full;
    add(&w, "first");
    CHECK_FAILS(tfrecord_flush(&w, &err), &err, ERR_IO, "No space");
    for (status s = ERR_IO; s == ERR_IO; kept++)
        s = tfrecord_add(&w, big, RECORD, &err);
    kept--; /* the one that was dropped */
    CHECK(err.code == ERR_MEMORY && strstr(err.msg, "is dropped") && kept == 15);
    close(full);
    w.fd = file;
    add(&w, "last");
    CHECK_OK(tfrecord_close(&w, &err), &err);
    CHECK_OK(file_map_open(&map, test_path("records"), &err), &err);
    CHECK_OK(walk(map.data, map.n_bytes, &n_records, &end), &err);
    CHECK(n_records == (size_t)kept + 2 && end == TFRECORD_END);
    file_map_close(&map);
    free(big);
}

/* A pipe takes 64 KiB and refuses the rest until somebody reads. */
TEST(a_write_that_stops_in_the_middle_goes_on_at_the_same_byte)
{
    enum { RECORD = 100000, FRAMED = RECORD + 16 };
    static unsigned char record[RECORD], got[2 * FRAMED];
    struct tfrecord_writer w;
    enum tfrecord_state end;
    size_t n_got = 0, n_records;
    int ends[2];

    for (size_t i = 0; i < RECORD; i++)
        record[i] = (unsigned char)rng_hash(1, i);
    CHECK(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
    CHECK_OK(tfrecord_create(&w, test_path("records"), &err), &err);
    const int file = w.fd;
    w.fd = ends[1];
    CHECK_FAILS(tfrecord_add(&w, record, RECORD, &err), &err, ERR_IO, "unavailable");
    for (bool is_done = false; !is_done;) {
        const ssize_t n = read(ends[0], got + n_got, sizeof got - n_got);
        CHECK(n > 0);
        n_got += (size_t)n;
        is_done = tfrecord_flush(&w, &err) == OK && n_got == FRAMED;
    }
    CHECK_OK(walk(got, n_got, &n_records, &end), &err);
    CHECK(n_records == 1 && end == TFRECORD_END);
    CHECK(memcmp(got + 12, record, RECORD) == 0);
    w.fd = file;
    close(ends[0]);
    close(ends[1]);
    CHECK_OK(tfrecord_close(&w, &err), &err);
}

#include "format/tf/tensor_bundle.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/rng.h"
#include "test.h"

static struct err err;

#define DIMS(...) \
    (const uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)
#define SCALAR NULL, 0

static void add(struct tensor_bundle_writer *w, const char *name, enum tensor_dtype dtype,
                const uint64_t *dims, size_t n_dims, const void *bytes, size_t n_bytes)
{
    CHECK_OK(tensor_bundle_add(w, name, dtype, dims, n_dims, &err), &err);
    CHECK_OK(tensor_bundle_add_bytes(w, bytes, n_bytes, &err), &err);
}

/* What tests/interop/make_golden.py saves with TensorFlow. */
static void write_golden(const char *prefix)
{
    struct tensor_bundle_writer w;
    const float matrix[] = {0, 1, 2, 3, 4, 5}, scalar = 1.5F;
    const double tenth = 0.1;
    const uint16_t half[] = {0, 0x3c00, 0x4000}, bfloat[] = {0x3f80, 0xc000};
    const int32_t int32[] = {-1, 0, 1, 2};
    const int64_t step = 50000;

    CHECK_OK(tensor_bundle_begin(&w, prefix, &err), &err);
    add(&w, "a/scalar", TENSOR_FLOAT, SCALAR, &scalar, sizeof scalar);
    add(&w, "b/matrix", TENSOR_FLOAT, DIMS(2, 3), matrix, sizeof matrix / 2);
    CHECK_OK(tensor_bundle_add_bytes(&w, matrix + 3, sizeof matrix / 2, &err), &err);
    add(&w, "c/half", TENSOR_HALF, DIMS(3), half, sizeof half);
    add(&w, "d/bfloat", TENSOR_BFLOAT16, DIMS(2), bfloat, sizeof bfloat);
    add(&w, "e/double", TENSOR_DOUBLE, DIMS(1), &tenth, sizeof tenth);
    add(&w, "f/int32", TENSOR_INT32, DIMS(4), int32, sizeof int32);
    add(&w, "g/empty", TENSOR_FLOAT, DIMS(0, 5), "", 0);
    add(&w, "global_step", TENSOR_INT64, SCALAR, &step, sizeof step);
    for (int i = 0; i < 20; i++) {
        const float value = (float)i;
        char name[32];
        snprintf(name, sizeof name, "w/%02d/kernel", i);
        add(&w, name, TENSOR_FLOAT, DIMS(1), &value, sizeof value);
    }
    CHECK_OK(tensor_bundle_finish(&w, &err), &err);
}

static void check_same_file(const char *a, const char *b)
{
    struct file_map x, y;

    CHECK_OK(file_map_open(&x, a, &err), &err);
    CHECK_OK(file_map_open(&y, b, &err), &err);
    CHECK(x.n_bytes == y.n_bytes && memcmp(x.data, y.data, x.n_bytes) == 0);
    file_map_close(&x);
    file_map_close(&y);
}

TEST(our_files_equal_tensorflows_byte_for_byte)
{
    write_golden(test_path("ours"));
    check_same_file(test_path("ours.index"), test_data("golden.index"));
    check_same_file(test_path("ours.data-00000-of-00001"),
                    test_data("golden.data-00000-of-00001"));
}

TEST(a_checkpoint_of_tensorflow_is_read)
{
    struct tensor_bundle b;
    const unsigned char *bytes;
    float rows[2][4] = {{0}}, plain[6];
    int64_t step;

    CHECK_OK(tensor_bundle_open(&b, test_data("golden"), &err), &err);
    CHECK(b.index.n == 28);
    for (size_t i = 0; i < b.index.n; i++)
        CHECK_OK(tensor_bundle_read(&b, &b.index.entry[i], &bytes, &err), &err);

    const struct tensor_entry *e = tensor_bundle_find(&b, "b/matrix");
    CHECK(e && e->dtype == TENSOR_FLOAT && e->n_dims == 2);
    CHECK(e->dims[0] == 2 && e->dims[1] == 3 && e->n_bytes == sizeof plain);
    CHECK_OK(tensor_bundle_read(&b, e, &bytes, &err), &err);
    memcpy(plain, bytes, sizeof plain);
    for (int i = 0; i < 6; i++)
        CHECK(plain[i] == (float)i);
    CHECK_OK(tensor_bundle_copy(&b, e, rows, 2, 12, 16, &err), &err);
    CHECK(rows[0][2] == 2 && rows[0][3] == 0 && rows[1][0] == 3 && rows[1][3] == 0);
    CHECK_FAILS(tensor_bundle_copy(&b, e, rows, 2, 16, 16, &err), &err, ERR_USAGE,
                "'b/matrix' has 24 bytes, not 2 rows of 16");

    e = tensor_bundle_find(&b, "global_step");
    CHECK(e && e->dtype == TENSOR_INT64 && e->n_dims == 0);
    CHECK_OK(tensor_bundle_copy(&b, e, &step, 1, sizeof step, 0, &err), &err);
    CHECK(step == 50000);
    CHECK(!tensor_bundle_find(&b, "b") && !tensor_bundle_find(&b, ""));
    tensor_bundle_close(&b);
    tensor_bundle_close(&b);
}

TEST(a_checkpoint_in_two_data_files_is_read)
{
    struct tensor_bundle b;
    float c[3];
    int64_t two;

    CHECK_OK(tensor_bundle_open(&b, test_data("golden_shards"), &err), &err);
    CHECK(b.index.n == 3 && b.index.n_shards == 2);
    CHECK_OK(tensor_bundle_copy(&b, tensor_bundle_find(&b, "c"), c, 3, 4, 4, &err), &err);
    CHECK(c[0] == 0 && c[1] == 1 && c[2] == 2);
    CHECK_OK(tensor_bundle_copy(&b, tensor_bundle_find(&b, "b"), &two, 1, 8, 8, &err),
             &err);
    CHECK(two == 2);
    tensor_bundle_close(&b);
}

TEST(a_string_tensor_is_listed_and_not_read)
{
    struct tensor_bundle b;
    const unsigned char *bytes;

    CHECK_OK(tensor_bundle_open(&b, test_data("golden_string"), &err), &err);
    CHECK_FAILS(tensor_bundle_read(&b, &b.index.entry[0], &bytes, &err), &err, ERR_FORMAT,
                "'s' of type 7 (string)");
    tensor_bundle_close(&b);
}

/* Open and read everything. */
static status read_all(const char *prefix)
{
    struct tensor_bundle b;
    const unsigned char *bytes;
    status result = tensor_bundle_open(&b, prefix, &err);

    for (size_t i = 0; result == OK && i < b.index.n; i++)
        result = tensor_bundle_read(&b, &b.index.entry[i], &bytes, &err);
    tensor_bundle_close(&b);
    return result;
}

static void write_plain(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");

    CHECK(f && fwrite(bytes, 1, n, f) == n);
    CHECK(fclose(f) == 0);
}

static void check_cuts_and_flips(const char *prefix, const char *path)
{
    struct file_map map;
    unsigned char *copy;

    CHECK_OK(file_map_open(&map, path, &err), &err);
    copy = malloc(map.n_bytes);
    CHECK(copy);
    memcpy(copy, map.data, map.n_bytes);
    const size_t n = map.n_bytes;
    file_map_close(&map);
    for (size_t cut = 0; cut < n; cut++) {
        write_plain(path, copy, cut);
        CHECK_FAILS(read_all(prefix), &err, ERR_FORMAT, "");
    }
    for (size_t i = 0; i < n; i++) {
        copy[i] ^= (unsigned char)(1 << i % 8);
        write_plain(path, copy, n);
        CHECK_FAILS(read_all(prefix), &err, ERR_FORMAT, "");
        copy[i] ^= (unsigned char)(1 << i % 8);
    }
    write_plain(path, copy, n);
    CHECK_OK(read_all(prefix), &err);
    free(copy);
}

TEST(a_checkpoint_cut_or_altered_anywhere_is_refused)
{
    char prefix[512];

    snprintf(prefix, sizeof prefix, "%s", test_path("small"));
    write_golden(prefix);
    check_cuts_and_flips(prefix, test_path("small.index"));
    check_cuts_and_flips(prefix, test_path("small.data-00000-of-00001"));
}

TEST(a_missing_file_is_named)
{
    struct tensor_bundle b;

    CHECK_FAILS(tensor_bundle_open(&b, test_path("none"), &err), &err, ERR_IO,
                "none.index");
    write_golden(test_path("half"));
    CHECK_OK(file_remove(test_path("half.data-00000-of-00001"), &err), &err);
    CHECK_FAILS(tensor_bundle_open(&b, test_path("half"), &err), &err, ERR_IO,
                "half.data-00000-of-00001");
}

TEST(an_index_without_its_data_tells_what_it_knows)
{
    char missing[FILE_PATH_MAX];
    const unsigned char *bytes;
    struct tensor_bundle b;

    write_golden(test_path("x"));
    CHECK_OK(tensor_bundle_open_index(&b, test_path("x"), missing, &err), &err);
    CHECK_STR(missing, "");
    CHECK_OK(tensor_bundle_read(&b, &b.index.entry[1], &bytes, &err), &err);
    tensor_bundle_close(&b);
    CHECK_OK(file_remove(test_path("x.data-00000-of-00001"), &err), &err);
    CHECK_OK(tensor_bundle_open_index(&b, test_path("x"), missing, &err), &err);
    CHECK_STR(missing, test_path("x.data-00000-of-00001"));
    CHECK(b.index.n == 28 && tensor_index_elements(&b.index.entry[1]) == 6);
    CHECK_FAILS(tensor_bundle_read(&b, &b.index.entry[1], &bytes, &err), &err, ERR_IO,
                "tensor 'b/matrix' cannot be read without its data file");
    tensor_bundle_close(&b);
}

TEST(a_truncated_data_file_says_which_tensor_suffers)
{
    struct tensor_bundle b;

    write_golden(test_path("cut"));
    write_plain(test_path("cut.data-00000-of-00001"), "0123456789", 10);
    CHECK_FAILS(tensor_bundle_open(&b, test_path("cut"), &err), &err, ERR_FORMAT,
                "truncated: 10 bytes, but tensor 'b/matrix' ends at byte 28");
}

TEST(misuse_of_the_writer_is_a_sentence)
{
    struct tensor_bundle_writer w;
    const uint64_t dims[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    const uint64_t huge[2] = {1ULL << 40, 1ULL << 40};

    CHECK_OK(tensor_bundle_begin(&w, test_path("bad"), &err), &err);
    CHECK_FAILS(tensor_bundle_add_bytes(&w, "x", 1, &err), &err, ERR_USAGE, "bytes");
    CHECK_FAILS(tensor_bundle_add(&w, "", TENSOR_FLOAT, SCALAR, &err), &err, ERR_USAGE,
                "'' must come after ''");
    add(&w, "b", TENSOR_FLOAT, SCALAR, "1234", 4);
    CHECK_FAILS(tensor_bundle_add_bytes(&w, "x", 1, &err), &err, ERR_USAGE,
                "1 bytes arrive where tensor 'b' lacks 0");
    CHECK_FAILS(tensor_bundle_add(&w, "a", TENSOR_FLOAT, SCALAR, &err), &err, ERR_USAGE,
                "'a' must come after 'b'");
    CHECK_FAILS(tensor_bundle_add(&w, "c", TENSOR_FLOAT, dims, 9, &err), &err, ERR_USAGE,
                "9 dimensions");
    CHECK_FAILS(tensor_bundle_add(&w, "d", TENSOR_FLOAT, huge, 2, &err), &err, ERR_USAGE,
                "too large");
    CHECK_FAILS(tensor_bundle_add(&w, "e", TENSOR_STRING, SCALAR, &err), &err, ERR_USAGE,
                "no fixed size");
    add(&w, "f", TENSOR_FLOAT, DIMS(2), "1234", 4);
    CHECK_FAILS(tensor_bundle_add(&w, "g", TENSOR_FLOAT, SCALAR, &err), &err, ERR_USAGE,
                "'f' lacks 4 of its 8 bytes");
    CHECK_FAILS(tensor_bundle_finish(&w, &err), &err, ERR_USAGE, "'f' lacks 4");
    CHECK(!file_exists(test_path("bad.index")));
    CHECK(!file_exists(test_path("bad.data-00000-of-00001")));
    CHECK_FAILS(tensor_bundle_begin(&w, test_path("no/such/dir"), &err), &err, ERR_IO,
                "no/such/dir.data");
}

TEST(an_aborted_write_leaves_the_checkpoint_that_was_there)
{
    struct tensor_bundle_writer w;

    write_golden(test_path("kept"));
    CHECK_OK(tensor_bundle_begin(&w, test_path("kept"), &err), &err);
    add(&w, "x", TENSOR_FLOAT, SCALAR, "1234", 4);
    tensor_bundle_abort(&w);
    tensor_bundle_abort(&w);
    check_same_file(test_path("kept.index"), test_data("golden.index"));
    CHECK_OK(read_all(test_path("kept")), &err);
}

/* A random tensor of the round trip below: element count, bytes from its number. */
static size_t random_shape(uint64_t key, uint64_t i, uint64_t dims[3], size_t *n_dims,
                           enum tensor_dtype *dtype)
{
    static const enum tensor_dtype types[] = {TENSOR_FLOAT, TENSOR_HALF, TENSOR_INT64,
                                              TENSOR_UINT8};
    struct rng r = rng_open(rng_hash(key, i));
    size_t n = 1;

    *dtype = types[rng_below(&r, 4)];
    *n_dims = rng_below(&r, 4);
    for (size_t d = 0; d < *n_dims; d++) {
        dims[d] = rng_below(&r, 12);
        n *= dims[d];
    }
    return n * tensor_dtype_bytes((int)*dtype);
}

static void fill(unsigned char *bytes, size_t n, uint64_t key)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)rng_hash(key, i);
}

TEST(random_checkpoints_written_in_random_pieces_come_back)
{
    enum { N = 40, BYTES = 12 * 12 * 12 * 8 };
    static unsigned char bytes[BYTES];
    struct rng r = rng_open(rng_key(test_seed(), "pieces"));
    uint64_t dims[3];
    size_t n_dims;
    enum tensor_dtype dtype;
    char name[32];

    for (int round = 0; round < 5; round++) {
        const uint64_t key = rng_u64(&r);
        struct tensor_bundle_writer w;
        struct tensor_bundle b;
        CHECK_OK(tensor_bundle_begin(&w, test_path("random"), &err), &err);
        for (uint64_t i = 0; i < N; i++) {
            const size_t n = random_shape(key, i, dims, &n_dims, &dtype);
            snprintf(name, sizeof name, "t%03d", (int)i);
            fill(bytes, n, key + i);
            CHECK_OK(tensor_bundle_add(&w, name, dtype, dims, n_dims, &err), &err);
            for (size_t at = 0, piece; at < n; at += piece) {
                piece = rng_below(&r, n - at + 1);
                CHECK_OK(tensor_bundle_add_bytes(&w, bytes + at, piece, &err), &err);
            }
        }
        CHECK_OK(tensor_bundle_finish(&w, &err), &err);

        CHECK_OK(tensor_bundle_open(&b, test_path("random"), &err), &err);
        CHECK(b.index.n == N);
        for (uint64_t i = 0; i < N; i++) {
            const size_t n = random_shape(key, i, dims, &n_dims, &dtype);
            const struct tensor_entry *e = &b.index.entry[i];
            const unsigned char *back;
            CHECK(e->dtype == (int)dtype && e->n_dims == n_dims && e->n_bytes == n);
            CHECK(memcmp(e->dims, dims, n_dims * sizeof *dims) == 0);
            CHECK_OK(tensor_bundle_read(&b, e, &back, &err), &err);
            fill(bytes, n, key + i);
            CHECK(memcmp(back, bytes, n) == 0);
        }
        tensor_bundle_close(&b);
    }
}

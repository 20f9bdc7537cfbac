#include "format/tf/sstable.h"

#include <stdlib.h>

#include "base/rng.h"
#include "format/crc32c.h"
#include "format/le.h"
#include "test.h"

static struct err err;

static void add(struct sstable_writer *w, const char *key, const char *value)
{
    CHECK_OK(sstable_writer_add(w, key, strlen(key), value, strlen(value), &err), &err);
}

static void read_back(struct sstable *t, const struct sstable_writer *w)
{
    CHECK_OK(sstable_read(t, (const unsigned char *)w->out.data, w->out.len, &err), &err);
}

static void check_row(const struct sstable_entry *e, const char *key, const char *value)
{
    CHECK(e && e->n_key == strlen(key) && memcmp(e->key, key, e->n_key) == 0);
    CHECK(e->n_value == strlen(value) && memcmp(e->value, value, e->n_value) == 0);
}

TEST(a_small_table_has_its_known_bytes)
{
    static const unsigned char want[] = {
        0, 0, 1, 'h',                 /* "" -> h */
        0, 2, 1, 'a', 'b', 'x',       /* ab -> x */
        2, 1, 1, 'c', 'y',            /* abc -> y, two bytes shared */
        0, 0, 0, 0,   1,   0,   0, 0, /* restart points */
    };
    struct sstable_writer w;

    sstable_writer_init(&w, 0);
    add(&w, "", "h");
    add(&w, "ab", "x");
    add(&w, "abc", "y");
    CHECK_OK(sstable_writer_finish(&w, &err), &err);
    CHECK(w.out.len == sizeof want + 5 + 8 + 5 + 14 + 5 + 48);
    CHECK(memcmp(w.out.data, want, sizeof want) == 0);
    CHECK(memcmp(w.out.data + w.out.len - 8, "\x57\xfb\x80\x8b\x24\x75\x47\xdb", 8) == 0);
    sstable_writer_release(&w);
}

TEST(an_empty_table_is_a_table)
{
    struct sstable_writer w;
    struct sstable t;

    sstable_writer_init(&w, 0);
    CHECK_OK(sstable_writer_finish(&w, &err), &err);
    read_back(&t, &w);
    CHECK(t.n == 0 && !sstable_find(&t, "", 0));
    sstable_release(&t);
    sstable_writer_release(&w);
}

/* One entry of 5 bytes, its restart point and their count are 13 bytes. */
TEST(a_block_is_closed_when_it_reaches_its_size)
{
    for (size_t limit = 13; limit <= 14; limit++) {
        struct sstable_writer w;
        sstable_writer_init(&w, limit);
        add(&w, "a", "1");
        CHECK(w.out.len == (limit == 13 ? 13 + 5 : 0));
        sstable_writer_release(&w);
    }
}

TEST(keys_out_of_order_are_refused)
{
    struct sstable_writer w;

    sstable_writer_init(&w, 0);
    add(&w, "", "");
    add(&w, "b", "");
    CHECK_FAILS(sstable_writer_add(&w, "b", 1, "", 0, &err), &err, ERR_USAGE,
                "'b' must come after 'b'");
    CHECK_FAILS(sstable_writer_add(&w, "a", 1, "", 0, &err), &err, ERR_USAGE, "'a'");
    add(&w, "\xff", "");
    sstable_writer_release(&w);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Distinct sorted keys of a small alphabet, so that prefixes are shared. */
static size_t random_keys(struct rng *r, char keys[][16], char **sorted, size_t n)
{
    size_t distinct = 0;

    for (size_t i = 0; i < n; i++) {
        const size_t length = 1 + rng_below(r, 14);
        for (size_t j = 0; j < length; j++)
            keys[i][j] = "ab\xfe\xff"[rng_below(r, 4)];
        keys[i][length] = '\0';
        sorted[i] = keys[i];
    }
    qsort(sorted, n, sizeof *sorted, by_key);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(sorted[i], sorted[distinct - 1]) != 0)
            sorted[distinct++] = sorted[i];
    return distinct;
}

TEST(random_tables_of_any_block_size_come_back)
{
    enum { N = 300 };
    struct rng r = rng_open(rng_key(test_seed(), "table"));
    char keys[N][16], *sorted[N];

    for (int round = 0; round < 60; round++) {
        struct sstable_writer w;
        struct sstable t;
        const size_t n = random_keys(&r, keys, sorted, 1 + rng_below(&r, N));
        sstable_writer_init(&w, 1 + rng_below(&r, 400));
        for (size_t i = 0; i < n; i++)
            add(&w, sorted[i], sorted[n - 1 - i]);
        CHECK_OK(sstable_writer_finish(&w, &err), &err);
        read_back(&t, &w);
        CHECK(t.n == n);
        for (size_t i = 0; i < n; i++) {
            check_row(&t.entry[i], sorted[i], sorted[n - 1 - i]);
            CHECK(sstable_find(&t, sorted[i], strlen(sorted[i])) == &t.entry[i]);
        }
        CHECK(!sstable_find(&t, "zz", 2));
        CHECK(!sstable_find(&t, "", 0));
        sstable_release(&t);
        sstable_writer_release(&w);
    }
}

/* A table of several blocks and restart points. */
static struct sstable_writer sample(void)
{
    struct sstable_writer w;

    sstable_writer_init(&w, 300);
    for (int i = 0; i < 60; i++) {
        char key[32];
        snprintf(key, sizeof key, "layer/%02d/kernel", i);
        add(&w, key, key);
    }
    CHECK_OK(sstable_writer_finish(&w, &err), &err);
    return w;
}

TEST(a_table_cut_anywhere_is_refused)
{
    struct sstable_writer w = sample();
    struct sstable t;

    for (size_t n = 0; n < w.out.len; n++) {
        unsigned char *cut = malloc(n + 1); /* of its own, so that ASan guards the end */
        CHECK(cut);
        memcpy(cut, w.out.data, n);
        CHECK_FAILS(sstable_read(&t, cut, n, &err), &err, ERR_FORMAT, "");
        CHECK(!t.entry && t.n == 0);
        free(cut);
    }
    sstable_writer_release(&w);
}

TEST(every_flipped_bit_is_noticed)
{
    struct sstable_writer w = sample();
    struct sstable t;

    for (size_t bit = 0; bit < w.out.len * 8; bit++) {
        w.out.data[bit / 8] = (char)(w.out.data[bit / 8] ^ 1 << bit % 8);
        CHECK_FAILS(sstable_read(&t, (unsigned char *)w.out.data, w.out.len, &err), &err,
                    ERR_FORMAT, "");
        w.out.data[bit / 8] = (char)(w.out.data[bit / 8] ^ 1 << bit % 8);
    }
    read_back(&t, &w);
    sstable_release(&t);
    sstable_writer_release(&w);
}

/* A one-block table whose first n bytes were altered: make the checksum right again. */
static void seal(struct sstable_writer *w, size_t n_block)
{
    unsigned char *p = (unsigned char *)w->out.data;

    le_put32(p + n_block + 1, crc32c_mask(crc32c(0, p, n_block + 1)));
}

/* A table of the keys k, ka and kb, with one byte of its block set to `value`. */
static status altered(size_t at, unsigned char value)
{
    struct sstable_writer w;
    struct sstable t;
    status result;

    sstable_writer_init(&w, 0);
    add(&w, "k", "1");
    add(&w, "ka", "2");
    add(&w, "kb", "3");
    CHECK_OK(sstable_writer_finish(&w, &err), &err);
    w.out.data[at] = (char)value;
    seal(&w, 23);
    result = sstable_read(&t, (unsigned char *)w.out.data, w.out.len, &err);
    sstable_release(&t);
    sstable_writer_release(&w);
    return result;
}

TEST(blocks_with_a_right_checksum_and_wrong_contents_are_refused)
{
    CHECK_OK(altered(0, 0), &err);
    CHECK_FAILS(altered(0, 1), &err, ERR_FORMAT, "entry at byte 0"); /* shares nothing */
    CHECK_FAILS(altered(1, 200), &err, ERR_FORMAT, "malformed");     /* key too long */
    CHECK_FAILS(altered(2, 100), &err, ERR_FORMAT, "malformed");     /* value too long */
    CHECK_FAILS(altered(5, 2), &err, ERR_FORMAT, "entry at byte 5"); /* of a 1-byte key */
    CHECK_FAILS(altered(13, 'A'), &err, ERR_FORMAT, "'kA' is out of order");
    CHECK_FAILS(altered(13, 'a'), &err, ERR_FORMAT, "'ka' is out of order"); /* twice */
    CHECK_FAILS(altered(15, 4), &err, ERR_FORMAT, "malformed"); /* restart in an entry */
    CHECK_FAILS(altered(15, 5), &err, ERR_FORMAT, "malformed"); /* shared at a restart */
    CHECK_FAILS(altered(19, 2), &err, ERR_FORMAT, "malformed"); /* counts two of them */
    CHECK_FAILS(altered(19, 0), &err, ERR_FORMAT, "restart points");
    CHECK_FAILS(altered(22, 0x80), &err, ERR_FORMAT, "restart points");
    CHECK_FAILS(altered(23, 1), &err, ERR_FORMAT, "compressed by snappy");
    CHECK_FAILS(altered(23, 7), &err, ERR_FORMAT, "compressed, which");
}

TEST(a_block_beyond_the_end_is_refused)
{
    struct sstable_writer w = sample();
    unsigned char *footer = (unsigned char *)w.out.data + w.out.len - 48;
    struct sstable t;

    memset(footer, 0, 40);
    memset(footer, 0xff, 9);
    footer[9] = 1; /* a meta-index block at 2^64 - 1 */
    CHECK_FAILS(sstable_read(&t, (unsigned char *)w.out.data, w.out.len, &err), &err,
                ERR_FORMAT, "out of bounds");
    sstable_writer_release(&w);
}

/* Three bytes of file for each repeat of a long key. */
TEST(a_small_file_that_claims_gigabytes_of_keys_is_refused)
{
    enum { LONG = 60000, REPEATS = 5000 };
    struct sstable_writer w;
    char *key = malloc(LONG + 2);
    struct sstable t;

    CHECK(key);
    memset(key, 'k', LONG);
    sstable_writer_init(&w, 0);
    w.data.restart_interval = SIZE_MAX;
    for (int i = 0; i < REPEATS; i++) {
        key[LONG] = (char)(i / 100);
        key[LONG + 1] = (char)(i % 100);
        CHECK_OK(sstable_writer_add(&w, key, LONG + 2, "", 0, &err), &err);
    }
    CHECK_OK(sstable_writer_finish(&w, &err), &err);
    CHECK(w.out.len < 200000);
    CHECK_FAILS(sstable_read(&t, (unsigned char *)w.out.data, w.out.len, &err), &err,
                ERR_MEMORY, "keys");
    free(key);
    sstable_writer_release(&w);
}

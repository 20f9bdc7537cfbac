#include "prepare/bin_sort.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/rng.h"
#include "base/str.h"
#include "prepare/duplicates.h"
#include "test.h"

/* Records 0, 1, ... n - 1 as text, in two pieces, with random keys. */
static void write_records(const char *name, uint64_t n, size_t n_bins, uint64_t seed)
{
    struct bin_sort s;
    struct err err = {0};
    char text[32];

    CHECK_OK(bin_sort_open(&s, test_dir(), name, n_bins, &err), &err);
    for (uint64_t i = 0; i < n; i++) {
        const int len = snprintf(text, sizeof text, "%llu", (unsigned long long)i);
        const struct bin_sort_piece piece[] = {{"r", 1}, {text, (size_t)len}};
        CHECK_OK(bin_sort_add(&s, rng_hash(rng_key(seed, "prepare"), i), piece, 2, &err),
                 &err);
    }
    CHECK_OK(bin_sort_commit(&s, &err), &err);
    bin_sort_abort(&s);
}

static status collect(void *ctx, const unsigned char *record, size_t n, struct err *err)
{
    struct str *all = ctx;

    CHECK(n >= 2 && record[0] == 'r');
    str_add(all, record + 1, n - 1);
    str_putc(all, '\n');
    return str_check(all, "records", err);
}

static void read_records(struct str *all, const char *name, size_t n_bins)
{
    struct err err = {0};

    str_reset(all);
    CHECK_OK(bin_sort_emit(test_dir(), name, n_bins, collect, all, &err), &err);
}

TEST(the_order_does_not_depend_on_the_bins)
{
    struct str one = str_new(0), many = str_new(0);

    write_records("one", 5000, 1, 7);
    read_records(&one, "one", 1);
    for (size_t n = 2; n <= 40; n += 19) {
        write_records("many", 5000, n, 7);
        read_records(&many, "many", n);
        CHECK_STR(str_text(&many), str_text(&one));
    }
    write_records("one", 5000, 1, 8);
    read_records(&many, "one", 1);
    CHECK(strcmp(str_text(&many), str_text(&one)) != 0);
    str_release(&one);
    str_release(&many);
}

TEST(every_record_comes_out_once_anywhere)
{
    enum { N = 4000 };
    struct str all = str_new(0);
    bool seen[N] = {0};
    double moved = 0;
    char *at;
    int k = 0;

    write_records("all", N, 3, test_seed());
    read_records(&all, "all", 3);
    for (at = all.data; *at; at++, k++) {
        const long i = strtol(at, &at, 10);
        CHECK(i >= 0 && i < N && !seen[i]);
        seen[i] = true;
        moved += (double)labs(i - k);
    }
    CHECK(k == N);
    CHECK(moved / N > N / 4 && moved / N < N / 2); /* a third of it on average */
    str_release(&all);
}

TEST(a_bin_that_was_cut_is_noticed_wherever)
{
    const char *path = test_path("cut-0");
    struct str all = str_new(0);
    struct err err = {0};

    write_records("cut", 2, 1, 7);
    const int64_t n = file_bytes(path);
    CHECK(n == 2 * (12 + 2));
    for (int64_t left = n - 1; left > 0; left--) {
        CHECK(truncate(path, left) == 0);
        const status s = bin_sort_emit(test_dir(), "cut", 1, collect, &all, &err);
        if (left == n / 2)
            CHECK_OK(s, &err);
        else
            CHECK_FAILS(s, &err, ERR_FORMAT, "cut-0 was cut");
    }
    str_release(&all);
}

TEST(bins_follow_from_memory)
{
    struct err err = {0};
    size_t n;

    CHECK_OK(bin_sort_plan(&n, 1000, 10, 64 << 20, "pairs", &err), &err);
    CHECK(n == 1);
    CHECK_OK(bin_sort_plan(&n, (uint64_t)3 << 30, 1000, (uint64_t)2 << 30, "pairs", &err),
             &err);
    CHECK(n == 4);
    CHECK_FAILS(bin_sort_plan(&n, (uint64_t)1 << 40, 1000, 64 << 20, "pairs", &err), &err,
                ERR_USAGE, "memory_mib = 64");
}

static struct line line_of(const char *text)
{
    return (struct line){text, strlen(text)};
}

static void add(struct duplicates *d, const char *text, const char *core)
{
    const struct line t[2] = {line_of(text), line_of("x")};
    const struct line c[2] = {line_of(core), line_of("x")};
    struct err err = {0};

    CHECK_OK(duplicates_add(d, duplicates_key_of(t, c), &err), &err);
}

TEST(of_equal_pairs_the_first_stays)
{
    for (uint64_t n = 8; n < 3000000; n *= 300) { /* one bin, and several */
        struct duplicates d;
        struct duplicates_found f;
        struct err err = {0};
        CHECK_OK(duplicates_open(&d, test_dir(), n, 16 << 20, &err), &err);
        CHECK((d.n_bins > 1) == (n > 300000));
        add(&d, "B.", "b"); /* 0 */
        add(&d, "A!", "a");
        add(&d, "b", "b");  /* 2: near */
        add(&d, "A!", "a"); /* 3: exact */
        add(&d, "b", "b");  /* 4: equal to one that is dropped */
        add(&d, "c", "c");
        add(&d, "a", "a");  /* 6: near */
        add(&d, "A!", "a"); /* 7: exact */
        CHECK_OK(duplicates_find(&d, &f, &err), &err);
        CHECK(f.bit[0] == 0xDC);
        CHECK(f.n[DUPLICATES_EXACT] == 3 && f.n[DUPLICATES_NEAR] == 2);
        CHECK(f.first[DUPLICATES_EXACT][0] == 3 && f.first[DUPLICATES_EXACT][2] == 7);
        CHECK(f.first[DUPLICATES_NEAR][0] == 2 && f.first[DUPLICATES_NEAR][1] == 6);
        free(f.bit);
    }
}

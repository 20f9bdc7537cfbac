#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "test.h"

TEST(products_that_do_not_fit_are_refused)
{
    struct err err = {0};
    size_t n;

    CHECK_OK(mem_mul(&n, 6, 7, &err), &err);
    CHECK(n == 42);
    CHECK_OK(mem_mul(&n, SIZE_MAX, 1, &err), &err);
    CHECK(n == SIZE_MAX);
    CHECK_OK(mem_mul(&n, SIZE_MAX, 0, &err), &err);
    CHECK(n == 0);
    CHECK_FAILS(mem_mul(&n, SIZE_MAX / 2 + 1, 2, &err), &err, ERR_MEMORY, "do not fit");
}

TEST(memory_comes_zeroed_and_is_never_null)
{
    struct err err = {0};
    int *items;

    CHECK_OK(mem_alloc(&items, 1000, sizeof *items, &err), &err);
    for (int i = 0; i < 1000; i++)
        CHECK(items[i] == 0);
    free(items);
    CHECK_OK(mem_alloc(&items, 0, sizeof *items, &err), &err);
    CHECK(items);
    free(items);
}

TEST(impossible_sizes_are_refused_with_the_pointer_null)
{
    struct err err = {0};
    int here, *items = &here;

    CHECK_FAILS(mem_alloc(&items, SIZE_MAX / 2, sizeof *items, &err), &err, ERR_MEMORY,
                "cannot allocate");
    CHECK(!items);
}

TEST(growing_keeps_the_items_and_asks_rarely)
{
    struct err err = {0};
    int *items = NULL, n_moves = 0;
    size_t cap = 0;

    for (size_t i = 0; i < 100000; i++) {
        const size_t before = cap;
        CHECK_OK(mem_grow(&items, &cap, i + 1, sizeof *items, &err), &err);
        CHECK(cap > i);
        n_moves += cap != before;
        items[i] = (int)i;
    }
    for (size_t i = 0; i < 100000; i++)
        CHECK(items[i] == (int)i);
    CHECK(n_moves < 40);
    free(items);
}

TEST(growing_a_tiny_array_by_one_ends)
{
    struct err err = {0};
    char *items = NULL;
    size_t cap = 0;

    CHECK_OK(mem_grow(&items, &cap, 1, 1, &err), &err);
    for (size_t start = 1; start < 4; start++) {
        cap = start;
        CHECK_OK(mem_grow(&items, &cap, start + 1, 1, &err), &err);
        CHECK(cap > start);
    }
    free(items);
}

TEST(pages_are_zero_again_and_take_memory_only_when_used)
{
    enum { PAGE = 4096, N = 64 * PAGE };
    unsigned char in_core[N / PAGE];
    char *mem = aligned_alloc(PAGE, N);

    CHECK(mem);
    memset(mem, 1, N);
    mem_zero_pages(mem, N);
    CHECK(mincore(mem, N, in_core) == 0);
    for (size_t i = 0; i < N / PAGE; i++)
        CHECK(!(in_core[i] & 1));
    for (size_t i = 0; i < N; i++)
        CHECK(mem[i] == 0);
    free(mem);
}

TEST(growing_beyond_memory_is_refused_and_leaves_the_array)
{
    struct err err = {0};
    int *items = NULL;
    size_t cap = 0;

    CHECK_OK(mem_grow(&items, &cap, 10, sizeof *items, &err), &err);
    items[9] = 9;
    const size_t before = cap;
    CHECK_FAILS(mem_grow(&items, &cap, SIZE_MAX, sizeof *items, &err), &err, ERR_MEMORY,
                "do not fit");
    CHECK(mem_grow(&items, &cap, SIZE_MAX / 4, 1, &err) == ERR_MEMORY);
    CHECK(cap == before && items[9] == 9);
    free(items);
}

#include "score/pcg.h"

#include <stdlib.h>

#include "score_cases.h"

static uint64_t number(const json_t *c, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(c, name));
}

TEST(raw_numbers_are_those_of_numpy)
{
    json_t *draws = cases_open("draws", 0), *raw = json_object_get(draws, "raw"), *x;
    struct pcg g = pcg_open(12345);
    size_t i;

    json_array_foreach(raw, i, x)
    {
        CHECK(pcg_u64(&g) == strtoull(json_string_value(x), NULL, 10));
    }
    CHECK(i >= 6);
    json_decref(draws);
}

TEST(indices_are_those_of_numpy_for_every_seed_and_size)
{
    json_t *draws = cases_open("draws", 0), *below = json_object_get(draws, "below"), *c;
    size_t i, k;

    json_array_foreach(below, i, c)
    {
        struct pcg g = pcg_open(number(c, "seed"));
        json_t *x;
        json_array_foreach(json_object_get(c, "want"), k, x)
        {
            CHECK(pcg_below(&g, (uint32_t)number(c, "n")) ==
                  (uint32_t)json_integer_value(x));
        }
    }
    CHECK(i >= 30);
    struct pcg g = pcg_open(1), same = g;
    CHECK(pcg_below(&g, 1) == 0 && pcg_u64(&g) == pcg_u64(&same));
    json_decref(draws);
}

TEST(booleans_are_those_of_numpy_and_so_is_what_follows_them)
{
    json_t *draws = cases_open("draws", 0), *x;
    struct pcg g = pcg_open(12345);
    struct pcg_bits bits = {0};
    size_t i;

    json_array_foreach(json_object_get(draws, "bits"), i, x)
    {
        CHECK(pcg_bit(&g, &bits) == (json_integer_value(x) != 0));
    }
    json_array_foreach(json_object_get(draws, "after_bits"), i, x)
    {
        CHECK(pcg_below(&g, 1000) == (uint32_t)json_integer_value(x));
    }
    json_decref(draws);
}

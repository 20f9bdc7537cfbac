#include <stdlib.h>

#include "align/shortlist.h"
#include "align/ttable.h"
#include "base/mem.h"
#include "base/str.h"
#include "format/le.h"
#include "heap_count.h"
#include "recipe/special_ids.h"
#include "toy_bitext.h"

enum { V = TOY_BITEXT_VOCAB, N_FREQUENT = 5, N_BEST = 3 };

/* A shortlist of the toy language. The table and the bytes are released together. */
struct made {
    struct ttable table;
    struct str blob;
    struct shortlist list;
};

static void make(struct made *m)
{
    const struct ttable_options o = ttable_defaults();
    struct corpus c;
    struct err err = {0};

    toy_bitext(&c, 300, 9, false);
    CHECK_OK(ttable_learn(&m->table, &c, &o, &err), &err);
    corpus_close(&c);
    m->blob = str_new(0);
    CHECK_OK(shortlist_make(&m->blob, &m->table, N_FREQUENT, N_BEST, V, &err), &err);
    CHECK_OK(shortlist_view(&m->list, m->blob.data, m->blob.len, V, &err), &err);
}

static void unmake(struct made *m)
{
    ttable_release(&m->table);
    str_release(&m->blob);
}

/* The union by its definition. */
static size_t union_of(const struct ttable *t, const int32_t *source, size_t n,
                       uint16_t *out)
{
    bool is_in[V] = {[ID_PAD] = true, [ID_EOS] = true, [ID_BOS] = true, [ID_UNK] = true};
    uint16_t id[N_FREQUENT];
    float prob[N_FREQUENT];
    size_t n_out = 0;

    for (size_t k = ttable_frequent(t, N_FREQUENT, id); k-- > 0;)
        is_in[id[k]] = true;
    for (size_t i = 0; i < n; i++)
        if (source[i] >= 0 && source[i] < V)
            for (size_t k = ttable_best(t, (uint32_t)source[i], N_BEST, id, prob);
                 k-- > 0;)
                is_in[id[k]] = true;
    for (uint16_t f = 0; f < V; f++)
        if (is_in[f])
            out[n_out++] = f;
    return n_out;
}

TEST(what_is_collected_is_the_sorted_union)
{
    struct rng rng = rng_open(rng_key(test_seed(), "sentences"));
    struct made m;

    make(&m);
    for (int round = 0; round < 500; round++) {
        const size_t n = (size_t)rng_below(&rng, 12);
        int32_t source[12];
        uint16_t got[V], want[V];
        for (size_t i = 0; i < n; i++)
            source[i] = (int32_t)rng_below(&rng, V);
        const size_t n_want = union_of(&m.table, source, n, want);
        CHECK(shortlist_collect(&m.list, source, n, got, V) == n_want);
        CHECK(memcmp(got, want, n_want * sizeof *want) == 0);
        CHECK(n_want <= shortlist_most(&m.list, n));
    }
    unmake(&m);
}

TEST(the_most_that_is_collected_is_known_before)
{
    struct made m;

    make(&m);
    CHECK(shortlist_most(&m.list, 0) == ID_N_SPECIAL + N_FREQUENT);
    CHECK(shortlist_most(&m.list, 13) == ID_N_SPECIAL + N_FREQUENT + 13 * N_BEST);
    CHECK(shortlist_most(&m.list, 14) == V && shortlist_most(&m.list, SIZE_MAX) == V);
    unmake(&m);
}

TEST(the_list_of_a_sentence_has_its_translation)
{
    static const int32_t source[] = {TOY_FIRST, TOY_FIRST + 9, TOY_FIRST + 39};
    uint16_t got[V];
    struct made m;

    make(&m);
    const size_t n = shortlist_collect(&m.list, source, 3, got, V);
    for (size_t i = 0; i < 3; i++) {
        bool is_there = false;
        for (size_t k = 0; k < n; k++)
            is_there |= got[k] == toy_word(source[i]);
        CHECK(is_there);
    }
    unmake(&m);
}

TEST(too_little_room_gets_the_first_ids_and_the_true_number)
{
    static const int32_t source[] = {5, 6, 7, 8};
    uint16_t all[V], some[6] = {0, 0, 0, 0, 0, 777};
    struct made m;

    make(&m);
    const size_t n = shortlist_collect(&m.list, source, 4, all, V);
    CHECK(n > 5 && shortlist_collect(&m.list, source, 4, some, 5) == n);
    CHECK(memcmp(all, some, 5 * sizeof *all) == 0 && some[5] == 777);
    CHECK(shortlist_collect(&m.list, source, 4, NULL, 0) == n);
    unmake(&m);
}

TEST(source_ids_outside_the_vocabulary_add_nothing)
{
    static const int32_t outside[] = {-1, V, INT32_MAX, INT32_MIN};
    uint16_t got[V], none[V];
    struct made m;

    make(&m);
    const size_t n = shortlist_collect(&m.list, NULL, 0, none, V);
    CHECK(n >= ID_N_SPECIAL && n <= ID_N_SPECIAL + N_FREQUENT);
    CHECK(shortlist_collect(&m.list, outside, 4, got, V) == n);
    CHECK(memcmp(got, none, n * sizeof *got) == 0);
    unmake(&m);
}

TEST(collecting_allocates_nothing)
{
    static const int32_t source[] = {5, 6, 7, 8};
    uint16_t got[V];
    struct shortlist again;
    struct err err = {0};
    struct made m;

    make(&m);
    const size_t before = atomic_load(&heap_asked);
    CHECK(before > 0);
    CHECK_OK(shortlist_view(&again, m.blob.data, m.blob.len, V, &err), &err);
    CHECK(shortlist_collect(&again, source, 4, got, V) > 4);
    CHECK(atomic_load(&heap_asked) == before);
    unmake(&m);
}

TEST(the_bytes_need_no_alignment)
{
    static const int32_t source[] = {5, 6};
    uint16_t a[V], b[V];
    struct shortlist moved;
    struct err err = {0};
    struct made m;
    unsigned char *copy;

    make(&m);
    CHECK_OK(mem_alloc(&copy, m.blob.len + 1, 1, &err), &err);
    memcpy(copy + 1, m.blob.data, m.blob.len);
    CHECK_OK(shortlist_view(&moved, copy + 1, m.blob.len, V, &err), &err);
    const size_t n = shortlist_collect(&m.list, source, 2, a, V);
    CHECK(shortlist_collect(&moved, source, 2, b, V) == n);
    CHECK(memcmp(a, b, n * sizeof *a) == 0);
    free(copy);
    unmake(&m);
}

/* docs/formats/shortlist.md shows these bytes. */
TEST(the_bytes_are_those_of_the_format_page)
{
    static const unsigned char want[] = {
        1, 0, 0, 0, 6, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, /* head */
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0,
        3, 0, 0, 0, /* offsets */
        4, 0, 5, 0, 5, 0, 3, 0, 5, 0};
    size_t row_at[] = {0, 0, 0, 0, 0, 3, 4, 4};
    uint16_t target[] = {3, 4, 5, 5};
    float prob[] = {0.1f, 0.2f, 0.7f, 1};
    uint64_t frequency[] = {0, 0, 0, 7, 6, 8};
    const struct ttable t = {.vocab = 6,
                             .row_at = row_at,
                             .target = target,
                             .prob = prob,
                             .frequency = frequency};
    struct str blob = str_new(0);
    struct err err = {0};

    CHECK_OK(shortlist_make(&blob, &t, 2, 2, 6, &err), &err);
    CHECK(blob.len == sizeof want && memcmp(blob.data, want, sizeof want) == 0);
    str_release(&blob);
}

TEST(sizes_that_cannot_be_are_refused)
{
    struct err err = {0};
    struct str blob = str_new(0);
    struct made m;

    make(&m);
    CHECK_FAILS(shortlist_make(&blob, &m.table, 5, 5, V + 1, &err), &err, ERR_USAGE,
                "a translation table for 50 ids, but the vocabulary has 51");
    CHECK_FAILS(shortlist_make(&blob, &m.table, 51, 5, V, &err), &err, ERR_USAGE,
                "51 frequent and 5 best");
    CHECK_FAILS(shortlist_make(&blob, &m.table, 5, 51, V, &err), &err, ERR_USAGE, "51");
    CHECK(blob.len == 0);
    CHECK_OK(shortlist_make(&blob, &m.table, 0, 0, V, &err), &err);
    CHECK_OK(shortlist_view(&m.list, blob.data, blob.len, V, &err), &err);
    CHECK(shortlist_most(&m.list, SIZE_MAX) == ID_N_SPECIAL);
    str_reset(&blob);
    CHECK_OK(shortlist_make(&blob, &m.table, V, V, V, &err), &err);
    CHECK_OK(shortlist_view(&m.list, blob.data, blob.len, V, &err), &err);
    CHECK(shortlist_most(&m.list, SIZE_MAX) == V);
    str_release(&blob);
    unmake(&m);
}

/* One change of the bytes, and what is said of it. */
static void check_damage(const struct str *blob, size_t at, uint32_t value,
                         const char *text)
{
    unsigned char *copy;
    struct shortlist s;
    struct err err = {0};

    CHECK_OK(mem_alloc(&copy, blob->len, 1, &err), &err);
    memcpy(copy, blob->data, blob->len);
    le_put32(copy + at, value);
    CHECK_FAILS(shortlist_view(&s, copy, blob->len, V, &err), &err, ERR_FORMAT, text);
    free(copy);
}

TEST(every_field_is_checked)
{
    const size_t offsets = SHORTLIST_HEAD, best = offsets + 4 * (V + 1);
    struct made m;

    make(&m);
    const uint32_t n_ids = le_get32((unsigned char *)m.blob.data + 16);
    check_damage(&m.blob, 0, 2, "of version 2, this program reads version 1");
    check_damage(&m.blob, 4, V - 1, "for 49 ids, but the vocabulary has 50");
    check_damage(&m.blob, 8, N_FREQUENT + 1, "damaged");
    check_damage(&m.blob, 12, N_BEST - 1, "damaged");
    check_damage(&m.blob, 12, V + 1, "damaged");
    check_damage(&m.blob, 16, n_ids - 1, "damaged");
    check_damage(&m.blob, 16, UINT32_MAX, "damaged");
    check_damage(&m.blob, 20, 1, "damaged");
    check_damage(&m.blob, offsets, 1, "damaged");
    check_damage(&m.blob, offsets + 4 * 20, UINT32_MAX, "damaged");
    check_damage(&m.blob, offsets + 4 * 20, 0, "damaged");
    check_damage(&m.blob, offsets + 4 * V, n_ids + 1, "damaged");
    check_damage(&m.blob, best, 0x00050005, "damaged");     /* equal neighbours */
    check_damage(&m.blob, best, 0x00060007, "damaged");     /* falling */
    check_damage(&m.blob, best, 100u << 16 | V, "damaged"); /* outside */
    check_damage(&m.blob, m.blob.len - 4, 0xffff0000, "damaged");
    check_damage(&m.blob, m.blob.len - 4, 0x00070008, "damaged");
    unmake(&m);
}

TEST(counts_that_agree_with_the_bytes_but_not_the_vocabulary_are_refused)
{
    struct shortlist s;
    struct err err = {0};
    struct str blob = str_new(0);
    unsigned char word[4];

    /* 3 ids, fewer than the specials; offsets of nothing */
    for (int k = 0; k < 10; k++) {
        le_put32(word, k == 0 ? SHORTLIST_VERSION : k == 1 ? 3 : 0);
        str_add(&blob, word, 4);
    }
    CHECK_FAILS(shortlist_view(&s, blob.data, blob.len, 3, &err), &err, ERR_FORMAT,
                "damaged");
    str_release(&blob);
    blob = str_new(0);
    for (int k = 0; k < 6 + 65538; k++) { /* one id more than 16 bits have */
        le_put32(word, k == 0 ? SHORTLIST_VERSION : k == 1 ? 65537 : 0);
        str_add(&blob, word, 4);
    }
    CHECK_FAILS(shortlist_view(&s, blob.data, blob.len, 65537, &err), &err, ERR_FORMAT,
                "damaged");
    str_release(&blob);
}

/* Steps of 65,536 come back to 0 after 65,536 of them; on the way they lead outside. */
TEST(offsets_that_overflow_are_refused)
{
    const uint32_t head[6] = {SHORTLIST_VERSION, 65536, 0, 65536};
    const size_t n_words = 6 + 65537;
    struct shortlist s;
    struct err err = {0};
    unsigned char *bytes;

    CHECK_OK(mem_alloc(&bytes, n_words, 4, &err), &err);
    for (size_t k = 0; k < n_words; k++)
        le_put32(bytes + 4 * k, k < 6 ? head[k] : (uint32_t)(k - 6) << 16);
    CHECK_FAILS(shortlist_view(&s, bytes, 4 * n_words, 65536, &err), &err, ERR_FORMAT,
                "damaged");
    free(bytes);
}

TEST(the_first_list_begins_at_the_first_id)
{
    struct shortlist s;
    struct err err = {0};
    struct made m;

    make(&m);
    for (size_t e = 0; e <= TOY_FIRST; e++) /* no id has words before these */
        le_put32((unsigned char *)m.blob.data + SHORTLIST_HEAD + 4 * e, 1);
    CHECK_FAILS(shortlist_view(&s, m.blob.data, m.blob.len, V, &err), &err, ERR_FORMAT,
                "damaged");
    unmake(&m);
}

TEST(bytes_that_were_cut_anywhere_are_refused)
{
    struct shortlist s;
    struct err err = {0};
    struct made m;

    make(&m);
    for (size_t n = 0; n < m.blob.len; n++) {
        unsigned char *copy; /* of its own, so that a sanitizer sees the end */
        CHECK_OK(mem_alloc(&copy, n, 1, &err), &err);
        memcpy(copy, m.blob.data, n);
        CHECK(shortlist_view(&s, copy, n, V, &err) == ERR_FORMAT);
        free(copy);
    }
    CHECK_FAILS(shortlist_view(&s, NULL, 0, V, &err), &err, ERR_FORMAT, "0 bytes");
    unmake(&m);
}

TEST(random_damage_never_leads_outside)
{
    struct rng rng = rng_open(rng_key(test_seed(), "damage"));
    struct made m;

    make(&m);
    for (int round = 0; round < 20000; round++) {
        static const int32_t source[] = {4, 10, 20, 30, 49};
        struct shortlist s;
        struct err err;
        uint16_t got[V];
        const size_t at = (size_t)rng_below(&rng, m.blob.len);
        const char kept = m.blob.data[at];
        m.blob.data[at] = (char)rng_below(&rng, 256);
        if (shortlist_view(&s, m.blob.data, m.blob.len, V, &err) == OK) {
            const size_t n = shortlist_collect(&s, source, 5, got, V);
            CHECK(n >= ID_N_SPECIAL && n <= V && got[n - 1] < V);
        }
        m.blob.data[at] = kept;
    }
    unmake(&m);
}

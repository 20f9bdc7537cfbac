/* Some columns of the output layer instead of all: the same logits, a softmax over fewer,
 * and nothing changed for rows that have all. */
#include "decode/columns.h"

#include <stdlib.h>

#include "base/pool.h"
#include "format/le.h"
#include "test.h"

enum { VOCAB = 1300, N_ROWS = 5, N_TOP = 6, N_SOURCE = 7 };

static struct err err;

static const struct model_config config = {.vocab_size = VOCAB,
                                           .d_model = 40,
                                           .d_ff = 48,
                                           .heads = 2,
                                           .encoder_layers = 1,
                                           .decoder_layers = 1,
                                           .norm_epsilon = 1e-6};

static enum linear_type all_int8(void *ctx, const struct network_part *part)
{
    (void)ctx, (void)part;
    return LINEAR_INT8;
}

static void open_network(struct network *n, bool is_int8)
{
    struct params p;
    float *flat;

    CHECK_OK(params_open(&p, &config, &err), &err);
    CHECK((flat = calloc(p.n_flat, sizeof *flat)));
    params_init(&p, 9, flat);
    CHECK_OK(network_open(n, &config, &err), &err);
    CHECK_OK(network_pack(n, &p, flat, (struct network_types){is_int8 ? all_int8 : NULL},
                          &err),
             &err);
    free(flat);
    params_close(&p);
}

TEST(gathered_columns_are_those_of_the_matrix)
{
    static const uint16_t id[] = {0, 1, 15, 16, 17, 40, 511, 512, 900, 1298, 1299};
    enum { N = sizeof id / sizeof *id };

    for (int is_int8 = 0; is_int8 < 2; is_int8++) {
        struct network n;
        open_network(&n, is_int8);
        void *memory =
            aligned_alloc(64, linear_round(linear_gather_bytes(&n.embed, N), 64));
        CHECK(memory);
        const struct linear w = linear_gather(memory, &n.embed, id, N);
        CHECK(w.n_out == N && w.n_in == n.embed.n_in && w.type == n.embed.type);
        for (size_t c = 0; c < N; c++) {
            for (size_t k = 0; k < w.n_in; k++)
                CHECK(linear_value(&w, k, c) == linear_value(&n.embed, k, id[c]));
            CHECK(!is_int8 || w.sum[c] == n.embed.sum[id[c]]);
        }
        free(memory);
        network_close(&n);
    }
}

/* Log-probabilities of the first position of each row, all of them where n_top allows. */
static void first_step(struct session *s, const struct session_columns *const columns[],
                       double *log_prob, int32_t *id)
{
    static const int32_t source[N_SOURCE] = {2, 9, 700, 44, 1299, 5, 1};
    struct session_source place;
    const size_t n_top = s->shape.n_top;
    struct session_row row[N_ROWS];
    int32_t entry[N_ROWS];

    CHECK(session_lend(s, N_SOURCE, &place));
    session_encode(s, &(struct session_sentence){source, place}, 1);
    for (size_t r = 0; r < N_ROWS; r++) {
        entry[r] = session_take_entry(s);
        row[r] = (struct session_row){
            .token = r ? (int32_t)r + 3 : -1,
            .source = place,
            .best = {log_prob + r * n_top, id + r * n_top, n_top, .wants_prob = true},
            .entry = &entry[r],
            .columns = columns[r]};
    }
    session_step(s, row, N_ROWS);
    for (size_t r = 0; r < N_ROWS; r++)
        session_drop_entry(s, entry[r]);
    session_give_back(s, place);
}

static void open_session(struct session *s, const struct network *n, struct pool *pool,
                         size_t n_top)
{
    CHECK_OK(session_open(s, n, kernels_choose("cpu"), pool,
                          (struct session_shape){.n_rows = N_ROWS,
                                                 .n_entries = N_ROWS,
                                                 .n_memory = 16,
                                                 .n_tokens = 16,
                                                 .max_len = 16,
                                                 .n_top = n_top},
                          &err),
             &err);
}

/* The best of `some` by the log-probabilities of all, and what softmax over them gives.
 */
static void check_row(const double *log_prob, const int32_t *id, const double *all,
                      const int32_t *all_id, const uint16_t *some, size_t n_some)
{
    double sum = 0;
    size_t n_seen = 0;

    for (size_t i = 0; i < VOCAB; i++)
        for (size_t k = 0; k < n_some; k++)
            sum += some[k] == all_id[i] ? exp(all[i]) : 0;
    for (size_t i = 0; i < VOCAB && n_seen < N_TOP; i++)
        for (size_t k = 0; k < n_some; k++)
            if (some[k] == all_id[i]) {
                CHECK(id[n_seen] == all_id[i]);
                CHECK_NEAR(log_prob[n_seen], all[i] - log(sum), 1e-5);
                n_seen++;
            }
    for (; n_seen < N_TOP; n_seen++)
        CHECK(id[n_seen] == -1);
}

TEST(rows_with_columns_see_them_alone_and_others_see_all)
{
    static double all[N_ROWS * VOCAB], log_prob[N_ROWS * N_TOP];
    static int32_t all_id[N_ROWS * VOCAB], id[N_ROWS * N_TOP];
    static uint16_t many[700], few[3] = {4, 800, 1299};
    const struct session_columns *none[N_ROWS] = {0};

    for (size_t i = 0; i < 700; i++)
        many[i] = (uint16_t)(i + i / 2);
    for (int how = 0; how < 4; how++) {
        const bool is_int8 = how & 1;
        struct network n;
        struct session s;
        struct pool *pool = NULL;
        open_network(&n, is_int8);
        void *memory[2];
        for (int k = 0; k < 2; k++)
            CHECK((memory[k] = aligned_alloc(64, 1 << 18)));
        const struct session_columns of_many = {linear_gather(memory[0], &n.embed, many,
                                                              700),
                                                many},
                                     of_few = {linear_gather(memory[1], &n.embed, few, 3),
                                               few};
        const struct session_columns *some[N_ROWS] = {&of_many, &of_many, NULL, &of_few,
                                                      NULL};
        if (how & 2)
            CHECK_OK(pool_open(&pool, 3, false, &err), &err);
        open_session(&s, &n, pool, VOCAB);
        first_step(&s, none, all, all_id);
        session_close(&s);
        open_session(&s, &n, pool, N_TOP);
        first_step(&s, some, log_prob, id);
        session_close(&s);
        for (size_t r = 0; r < N_ROWS; r++) {
            const double *p = log_prob + r * N_TOP, *q = all + r * VOCAB;
            const int32_t *x = id + r * N_TOP, *y = all_id + r * VOCAB;
            if (!some[r])
                CHECK(memcmp(p, q, N_TOP * sizeof *p) == 0 &&
                      memcmp(x, y, N_TOP * sizeof *x) == 0);
            else
                check_row(p, x, q, y, some[r]->id, some[r]->w.n_out);
        }
        free(memory[0]);
        free(memory[1]);
        pool_close(pool);
        network_close(&n);
    }
}

/* A list made by hand, as docs/formats/shortlist.md has it: source id 5 becomes 7, 8 and
 * 900, and 40 is frequent. */
static void put_list(unsigned char *bytes, struct shortlist *list)
{
    enum { AT_LISTS = SHORTLIST_HEAD + 4 * (VOCAB + 1) };
    static const uint16_t ids[] = {7, 8, 900, 40};

    memset(bytes, 0, AT_LISTS);
    le_put32(bytes, SHORTLIST_VERSION);
    le_put32(bytes + 4, VOCAB);
    le_put32(bytes + 8, 1);
    le_put32(bytes + 12, 3);
    le_put32(bytes + 16, 3);
    for (size_t e = 6; e <= VOCAB; e++)
        le_put32(bytes + SHORTLIST_HEAD + 4 * e, 3);
    for (size_t i = 0; i < 4; i++)
        le_put16(bytes + AT_LISTS + 2 * i, ids[i]);
    CHECK_OK(shortlist_view(list, bytes, AT_LISTS + 8, VOCAB, &err), &err);
}

TEST(a_sentence_takes_the_columns_of_its_shortlist)
{
    static unsigned char bytes[SHORTLIST_HEAD + 4 * (VOCAB + 1) + 8];
    static const uint16_t want[] = {0, 1, 2, 3, 7, 8, 40, 900};
    static const int32_t source[] = {2, 5, 6, 1};
    struct network n;
    struct columns c;
    struct shortlist list;

    open_network(&n, true);
    put_list(bytes, &list);
    CHECK_OK(columns_open(&c, &n, &list, 10, &err), &err);
    for (int again = 0; again < 2; again++) {
        const struct session_columns *got = columns_take(&c, source, 4);
        CHECK(got && got->w.n_out == 8);
        CHECK(memcmp(got->id, want, sizeof want) == 0);
        for (size_t i = 0; i < 8; i++)
            CHECK(linear_value(&got->w, 3, i) == linear_value(&n.embed, 3, want[i]));
    }
    columns_close(&c);
    columns_close(&c);
    network_close(&n);
}

#include "decode/packed_model.h"

#include <stdlib.h>

#include "decode/loaded.h"
#include "device/half.h"
#include "format/le.h"
#include "toy_model.h"

static struct err err;

struct setup {
    struct spm *spm;
    struct model_config config;
    struct params params;
    float *flat;
    struct network network;
};

static enum linear_type mixed(void *ctx, const struct network_part *part)
{
    (void)ctx;
    return strstr(part->name, "ff") ? LINEAR_FLOAT : LINEAR_INT8;
}

static void open_setup(struct setup *s, bool has_int8)
{
    *s = (struct setup){.spm = toy_model_spm()};
    s->config = toy_model_config(spm_size(s->spm));
    CHECK_OK(params_open(&s->params, &s->config, &err), &err);
    s->flat = toy_model_weights(&s->params, 3);
    CHECK_OK(network_open(&s->network, &s->config, &err), &err);
    CHECK_OK(network_pack(&s->network, &s->params, s->flat,
                          (struct network_types){has_int8 ? mixed : NULL, NULL}, &err),
             &err);
}

static void close_setup(struct setup *s)
{
    network_close(&s->network);
    free(s->flat);
    params_close(&s->params);
    spm_free(s->spm);
}

static struct packed_model_parts parts_of(struct setup *s, bool is_half)
{
    static const char about[] = "{\"made_by\": \"a test\"}", licence[] = "all yours";

    return (struct packed_model_parts){.network = &s->network,
                                       .options = {.source_lang = "en",
                                                   .target_lang = "de",
                                                   .step = 77,
                                                   .alignment_layer = 1},
                                       .is_half = is_half,
                                       .tokenizer = spm_bytes(s->spm),
                                       .about = {about, sizeof about - 1},
                                       .licence = {licence, sizeof licence - 1}};
}

/* Every number of every part, within what half precision may change. */
static void check_same(struct network *x, struct network *y, bool is_half)
{
    struct network_part a, b;

    for (size_t i = 0; network_part(x, i, &a); i++) {
        CHECK(network_part(y, i, &b));
        CHECK_STR(a.name, b.name);
        if (a.vector) {
            CHECK(memcmp(*a.vector, *b.vector, a.n_out * sizeof(float)) == 0);
            continue;
        }
        CHECK(a.matrix->type == b.matrix->type);
        CHECK(!a.matrix->bias == !b.matrix->bias);
        CHECK(!a.matrix->bias ||
              memcmp(a.matrix->bias, b.matrix->bias, a.n_out * sizeof(float)) == 0);
        for (size_t k = 0; k < a.n_in; k++)
            for (size_t n = 0; n < a.n_out; n++) {
                const float v = linear_value(a.matrix, k, n);
                const bool is_rounded = is_half && a.matrix->type == LINEAR_FLOAT;
                CHECK(linear_value(b.matrix, k, n) ==
                      (is_rounded ? half_to(half_from(v)) : v));
            }
    }
}

TEST(a_model_is_read_as_it_was_written)
{
    for (int kind = 0; kind < 3; kind++) {
        const bool has_int8 = kind > 0, is_half = kind > 1;
        struct setup s;
        struct packed_model m;
        open_setup(&s, has_int8);
        const struct packed_model_parts parts = parts_of(&s, is_half);
        CHECK_OK(packed_model_write(&parts, test_path("m.ferry"), &err), &err);
        CHECK(packed_model_is(test_path("m.ferry")));
        CHECK_OK(packed_model_open(&m, test_path("m.ferry"), &err), &err);
        check_same(&s.network, &m.network, is_half);
        CHECK(m.config.d_ff == s.config.d_ff && m.config.heads == s.config.heads);
        CHECK_STR(m.options.source_lang, "en");
        CHECK(m.options.step == 77 && m.options.alignment_layer == 1);
        CHECK(spm_size(m.spm) == spm_size(s.spm));
        CHECK(packed_model_text(&m, PACKED_MODEL_LICENCE).n_bytes == 9);
        CHECK(packed_model_text(&m, PACKED_MODEL_SHORTLIST).n_bytes == 0);
        /* weights are read where they are mapped, unless they had to be widened */
        CHECK(is_half ||
              ((const unsigned char *)m.network.embed.panel > m.pack.map.data &&
               (const unsigned char *)m.network.embed.panel <
                   m.pack.map.data + m.pack.map.n_bytes));
        CHECK((uintptr_t)m.network.embed.panel % 64 == 0);
        packed_model_close(&m);
        close_setup(&s);
    }
}

static struct spm *other_spm(void)
{
    struct lines text = lines_over(TOY_MODEL_TEXT, sizeof TOY_MODEL_TEXT - 1);
    const struct spm_train_options o = {.vocab_size = 50, .is_at_most = true};
    struct spm *spm;

    CHECK_OK(train_lines(&spm, o, train_lines_next, &text, NULL, &err), &err);
    return spm;
}

/* A file of random weights, whose sources or targets may have fewer ids than pieces. */
static void write_of(const char *name, struct packed_model_parts parts,
                     const struct model_config *c)
{
    struct network n = {0};
    struct params p;

    CHECK_OK(params_open(&p, c, &err), &err);
    CHECK_OK(network_open(&n, c, &err), &err);
    float *flat = toy_model_weights(&p, 3);
    CHECK_OK(network_pack(&n, &p, flat, (struct network_types){0}, &err), &err);
    parts.network = &n;
    CHECK_OK(packed_model_write(&parts, test_path(name), &err), &err);
    network_close(&n);
    free(flat);
    params_close(&p);
}

/* Who opens a translator compares the vocabulary with the pieces of targets. */
TEST(a_source_beside_a_target_has_no_piece_that_the_model_lacks)
{
    static const struct line all = {TOY_MODEL_TEXT, sizeof TOY_MODEL_TEXT - 1};
    struct packed_model m;
    struct spm_ids ids = {0};
    struct setup s;

    open_setup(&s, false);
    const size_t n = spm_size(s.spm) - 20;
    const struct model_config few = toy_model_config(n);
    struct packed_model_parts parts = parts_of(&s, false);
    parts.target = parts.tokenizer;
    write_of("m.ferry", parts, &few);
    CHECK_OK(packed_model_open(&m, test_path("m.ferry"), &err), &err);
    CHECK(spm_known(spm_target(m.spm)) == n && spm_known(m.spm) == n);
    CHECK_OK(spm_encode(m.spm, all, &ids, &err), &err);
    for (size_t i = 0; i < ids.n; i++)
        CHECK((size_t)ids.id[i] < n);
    spm_ids_release(&ids);
    packed_model_close(&m);
    close_setup(&s);
}

static void refuse_ensemble(const char *other, const char *why)
{
    char path[FILE_PATH_MAX];
    struct loaded l;

    snprintf(path, sizeof path, "%s", test_path(other));
    const struct loaded_options o = {
        .checkpoint = "newest", .device = "auto", .n_threads = 1, .ensemble = path};
    CHECK_FAILS(loaded_open(&l, test_path("first"), o, &err), &err, ERR_USAGE, why);
    CHECK(strstr(err.msg, other));
}

TEST(models_of_an_ensemble_know_the_same_ids_and_positions)
{
    struct setup s;
    struct spm *other;

    open_setup(&s, false);
    struct model_config c = toy_model_config(spm_size(s.spm));
    struct packed_model_parts parts = parts_of(&s, false);
    parts.target = parts.tokenizer;
    c.arch.tables = TABLES_SEPARATE;
    c.arch.positions = POSITIONS_LEARNED;
    c.arch.max_positions = 20;
    write_of("first", parts, &c);
    c.arch.max_positions = 19;
    write_of("shorter", parts, &c);
    refuse_ensemble("shorter", "takes sentences of 19 tokens");
    c.arch.max_positions = 20;
    c.arch.source_vocab = c.vocab_size - 5;
    write_of("fewer sources", parts, &c);
    refuse_ensemble("fewer sources", "has another vocabulary");
    c.arch.source_vocab = 0;
    other = other_spm();
    parts.target = spm_bytes(other);
    write_of("other targets", parts, &c);
    refuse_ensemble("other targets", "has another vocabulary");
    spm_free(other);
    close_setup(&s);
}

TEST(the_same_model_gives_the_same_bytes)
{
    struct file_map x, y;
    struct setup s;

    open_setup(&s, true);
    const struct packed_model_parts parts = parts_of(&s, false);
    CHECK_OK(packed_model_write(&parts, test_path("x"), &err), &err);
    CHECK_OK(packed_model_write(&parts, test_path("y"), &err), &err);
    CHECK_OK(file_map_open(&x, test_path("x"), &err), &err);
    CHECK_OK(file_map_open(&y, test_path("y"), &err), &err);
    CHECK(x.n_bytes == y.n_bytes && memcmp(x.data, y.data, x.n_bytes) == 0);
    file_map_close(&x);
    file_map_close(&y);
    close_setup(&s);
}

TEST(other_files_and_directories_are_no_packed_models)
{
    CHECK(!packed_model_is(test_dir()));
    CHECK(!packed_model_is(test_path("missing")));
    CHECK_OK(file_write(test_path("short"), "\211FER", 4, &err), &err);
    CHECK(!packed_model_is(test_path("short")));
}

/* What happens to one section while a file is written again. */
struct change {
    const char *section; /* left out when edit is NULL */
    void (*edit)(unsigned char *bytes, size_t n);
    status code;
    const char *text; /* in the message */
};

static void rewrite(const char *from, const char *to, const struct change *c)
{
    struct pack p;
    struct pack_writer w;

    CHECK_OK(pack_open(&p, from, &err), &err);
    CHECK_OK(pack_writer_create(&w, to, &err), &err);
    for (size_t i = 0; i < p.n_sections; i++) {
        const struct pack_section *s = &p.section[i];
        const bool is_it = strcmp(s->name, c->section) == 0;
        unsigned char *bytes = malloc(s->n_bytes + 1);
        CHECK(bytes);
        memcpy(bytes, s->bytes, s->n_bytes);
        if (is_it && c->edit)
            c->edit(bytes, s->n_bytes);
        if (!is_it || c->edit) {
            CHECK_OK(pack_writer_begin(&w, s->name, s->flags, &err), &err);
            CHECK_OK(pack_writer_add(&w, bytes, s->n_bytes, &err), &err);
            CHECK_OK(pack_writer_end(&w, &err), &err);
        }
        free(bytes);
    }
    CHECK_OK(pack_writer_commit(&w, &err), &err);
    pack_close(&p);
}

static void other_name(unsigned char *bytes, size_t n)
{
    (void)n;
    bytes[0] = 'E';
}

static void other_shape(unsigned char *bytes, size_t n)
{
    (void)n;
    le_put32(bytes + 52, 17);
}

static void other_type(unsigned char *bytes, size_t n)
{
    (void)n;
    le_put32(bytes + 48, 9);
}

static void float_for_int8(unsigned char *bytes, size_t n)
{
    (void)n;
    le_put32(bytes + 48, PACKED_FLOAT);
}

static void far_away(unsigned char *bytes, size_t n)
{
    (void)n;
    le_put64(bytes + 64, UINT64_MAX - 63);
}

static void unaligned(unsigned char *bytes, size_t n)
{
    (void)n;
    le_put64(bytes + 64, 32);
}

static void wider(unsigned char *bytes, size_t n)
{
    char *d_ff = strstr((char *)bytes, "d_ff: 32");

    CHECK(n > 8 && d_ff);
    memcpy(d_ff, "d_ff: 48", 8);
}

static void no_yaml(unsigned char *bytes, size_t n)
{
    memset(bytes, '{', n);
}

static void zeros(unsigned char *bytes, size_t n)
{
    memset(bytes, 0, n);
}

TEST(a_model_that_does_not_fit_together_is_refused_with_its_reason)
{
    static const struct change changes[] = {
        {PACKED_MODEL_CONFIG, NULL, ERR_FORMAT, "no section config"},
        {PACKED_MODEL_WEIGHTS, NULL, ERR_FORMAT, "no section weights"},
        {PACKED_MODEL_TENSORS, other_name, ERR_FORMAT, "where embed belongs"},
        {PACKED_MODEL_TENSORS, other_shape, ERR_FORMAT, "the configuration wants"},
        {PACKED_MODEL_TENSORS, other_type, ERR_FORMAT, "type 9"},
        {PACKED_MODEL_TENSORS, float_for_int8, ERR_FORMAT, "outside of the weights"},
        {PACKED_MODEL_TENSORS, far_away, ERR_FORMAT, "outside of the weights"},
        {PACKED_MODEL_TENSORS, unaligned, ERR_FORMAT, "outside of the weights"},
        {PACKED_MODEL_CONFIG, wider, ERR_FORMAT, "the configuration wants 16 x 48"},
        {PACKED_MODEL_CONFIG, no_yaml, ERR_FORMAT, ""},
        {PACKED_MODEL_TOKENIZER, zeros, ERR_FORMAT, ""}};
    struct packed_model m;
    struct setup s;

    open_setup(&s, true);
    const struct packed_model_parts parts = parts_of(&s, false);
    CHECK_OK(packed_model_write(&parts, test_path("good"), &err), &err);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        rewrite(test_path("good"), test_path("bad"), &changes[i]);
        CHECK_FAILS(packed_model_open(&m, test_path("bad"), &err), &err, changes[i].code,
                    changes[i].text);
        CHECK(strstr(err.msg, "bad"));
    }
    close_setup(&s);
}

TEST(a_section_of_the_future_is_skipped_unless_it_is_required)
{
    struct pack_writer w;
    struct pack p;
    struct packed_model m;
    struct setup s;

    open_setup(&s, true);
    const struct packed_model_parts parts = parts_of(&s, false);
    CHECK_OK(packed_model_write(&parts, test_path("good"), &err), &err);
    for (uint32_t flags = 0; flags <= PACK_REQUIRED; flags++) {
        CHECK_OK(pack_open(&p, test_path("good"), &err), &err);
        CHECK_OK(pack_writer_create(&w, test_path("more"), &err), &err);
        for (size_t i = 0; i <= p.n_sections; i++) {
            const bool is_new = i == p.n_sections;
            const struct pack_section *from = &p.section[is_new ? 0 : i];
            CHECK_OK(pack_writer_begin(&w, is_new ? "dreams" : from->name,
                                       is_new ? flags : from->flags, &err),
                     &err);
            CHECK_OK(pack_writer_add(&w, from->bytes, from->n_bytes, &err), &err);
            CHECK_OK(pack_writer_end(&w, &err), &err);
        }
        CHECK_OK(pack_writer_commit(&w, &err), &err);
        pack_close(&p);
        if (flags) {
            CHECK_FAILS(packed_model_open(&m, test_path("more"), &err), &err, ERR_FORMAT,
                        "dreams");
        } else {
            CHECK_OK(packed_model_open(&m, test_path("more"), &err), &err);
            packed_model_close(&m);
        }
    }
    close_setup(&s);
}

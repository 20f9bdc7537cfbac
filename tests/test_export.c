/* Models leave for other programs and come back: the same weights, bit for bit. */
#include "test.h"

#include <dirent.h>

#include "foreign/export.h"
#include "foreign/readers.h"
#include "infer/network.h"
#include "toy_model.h"

static struct err err;

/* Pieces that files of others must quote; learnt once. */
static struct spm *odd_spm(void)
{
    static const char odd[] =
        TOY_MODEL_TEXT "\"a\" \\ b: {c} # 'd' - ? ! & * | > @ % ` [e], f\n";
    static char learnt[1 << 20];
    static size_t n;
    struct spm *spm;

    if (!n) {
        struct lines text = lines_over(odd, sizeof odd - 1);
        const struct spm_train_options o = {.vocab_size = 90, .is_at_most = true};
        CHECK_OK(train_lines(&spm, o, train_lines_next, &text, NULL, &err), &err);
        n = spm_bytes(spm).n_bytes;
        CHECK(n <= sizeof learnt);
        memcpy(learnt, spm_bytes(spm).text, n);
        spm_free(spm);
    }
    CHECK_OK(spm_parse(&spm, learnt, n, &err), &err);
    return spm;
}

/* The vocabulary has so many rows more than pieces. */
static size_t n_spare;

static struct foreign toy(struct architecture arch)
{
    struct foreign f = {.spm = odd_spm(), .source = "en", .target = "de"};
    const bool is_apart = arch.tables == TABLES_TARGET || arch.tables == TABLES_SEPARATE;

    f.config = toy_model_config(spm_size(f.spm) + n_spare);
    f.config.arch = arch;
    if (is_apart) {
        struct spm *target = odd_spm();
        spm_join(f.spm, target);
        f.config.arch.source_vocab = f.config.vocab_size;
    }
    CHECK_OK(model_config_check(&f.config, &err), &err);
    CHECK_OK(params_open(&f.params, &f.config, &err), &err);
    f.flat = toy_model_weights(&f.params, 5);
    for (size_t i = 0; i < f.params.n_flat; i++) /* biases and gains too */
        f.flat[i] += (float)((int)(i * 7 % 64) - 32) / 256;
    return f;
}

static void silence(struct foreign *f)
{
    const struct param *bias = params_get(&f->params, PARAM_output_bias, 0);
    const enum param_id id =
        architecture_has_target_table(&f->config.arch) ? PARAM_target_embed : PARAM_embed;

    f->flat[bias->at + ID_PAD] = READERS_NEVER; /* as readers leave it */
    memset(f->flat + params_get(&f->params, id, 0)->at, 0,
           (size_t)f->config.d_model * sizeof *f->flat);
}

static const float *row_of(const struct foreign *f, const struct param *t, size_t r)
{
    return f->flat + params_get(&f->params, t->id, t->layer)->at +
           r * params_get(&f->params, t->id, t->layer)->stride;
}

/* All that a has, b has; what b has beyond it is zeros. */
static void check_same(const struct foreign *a, const struct foreign *b)
{
    for (size_t i = 0; i < a->params.n_list; i++) {
        const struct param *t = &a->params.list[i];
        CHECK(params_has(&b->params, t->id));
        for (size_t r = 0; r < t->rows; r++)
            CHECK(memcmp(row_of(a, t, r), row_of(b, t, r), t->cols * sizeof(float)) == 0);
    }
    for (size_t i = 0; i < b->params.n_list; i++) {
        const struct param *t = &b->params.list[i];
        const size_t n =
            t->id == PARAM_output_bias ? (size_t)a->config.vocab_size : t->cols;
        for (size_t c = 0; !params_has(&a->params, t->id) && c < n; c++)
            CHECK(row_of(b, t, 0)[c] == 0);
    }
    CHECK(a->config.arch.norm == b->config.arch.norm);
    CHECK(a->config.arch.activation == b->config.arch.activation);
    CHECK(a->config.arch.tables == b->config.arch.tables);
    CHECK(a->config.arch.positions == b->config.arch.positions);
    CHECK(a->config.arch.is_unscaled == b->config.arch.is_unscaled);
    if (a->config.arch.positions == POSITIONS_LEARNED)
        CHECK(a->config.arch.max_positions == b->config.arch.max_positions);
    CHECK(a->config.arch.has_no_begin == b->config.arch.has_no_begin);
    CHECK(a->config.heads == b->config.heads && a->config.d_ff == b->config.d_ff);
}

static void check_tokens(const struct foreign *a, const struct foreign *b)
{
    static const char text[] = "the ferry: \"slow\" \\ [Fluss] 'x' #%\xe2\x98\x83";
    struct spm_ids x = {0}, y = {0};

    CHECK_OK(spm_encode(a->spm, (struct line){text, sizeof text - 1}, &x, &err), &err);
    CHECK_OK(spm_encode(b->spm, (struct line){text, sizeof text - 1}, &y, &err), &err);
    CHECK(x.n == y.n && memcmp(x.id, y.id, x.n * sizeof *x.id) == 0);
    spm_ids_release(&x);
    spm_ids_release(&y);
}

static void leave(struct foreign *f, const char *to, const char *type, const char *out)
{
    const struct export_options o = {.to = to, .type = type, .made_by = "test"};
    RELEASED_BY(str_release) struct str notes = str_new(0);

    CHECK_OK(export_write(f, &o, out, &notes, &err), &err);
}

static void check_way_and_back(struct architecture arch, const char *to)
{
    struct foreign before = toy(arch), f = toy(arch), back;

    if (arch.has_no_begin) {
        silence(&before);
        silence(&f);
    }
    leave(&f, to, "float32", test_path(to));
    CHECK(foreign_is(test_path(to)));
    CHECK_OK(foreign_open(&back, test_path(to), &err), &err);
    check_same(&before, &back);
    check_tokens(&before, &back);
    if (strcmp(to, "huggingface") != 0) { /* which has its own */
        CHECK_NEAR(back.config.norm_epsilon, before.config.norm_epsilon, 1e-12);
        CHECK(back.config.arch.start == before.config.arch.start);
    }
    CHECK_STR(back.source, strcmp(to, "ctranslate2") == 0 ? "" : "en");
    foreign_close(&back);
    foreign_close(&before);
    foreign_close(&f);
}

static const struct architecture reference = {0};
static const struct architecture marian_like = {.norm = NORM_POST,
                                                .activation = ACTIVATION_SWISH,
                                                .has_attention_bias = true,
                                                .has_output_bias = true,
                                                .has_no_begin = true};

TEST(the_reference_comes_back_from_ctranslate2)
{
    check_way_and_back(reference, "ctranslate2");
}

TEST(the_reference_comes_back_from_hugging_face)
{
    check_way_and_back(reference, "huggingface");
}

TEST(the_reference_comes_back_from_safetensors)
{
    check_way_and_back(reference, "safetensors");
}

TEST(every_kind_of_tables_comes_back)
{
    static const char *const formats[] = {"ctranslate2", "marian", "huggingface",
                                          "safetensors"};

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        for (int tables = TABLES_ONE; tables <= TABLES_SEPARATE; tables++) {
            char out[64];
            struct architecture arch = marian_like;
            arch.tables = (enum architecture_tables)tables;
            snprintf(out, sizeof out, "%s%d", formats[i], tables);
            struct foreign before = toy(arch), f = toy(arch), back;
            silence(&before);
            silence(&f);
            leave(&f, formats[i], "float32", test_path(out));
            CHECK_OK(foreign_open(&back, test_path(out), &err), &err);
            check_same(&before, &back);
            check_tokens(&before, &back);
            foreign_close(&back);
            foreign_close(&before);
            foreign_close(&f);
        }
}

TEST(every_activation_and_signal_comes_back)
{
    for (int kind = ACTIVATION_RELU; kind <= ACTIVATION_GELU_SIGMOID; kind++)
        for (int i = 0; i < 2; i++) {
            const struct architecture arch = {
                .activation = (enum activation)kind,
                .positions = (enum positions)(kind % (POSITIONS_INTERLEAVED + 1)),
                .is_unscaled = kind % 2};
            struct foreign f = toy(arch), back;
            char out[32];
            snprintf(out, sizeof out, "x%d%d", i, kind);
            leave(&f, i ? "ctranslate2" : "huggingface", "float32", test_path(out));
            CHECK_OK(foreign_open(&back, test_path(out), &err), &err);
            CHECK(back.config.arch.activation == arch.activation);
            CHECK(back.config.arch.positions == arch.positions);
            CHECK(back.config.arch.is_unscaled == arch.is_unscaled);
            foreign_close(&back);
            foreign_close(&f);
        }
}

TEST(gates_and_learned_positions_come_back)
{
    struct architecture arch = marian_like;

    arch.is_gated = true;
    check_way_and_back(arch, "ctranslate2");
    arch.positions = POSITIONS_LEARNED;
    arch.max_positions = 40;
    check_way_and_back(arch, "safetensors");
}

TEST(learned_positions_come_back_from_ctranslate2_and_hugging_face)
{
    struct architecture arch = {.positions = POSITIONS_LEARNED, .max_positions = 40};

    check_way_and_back(arch, "ctranslate2");
    check_way_and_back(arch, "huggingface");
}

TEST(learned_positions_come_back_from_a_marianmt)
{
    struct architecture arch = marian_like;

    arch.positions = POSITIONS_LEARNED;
    arch.max_positions = 40;
    check_way_and_back(arch, "huggingface");
}

TEST(a_readme_says_how_many_positions_a_model_has_learned)
{
    static const char *const formats[] = {"ctranslate2", "huggingface"};
    const struct architecture arch = {.positions = POSITIONS_LEARNED,
                                      .max_positions = 40};

    for (size_t i = 0; i < 2; i++) {
        struct foreign f = toy(arch);
        struct file_map map;
        char readme[64];
        leave(&f, formats[i], "float32", test_path(formats[i]));
        snprintf(readme, sizeof readme, "%s/README.md", formats[i]);
        CHECK_OK(file_map_open(&map, test_path(readme), &err), &err);
        CHECK(memmem(map.data, map.n_bytes, "learned 40 positions", 20));
        file_map_close(&map);
        foreign_close(&f);
    }
}

/* The signal of halves as the positions of the decoder alone, in the file itself. */
static void change_positions(enum tensors_format format, const char *path,
                             const char *name)
{
    struct tensors t;
    struct str bytes = str_new(0);

    CHECK_OK(tensors_open(&t, format, path, &err), &err);
    const struct tensors_item *table = tensors_find(&t, name);
    CHECK(table && table->n_dims == 2);
    const size_t at = (size_t)(table->bytes - (const unsigned char *)t.map.data);
    float *x = malloc(table->n * sizeof *x);
    CHECK(x);
    positions_fill(POSITIONS_HALVES, x, (size_t)table->dim[0], (size_t)table->dim[1]);
    str_add(&bytes, t.map.data, t.map.n_bytes);
    memcpy(bytes.data + at, x, table->n * sizeof *x);
    tensors_close(&t);
    CHECK_OK(file_write(path, bytes.data, bytes.len, &err), &err);
    str_release(&bytes);
    free(x);
}

TEST(positions_of_two_kinds_are_refused)
{
    static const struct {
        const char *to, *file, *name;
        enum tensors_format format;
        enum positions positions;
    } rows[] = {
        {"ctranslate2", "a/model.bin", "decoder/position_encodings/encodings",
         TENSORS_CTRANSLATE2, POSITIONS_LEARNED},
        {"huggingface", "b/model.safetensors", "model.decoder.embed_positions.weight",
         TENSORS_SAFETENSORS, POSITIONS_LEARNED},
        {"huggingface", "c/model.safetensors", "model.decoder.embed_positions.weight",
         TENSORS_SAFETENSORS, POSITIONS_REFERENCE}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char out[] = {rows[i].file[0], '\0'};
        struct foreign f = toy((struct architecture){.positions = rows[i].positions,
                                                     .max_positions = 40}),
                       back;
        leave(&f, rows[i].to, "float32", test_path(out));
        change_positions(rows[i].format, test_path(rows[i].file), rows[i].name);
        CHECK_FAILS(foreign_open(&back, test_path(out), &err), &err, ERR_FORMAT,
                    "are of two kinds");
        foreign_close(&f);
    }
}

TEST(a_missing_table_of_positions_is_named)
{
    static const char *const sides[] = {"encoder", "decoder"};

    for (size_t i = 0; i < 4; i++) {
        struct architecture arch = i < 2 ? reference : marian_like;
        struct foreign f, back;
        struct file_map map;
        char out[16], weights[64], name[64];
        arch.positions = POSITIONS_LEARNED;
        arch.max_positions = 40;
        f = toy(arch);
        snprintf(out, sizeof out, "without%zu", i);
        snprintf(weights, sizeof weights, "%s/model.safetensors", out);
        snprintf(name, sizeof name, "model.%s.embed_positions.weight", sides[i % 2]);
        leave(&f, "huggingface", "float32", test_path(out));
        CHECK_OK(file_map_open(&map, test_path(weights), &err), &err);
        struct str bytes = str_new(0);
        str_add(&bytes, map.data, map.n_bytes);
        file_map_close(&map);
        char *at = memmem(bytes.data, bytes.len, name, strlen(name));
        CHECK(at);
        *at = 'x';
        CHECK_OK(file_write(test_path(weights), bytes.data, bytes.len, &err), &err);
        str_release(&bytes);
        CHECK_FAILS(foreign_open(&back, test_path(out), &err), &err, ERR_FORMAT, name);
        foreign_close(&f);
    }
}

/* As of a run with a vocab_size beyond its tokenizer. */
TEST(rows_that_no_piece_has_come_back)
{
    static const char *const formats[] = {"ctranslate2", "huggingface", "safetensors"};
    struct foreign f, back;

    n_spare = 7;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        check_way_and_back(reference, formats[i]);
    f = toy(marian_like);
    silence(&f);
    leave(&f, "marian", "float32", test_path("marian"));
    CHECK_OK(foreign_open(&back, test_path("marian"), &err), &err);
    check_same(&f, &back);
    check_tokens(&f, &back);
    foreign_close(&back);
    foreign_close(&f);
    n_spare = 0;
}

TEST(marian_is_told_which_tables_are_one)
{
    static const char *const ties[] = {
        [TABLES_ONE] = "\ntied-embeddings: false\ntied-embeddings-all: true\n"
                       "tied-embeddings-src: false\n",
        [TABLES_TARGET] = "\ntied-embeddings: true\ntied-embeddings-all: false\n"
                          "tied-embeddings-src: false\n",
        [TABLES_INPUTS] = "\ntied-embeddings: false\ntied-embeddings-all: false\n"
                          "tied-embeddings-src: true\n",
        [TABLES_SEPARATE] = "\ntied-embeddings: false\ntied-embeddings-all: false\n"
                            "tied-embeddings-src: false\n"};

    for (int tables = TABLES_ONE; tables <= TABLES_SEPARATE; tables++) {
        struct architecture arch = marian_like;
        struct tensors t;
        char out[32], path[64];
        arch.tables = (enum architecture_tables)tables;
        snprintf(out, sizeof out, "m%d", tables);
        snprintf(path, sizeof path, "m%d/model.npz", tables);
        struct foreign f = toy(arch);
        leave(&f, "marian", "float32", test_path(out));
        CHECK_OK(tensors_open(&t, TENSORS_NPZ, test_path(path), &err), &err);
        const struct tensors_item *yml = tensors_find(&t, "special:model.yml");
        CHECK(yml && yml->n > 0 && yml->bytes[yml->n - 1] == 0);
        CHECK(strstr((const char *)yml->bytes, ties[tables]));
        tensors_close(&t);
        foreign_close(&f);
    }
}

/* What the decoder of the model at `path` sees first. */
static bool starts_with_zeros(const char *path, size_t *start)
{
    const struct param *table;
    struct foreign f;
    bool is_zero = true;

    CHECK_OK(foreign_open(&f, path, &err), &err);
    CHECK(f.config.arch.start > 0);
    *start = (size_t)f.config.arch.start - 1;
    table = params_get(&f.params, PARAM_embed, 0);
    for (size_t c = 0; c < table->cols; c++)
        is_zero = is_zero && row_of(&f, table, *start)[c] == 0;
    CHECK(row_of(&f, params_get(&f.params, PARAM_output_bias, 0), 0)[*start] ==
          READERS_NEVER);
    foreign_close(&f);
    return is_zero;
}

TEST(a_decoder_that_starts_with_zeros_has_a_token_of_zeros_in_hugging_face)
{
    struct foreign f = toy(reference);
    const size_t vocab = (size_t)f.config.vocab_size;
    size_t start;

    leave(&f, "huggingface", "float32", test_path("new"));
    CHECK(starts_with_zeros(test_path("new"), &start) && start == vocab);
    foreign_close(&f);
    f = toy(marian_like); /* whose pad has a vector */
    leave(&f, "huggingface", "float32", test_path("pad"));
    CHECK(starts_with_zeros(test_path("pad"), &start) && start == ID_PAD);
    foreign_close(&f);
}

/* The largest number of a tensor, and the largest distance of two that should be near. */
static void compare(const struct foreign *a, const struct foreign *b, double *most,
                    double *worst)
{
    *most = *worst = 0;
    for (size_t i = 0; i < a->params.n_list; i++) {
        const struct param *t = &a->params.list[i];
        for (size_t r = 0; r < t->rows; r++)
            for (size_t c = 0; c < t->cols; c++) {
                const double x = (double)row_of(a, t, r)[c];
                *most = fmax(*most, fabs(x));
                *worst = fmax(*worst, fabs(x - (double)row_of(b, t, r)[c]));
            }
    }
}

TEST(quantized_weights_are_near)
{
    static const struct {
        const char *type;
        double step; /* half of one, in parts of the largest number */
    } types[] = {{"int8", 0.5 / 127},          {"int16", 0.5 / 1024},
                 {"float16", 1.0 / 2048},      {"bfloat16", 1.0 / 256},
                 {"int8_float32", 0.5 / 127},  {"int8_float16", 0.5 / 127},
                 {"int8_bfloat16", 0.5 / 127}, {"float32", 0}};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct foreign f = toy(reference), back;
        double most, worst;
        leave(&f, "ctranslate2", types[i].type, test_path(types[i].type));
        CHECK_OK(foreign_open(&back, test_path(types[i].type), &err), &err);
        compare(&f, &back, &most, &worst);
        CHECK(worst <= most * types[i].step * 1.001);
        CHECK(types[i].step == 0 || worst > most * types[i].step * 0.2);
        foreign_close(&back);
        foreign_close(&f);
    }
}

static void refused(struct architecture arch, const char *to, const char *type,
                    const char *why)
{
    struct foreign f = toy(arch);
    const struct export_options o = {.to = to, .type = type, .made_by = "test"};
    RELEASED_BY(str_release) struct str notes = str_new(0);

    CHECK_FAILS(export_write(&f, &o, test_path("refused"), &notes, &err), &err, ERR_USAGE,
                why);
    CHECK(!file_exists(test_path("refused")));
    foreign_close(&f);
}

TEST(what_a_format_cannot_say_is_refused_with_the_reason)
{
    struct architecture arch = marian_like;

    refused(reference, "marian", "float32", "leaves keys and values without");
    refused(reference, "marian", "int8", "is written in float32");
    refused(reference, "huggingface", "int16", "float32|float16|bfloat16");
    arch.positions = POSITIONS_HALVES;
    refused(arch, "marian", "float32", "signal of positions");
    arch = marian_like;
    arch.activation = ACTIVATION_GELU_TANH;
    refused(arch, "marian", "float32", "another activation");
    arch = marian_like;
    arch.is_gated = true;
    refused(arch, "marian", "float32", "without gates");
    refused(arch, "huggingface", "float32", "have gates");
    arch = marian_like;
    arch.positions = POSITIONS_LEARNED;
    arch.max_positions = 32;
    refused(arch, "marian", "float32", "signal of positions");
    arch = marian_like;
    arch.is_unscaled = true;
    refused(arch, "marian", "float32", "sqrt(d_model)");
    arch = marian_like;
    arch.start = ID_BOS + 1;
    refused(arch, "marian", "float32", "starts with a token");
    arch = marian_like;
    arch.has_no_begin = false;
    refused(arch, "marian", "float32", "begin with <s>");
    refused(arch, "huggingface", "float32", "begin with <s>");
    arch = (struct architecture){.tables = TABLES_SEPARATE};
    refused(arch, "huggingface", "float32", "tables of its own for either side");
}

TEST(weights_that_are_no_numbers_are_refused)
{
    struct foreign f = toy(reference);
    const struct export_options o = {
        .to = "ctranslate2", .type = "int8", .made_by = "test"};
    RELEASED_BY(str_release) struct str notes = str_new(0);

    f.flat[params_get(&f.params, PARAM_dec_q, 1)->at] = NAN;
    CHECK_FAILS(export_write(&f, &o, test_path("x"), &notes, &err), &err, ERR_NUMERIC,
                "not numbers");
    foreign_close(&f);
}

TEST(a_network_gives_back_what_it_was_packed_from)
{
    struct architecture arch = marian_like;

    arch.tables = TABLES_SEPARATE;
    for (int i = 0; i < 2; i++) {
        struct foreign f = toy(i ? arch : reference), back = {.config = f.config};
        struct network n;
        CHECK_OK(network_open(&n, &f.config, &err), &err);
        CHECK_OK(network_pack(&n, &f.params, f.flat, (struct network_types){0}, &err),
                 &err);
        CHECK_OK(params_open(&back.params, &f.config, &err), &err);
        CHECK_OK(mem_alloc(&back.flat, f.params.n_flat, sizeof *f.flat, &err), &err);
        CHECK(network_unpack(&n, &back.params, back.flat));
        check_same(&f, &back);
        network_close(&n);
        foreign_close(&back);
        foreign_close(&f);
    }
}

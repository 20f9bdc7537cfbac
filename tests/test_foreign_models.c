/* Models that other programs wrote (tools/golden_foreign.py) give the log-probabilities
 * that those programs say they have; and what is missing or odd about them is one
 * sentence. */
#include <jansson.h>
#include <stdlib.h>

#include "base/file.h"
#include "decode/loaded.h"
#include "decode/pairs/scorer.h"
#include "foreign/foreign.h"
#include "foreign/place.h"
#include "foreign/tensor_file.h"
#include "format/foreign/tensors_list.h"
#include "made_zip.h"
#include "test.h"
#include "toy_model.h"

static struct err err;

enum { PAIRS_MOST = 16 };

struct golden {
    json_t *root;
    struct line source[PAIRS_MOST], target[PAIRS_MOST];
    size_t n;
};

static void open_golden(struct golden *g)
{
    json_error_t why;
    json_t *pair;
    size_t i;

    g->root = json_load_file(test_data("foreign/expected.json"), 0, &why);
    CHECK(g->root);
    g->n = 0;
    json_array_foreach(json_object_get(g->root, "pairs"), i, pair)
    {
        const char *source = json_string_value(json_array_get(pair, 0)),
                   *target = json_string_value(json_array_get(pair, 1));
        g->source[g->n] = (struct line){source, strlen(source)};
        g->target[g->n++] = (struct line){target, strlen(target)};
    }
    CHECK(g->n > 3);
}

static struct loaded_options on_cpu(void)
{
    return (struct loaded_options){
        .checkpoint = "newest", .device = "cpu", .n_threads = 1};
}

static void open_scorer(struct scorer **s, const struct loaded *l)
{
    const struct scorer_options o = {
        .kernels = l->kernels, .n_threads = 1, .max_length = 256};

    CHECK_OK(scorer_open(s, l->network, l->spm, o, &err), &err);
}

/* The scores of a model within `most` of those that its program gave. */
static void check_model(const struct golden *g, const char *name, double most)
{
    json_t *want = json_object_get(json_object_get(g->root, "scores"), name);
    char path[FILE_PATH_MAX];
    struct loaded l;
    struct scorer *s;

    snprintf(path, sizeof path, "foreign/%s.zip", name);
    CHECK_OK(loaded_open(&l, test_data(path), on_cpu(), &err), &err);
    open_scorer(&s, &l);
    CHECK_OK(scorer_run(s, g->source, g->target, g->n, &err), &err);
    CHECK(json_array_size(want) == g->n);
    for (size_t i = 0; i < g->n; i++) {
        const double score = json_real_value(json_array_get(want, i)),
                     got = scorer_get(s, i).sum;
        if (!(fabs(got - score) <= most))
            test_fail(__FILE__, __LINE__, "%s, pair %zu: %.6f, want %.6f", name, i, got,
                      score);
    }
    scorer_close(s);
    loaded_close(&l);
}

TEST(models_of_hugging_face_score_as_there)
{
    struct golden g;

    open_golden(&g);
    check_model(&g, "hf-swish", 1e-4);
    check_model(&g, "hf-gelu", 1e-4); /* of a pickle, tables apart, in a folder */
    check_model(&g, "hf-relu", 1e-4);
    json_decref(g.root);
}

TEST(models_of_marian_score_as_there)
{
    struct golden g;

    open_golden(&g);
    check_model(&g, "marian-post", 1e-3); /* it computes in another order */
    check_model(&g, "marian-pre", 1e-3);
    check_model(&g, "marian-gelu", 1e-3);
    json_decref(g.root);
}

TEST(models_of_ctranslate2_score_as_there)
{
    struct golden g;

    open_golden(&g);
    check_model(&g, "ct2-float", 1e-4);
    check_model(&g, "ct2-half", 3e-3); /* its positions are halves too */
    check_model(&g, "ct2-int16", 1e-3);
    check_model(&g, "ct2-int8", 1e-3);
    json_decref(g.root);
}

/* ---- what is wrong with a file ---- */

/* An archive with one member left out, or with other bytes in its place. */
static struct made_zip changed_zip(const void *data, size_t n_data, const char *member,
                                   const void *bytes, size_t n)
{
    struct made_zip made = made_zip();
    struct zip z;
    bool is_there = false;

    CHECK_OK(zip_open(&z, data, n_data, &err), &err);
    for (size_t i = 0; i < z.n; i++) {
        const struct zip_member *m = &z.member[i];
        unsigned char *own = malloc(m->n + 1);
        CHECK(own);
        CHECK_OK(zip_unpack(&z, m, own, &err), &err);
        if (strcmp(m->name, member) != 0)
            made_zip_add(&made, m->name, own, m->n);
        else
            is_there = true;
        free(own);
    }
    if (bytes)
        made_zip_add(&made, member, bytes, n);
    CHECK(bytes || is_there);
    made_zip_end(&made);
    zip_close(&z);
    return made;
}

/* The same of a model, in a file. */
static const char *changed(const char *model, const char *member, const void *bytes,
                           size_t n)
{
    const char *path = test_path("changed.zip");
    struct file_map map;

    CHECK_OK(file_map_open(&map, test_data(model), &err), &err);
    struct made_zip made = changed_zip(map.data, map.n_bytes, member, bytes, n);
    CHECK_OK(file_write(path, made.bytes.data, made.bytes.len, &err), &err);
    made_zip_release(&made);
    file_map_close(&map);
    return path;
}

static void refuses(const char *path, const char *what)
{
    struct foreign f;
    const status result = foreign_open(&f, path, &err);

    if (result == OK || !strstr(err.msg, what))
        test_fail(__FILE__, __LINE__, "'%s', want '%s'", result == OK ? "" : err.msg,
                  what);
}

TEST(what_is_missing_is_named)
{
    refuses(changed("foreign/hf-swish.zip", "source.spm", NULL, 0), "has no source.spm");
    refuses(changed("foreign/hf-swish.zip", "model.safetensors", NULL, 0),
            "neither model.safetensors nor pytorch_model.bin");
    refuses(changed("foreign/marian-pre.zip", "decoder.yml", NULL, 0), "no vocabulary");
    refuses(changed("foreign/marian-pre.zip", "model.npz", NULL, 0), "holds no model");
    refuses(changed("foreign/ct2-float.zip", "config.json", NULL, 0),
            "has no config.json");
    refuses(changed("foreign/ct2-float.zip", "shared_vocabulary.json", NULL, 0),
            "has no shared_vocabulary.json");
}

#define TEXT(text) text, sizeof text - 1

TEST(a_configuration_of_another_kind_is_refused_with_the_reason)
{
    const char *model = "foreign/hf-swish.zip", *file = "config.json";

    refuses(changed(model, file, TEXT("{\"model_type\": \"bart\"}")), "bart");
    refuses(changed(model, file, TEXT("{\"model_type\": \"marian\"}")), "d_model");
    refuses(changed(model, file, TEXT("[]")), "no JSON object");
    refuses(changed(model, file, TEXT("{")), "no JSON");
    refuses(changed(model, "vocab.json", TEXT("{\"</s>\": 0}")), "has no <unk>");
    refuses(changed(model, "vocab.json", TEXT("{\"</s>\": 0, \"a\": 0}")),
            "two tokens have number 0");
    refuses(changed(model, "vocab.json", TEXT("{\"a\": 99999999}")), "99999999");
}

static status zeros(void *ctx, size_t i, unsigned char *bytes, struct err *e)
{
    const struct tensors_list *l = ctx;

    (void)e;
    memset(bytes, 0, tensors_item_bytes(&l->item[i]));
    bytes[0] = l->item[i].type == TENSORS_I16; /* one head */
    return OK;
}

struct named {
    const char *name;
    uint64_t rows, cols; /* 0: a number */
};

/* A model whose tensors are these. */
static const char *with_tensors(const char *model, const char *member,
                                enum tensors_format format, const struct named *named,
                                size_t n)
{
    struct tensors_list l = {0};
    struct file_map map;

    for (size_t i = 0; i < n; i++)
        CHECK_OK(tensors_list_add(&l, named[i].name,
                                  named[i].rows ? TENSORS_F32 : TENSORS_I16,
                                  (uint64_t[]){named[i].rows, named[i].cols},
                                  named[i].rows ? 2 : 0, &err),
                 &err);
    CHECK_OK(tensors_write(&l, format, test_path("tensors"), zeros, &l, &err), &err);
    CHECK_OK(file_map_open(&map, test_path("tensors"), &err), &err);
    const char *path = changed(model, member, map.data, map.n_bytes);
    file_map_close(&map);
    tensors_list_release(&l);
    return path;
}

TEST(positions_of_an_odd_width_are_refused)
{
    static const struct named theirs[] = {{"model.shared.weight", 64, 1},
                                          {"model.encoder.embed_positions.weight", 1, 1},
                                          {"model.decoder.embed_positions.weight", 1, 1}},
                              ct2[] = {
                                  {"encoder/num_heads", 0, 0},
                                  {"decoder/num_heads", 0, 0},
                                  {"encoder/layer_0/ffn/linear_0/weight", 1, 1},
                                  {"decoder/layer_0/attention/linear_0/weight", 1, 1},
                                  {"encoder/position_encodings/encodings", 1, 1},
                                  {"decoder/position_encodings/encodings", 1, 1}};
    static const char config[] =
        "{\"model_type\": \"marian\", \"d_model\": 1, \"encoder_layers\": 1, "
        "\"decoder_layers\": 1, \"encoder_attention_heads\": 1, "
        "\"decoder_attention_heads\": 1, \"encoder_ffn_dim\": 1, "
        "\"decoder_ffn_dim\": 1, \"activation_function\": \"swish\", "
        "\"decoder_start_token_id\": 63}";
    struct file_map map;

    refuses(
        with_tensors("foreign/ct2-float.zip", "model.bin", TENSORS_CTRANSLATE2, ct2, 6),
        "1 wide");
    (void)with_tensors("foreign/hf-swish.zip", "model.safetensors", TENSORS_SAFETENSORS,
                       theirs, 3);
    CHECK_OK(file_map_open(&map, test_path("changed.zip"), &err), &err);
    struct made_zip made =
        changed_zip(map.data, map.n_bytes, "config.json", TEXT(config));
    file_map_close(&map);
    CHECK_OK(file_write(test_path("changed.zip"), made.bytes.data, made.bytes.len, &err),
             &err);
    made_zip_release(&made);
    refuses(test_path("changed.zip"), "1 wide");
}

/* A model of Marian with other options; `to` is not longer than `from`. */
static const char *with_option(const char *model, const char *from, const char *to)
{
    static const char member[] = "special:model.yml.npy";
    struct place place, npz;
    struct place_file file, options;

    CHECK_OK(place_open(&place, test_data(model), false, &err), &err);
    CHECK_OK(place_read(&place, "model.npz", &file, &err), &err);
    CHECK_OK(place_over(&npz, file.data, file.n_bytes, &err), &err);
    CHECK_OK(place_read(&npz, member, &options, &err), &err);
    char *text = malloc(options.n_bytes);
    CHECK(text);
    memcpy(text, options.data, options.n_bytes);
    char *at = memmem(text, options.n_bytes, from, strlen(from));
    CHECK(at && strlen(to) <= strlen(from));
    memset(at, ' ', strlen(from));
    memcpy(at, to, strlen(to));
    struct made_zip made =
        changed_zip(file.data, file.n_bytes, member, text, options.n_bytes);
    const char *path = changed(model, "model.npz", made.bytes.data, made.bytes.len);
    made_zip_release(&made);
    free(text);
    place_file_close(&options);
    place_close(&npz);
    place_file_close(&file);
    place_close(&place);
    return path;
}

static void opens(const char *path, enum architecture_norm norm)
{
    struct foreign f;

    CHECK_OK(foreign_open(&f, path, &err), &err);
    CHECK(f.config.arch.norm == norm);
    foreign_close(&f);
}

TEST(dropout_of_marian_may_stand_anywhere)
{
    const char *post = "foreign/marian-post.zip", *pre = "foreign/marian-pre.zip";

    opens(with_option(post, "-postprocess: dan", "-postprocess: an"), NORM_POST);
    opens(with_option(post, "-postprocess: dan", "-postprocess: adn"), NORM_POST);
    opens(with_option(post, "-preprocess: \"\"", "-preprocess: d"), NORM_POST);
    opens(with_option(post, "-postprocess-emb: d", "-postprocess-emb:"), NORM_POST);
    opens(with_option(pre, "-postprocess: da", "-postprocess: a"), NORM_PRE);
    opens(with_option(pre, "-postprocess: da", "-postprocess: ad"), NORM_PRE);
    refuses(with_option(post, "-postprocess: dan", "-postprocess: da"), "\"da\"");
    refuses(with_option(post, "-postprocess: dan", "-postprocess: na"), "\"na\"");
    refuses(with_option(pre, "-preprocess: n", "-preprocess: d"), "\"d\"");
}

TEST(options_of_marian_that_change_the_model_are_refused)
{
    static const struct {
        const char *from, *to;
    } rows[] = {
        {"transformer-tied-layers:\n  []", "transformer-tied-layers: [1]"},
        {"transformer-attention-mask: default", "transformer-attention-mask: alibi"},
        {"transformer-disable-position-embeddings: false",
         "transformer-disable-position-embeddings: true"},
        {"right-left: false", "right-left: true"}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char want[80];
        snprintf(want, sizeof want, "the model has %.*s", (int)strcspn(rows[i].to, ":"),
                 rows[i].to);
        refuses(with_option("foreign/marian-post.zip", rows[i].from, rows[i].to), want);
    }
}

/* A safetensors file with one tensor of what the head says. */
static void refuses_tensors(const char *head, size_t n_data, const char *what)
{
    struct str bytes = str_new(0);
    struct tensors t;

    made_zip_put(&bytes, strlen(head), 8);
    str_puts(&bytes, head);
    for (size_t i = 0; i < n_data; i++)
        str_putc(&bytes, 0);
    CHECK_FAILS(tensors_parse(&t, TENSORS_SAFETENSORS, bytes.data, bytes.len, &err), &err,
                ERR_FORMAT, what);
    str_release(&bytes);
}

TEST(tensors_that_lie_are_refused)
{
#define ROW(name, shape, at) \
    "\"" name "\": {\"dtype\": \"F32\", \"shape\": " shape ", \"data_offsets\": " at "}"
    refuses_tensors("{" ROW("a", "[4]", "[0,16]") ", " ROW("b", "[4]", "[8,24]") "}", 24,
                    "lie over each other");
    refuses_tensors("{" ROW("a", "[4]", "[0,12]") "}", 16, "its shape is not that");
    refuses_tensors("{" ROW("a", "[4294967296,4294967296]", "[0,16]") "}", 16,
                    "its shape is not that");
    refuses_tensors("{" ROW("a", "[4]", "[0,16]") "}", 15, "cut short");
    refuses_tensors("{" ROW("a", "[-4]", "[0,16]") "}", 16, "a side of -4");
    refuses_tensors("{" ROW("a", "[4]", "[16,0]") "}", 16, "described wrongly");
    refuses_tensors("{" ROW("a", "[4]", "[9223372036854775800,9223372036854775807]") "}",
                    16, "");
    refuses_tensors("{\"a\": 1}", 0, "described wrongly");
    refuses_tensors("[]", 0, "no JSON object");
#undef ROW
}

/* ---- safetensors with our names ---- */

static const char own_config[] =
    "{\"architectures\": [\"FerryTransformer\"], \"vocab_size\": 6, \"d_model\": 4, "
    "\"d_ff\": 3, \"heads\": 2, \"encoder_layers\": 1, \"decoder_layers\": 1, "
    "\"norm\": \"post\", \"source_lang\": \"en\"}";

/* Every tensor of a small model with our names, but one that is called otherwise and has
 * its sides changed. */
static void write_own(const char *path, const char *renamed)
{
    struct model_config c = {.vocab_size = 6,
                             .d_model = 4,
                             .d_ff = 3,
                             .heads = 2,
                             .encoder_layers = 1,
                             .decoder_layers = 1,
                             .norm_epsilon = 1e-6,
                             .arch.norm = NORM_POST};
    struct str head = str_new(0), bytes = str_new(0);
    struct params p;
    size_t at = 0;

    CHECK_OK(params_open(&p, &c, &err), &err);
    for (size_t i = 0; i < p.n_list; i++) {
        const struct param *t = &p.list[i];
        const bool is_other = strcmp(t->name, renamed) == 0;
        const size_t n = t->rows * t->cols * sizeof(float);
        str_printf(&head, "%s\"%s\": {\"dtype\": \"F32\", \"shape\": ", i ? "," : "{",
                   is_other ? "theirs" : t->name);
        if (t->n_dims == 1)
            str_printf(&head, "[%zu]", t->cols);
        else
            str_printf(&head, "[%zu,%zu]", is_other ? t->cols : t->rows,
                       is_other ? t->rows : t->cols);
        str_printf(&head, ", \"data_offsets\": [%zu,%zu]}", at, at + n);
        at += n;
    }
    str_puts(&head, "}");
    made_zip_put(&bytes, head.len, 8);
    str_add(&bytes, head.data, head.len);
    for (size_t i = 0; i < at / sizeof(float); i++) {
        const float x = (float)i;
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        made_zip_put(&bytes, bits, 4);
    }
    CHECK_OK(file_write(path, bytes.data, bytes.len, &err), &err);
    str_release(&head);
    str_release(&bytes);
    params_close(&p);
}

TEST(a_map_gives_tensors_their_names_here)
{
    static const char q[] =
        "ForwardPass/transformer_encoder/layer_0/self_attention/self_attention/q/kernel";
    char map[256], path[FILE_PATH_MAX];
    struct foreign f;

    CHECK_OK(file_write(test_path("config.json"), TEXT(own_config), &err), &err);
    snprintf(path, sizeof path, "%s", test_path("model.safetensors"));
    write_own(path, q);
    CHECK(foreign_is(test_dir()));
    CHECK_FAILS(foreign_open(&f, test_dir(), &err), &err, ERR_FORMAT, "q/kernel");
    snprintf(map, sizeof map, "%s: theirs transposed\n", q);
    CHECK_OK(file_write(test_path("map"), map, strlen(map), &err), &err);
    /* all but the tokenizer, which is not there */
    CHECK_FAILS(foreign_open_mapped(&f, path, test_path("map"), &err), &err, ERR_IO,
                "vocab.model");
    snprintf(map, sizeof map, "%s: theirs\n", q);
    CHECK_OK(file_write(test_path("map"), map, strlen(map), &err), &err);
    CHECK_FAILS(foreign_open_mapped(&f, path, test_path("map"), &err), &err, ERR_IO,
                "vocab.model"); /* a square */
    CHECK_OK(file_write(test_path("map"), "no/such: theirs\n", 16, &err), &err);
    CHECK_FAILS(foreign_open_mapped(&f, path, test_path("map"), &err), &err, ERR_FORMAT,
                "no tensor no/such");
}

/* As a file in double precision may have it. */
TEST(a_number_too_large_for_a_weight_is_no_number)
{
    struct str head = str_new(0), bytes = str_new(0);
    struct model_config c = {.vocab_size = 6,
                             .d_model = 4,
                             .d_ff = 3,
                             .heads = 2,
                             .encoder_layers = 1,
                             .decoder_layers = 1,
                             .norm_epsilon = 1e-6,
                             .arch.norm = NORM_POST};
    struct params p;
    struct foreign f;
    size_t n = 0;

    CHECK_OK(params_open(&p, &c, &err), &err);
    for (size_t i = 0; i < p.n_list; i++) {
        const struct param *t = &p.list[i];
        const size_t end = n + t->rows * t->cols * sizeof(double);
        str_printf(&head,
                   "%s\"%s\": {\"dtype\": \"F64\", \"shape\": [%zu,%zu], "
                   "\"data_offsets\": [%zu,%zu]}",
                   i ? "," : "{", t->name, t->rows, t->cols, n, end);
        n = end;
    }
    str_puts(&head, "}");
    made_zip_put(&bytes, head.len, 8);
    str_add(&bytes, head.data, head.len);
    for (size_t i = 0; i < n / sizeof(double); i++) {
        const double x = 1e300;
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        made_zip_put(&bytes, bits, 8);
    }
    CHECK_OK(file_write(test_path("config.json"), TEXT(own_config), &err), &err);
    CHECK_OK(file_write(test_path("model.safetensors"), bytes.data, bytes.len, &err),
             &err);
    CHECK_FAILS(foreign_open(&f, test_dir(), &err), &err, ERR_FORMAT, "is no number");
    str_release(&head);
    str_release(&bytes);
    params_close(&p);
}

/* The values count from 0 through the file, whose tensors stand in our order. */
static void check_counted(const struct foreign *f, const char *turned)
{
    size_t first = 0;

    for (size_t i = 0; i < f->params.n_list; i++) {
        const struct param *t = &f->params.list[i];
        const bool is_turned = strcmp(t->name, turned) == 0;
        for (size_t r = 0; r < t->rows; r++)
            for (size_t c = 0; c < t->cols; c++)
                CHECK(f->flat[t->at + r * t->stride + c] ==
                      (float)(first + (is_turned ? c * t->rows + r : r * t->cols + c)));
        first += t->rows * t->cols;
    }
}

TEST(safetensors_with_our_names_are_a_model)
{
    static const char up[] =
        "ForwardPass/transformer_decoder/layer_0/ffn/feed_foward_network/filter_layer/"
        "kernel";
    struct spm *spm = toy_model_spm();
    char map[256];
    struct foreign f;

    CHECK_OK(spm_save(spm, test_path("vocab"), &err), &err);
    spm_free(spm);
    CHECK_OK(file_write(test_path("config.json"), TEXT(own_config), &err), &err);
    write_own(test_path("model.safetensors"), up);
    snprintf(map, sizeof map, "%s: theirs transposed\n", up);
    CHECK_OK(file_write(test_path("map"), map, strlen(map), &err), &err);
    CHECK_OK(foreign_open_mapped(&f, test_dir(), test_path("map"), &err), &err);
    CHECK(f.config.arch.norm == NORM_POST && f.config.d_ff == 3 && f.config.heads == 2);
    CHECK_STR(f.source, "en");
    CHECK(spm_known(f.spm) == 6);
    check_counted(&f, up);
    foreign_close(&f);
    write_own(test_path("model.safetensors"), "");
    CHECK_OK(foreign_open(&f, test_dir(), &err), &err);
    check_counted(&f, "");
    foreign_close(&f);
    write_own(test_path("other.safetensors"), up);
    CHECK_OK(
        foreign_open_mapped(&f, test_path("other.safetensors"), test_path("map"), &err),
        &err);
    check_counted(&f, up);
    foreign_close(&f);
    CHECK_OK(file_write(test_path("config.json"),
                        TEXT("{\"architectures\": [\"FerryTransformer\"], \"heads\": 0}"),
                        &err),
             &err);
    refuses(test_dir(), "heads");
}

/* ---- files of tensors ---- */

TEST(the_file_with_the_weights_is_found_and_recognised)
{
    static const struct {
        const char *path, *name;
        enum tensors_format format;
    } rows[] = {{"foreign/hf-swish.zip", "model.safetensors", TENSORS_SAFETENSORS},
                {"foreign/hf-gelu.zip", "pytorch_model.bin", TENSORS_TORCH},
                {"foreign/marian-pre.zip", "model.npz", TENSORS_NPZ},
                {"foreign/ct2-int8.zip", "model.bin", TENSORS_CTRANSLATE2}};
    struct tensor_file w;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_OK(tensor_file_open(&w, test_data(rows[i].path), &err), &err);
        CHECK_STR(w.name, rows[i].name);
        CHECK(w.format == rows[i].format && w.tensors.n > 20);
        tensor_file_close(&w);
    }
    CHECK_FAILS(tensor_file_open(&w, test_data("model.ferry"), &err), &err, ERR_FORMAT,
                "no file of tensors");
}

/* A checkpoint gives back what it was given, under the reference's names, or says why. */
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/rng.h"
#include "corpus/checksum.h"
#include "format/le.h"
#include "format/tf/meta_graph.h"
#include "format/tf/tensor_bundle.h"
#include "format/tf/tf_checkpoint.h"
#include "test.h"
#include "train/save/checkpoint.h"
#include "train/save/rest.h"
#include "train/save/state.h"

/* Model, optimizer and average as a trainer holds them. */
struct parts {
    struct device device;
    struct model model;
    struct optim optim;
    void *average_mem;
    struct checkpoint c;
};

static struct model_config shape(int64_t d_ff)
{
    return (struct model_config){.vocab_size = 20,
                                 .d_model = 8,
                                 .d_ff = d_ff,
                                 .heads = 2,
                                 .encoder_layers = 6,
                                 .decoder_layers = 6,
                                 .norm_epsilon = 1e-6};
}

static void parts_open(struct parts *p, const char *optimizer, int64_t d_ff,
                       bool has_average)
{
    const struct device_options options = {.threads = 1};
    const struct model_config model = shape(d_ff);
    struct optim_config how;
    struct err err = {0};

    *p = (struct parts){0};
    CHECK_OK(opt_defaults(optim_config_table, &how, &err), &err);
    CHECK_OK(opt_set(optim_config_table, &how, "optimizer", optimizer, &err), &err);
    CHECK_OK(device_open(&p->device, "cpu", options, &err), &err);
    CHECK_OK(model_open(&p->model, &p->device, &model, true, &err), &err);
    CHECK_OK(optim_open(&p->optim, &p->device, &p->model.params, &how, NULL, &err), &err);
    p->c = (struct checkpoint){.model = &p->model,
                               .optim = &p->optim,
                               .part = {p->model.flat, p->optim.m, p->optim.v}};
    if (has_average) {
        const size_t n = p->model.params.n_flat;
        CHECK_OK(device_alloc(&p->device, &p->average_mem, n * sizeof(float), &err),
                 &err);
        p->c.part[CHECKPOINT_AVERAGE] = (struct mat){p->average_mem, 0, 1, n, n};
    }
}

static void parts_close(struct parts *p)
{
    if (p->average_mem)
        device_free(&p->device, p->average_mem);
    optim_close(&p->optim);
    model_close(&p->model);
    device_close(&p->device);
}

/* Random values everywhere, also in the gaps between tensors. */
static void fill(struct parts *p, struct mat flat, uint64_t seed)
{
    struct rng rng = rng_open(rng_key(seed, "fill"));
    float *x = calloc(flat.cols, sizeof *x);

    for (size_t i = 0; i < flat.cols; i++)
        x[i] = (float)rng_below(&rng, 1 << 24) / (1 << 20) - 8;
    device_upload(&p->device, flat, x);
    free(x);
}

static void fill_all(struct parts *p)
{
    fill(p, p->model.flat, 1);
    fill(p, p->optim.m, 2);
    if (p->optim.v.mem)
        fill(p, p->optim.v, 3);
    if (p->c.part[CHECKPOINT_AVERAGE].mem)
        fill(p, p->c.part[CHECKPOINT_AVERAGE], 4);
    for (size_t i = 0; p->optim.norms && i < p->model.params.n_list; i++)
        p->optim.norms[i] = 1.0 / (double)(3 + i);
}

static float *values(struct parts *p, struct mat flat)
{
    float *x = calloc(flat.cols, sizeof *x);

    device_download(&p->device, x, flat);
    return x;
}

/* Every element of every tensor; the gaps are nobody's. */
static void check_same(struct parts *a, struct mat in_a, struct parts *b, struct mat in_b)
{
    const struct params *all = &a->model.params;
    float *x = values(a, in_a), *y = values(b, in_b);

    for (size_t i = 0; i < all->n_list; i++) {
        const struct param *t = &all->list[i];
        for (size_t r = 0; r < t->rows; r++)
            for (size_t c = 0; c < t->cols; c++)
                if (x[t->at + r * t->stride + c] != y[t->at + r * t->stride + c])
                    test_fail(__FILE__, __LINE__, "%s differs at %zu,%zu", t->name, r, c);
    }
    free(x);
    free(y);
}

static const struct state some_state = {.step = 1234,
                                        .cursor = {.epoch = 7, .next = 99},
                                        .loss = {true, -0.5, 1200},
                                        .bleu = {true, 31.25, 1100},
                                        .evals_since_best = 3,
                                        .n_skipped = 2,
                                        .skipped_in_a_row = 1,
                                        .n_source = UINT64_MAX,
                                        .n_target = 1,
                                        .t_trained = 1e-3,
                                        .corpus_pairs = 1000,
                                        .tokenizer_hash = 0xfedcba9876543210,
                                        .train_hash = 0x123456789abcdef,
                                        .micro_tokens = 4000};

static void check_same_state(const struct state *a, const struct state *b)
{
    CHECK(a->step == b->step && a->cursor.epoch == b->cursor.epoch &&
          a->cursor.next == b->cursor.next);
    CHECK(a->loss.is_there == b->loss.is_there && a->loss.value == b->loss.value &&
          a->loss.step == b->loss.step);
    CHECK(a->bleu.is_there == b->bleu.is_there && a->bleu.value == b->bleu.value &&
          a->bleu.step == b->bleu.step && a->evals_since_best == b->evals_since_best);
    CHECK(a->n_skipped == b->n_skipped && a->skipped_in_a_row == b->skipped_in_a_row);
    CHECK(a->n_source == b->n_source && a->n_target == b->n_target &&
          a->t_trained == b->t_trained);
    CHECK(a->corpus_pairs == b->corpus_pairs && a->tokenizer_hash == b->tokenizer_hash);
    CHECK(a->train_hash == b->train_hash && a->micro_tokens == b->micro_tokens);
}

static void write_some(struct parts *p, const char *prefix)
{
    struct err err = {0};
    uint64_t n_bytes;

    fill_all(p);
    CHECK_OK(checkpoint_write(&p->c, &some_state, prefix, &n_bytes, &err), &err);
    uint64_t sum = 0;
    static const char *const files[] = {".index", ".data-00000-of-00001", ".meta",
                                        ".state"};
    for (int i = 0; i < 4; i++) {
        char path[FILE_PATH_MAX];
        snprintf(path, sizeof path, "%s%s", prefix, files[i]);
        sum += (uint64_t)file_bytes(path);
    }
    CHECK(n_bytes == sum);
}

static void check_round_trip(const char *optimizer, bool has_average)
{
    struct parts a, b;
    enum checkpoint_kind kind;
    struct state s;
    struct err err = {0};

    parts_open(&a, optimizer, 12, has_average);
    parts_open(&b, optimizer, 12, has_average);
    write_some(&a, test_path("c"));
    CHECK_OK(checkpoint_read(&b.c, &s, test_path("c"), &kind, &err), &err);
    CHECK(kind == CHECKPOINT_OURS);
    check_same_state(&s, &some_state);
    check_same(&a, a.model.flat, &b, b.model.flat);
    check_same(&a, a.optim.m, &b, b.optim.m);
    if (a.optim.v.mem)
        check_same(&a, a.optim.v, &b, b.optim.v);
    if (has_average)
        check_same(&a, a.c.part[CHECKPOINT_AVERAGE], &b, b.c.part[CHECKPOINT_AVERAGE]);
    for (size_t i = 0; a.optim.norms && i < a.model.params.n_list; i++)
        CHECK(a.optim.norms[i] == b.optim.norms[i]);
    parts_close(&a);
    parts_close(&b);
}

TEST(weights_moments_and_state_come_back)
{
    check_round_trip("adam", false);
}

TEST(the_moving_average_comes_back)
{
    check_round_trip("adamw", true);
}

TEST(novograds_momentum_and_norms_come_back)
{
    check_round_trip("novograd", true);
}

/* ---- what stands in the files ---- */

static const unsigned char *bytes_of(const struct tensor_bundle *b, const char *name,
                                     const struct tensor_entry **e)
{
    const unsigned char *bytes;
    struct err err = {0};

    *e = tensor_bundle_find(b, name);
    if (!*e)
        test_fail(__FILE__, __LINE__, "no tensor %s", name);
    CHECK_OK(tensor_bundle_read(b, *e, &bytes, &err), &err);
    return bytes;
}

TEST(tensors_that_lie_side_by_side_are_matrices_of_their_own)
{
    struct parts p;
    struct tensor_bundle b;
    const struct tensor_entry *e;
    struct err err = {0};
    size_t n_strided = 0;

    parts_open(&p, "adam", 12, false);
    write_some(&p, test_path("c"));
    float *flat = values(&p, p.model.flat);
    CHECK_OK(tensor_bundle_open(&b, test_path("c"), &err), &err);
    for (size_t i = 0; i < p.model.params.n_list; i++) {
        const struct param *t = &p.model.params.list[i];
        const unsigned char *bytes = bytes_of(&b, t->name, &e);
        CHECK(e->n_bytes == t->rows * t->cols * sizeof(float));
        for (size_t k = 0; k < t->rows * t->cols; k++) {
            float x;
            memcpy(&x, bytes + k * sizeof x, sizeof x);
            CHECK(x == flat[t->at + k / t->cols * t->stride + k % t->cols]);
        }
        n_strided += t->stride != t->cols;
    }
    CHECK(n_strided == 6 * 3 + 6 * (3 + 2)); /* q,k,v of each layer; k,v of the cross */
    free(flat);
    tensor_bundle_close(&b);
    parts_close(&p);
}

TEST(counters_are_the_references)
{
    struct parts p;
    struct tensor_bundle b;
    const struct tensor_entry *e;
    struct err err = {0};
    float x;

    parts_open(&p, "adam", 12, false);
    write_some(&p, test_path("c"));
    CHECK_OK(tensor_bundle_open(&b, test_path("c"), &err), &err);
    CHECK(le_get64(bytes_of(&b, "global_step", &e)) == 1234 && e->n_dims == 0);
    memcpy(&x, bytes_of(&b, "Loss_Optimization/beta1_power", &e), sizeof x);
    CHECK_NEAR((double)x, pow(0.9, 1235), 1e-6);
    memcpy(&x, bytes_of(&b, "Loss_Optimization/beta2_power", &e), sizeof x);
    CHECK_NEAR((double)x, pow(0.997, 1235), 1e-6);
    tensor_bundle_close(&b);
    parts_close(&p);
}

/* A size of base in the model of these tests. */
static uint64_t scaled(unsigned long base)
{
    return base == 512 ? 8 : base == 2048 ? 12 : base == 32768 ? 20 : 0;
}

static void check_tensor(const struct tensor_bundle *b, const char *before,
                         const char *name, const char *after, const unsigned long dims[2],
                         size_t n_dims)
{
    char whole[300];

    snprintf(whole, sizeof whole, "%s%s%s", before, name, after);
    const struct tensor_entry *e = tensor_bundle_find(b, whole);
    if (!e)
        test_fail(__FILE__, __LINE__, "no tensor %s", whole);
    CHECK(e->dtype == TENSOR_FLOAT && e->n_dims == n_dims);
    for (size_t i = 0; i < n_dims; i++)
        CHECK(e->dims[i] == scaled(dims[i]));
}

TEST(names_and_shapes_are_those_of_the_reference)
{
    FILE *file = fopen(test_data("base_tensors.txt"), "re");
    struct parts p;
    struct tensor_bundle b;
    struct err err = {0};
    char line[300], pattern[200];
    size_t n = 0;

    parts_open(&p, "adam", 12, false);
    write_some(&p, test_path("c"));
    CHECK_OK(tensor_bundle_open(&b, test_path("c"), &err), &err);
    CHECK(file);
    while (fgets(line, sizeof line, file)) {
        unsigned long dims[2];
        const int found = sscanf(line, "%199s %lu %lu", pattern, &dims[0], &dims[1]);
        char *star = strchr(pattern, '*');
        for (int layer = 0; found >= 2 && layer < (star ? 6 : 1); layer++) {
            if (star)
                *star = (char)('0' + layer);
            const size_t n_dims = (size_t)found - 1;
            check_tensor(&b, "", pattern, "", dims, n_dims);
            check_tensor(&b, "Loss_Optimization/", pattern, "/Adam", dims, n_dims);
            check_tensor(&b, "Loss_Optimization/", pattern, "/Adam_1", dims, n_dims);
            n += 3;
        }
    }
    fclose(file);
    CHECK(n == 555 && b.index.n == 558);
    tensor_bundle_close(&b);
    parts_close(&p);
}

/* ---- what does not fit ---- */

/* The checkpoint `from` without one tensor, whole in every other respect. */
static void copy_without(const char *from, const char *to, const char *name)
{
    struct tensor_bundle b;
    struct tensor_bundle_writer w;
    struct err err = {0};

    CHECK_OK(tensor_bundle_open(&b, from, &err), &err);
    CHECK_OK(tensor_bundle_begin(&w, to, &err), &err);
    for (size_t i = 0; i < b.index.n; i++) {
        const struct tensor_entry *e = &b.index.entry[i];
        const unsigned char *bytes;
        if (strcmp(e->name, name) == 0)
            continue;
        CHECK_OK(tensor_bundle_read(&b, e, &bytes, &err), &err);
        CHECK_OK(tensor_bundle_add(&w, e->name, (enum tensor_dtype)e->dtype, e->dims,
                                   e->n_dims, &err),
                 &err);
        CHECK_OK(tensor_bundle_add_bytes(&w, bytes, (size_t)e->n_bytes, &err), &err);
    }
    CHECK_OK(tensor_bundle_finish(&w, &err), &err);
    CHECK_OK(meta_graph_write(to, "ForwardPass/", &err), &err);
    tensor_bundle_close(&b);
}

static const char weight[] = "ForwardPass/transformer_decoder/layer_3/ffn/"
                             "feed_foward_network/filter_layer/bias";
static const char slot[] = "Loss_Optimization/ForwardPass/transformer_decoder/layer_3/"
                           "ffn/feed_foward_network/filter_layer/bias/Adam";

TEST(a_missing_tensor_is_named)
{
    static const char *const names[] = {weight, slot, "global_step",
                                        "Loss_Optimization/beta1_power"};
    struct parts p;
    enum checkpoint_kind kind;
    struct state s;
    struct err err = {0};

    parts_open(&p, "adam", 12, false);
    write_some(&p, test_path("c"));
    CHECK_OK(state_write(&some_state, test_path("d.state"), &err), &err);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        copy_without(test_path("c"), test_path("d"), names[i]);
        CHECK_FAILS(checkpoint_read(&p.c, &s, test_path("d"), &kind, &err), &err,
                    ERR_FORMAT, "is missing");
        CHECK(strstr(err.msg, names[i]));
    }
    parts_close(&p);
}

TEST(another_tools_checkpoint_needs_weights_and_step_only)
{
    struct parts p;
    enum checkpoint_kind kind;
    struct state s;
    struct err err = {0};

    parts_open(&p, "adam", 12, false);
    write_some(&p, test_path("c"));
    copy_without(test_path("c"), test_path("d"), slot);
    CHECK_OK(checkpoint_read(&p.c, &s, test_path("d"), &kind, &err), &err);
    CHECK(kind == CHECKPOINT_FOREIGN && s.step == 1234 && s.cursor.next == 0);
    copy_without(test_path("c"), test_path("d"), weight);
    CHECK_FAILS(checkpoint_read(&p.c, &s, test_path("d"), &kind, &err), &err, ERR_FORMAT,
                weight);
    copy_without(test_path("c"), test_path("d"), "global_step");
    CHECK_FAILS(checkpoint_read(&p.c, &s, test_path("d"), &kind, &err), &err, ERR_FORMAT,
                "global_step");
    parts_close(&p);
}

TEST(a_model_of_another_shape_is_refused_by_tensor)
{
    struct parts a, b;
    enum checkpoint_kind kind;
    struct state s;
    struct err err = {0};

    parts_open(&a, "adam", 12, false);
    parts_open(&b, "adam", 16, false);
    write_some(&a, test_path("c"));
    CHECK_FAILS(checkpoint_read(&b.c, &s, test_path("c"), &kind, &err), &err, ERR_FORMAT,
                "filter_layer/bias");
    parts_close(&a);
    parts_close(&b);
}

TEST(another_optimizers_checkpoint_is_refused_by_tensor)
{
    struct parts a, b;
    enum checkpoint_kind kind;
    struct state s;
    struct err err = {0};

    parts_open(&a, "adam", 12, false);
    parts_open(&b, "novograd", 12, false);
    write_some(&a, test_path("c"));
    CHECK_FAILS(checkpoint_read(&b.c, &s, test_path("c"), &kind, &err), &err, ERR_FORMAT,
                "/Momentum is missing");
    parts_close(&a);
    parts_close(&b);
}

TEST(files_of_two_steps_are_refused)
{
    struct parts p;
    enum checkpoint_kind kind;
    struct state s = some_state;
    struct err err = {0};

    parts_open(&p, "adam", 12, false);
    write_some(&p, test_path("c"));
    s.step = 1233;
    CHECK_OK(state_write(&s, test_path("c.state"), &err), &err);
    CHECK_FAILS(checkpoint_read(&p.c, &s, test_path("c"), &kind, &err), &err, ERR_FORMAT,
                "steps 1233 and 1234");
    parts_close(&p);
}

/* ---- the state ---- */

TEST(a_state_comes_back_whole)
{
    struct state s;
    struct err err = {0};

    CHECK_OK(state_write(&some_state, test_path("s"), &err), &err);
    CHECK_OK(state_read(&s, test_path("s"), &err), &err);
    check_same_state(&s, &some_state);
    CHECK_FAILS(state_read(&s, test_path("none"), &err), &err, ERR_IO, "none");
}

TEST(a_state_cut_anywhere_is_refused)
{
    struct file_map map;
    struct state s;
    struct err err = {0};

    CHECK_OK(state_write(&some_state, test_path("s"), &err), &err);
    CHECK_OK(file_map_open(&map, test_path("s"), &err), &err);
    for (size_t n = 0; n < map.n_bytes; n++)
        CHECK_FAILS(state_parse(&s, "s", map.data, n, &err), &err, ERR_FORMAT, "s: ");
    CHECK_OK(state_parse(&s, "s", map.data, map.n_bytes, &err), &err);
    file_map_close(&map);
}

enum { STATE_TEXT = 2048 };

static void state_text(char text[STATE_TEXT])
{
    struct file_map map;
    struct err err = {0};

    CHECK_OK(state_write(&some_state, test_path("s"), &err), &err);
    CHECK_OK(file_map_open(&map, test_path("s"), &err), &err);
    snprintf(text, STATE_TEXT, "%.*s", (int)map.n_bytes, (const char *)map.data);
    file_map_close(&map);
}

/* The state with `from` replaced by `to`, and its checksum with it. */
static status parse_as(struct state *s, const char *from, const char *to, struct err *err)
{
    char text[STATE_TEXT], rest[STATE_TEXT];

    state_text(text);
    char *at = strstr(text, from);
    CHECK(at);
    snprintf(rest, sizeof rest, "%s", at + strlen(from));
    snprintf(at, sizeof text - (size_t)(at - text), "%s%s", to, rest);
    at = strstr(text, "\"checksum\"");
    if (at) {
        const uint64_t sum = checksum_of(text, (size_t)(at - text));
        snprintf(at, sizeof text - (size_t)(at - text), "\"checksum\": \"%016llx\"\n}",
                 (unsigned long long)sum);
    }
    return state_parse(s, "s", text, strlen(text), err);
}

static status parse_with(const char *from, const char *to, struct err *err)
{
    struct state s;

    return parse_as(&s, from, to, err);
}

TEST(one_changed_character_of_a_state_is_found_wherever_it_is)
{
    char text[STATE_TEXT];
    struct state s;
    struct err err = {0};
    size_t n_changed = 0;

    state_text(text);
    for (char *p = text; *p; p++)
        for (const char *to = "0a\" }"; *to; to++) {
            const char was = *p;
            if (was == *to)
                continue;
            *p = *to;
            const status result = state_parse(&s, "s", text, strlen(text), &err);
            if (result == OK) /* white space around the checksum itself */
                check_same_state(&s, &some_state);
            else
                CHECK(result == ERR_FORMAT);
            n_changed += result != OK;
            *p = was;
        }
    CHECK(n_changed > 2000);
}

/* As written before states had a version. */
static const char first_state[] =
    "{\n \"step\": 1000,\n \"epoch\": \"3\",\n \"next_pair\": \"48fc\",\n"
    " \"has_best_loss\": true,\n \"best_loss\": 0.21663678462213209,\n"
    " \"best_loss_step\": 1000,\n \"has_best_bleu\": true,\n"
    " \"best_bleu\": 92.348528934398729,\n \"best_bleu_step\": 1000,\n"
    " \"evals_since_best\": 0,\n \"skipped\": 0,\n \"skipped_in_a_row\": 0,\n"
    " \"source_tokens\": \"15ad53\",\n \"target_tokens\": \"16c539\",\n"
    " \"seconds\": 53.796639751999834,\n \"corpus_pairs\": \"7530\",\n"
    " \"tokenizer_hash\": \"3490bd728061f5bb\"\n}";

TEST(a_state_of_the_first_version_is_read_and_what_it_lacks_is_not_known)
{
    struct state s;
    struct err err = {0};

    CHECK_OK(state_parse(&s, "s", first_state, strlen(first_state), &err), &err);
    CHECK(s.step == 1000 && s.cursor.epoch == 3 && s.cursor.next == 0x48fc);
    CHECK(s.train_hash == 0 && s.micro_tokens == 0);
}

TEST(a_state_may_lack_new_fields_and_have_ones_of_later)
{
    struct state s;
    struct err err = {0};

    CHECK_OK(parse_as(&s, "\"micro_tokens\": 4000", "\"of_later\": [1]", &err), &err);
    CHECK(s.micro_tokens == 0 && s.train_hash == some_state.train_hash);
    CHECK_FAILS(parse_with("\"step\": 1234", "\"of_later\": 1", &err), &err, ERR_FORMAT,
                "step is missing");
}

TEST(a_state_of_a_later_version_is_refused_as_a_newer_programs)
{
    struct err err = {0};

    CHECK_FAILS(parse_with("\"version\": 2", "\"version\": 3", &err), &err, ERR_USAGE,
                "newer ferry (version 3");
}

TEST(a_malformed_field_of_a_state_is_refused)
{
    static const char *const changes[][2] = {
        {"\"step\": 1234", "\"step\": -1"},
        {"\"step\": 1234", "\"step\": 1.5"},
        {"\"step\": 1234", "\"step\": \"4\""},
        {"\"step\": 1234", "\"stop\": 4"},
        {"\"epoch\": \"7\"", "\"epoch\": 7"},
        {"\"epoch\": \"7\"", "\"epoch\": \"\""},
        {"\"epoch\": \"7\"", "\"epoch\": \"-7\""},
        {"\"epoch\": \"7\"", "\"epoch\": \" 7\""},
        {"\"epoch\": \"7\"", "\"epoch\": \"7x\""},
        {"\"epoch\": \"7\"", "\"epoch\": \"10000000000000000\""},
        {"true", "1"},
        {"\"best_loss\": -0.5", "\"best_loss\": null"}};
    struct err err = {0};

    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        CHECK_FAILS(parse_with(changes[i][0], changes[i][1], &err), &err, ERR_FORMAT,
                    i == 3 ? "step is missing" : "is malformed");
    CHECK_OK(parse_with("\"best_loss\": -0.5", "\"best_loss\": 3", &err), &err);
}

/* ---- the directory ---- */

static void make_files(const char *name, const char *const *suffix)
{
    struct err err = {0};

    for (; *suffix; suffix++) {
        char file[100];
        snprintf(file, sizeof file, "%s%s", name, *suffix);
        CHECK_OK(file_write(test_path(file), "x", 1, &err), &err);
    }
}

static size_t count_files(void)
{
    DIR *d = opendir(test_dir());
    size_t n = 0;

    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static const char *const all_files[] = {".index", ".data-00000-of-00001", ".meta",
                                        ".state", NULL};

static status publish(const char *name, struct err *err)
{
    struct shelf shelf = {.kind = "m-", .keep = 2, .is_pointed = true};

    snprintf(shelf.dir, sizeof shelf.dir, "%s", test_dir());
    return shelf_publish(&shelf, name, err);
}

TEST(publishing_keeps_the_last_and_removes_the_files_of_older_ones)
{
    struct tf_checkpoint c;
    struct err err = {0};

    for (int i = 1; i <= 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "m-%d", i);
        make_files(name, all_files);
        CHECK_OK(publish(name, &err), &err);
    }
    CHECK_OK(tf_checkpoint_read(&c, test_path("checkpoint"), &err), &err);
    CHECK(c.n == 2);
    CHECK_STR(c.latest, "m-4");
    CHECK_STR(c.all[0], "m-3");
    tf_checkpoint_release(&c);
    CHECK(count_files() == 2 * 4 + 1);
    CHECK_OK(publish("m-3", &err), &err); /* made again */
    CHECK_OK(tf_checkpoint_read(&c, test_path("checkpoint"), &err), &err);
    CHECK(c.n == 2);
    CHECK_STR(c.latest, "m-3");
    tf_checkpoint_release(&c);
    CHECK(count_files() == 2 * 4 + 1);
}

TEST(two_kinds_share_a_directory_and_one_is_pointed_at)
{
    struct shelf loss = {.kind = "l=", .keep = 2, .is_pointed = true};
    struct shelf bleu = {.kind = "b=", .keep = 1};
    struct tf_checkpoint c;
    struct err err = {0};

    snprintf(loss.dir, sizeof loss.dir, "%s", test_dir());
    snprintf(bleu.dir, sizeof bleu.dir, "%s", test_dir());
    for (int i = 1; i <= 3; i++) {
        char name[2][16];
        snprintf(name[0], sizeof name[0], "l=%d", i);
        snprintf(name[1], sizeof name[1], "b=%d", i);
        for (int k = 0; k < 2; k++)
            make_files(name[k], all_files);
        CHECK_OK(shelf_publish(&loss, name[0], &err), &err);
        CHECK_OK(shelf_publish(&bleu, name[1], &err), &err);
    }
    CHECK_OK(tf_checkpoint_read(&c, test_path("checkpoint"), &err), &err);
    CHECK(c.n == 3);
    CHECK_STR(c.latest, "l=3");
    CHECK_STR(c.all[0], "l=2");
    CHECK_STR(c.all[1], "l=3");
    CHECK_STR(c.all[2], "b=3");
    tf_checkpoint_release(&c);
    CHECK(count_files() == 3 * 4 + 1);
}

TEST(a_damaged_pointer_file_is_replaced)
{
    struct tf_checkpoint c;
    struct err err = {0};

    CHECK_OK(file_write(test_path("checkpoint"), "garbage\n", 8, &err), &err);
    make_files("m-1", all_files);
    CHECK_OK(publish("m-1", &err), &err);
    CHECK_OK(tf_checkpoint_read(&c, test_path("checkpoint"), &err), &err);
    CHECK_STR(c.latest, "m-1");
    tf_checkpoint_release(&c);
}

static void make_state(const char *file, int64_t step)
{
    const struct state s = {.step = step};
    struct err err = {0};

    CHECK_OK(state_write(&s, test_path(file), &err), &err);
}

TEST(sweeping_takes_what_is_half_written_or_half_removed)
{
    static const char *const data[] = {
        ".data-00000-of-00001", ".data-00000-of-00001.tmp-ferry-999999999-0", NULL};
    struct err err = {0};

    make_files("model.ckpt-1", all_files);
    make_files("model.ckpt-2", data);
    make_state("model.ckpt-2.state", 2);
    make_state("val_loss=2.5000-step-3.state", 3);
    CHECK_OK(shelf_sweep(test_dir(), &err), &err);
    CHECK(count_files() == 4);
    CHECK(file_exists(test_path("model.ckpt-1.index")));
    CHECK_OK(shelf_sweep(test_path("no such directory"), &err), &err);
}

/* What a user or another tool may keep in such a directory. */
TEST(sweeping_leaves_what_is_not_ours)
{
    static const char *const names[] = {
        "notes.state",       "notes.meta",         "model.meta",
        "model.ckpt-5.meta", "model.ckpt-6.state", "model.ckpt-6.data-00000-of-00001",
        "model.ckpt-.state", "foo.tmp-bak",        "thesis.tex.tmp-2",
        "bleu=all.state"};
    enum { N = sizeof names / sizeof *names };
    struct err err = {0};

    for (int i = 0; i < N; i++)
        CHECK_OK(file_write(test_path(names[i]), "mine", 4, &err), &err);
    make_state("mine.state", 7);         /* not a name of ours */
    make_state("model.ckpt-7.state", 8); /* nor the file that it was */
    CHECK_OK(shelf_sweep(test_dir(), &err), &err);
    for (int i = 0; i < N; i++)
        CHECK(file_bytes(test_path(names[i])) == 4);
    CHECK(count_files() == N + 2);
}

/* The names of a pointer file are names of this directory, or nothing of ours. */
TEST(publishing_removes_nothing_outside_of_the_directory)
{
    struct shelf shelf = {.kind = "", .keep = 1, .is_pointed = true};
    struct str text = str_new(0);
    struct err err = {0};

    CHECK_OK(file_make_dirs(test_path("run/sub"), &err), &err);
    make_files("victim-1", all_files);
    make_files("run/sub/victim-1", all_files);
    str_puts(&text, "model_checkpoint_path: \"m-1\"\n"
                    "all_model_checkpoint_paths: \"../victim-1\"\n"
                    "all_model_checkpoint_paths: \"sub/victim-1\"\n");
    str_printf(&text, "all_model_checkpoint_paths: \"%s\"\n", test_path("victim-1"));
    CHECK_OK(file_write_str(test_path("run/checkpoint"), &text, &err), &err);
    str_release(&text);
    snprintf(shelf.dir, sizeof shelf.dir, "%s", test_path("run"));
    make_files("run/m-2", all_files);
    CHECK_OK(shelf_publish(&shelf, "m-2", &err), &err);
    CHECK(count_files() == 4 + 1);
    CHECK(file_exists(test_path("run/sub/victim-1.index")));
}

TEST(best_models_may_not_lead_out_of_the_directory)
{
    struct err err = {0};

    CHECK_OK(file_make_dirs(test_path("run"), &err), &err);
    CHECK(symlink("..", test_path("run/best_models")) == 0);
    CHECK_FAILS(shelf_sweep(test_path("run"), &err), &err, ERR_USAGE, "symbolic link");
}

TEST(what_ranks_have_of_their_own_may_not_lead_out_of_the_directory)
{
    struct err err = {0};

    CHECK_OK(file_make_dirs(test_path("run"), &err), &err);
    CHECK_OK(file_write(test_path("7-rank-0.index"), "mine", 4, &err), &err);
    CHECK(symlink("..", test_path("run/rest")) == 0);
    CHECK_FAILS(shelf_sweep(test_path("run"), &err), &err, ERR_USAGE, "run/rest is a");
    rest_sweep(test_path("run"), -1);
    CHECK(file_bytes(test_path("7-rank-0.index")) == 4);
    CHECK(unlink(test_path("run/rest")) == 0);
    CHECK_OK(file_make_dirs(test_path("run/rest"), &err), &err);
    CHECK_OK(file_write(test_path("run/rest/7-rank-0.index"), "", 0, &err), &err);
    rest_sweep(test_path("run"), -1);
    CHECK(!file_exists(test_path("run/rest")));
}

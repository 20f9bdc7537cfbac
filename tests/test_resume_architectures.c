/*
 * Training of other architectures: 40 updates equal 20, a stop and 20 more, to the byte;
 * the run's configuration says what the model is.
 */
#include "corpus/dataset.h"
#include "test.h"
#include "toy_run.h"

static const char *in_run(const char *run, const char *name)
{
    char part[300];

    snprintf(part, sizeof part, "%s/%s", run, name);
    return test_path(part);
}

static void check_same_file(const char *name)
{
    struct file_map x, y;
    struct err err = {0};

    CHECK_OK(file_map_open(&x, in_run("whole", name), &err), &err);
    CHECK_OK(file_map_open(&y, in_run("parts", name), &err), &err);
    CHECK(x.n_bytes == y.n_bytes && memcmp(x.data, y.data, x.n_bytes) == 0);
    file_map_close(&x);
    file_map_close(&y);
}

static void check_resume(const char *threads, const char *const *more)
{
    const char *list[16] = {threads, NULL};
    size_t n = 1;

    while (*more)
        list[n++] = *more++;
    toy_data();
    list[n] = "max_steps=40";
    toy_train("whole", list);
    list[n] = "max_steps=20";
    toy_train("parts", list);
    list[n] = "max_steps=40";
    toy_train("parts", list);
    check_same_file("model.ckpt-40.data-00000-of-00001");
    check_same_file("model.ckpt-40.index");
    check_same_file("model.ckpt-40.meta");
}

TEST(resume_keeps_norms_behind_biases_and_a_start_token)
{
    check_resume("threads=2", TOY("norm=post", "activation=swish", "attention_bias=yes",
                                  "output_bias=yes", "sentence_begin=no",
                                  "decoder_start=0", "positions=halves"));
}

TEST(resume_keeps_gates_learned_positions_and_tables_apart)
{
    check_resume("threads=1", TOY("gated=yes", "activation=gelu", "tables=separate",
                                  "positions=learned", "max_positions=40",
                                  "moving_average=0.9", "recompute=true"));
}

TEST(resume_keeps_an_architecture_in_mixed_precision)
{
    check_resume("threads=2", TOY("tables=target", "norm=post", "precision=bf16",
                                  "activation=gelu-tanh", "embed_scale=no",
                                  "positions=learned", "max_positions=32"));
}

TEST(resume_keeps_a_deep_encoder_and_a_shallow_decoder)
{
    check_resume("threads=1",
                 TOY("tables=inputs", "positions=interleaved", "encoder_layers=3",
                     "decoder_layers=1", "activation=gelu-sigmoid", "recompute=true",
                     "norm=post"));
}

/* Two words and one, of which the model sees three rows and two. */
static void short_data(void)
{
    enum { PAIRS = 600 };
    static const int32_t id[] = {5, 6};
    struct corpus_file_writer w;
    struct dataset d;
    struct err err = {0};

    toy_data();
    CHECK_OK(dataset_open(&d, test_path("data"), &err), &err);
    CHECK_OK(corpus_file_create(&w, test_path("data/train.bin"), d.train.vocab,
                                d.tokenizer_hash, &err),
             &err);
    dataset_close(&d);
    for (int i = 0; i < PAIRS; i++)
        CHECK_OK(corpus_file_add(&w, (struct corpus_file_side){id, 2},
                                 (struct corpus_file_side){id, 1}, &err),
                 &err);
    CHECK_OK(corpus_file_commit(&w, &err), &err);
}

TEST(an_update_may_be_of_the_shortest_sentences_alone)
{
    short_data();
    toy_train("with", TOY("batch_tokens=1000", "max_steps=2"));
    toy_train("without", TOY("batch_tokens=1000", "max_steps=2", "sentence_begin=no"));
}

TEST(a_configuration_of_the_reference_says_nothing_of_architectures)
{
    struct file_map map;
    struct err err = {0};

    toy_data();
    toy_train("a", TOY("max_steps=2"));
    toy_train("b", TOY("max_steps=2", "norm=post"));
    CHECK_OK(file_map_open(&map, in_run("a", "config.yaml"), &err), &err);
    CHECK(!memmem(map.data, map.n_bytes, "attention_bias", 14));
    file_map_close(&map);
    CHECK_OK(file_map_open(&map, in_run("b", "config.yaml"), &err), &err);
    CHECK(memmem(map.data, map.n_bytes, "\nnorm: post\n", 12));
    CHECK(memmem(map.data, map.n_bytes, "attention_bias: no\n", 19) ||
          memmem(map.data, map.n_bytes, "attention_bias: false\n", 22));
    file_map_close(&map);
}

TEST(more_tokens_than_learned_positions_and_another_architecture_are_refused)
{
    struct err err = {0};

    toy_data();
    CHECK_FAILS(toy_try("a", TOY("positions=learned", "max_positions=31"), &err), &err,
                ERR_USAGE,
                "max_length = 32, but max_positions = 31 of positions = "
                "learned; lower the one or raise the other");
    toy_train("a", TOY("max_steps=2", "norm=post"));
    CHECK_FAILS(toy_try("a", TOY("max_steps=4"), &err), &err, ERR_USAGE,
                "norm = pre, but this run began with norm = post; keep it, or choose "
                "another run directory");
    CHECK_FAILS(toy_try("b", TOY("heads=3"), &err), &err, ERR_USAGE,
                "d_model = 16 is not a multiple of heads = 3");
}

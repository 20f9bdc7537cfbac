/* Marks in front of sources: reserved when a vocabulary is learned, given to pairs and to
 * lines alike, and no text becomes one. */
#include "prepare/marks.h"

#include "corpus/dataset.h"
#include "decode/model_dir.h"
#include "decode/translate.h"
#include "text/subword/encoder.h"
#include "toy_run.h"

static status prepare(const char *out, const char *const *more, struct err *err)
{
    struct prepare_config c;
    struct prepare_stats stats = {0};
    struct progress silent = {0};
    const char *const set[][2] = {{"source", "train.en"},
                                  {"target", "train.de"},
                                  {"valid_source", "valid.en"},
                                  {"valid_target", "valid.de"},
                                  {"out", out}};

    CHECK_OK(opt_defaults(prepare_config_table, &c, err), err);
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        CHECK_OK(opt_set(prepare_config_table, &c, set[i][0], test_path(set[i][1]), err),
                 err);
    CHECK_OK(opt_set(prepare_config_table, &c, "vocab_size", "90", err), err);
    CHECK_OK(opt_set(prepare_config_table, &c, "fresh", "true", err), err);
    for (; *more; more += 2)
        CHECK_OK(opt_set(prepare_config_table, &c, more[0], more[1], err), err);
    return prepare_run(&c, &silent, &stats, err);
}

/* Text of which every third source begins with a mark, and one with signs that are none.
 */
static void write_text(void)
{
    FILE *f;

    toy_write("train.en", false, 0, 120);
    toy_write("train.de", true, 0, 120);
    toy_write("valid.de", true, 500, 3);
    f = fopen(test_path("valid.en"), "we");
    CHECK(f);
    fputs("ship river 500\n>>fr<< wind 501\n>>xx<< north 502\n", f);
    CHECK(fclose(f) == 0);
}

static int32_t first_of(const struct corpus *c, uint32_t i)
{
    return corpus_source(c, i).token[0];
}

TEST(a_mark_is_a_token_of_its_own_in_front_of_every_source)
{
    enum { FR = ID_N_SPECIAL, BT }; /* behind the specials, in their order */
    struct dataset d;
    struct spm *spm;
    struct spm_ids ids = {0};
    struct err err = {0};

    write_text();
    CHECK_OK(prepare("data", TOY("marks", "fr,>>bt<<", "mark", "bt"), &err), &err);
    CHECK_OK(dataset_open(&d, test_path("data"), &err), &err);
    CHECK_OK(spm_load(&spm, d.tokenizer, &err), &err);
    CHECK(strcmp(spm_piece(spm, FR), ">>fr<<") == 0);
    CHECK(strcmp(spm_piece(spm, BT), ">>bt<<") == 0 && spm_size(spm) == 90);
    for (uint32_t i = 0; i < d.train.n_pairs; i++) {
        CHECK(first_of(&d.train, i) == BT && corpus_source(&d.train, i).len > 1);
        for (size_t k = 1; k < corpus_source(&d.train, i).len; k++)
            CHECK(corpus_source(&d.train, i).token[k] > BT);
        for (size_t k = 0; k < corpus_target(&d.train, i).len; k++)
            CHECK(corpus_target(&d.train, i).token[k] > BT);
    }
    CHECK(first_of(&d.valid.corpus, 0) == BT);
    CHECK(first_of(&d.valid.corpus, 1) == FR); /* its own */
    CHECK(first_of(&d.valid.corpus, 2) == BT); /* >>xx<< is text */
    /* the raw text says so too, for it is what is translated */
    const struct line *line = d.valid.source.line;
    CHECK(line[0].n_bytes == 21 &&
          memcmp(line[0].text, ">>bt<< ship river 500", 21) == 0);
    CHECK(memcmp(line[1].text, ">>fr<< wind 501", 15) == 0);
    CHECK(memcmp(line[2].text, ">>bt<< >>xx<< north", 19) == 0);
    /* no text becomes a mark, and our own encoder still cuts it */
    struct encoder *e;
    CHECK_OK(encoder_new(&e, spm, 0, &err), &err);
    CHECK(encoder_is_own(e));
    CHECK_OK(encoder_encode(e, (struct line){"ship >>bt<< >>fr<<", 18}, &ids, &err),
             &err);
    for (size_t i = 0; i < ids.n; i++)
        CHECK(ids.id[i] == ID_UNK || ids.id[i] > BT);
    encoder_free(e);
    spm_ids_release(&ids);
    spm_free(spm);
    dataset_close(&d);
}

static void append(const char *name, const char *text)
{
    FILE *f = fopen(test_path(name), "ae");

    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static uint32_t count_pairs(const char *out)
{
    struct dataset d;
    struct err err = {0};

    CHECK_OK(dataset_open(&d, test_path(out), &err), &err);
    const uint32_t n = d.train.n_pairs;
    dataset_close(&d);
    return n;
}

/* Of 122 training sources two are held out: one with a mark, one that gets it. */
TEST(what_is_held_out_is_known_with_a_mark_and_without)
{
    char tokenizer[300], source[300], target[300];
    struct err err = {0};

    write_text();
    append("train.en", "ship river 500\nwind 501\n");
    append("train.de", "Licht 1\nLicht 2\n");
    CHECK_OK(
        prepare("data", TOY("marks", "fr,bt", "mark", "bt", "held_out", "side"), &err),
        &err);
    CHECK(count_pairs("data") == 120);
    snprintf(tokenizer, sizeof tokenizer, "%s", test_path("data/vocab.model"));
    snprintf(source, sizeof source, "%s", test_path("data/valid.source"));
    snprintf(target, sizeof target, "%s", test_path("data/valid.target"));
    CHECK_OK(prepare("more",
                     TOY("tokenizer", tokenizer, "valid_source", source, "valid_target",
                         target, "held_out", "side"),
                     &err),
             &err);
    CHECK(count_pairs("more") == 120);
}

TEST(pieces_are_learned_of_the_text_behind_the_marks)
{
    struct spm *with, *without;
    struct err err = {0};
    char path[300];

    write_text();
    CHECK_OK(prepare("plain", TOY("vocab_size", "88"), &err), &err);
    FILE *from = fopen(test_path("train.en"), "re"), *to;
    snprintf(path, sizeof path, "%s", test_path("marked.en"));
    to = fopen(path, "we");
    CHECK(from && to);
    char line[200];
    while (fgets(line, sizeof line, from))
        fprintf(to, ">>fr<< %s", line);
    CHECK(fclose(from) == 0 && fclose(to) == 0);
    CHECK_OK(prepare("data", TOY("source", path, "marks", "fr,bt"), &err), &err);
    CHECK_OK(spm_load(&with, test_path("data/vocab.model"), &err), &err);
    CHECK_OK(spm_load(&without, test_path("plain/vocab.model"), &err), &err);
    CHECK(spm_size(with) == spm_size(without) + 2);
    for (int32_t i = ID_N_SPECIAL; i < 88; i++)
        CHECK(strcmp(spm_piece(with, i + 2), spm_piece(without, i)) == 0);
    spm_free(with);
    spm_free(without);
}

TEST(marks_that_cannot_be_are_refused)
{
    struct err err = {0};

    write_text();
    CHECK_FAILS(prepare("data", TOY("marks", "de,f r"), &err), &err, ERR_USAGE,
                "'f r' is no name of a mark");
    CHECK_FAILS(prepare("data", TOY("marks", "de,,fr"), &err), &err, ERR_USAGE,
                "'' is no name of a mark");
    CHECK_FAILS(prepare("data", TOY("mark", ">>de"), &err), &err, ERR_USAGE,
                "'>>de' is no name");
    CHECK_OK(prepare("data", TOY("mark", "de"), &err), &err); /* is one of marks then */
    char path[300];
    snprintf(path, sizeof path, "%s", test_path("data/vocab.model"));
    CHECK_OK(prepare("more", TOY("tokenizer", path, "mark", "de"), &err), &err);
    CHECK_FAILS(prepare("none", TOY("tokenizer", path, "mark", "bt"), &err), &err,
                ERR_USAGE, "has no token >>bt<<");
}

/* What translate_lines() gives for a line, with the option or without. */
static void translate(const struct model_dir *dir, struct model *m, const char *mark,
                      const char *text, char out[200])
{
    struct translate_config how;
    struct translator t;
    struct translations found = {0};
    struct err err = {0};
    const struct line line = {text, strlen(text)};

    CHECK_OK(opt_defaults(translate_config_table, &how, &err), &err);
    snprintf(how.mark, sizeof how.mark, "%s", mark);
    CHECK_OK(translate_open(&t, m, dir->spm, &how, &err), &err);
    CHECK_OK(translate_lines(&t, &line, 1, &found, &err), &err);
    snprintf(out, 200, "%s", translate_get(&found, 0, 0));
    translate_release(&found);
    translate_close(&t);
}

/* A model that learns to say one word behind one mark, and another behind the other. */
TEST(a_model_follows_its_marks_and_the_option_is_as_the_text)
{
    const struct device_options options = {.threads = 1};
    struct model_dir dir;
    struct device device;
    struct model model;
    struct translator t;
    struct translate_config how;
    struct err err = {0};
    char a[200], b[200];
    FILE *en, *de;

    write_text();
    en = fopen(test_path("train.en"), "we");
    de = fopen(test_path("train.de"), "we");
    CHECK(en && de);
    for (int i = 0; i < 120; i++) {
        fprintf(en, ">>%s<< ship %d\n", i % 2 ? "fr" : "bt", i % 7);
        fprintf(de, "%s\n", i % 2 ? "bateau" : "Schiff");
    }
    CHECK(fclose(en) == 0 && fclose(de) == 0);
    CHECK_OK(prepare("data", TOY("marks", "fr,bt", "vocab_size", "40"), &err), &err);
    toy_train("run", TOY("max_steps=150", "label_smoothing=0"));
    CHECK_OK(model_dir_open(&dir, test_path("run"), "last", &err), &err);
    CHECK_OK(device_open(&device, "cpu", options, &err), &err);
    CHECK_OK(model_open(&model, &device, &dir.config, false, &err), &err);
    CHECK_OK(model_dir_load_weights(&model, &dir, true, &err), &err);
    translate(&dir, &model, "", ">>fr<< ship 1", a);
    translate(&dir, &model, "fr", "ship 1", b);
    CHECK(strcmp(a, "bateau") == 0 && strcmp(b, a) == 0);
    translate(&dir, &model, ">>bt<<", "ship 1", b);
    CHECK(strcmp(b, "Schiff") == 0);
    translate(&dir, &model, "bt", ">>fr<< ship 1", b); /* the line's own */
    CHECK(strcmp(b, "bateau") == 0);
    CHECK_OK(opt_defaults(translate_config_table, &how, &err), &err);
    snprintf(how.mark, sizeof how.mark, "it");
    CHECK_FAILS(translate_open(&t, &model, dir.spm, &how, &err), &err, ERR_USAGE,
                "has no token >>it<<");
    translate_close(&t);
    model_close(&model);
    device_close(&device);
    model_dir_close(&dir);
}

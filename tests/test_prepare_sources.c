#include <jansson.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/rng.h"
#include "corpus/dataset.h"
#include "preparing.h"
#include "text/subword/spm.h"

enum { LINES = 200 };

static const char *write_bytes(const char *name, const char *bytes, size_t n)
{
    const char *path = test_path(name);
    struct err err = {0};

    CHECK_OK(file_write(path, bytes, n, &err), &err);
    return path;
}

/* Line i of a language, unique by its number. */
static void add_line(struct str *out, bool is_german, int i)
{
    static const char *const en[] = {"ship", "river", "bank", "light", "stone", "bridge"};
    static const char *const de[] = {"Schiff", "Fluss", "Ufer",
                                     "Licht",  "Stein", "Brücke"};
    const char *const *word = is_german ? de : en;

    str_printf(out, "%s %d %s %s", word[i % 6], i, word[i / 6 % 6], word[i / 36 % 6]);
}

/* LINES pairs in the forms that each side, a TSV and a TMX have. */
struct forms {
    struct str en, de, tsv, tmx;
};

static void make_forms(struct forms *f)
{
    *f = (struct forms){str_new(0), str_new(0), str_new(0), str_new(0)};
    str_puts(&f->tmx, "<tmx><body>");
    for (int i = 0; i < LINES; i++) {
        add_line(&f->en, false, i);
        str_putc(&f->en, '\n');
        add_line(&f->de, true, i);
        str_putc(&f->de, '\n');
        add_line(&f->tsv, false, i);
        str_putc(&f->tsv, '\t');
        add_line(&f->tsv, true, i);
        str_puts(&f->tsv, "\tfrom somewhere\n");
        str_puts(&f->tmx, "<tu><tuv xml:lang=\"de-DE\"><seg>");
        add_line(&f->tmx, true, i);
        str_puts(&f->tmx, "</seg></tuv><tuv xml:lang=\"en\"><seg>");
        add_line(&f->tmx, false, i);
        str_puts(&f->tmx, "</seg></tuv></tu>\n");
    }
    str_puts(&f->tmx, "</body></tmx>");
}

static void release_forms(struct forms *f)
{
    str_release(&f->en);
    str_release(&f->de);
    str_release(&f->tsv);
    str_release(&f->tmx);
}

static const char *write_str(const char *name, const struct str *s)
{
    return write_bytes(name, s->data, s->len);
}

static struct prepare_config plain(const char *out)
{
    struct prepare_config c = preparing_defaults(out, "80");

    preparing_set(&c, "threads", "2");
    return c;
}

/* The usual corpus as two text files. */
static struct prepare_config of_text(const char *out)
{
    struct prepare_config c = plain(out);
    struct forms f;

    make_forms(&f);
    preparing_set(&c, "source", write_str("t.en", &f.en));
    preparing_set(&c, "target", write_str("t.de", &f.de));
    release_forms(&f);
    return c;
}

TEST(the_form_of_the_text_does_not_matter)
{
    struct prepare_config text = of_text("text"), tsv = plain("tsv"), tmx = plain("tmx");
    struct forms f;

    make_forms(&f);
    preparing_set(&tsv, "pairs", write_str("t.tsv", &f.tsv));
    preparing_set(&tmx, "pairs", write_str("t.tmx", &f.tmx));
    preparing_set(&tmx, "source_lang", "en");
    preparing_set(&tmx, "target_lang", "de");
    release_forms(&f);
    preparing_run(&text);
    preparing_run(&tsv);
    preparing_run(&tmx);
    CHECK(preparing_same(test_path("text/train.bin"), test_path("tsv/train.bin")));
    CHECK(preparing_same(test_path("text/train.bin"), test_path("tmx/train.bin")));
    CHECK(preparing_same(test_path("text/vocab.model"), test_path("tmx/vocab.model")));
    preparing_set(&tsv, "columns", "2;1");
    preparing_refused(&tsv, ERR_USAGE, "columns = '2;1'");
    preparing_set(&tsv, "columns", "2,9");
    preparing_refused(&tsv, ERR_FORMAT,
                      "t.tsv:1: a line of 3 columns, column 9 is wanted");
}

TEST(threads_and_memory_change_nothing)
{
    struct prepare_config a = of_text("a"), b = of_text("b");

    preparing_set(&a, "threads", "1");
    preparing_set(&b, "threads", "5");
    preparing_set(&b, "memory_mib", "128");
    preparing_run(&a);
    preparing_run(&b);
    CHECK(preparing_same(test_path("a/train.bin"), test_path("b/train.bin")));
    CHECK(preparing_same(test_path("a/vocab.model"), test_path("b/vocab.model")));
}

TEST(what_held_out_sets_share_with_training_is_reported_and_can_be_dropped)
{
    struct prepare_config c = of_text("data");
    struct str en = str_new(0), de = str_new(0);

    for (int i = 10; i < 13; i++) {
        str_putc(&en, ' '); /* blanks do not hide it */
        add_line(&en, false, i);
        str_putc(&en, '\n');
        add_line(&de, true, i == 12 ? 13 : i);
        str_putc(&de, '\n');
    }
    str_puts(&en, "nothing of the kind\n");
    str_puts(&de, "nichts davon\n");
    preparing_set(&c, "valid_source", write_str("v.en", &en));
    preparing_set(&c, "valid_target", write_str("v.de", &de));
    preparing_set(&c, "test_source", write_str("v2.en", &en));
    preparing_set(&c, "test_target", write_bytes("v2.de", "a\nb\nc\nd\n", 8));
    str_release(&en);
    str_release(&de);
    struct prepare_stats s = preparing_run(&c);
    CHECK(s.overlap[PREPARE_VALID][OVERLAP_SOURCE] == 3);
    CHECK(s.overlap[PREPARE_VALID][OVERLAP_TARGET] == 3);
    CHECK(s.overlap[PREPARE_VALID][OVERLAP_PAIR] == 2);
    CHECK(s.overlap[PREPARE_TEST][OVERLAP_SOURCE] == 3);
    CHECK(s.overlap[PREPARE_TEST][OVERLAP_PAIR] == 0);
    CHECK(s.overlap_held_out[OVERLAP_SOURCE] == 4);
    CHECK(s.overlap_held_out[OVERLAP_TARGET] == 0);
    CHECK(s.n_reason[CLEAN_KEEP] == LINES);
    preparing_set(&c, "held_out", "pair");
    s = preparing_run(&c);
    CHECK(s.n_reason[FILTER_HELD_OUT] == 2 && s.set[PREPARE_TRAIN].n_pairs == LINES - 2);
    CHECK(s.overlap[PREPARE_VALID][OVERLAP_PAIR] == 0); /* what is left */
    CHECK(s.overlap[PREPARE_VALID][OVERLAP_SOURCE] == 1);
    CHECK(s.overlap[PREPARE_VALID][OVERLAP_TARGET] == 1);
    CHECK(s.overlap_removed[PREPARE_VALID][OVERLAP_PAIR] == 2); /* what was there */
    preparing_set(&c, "held_out", "side");
    s = preparing_run(&c);
    CHECK(s.n_reason[FILTER_HELD_OUT] == 4);
    CHECK(s.overlap[PREPARE_VALID][OVERLAP_SOURCE] == 0);
    CHECK(s.overlap_removed[PREPARE_VALID][OVERLAP_SOURCE] == 3);
    CHECK(s.sample[FILTER_HELD_OUT][0].line[0] == 11);
}

TEST(duplicates_are_dropped_and_shown_where_they_stand)
{
    struct prepare_config c = of_text("data");
    FILE *f = fopen(c.source, "ae"), *g = fopen(c.target, "ae");

    CHECK(f && g);
    fputs("\nship 6 river ship\n SHIP 7, River: ship!\nship 6 river ship\n", f);
    fputs("\nSchiff 6 Fluss Schiff\nschiff 8 Fluss Schiff\nSchiff 6 Fluss Schiff\n", g);
    CHECK(fclose(f) == 0 && fclose(g) == 0);
    struct prepare_stats s = preparing_run(&c);
    const uint64_t n_bytes = s.stage[PREPARE_CLEAN].after.n_bytes[0];
    CHECK(s.n_reason[CLEAN_KEEP] == LINES + 3 && s.n_reason[CLEAN_EMPTY] == 1);
    preparing_set(&c, "duplicates", "exact");
    s = preparing_run(&c);
    CHECK(s.n_reason[FILTER_DUPLICATE] == 2 && s.n_reason[CLEAN_KEEP] == LINES + 1);
    CHECK(s.sample[FILTER_DUPLICATE][0].line[0] == LINES + 2);
    CHECK(s.sample[FILTER_DUPLICATE][1].line[0] == LINES + 4);
    CHECK_STR(s.sample[FILTER_DUPLICATE][0].text[1], "Schiff 6 Fluss Schiff");
    CHECK(s.set[PREPARE_TRAIN].n_pairs == LINES + 1);
    CHECK(s.stage[PREPARE_CLEAN].after.n_bytes[0] == n_bytes - 2 * 18);
    preparing_set(&c, "duplicates", "near");
    s = preparing_run(&c);
    CHECK(s.n_reason[FILTER_DUPLICATE] == 2 && s.n_reason[FILTER_NEAR] >= 1);
    CHECK(s.set[PREPARE_TRAIN].n_pairs == s.n_reason[CLEAN_KEEP]);
}

TEST(a_tokenizer_of_other_text_is_refused)
{
    struct prepare_config c = of_text("data"), other = plain("other");
    struct str ru = str_new(0);

    for (int i = 0; i < LINES; i++)
        str_printf(&ru, "\u0434\u043e\u043c %d \u043d\u0430 \u0440\u0435\u043a\u0435\n",
                   i);
    preparing_set(&other, "source", c.source);
    preparing_set(&other, "target", write_str("t.ru", &ru));
    str_release(&ru);
    preparing_run(&c);
    preparing_set(&other, "tokenizer", test_path("data/vocab.model"));
    preparing_refused(&other, ERR_FORMAT, "does not match this corpus");
    preparing_refused(&other, ERR_FORMAT, "of the target pieces are unknown to it");
    CHECK(!file_exists(test_path("other/prepare.json")));
    preparing_set(&other, "max_unknown", "1");
    CHECK(preparing_run(&other).set[PREPARE_TRAIN].side[1].n_unknown > 0);
}

/* Lines of a file of the data directory. */
static uint64_t count_lines(const char *name)
{
    struct lines l;
    struct err err = {0};

    CHECK_OK(lines_open(&l, test_path(name), &err), &err);
    const uint64_t n = lines_count(&l);
    lines_close(&l);
    return n;
}

TEST(the_files_of_the_reference_are_written_in_the_order_of_the_corpus)
{
    struct prepare_config c = of_text("data");
    struct lines text, tok;
    struct line line;
    struct dataset d;
    struct spm *spm;
    struct err err = {0};

    preparing_set(&c, "reference_names", "true");
    preparing_set(&c, "valid_source", c.source);
    preparing_set(&c, "valid_target", c.target);
    preparing_run(&c);
    CHECK_OK(dataset_open(&d, c.out, &err), &err);
    CHECK_OK(spm_load(&spm, d.tokenizer, &err), &err);
    CHECK_OK(lines_open(&text, test_path("data/train.clean.de.shuffled"), &err), &err);
    CHECK_OK(lines_open(&tok, test_path("data/train.clean.de.shuffled.BPE_common.80.tok"),
                        &err),
             &err);
    for (uint32_t i = 0; i < d.train.n_pairs; i++) {
        const struct sentence s = corpus_target(&d.train, i);
        struct str want = str_new(0), pieces = str_new(0);
        int32_t id[200];
        for (size_t k = 0; k < s.len; k++) {
            id[k] = s.token[k];
            str_printf(&pieces, "%s%s", k ? " " : "", spm_piece(spm, id[k]));
        }
        CHECK_OK(spm_decode(spm, id, s.len, &want, &err), &err);
        CHECK(lines_next(&text, &line) && line.n_bytes == want.len);
        CHECK(memcmp(line.text, want.data, want.len) == 0);
        CHECK(lines_next(&tok, &line) && line.n_bytes == pieces.len);
        CHECK(memcmp(line.text, pieces.data, pieces.len) == 0);
        str_release(&want);
        str_release(&pieces);
    }
    lines_close(&text);
    lines_close(&tok);
    spm_free(spm);
    dataset_close(&d);
    CHECK(preparing_same(test_path("data/train.clean.en"), c.source));
    CHECK(preparing_same(test_path("data/wmt13-en-de.ref"), c.target));
    CHECK(
        preparing_same(test_path("data/m_common.model"), test_path("data/vocab.model")));
    CHECK(
        preparing_same(test_path("data/m_common.vocab"), test_path("data/vocab.vocab")));
    CHECK(count_lines("data/train.clean.en-de.shuffled.common") == 2 * LINES);
    CHECK(count_lines("data/wmt13-en-de.src.BPE_common.80.tok") == LINES);
    CHECK(!file_exists(test_path("data/wmt14-en-de.src")));
    preparing_set(&c, "source", test_path("data/valid.source"));
    preparing_refused(&c, ERR_USAGE, "say source_lang=LANGUAGE");
}

TEST(prepare_json_shows_samples_and_sizes_of_every_stage)
{
    struct prepare_config c = of_text("data");
    FILE *f = fopen(c.source, "ae"), *g = fopen(c.target, "ae");

    CHECK(f && g);
    fputs("\n", f);
    fputs("bad \xff byte\n", g);
    CHECK(fclose(f) == 0 && fclose(g) == 0);
    preparing_run(&c);
    json_t *all = json_load_file(test_path("data/prepare.json"), 0, NULL);
    json_t *sample =
        json_array_get(json_object_get(json_object_get(all, "samples"), "encoding"), 0);
    CHECK_STR(json_string_value(json_object_get(sample, "target")),
              "bad \xEF\xBF\xBD byte");
    CHECK_STR(json_string_value(json_object_get(sample, "file")), c.source);
    CHECK(json_integer_value(json_object_get(sample, "line")) == LINES + 1);
    json_t *clean = json_object_get(json_object_get(all, "stages"), "clean");
    json_t *before = json_object_get(clean, "before"),
           *after = json_object_get(clean, "after");
    CHECK(json_integer_value(json_object_get(before, "pairs")) == LINES + 1);
    CHECK(json_integer_value(json_object_get(after, "pairs")) == LINES);
    CHECK(json_integer_value(json_object_get(before, "source_bytes")) ==
          file_bytes(c.source));
    CHECK(json_integer_value(json_object_get(after, "source_bytes")) ==
          file_bytes(c.source) - 1);
    CHECK(json_is_real(json_object_get(clean, "peak_mib")));
    json_decref(all);
}

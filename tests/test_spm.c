#include "text/subword/spm.h"
#include "train_lines.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

#include "base/file.h"
#include "base/rng.h"
#include "text/subword/spm_parts.h"

#include "test.h"

static json_t *open_golden(void)
{
    json_error_t why;
    json_t *root = json_load_file(test_data("spm_golden.json"), JSON_ALLOW_NUL, &why);

    if (!root)
        test_fail(__FILE__, __LINE__, "spm_golden.json: %s", why.text);
    return root;
}

/* The id of a piece; that of unk when there is no such piece. */
static int32_t id_of(const struct spm *spm, const char *piece)
{
    for (int32_t id = 0; id < (int32_t)spm_size(spm); id++)
        if (strcmp(spm_piece(spm, id), piece) == 0)
            return id;
    return ID_UNK;
}

struct json_lines {
    const json_t *list;
    size_t at;
};

static bool next_json(void *ctx, struct line *line)
{
    struct json_lines *l = ctx;
    const json_t *s = json_array_get(l->list, l->at++);

    if (!s)
        return false;
    *line = (struct line){json_string_value(s), json_string_length(s)};
    return true;
}

/* The model of the golden corpus, as SentencePiece 0.2 learned it in Python. */
static struct spm *train_golden(const json_t *golden)
{
    struct json_lines lines = {json_object_get(golden, "lines"), 0};
    const struct spm_train_options o = {
        .vocab_size = json_array_size(json_object_get(golden, "vocab"))};
    struct spm *spm;
    struct err err = {0};

    CHECK_OK(train_lines(&spm, o, next_json, &lines, NULL, &err), &err);
    return spm;
}

static status train_text(struct spm **spm, const char *text, struct spm_train_options o,
                         struct word_counts_seen *count, struct err *err)
{
    struct lines lines = lines_over(text, strlen(text));

    return train_lines(spm, o, train_lines_next, &lines, count, err);
}

static struct spm *small_model(void)
{
    struct spm *spm;
    struct err err = {0};

    CHECK_OK(train_text(&spm, "the ferry crosses the river\nthe river is wide\n",
                        (struct spm_train_options){.vocab_size = 40}, NULL, &err),
             &err);
    return spm;
}

TEST(training_gives_the_pieces_that_python_gets)
{
    json_t *golden = open_golden(), *vocab = json_object_get(golden, "vocab");
    struct spm *spm = train_golden(golden);

    CHECK(spm_size(spm) == json_array_size(vocab));
    for (size_t i = 0; i < json_array_size(vocab); i++) {
        const json_t *row = json_array_get(vocab, i);
        CHECK_STR(spm_piece(spm, (int32_t)i), json_string_value(json_array_get(row, 0)));
        CHECK_NEAR(spm_score(spm, (int32_t)i), json_number_value(json_array_get(row, 1)),
                   0);
    }
    spm_free(spm);
    json_decref(golden);
}

TEST(text_is_cut_and_joined_as_python_does)
{
    json_t *golden = open_golden(), *samples = json_object_get(golden, "samples"), *s;
    struct spm *spm = train_golden(golden);
    struct spm_ids ids = {0};
    size_t i;

    json_array_foreach(samples, i, s)
    {
        const json_t *text = json_object_get(s, "text"),
                     *want = json_object_get(s, "ids");
        const json_t *back = json_object_get(s, "back");
        const struct line line = {json_string_value(text), json_string_length(text)};
        struct str out = str_new(0);
        struct err err = {0};

        ids.n = 0;
        CHECK_OK(spm_encode(spm, line, &ids, &err), &err);
        CHECK(ids.n == json_array_size(want));
        for (size_t k = 0; k < ids.n; k++)
            CHECK(ids.id[k] == json_integer_value(json_array_get(want, k)));
        CHECK_OK(spm_decode(spm, ids.id, ids.n, &out, &err), &err);
        CHECK(out.len == json_string_length(back) &&
              memcmp(str_text(&out), json_string_value(back), out.len) == 0);
        str_release(&out);
    }
    spm_ids_release(&ids);
    spm_free(spm);
    json_decref(golden);
}

TEST(special_ids_are_pad_0_eos_1_bos_2_unk_3)
{
    struct spm *spm = small_model();
    const struct spm_special s = spm_specials(spm);
    struct err err = {0};

    CHECK(s.pad == 0 && s.eos == 1 && s.bos == 2 && s.unk == 3);
    CHECK_OK(spm_check_special(spm, &err), &err);
    CHECK_STR(spm_piece(spm, 0), "<pad>");
    CHECK_STR(spm_piece(spm, 1), "</s>");
    CHECK_STR(spm_piece(spm, 2), "<s>");
    CHECK_STR(spm_piece(spm, 3), "<unk>");
    CHECK(id_of(spm, "</s>") == 1 && id_of(spm, "no such piece") == 3);
    spm_free(spm);
}

static const char *decode(const struct spm *spm, const int32_t *id, size_t n)
{
    static char text[256];
    struct str out = str_new(sizeof text - 1);
    struct err err = {0};

    CHECK_OK(spm_decode(spm, id, n, &out, &err), &err);
    memcpy(text, str_text(&out), out.len + 1);
    str_release(&out);
    return text;
}

TEST(known_characters_survive_a_round_trip)
{
    struct spm *spm = small_model();
    struct rng rng = rng_open(rng_key(test_seed(), "spm"));
    struct spm_ids ids = {0};
    struct err err = {0};

    for (int round = 0; round < 500; round++) {
        char text[40];
        size_t n = 0;
        const size_t n_want = 1 + (size_t)rng_below(&rng, 30);
        while (n < n_want) { /* letters of the corpus, single blanks inside */
            const char c = "theferycosiwd "[rng_below(&rng, 14)];
            if (c != ' ' || (n > 0 && text[n - 1] != ' ' && n + 1 < n_want))
                text[n++] = c;
        }
        text[n] = '\0';
        ids.n = 0;
        CHECK_OK(spm_encode(spm, (struct line){text, n}, &ids, &err), &err);
        CHECK_STR(decode(spm, ids.id, ids.n), text);
    }
    spm_ids_release(&ids);
    spm_free(spm);
}

TEST(unknown_characters_become_unk)
{
    struct spm *spm = small_model();
    struct spm_ids ids = {0};
    struct err err = {0};

    CHECK_OK(spm_encode(spm, (struct line){"the \xF0\x9F\x99\x82", 8}, &ids, &err), &err);
    CHECK(ids.n >= 2 && ids.id[ids.n - 1] == ID_UNK);
    CHECK_STR(decode(spm, ids.id, ids.n), "the  \xE2\x81\x87 ");
    ids.n = 0;
    CHECK_OK(spm_encode(spm, (struct line){"\xFF\xFE", 2}, &ids, &err),
             &err); /* no UTF-8 */
    CHECK(ids.n > 0 && ids.id[ids.n - 1] == ID_UNK);
    spm_ids_release(&ids);
    spm_free(spm);
}

TEST(encoding_appends_and_empty_text_appends_nothing)
{
    struct spm *spm = small_model();
    struct spm_ids ids = {0};
    struct err err = {0};

    CHECK_OK(spm_encode(spm, (struct line){"", 0}, &ids, &err), &err);
    CHECK_OK(spm_encode(spm, (struct line){" \t ", 3}, &ids, &err), &err);
    CHECK(ids.n == 0);
    CHECK_OK(spm_encode(spm, (struct line){"the", 3}, &ids, &err), &err);
    const size_t n = ids.n;
    CHECK_OK(spm_encode(spm, (struct line){"the", 3}, &ids, &err), &err);
    CHECK(n > 0 && ids.n == 2 * n && memcmp(ids.id, ids.id + n, n * sizeof *ids.id) == 0);
    spm_ids_release(&ids);
    spm_free(spm);
}

TEST(decoding_leaves_specials_out_and_refuses_foreign_ids)
{
    struct spm *spm = small_model();
    const int32_t the = id_of(spm, "\xE2\x96\x81the");
    const int32_t framed[] = {ID_BOS, the, ID_EOS, ID_PAD}, low[] = {the, -1};
    const int32_t high[] = {(int32_t)spm_size(spm)};
    struct str out = str_new(0);
    struct err err = {0};

    CHECK(the > ID_UNK);
    CHECK_STR(decode(spm, framed, 4), "the");
    CHECK_STR(decode(spm, NULL, 0), "");
    CHECK_FAILS(spm_decode(spm, low, 2, &out, &err), &err, ERR_FORMAT, "token id -1");
    CHECK_FAILS(spm_decode(spm, high, 1, &out, &err), &err, ERR_FORMAT, "token id 40");
    CHECK(out.len == 0);
    str_release(&out);
    spm_free(spm);
}

TEST(training_twice_gives_the_same_bytes)
{
    struct spm *a = small_model(), *b = small_model();
    const struct line x = spm_bytes(a), y = spm_bytes(b);

    CHECK(x.n_bytes == y.n_bytes && memcmp(x.text, y.text, x.n_bytes) == 0);
    spm_free(a);
    spm_free(b);
}

static void check_same_file(const char *path, const char *want, size_t n)
{
    struct file_map m;
    struct err err = {0};

    CHECK_OK(file_map_open(&m, path, &err), &err);
    CHECK(m.n_bytes == n && memcmp(m.data, want, n) == 0);
    file_map_close(&m);
}

TEST(a_saved_model_loads_to_the_same)
{
    struct spm *spm = small_model(), *again;
    const struct line bytes = spm_bytes(spm);
    struct str vocab = str_new(0);
    struct err err = {0};

    CHECK_OK(spm_save(spm, test_path("m"), &err), &err);
    check_same_file(test_path("m.model"), bytes.text, bytes.n_bytes);
    for (int32_t i = 0; i < 40; i++) /* the form that SentencePiece gives this file */
        str_printf(&vocab, "%s\t%s%d\n", spm_piece(spm, i), i < 4 ? "" : "-",
                   i < 4 ? 0 : i - 4);
    check_same_file(test_path("m.vocab"), vocab.data, vocab.len);
    CHECK_OK(spm_load(&again, test_path("m.model"), &err), &err);
    CHECK(spm_size(again) == 40 &&
          id_of(again, "\xE2\x96\x81the") == id_of(spm, "\xE2\x96\x81the"));
    CHECK(spm_bytes(again).n_bytes == bytes.n_bytes);
    str_release(&vocab);
    spm_free(again);
    spm_free(spm);
    CHECK_FAILS(spm_parse(&again, "", 0, &err), &err, ERR_FORMAT, "empty");
    CHECK(again == NULL);
    spm_free(NULL);
}

TEST(a_model_of_another_kind_loads_but_fails_the_check_of_ids)
{
    struct spm *spm;
    struct spm_ids ids = {0};
    struct err err = {0};

    CHECK_OK(spm_load(&spm, test_data("spm_unigram.model"), &err), &err);
    CHECK(spm_size(spm) == 120);
    CHECK(spm_specials(spm).unk == 0 && spm_specials(spm).pad == -1);
    CHECK_FAILS(spm_check_special(spm, &err), &err, ERR_FORMAT,
                "pad -1, eos 2, bos 1, unk 0");
    CHECK_OK(spm_encode(spm, (struct line){"ferry river", 11}, &ids, &err), &err);
    CHECK_STR(decode(spm, ids.id, ids.n), "ferry river");
    spm_ids_release(&ids);
    spm_free(spm);
}

TEST(every_character_of_the_text_gets_a_piece)
{
    struct str text = str_new(0);
    struct spm *spm;
    struct err err = {0};

    for (int i = 0; i < 1000; i++)
        str_puts(&text, "the river is wide\n");
    str_puts(&text, "\xC3\x9F\n"); /* one in 14,000 */
    CHECK_OK(train_text(&spm, str_text(&text),
                        (struct spm_train_options){.vocab_size = 20}, NULL, &err),
             &err);
    CHECK(id_of(spm, "\xC3\x9F") != ID_UNK);
    str_release(&text);
    spm_free(spm);
}

TEST(lines_over_the_limit_are_left_out_and_counted)
{
    struct str text = str_new(0);
    struct spm *spm;
    struct word_counts_seen seen;
    struct err err = {0};

    str_puts(&text, "the river\n\n");
    for (int i = 0; i < 1000; i++)
        str_puts(&text, "zzz qq");
    CHECK_OK(train_text(&spm, str_text(&text),
                        (struct spm_train_options){.vocab_size = 14}, &seen, &err),
             &err);
    CHECK(seen.n_lines == 2 && seen.n_too_long == 1);
    CHECK(id_of(spm, "z") == ID_UNK);
    str_release(&text);
    spm_free(spm);
}

TEST(a_vocabulary_that_does_not_fit_is_refused_with_the_number_that_does)
{
    const char *const text = "the ferry crosses the river\nthe river is wide\n";
    struct spm *spm;
    struct err err = {0};

    CHECK_FAILS(train_text(&spm, text, (struct spm_train_options){.vocab_size = 5000},
                           NULL, &err),
                &err, ERR_USAGE, "vocab_size = 5000: the text gives only ");
    CHECK(spm == NULL);
    const size_t most = strtoul(strstr(err.msg, "only ") + 5, NULL, 10);
    CHECK_OK(train_text(&spm, text, (struct spm_train_options){.vocab_size = most}, NULL,
                        &err),
             &err);
    spm_free(spm);
    CHECK_OK(
        train_text(&spm, text,
                   (struct spm_train_options){.vocab_size = 5000, .is_at_most = true},
                   NULL, &err),
        &err);
    CHECK(spm_size(spm) == most);
    spm_free(spm);

    CHECK_FAILS(
        train_text(&spm, text, (struct spm_train_options){.vocab_size = 6}, NULL, &err),
        &err, ERR_USAGE, "at least ");
    const size_t least = strtoul(strstr(err.msg, "at least ") + 9, NULL, 10);
    CHECK_OK(train_text(&spm, text, (struct spm_train_options){.vocab_size = least}, NULL,
                        &err),
             &err);
    spm_free(spm);
}

TEST(impossible_training_options_are_refused)
{
    struct spm *spm;
    struct err err = {0};
    static const size_t bad[] = {0, 4, SPM_VOCAB_MAX + 1, SIZE_MAX};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_FAILS(train_text(&spm, "a b c",
                               (struct spm_train_options){.vocab_size = bad[i]}, NULL,
                               &err),
                    &err, ERR_USAGE, "vocab_size");
}

TEST(nothing_to_learn_from_is_said_in_a_sentence)
{
    static const char *const texts[] = {"", "\n\n", " \t\n\xE3\x80\x80\n",
                                        "\xE2\x80\x8B\n", "\xE2\x96\x85\n"};
    struct spm *spm;
    struct err err = {0};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK_FAILS(train_text(&spm, texts[i],
                               (struct spm_train_options){.vocab_size = 30}, NULL, &err),
                    &err, ERR_FORMAT, "no text to learn");
}

TEST(training_prints_nothing)
{
    const char *path = test_path("stderr");
    struct spm *spm;
    struct err err = {0};

    (void)fflush(stderr);
    const int keep = dup(STDERR_FILENO);
    FILE *file = fopen(path, "w");
    CHECK(keep >= 0 && file && dup2(fileno(file), STDERR_FILENO) >= 0);
    const status s = train_text(&spm, "the ferry\nthe river\n",
                                (struct spm_train_options){.vocab_size = 16}, NULL, &err);
    (void)fflush(stderr);
    dup2(keep, STDERR_FILENO);
    close(keep);
    (void)fclose(file);
    CHECK_OK(s, &err);
    CHECK(file_bytes(path) == 0);
    spm_free(spm);
}

struct encoder {
    const struct spm *spm;
    const struct spm_ids *want;
    bool is_same;
};

static void *encode_often(void *ctx)
{
    struct encoder *e = ctx;
    struct spm_ids ids = {0};
    struct err err;

    e->is_same = true;
    for (int i = 0; i < 200; i++) {
        ids.n = 0;
        e->is_same &=
            spm_encode(e->spm, (struct line){"the wide river", 14}, &ids, &err) == OK;
        e->is_same &= ids.n == e->want->n &&
                      memcmp(ids.id, e->want->id, ids.n * sizeof *ids.id) == 0;
    }
    spm_ids_release(&ids);
    return NULL;
}

TEST(threads_share_a_model)
{
    enum { N = 3 };
    struct spm *spm = small_model();
    struct spm_ids want = {0};
    struct encoder e[N];
    pthread_t thread[N];
    struct err err = {0};

    CHECK_OK(spm_encode(spm, (struct line){"the wide river", 14}, &want, &err), &err);
    for (int i = 0; i < N; i++) {
        e[i] = (struct encoder){.spm = spm, .want = &want};
        CHECK(pthread_create(&thread[i], NULL, encode_often, &e[i]) == 0);
    }
    for (int i = 0; i < N; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < N; i++)
        CHECK(e[i].is_same);
    spm_ids_release(&want);
    spm_free(spm);
}

TEST(bytes_that_are_no_model_are_refused)
{
    static const char *const texts[] = {"garbage", "\x0A", "\x0A\xFF\xFF\xFF\xFF\x0F",
                                        "{}\n", "\x0A\x03\x0A\x01x"};
    struct spm *spm;
    struct err err = {0};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK(spm_parse(&spm, texts[i], strlen(texts[i]), &err) == ERR_FORMAT);
        CHECK(strstr(err.msg, "SentencePiece model"));
    }
    CHECK_FAILS(spm_load(&spm, test_path("absent.model"), &err), &err, ERR_IO,
                "absent.model");
    CHECK_OK(file_write(test_path("empty.model"), "", 0, &err), &err);
    CHECK_FAILS(spm_load(&spm, test_path("empty.model"), &err), &err, ERR_FORMAT,
                "empty.model");
}

TEST(a_model_cut_short_anywhere_is_refused_or_whole)
{
    struct spm *spm = small_model(), *part;
    const struct line bytes = spm_bytes(spm);
    struct err err = {0};

    for (size_t n = 0; n < bytes.n_bytes; n += n < 600 ? 1 : 9973)
        if (spm_parse(&part, bytes.text, n, &err) == OK) { /* cut between two fields */
            CHECK(spm_size(part) <= 40);
            spm_free(part);
        }
    spm_free(spm);
}

enum { UNITS = 256 };

/* A model whose rules are this trie and these strings: the last field of a kind wins. */
static status parse_with_tag(struct spm **spm, const char *tag,
                             const uint32_t unit[UNITS], uint32_t trie_bytes,
                             const char *strings, size_t n_strings, struct err *err)
{
    struct file_map m;
    struct str model = str_new(0);
    const size_t n_rules = 4 + UNITS * 4 + n_strings, n_field = n_rules + 3;

    CHECK_OK(file_map_open(&m, test_data("spm_unigram.model"), err), err);
    CHECK(n_field < 1 << 14);
    str_add(&model, m.data, m.n_bytes);
    file_map_close(&m);
    str_puts(&model, tag); /* the normaliser, and in it the rules, field 2 */
    str_putc(&model, (char)((n_field & 0x7F) | 0x80));
    str_putc(&model, (char)(n_field >> 7));
    str_putc(&model, 0x12);
    str_putc(&model, (char)((n_rules & 0x7F) | 0x80));
    str_putc(&model, (char)(n_rules >> 7));
    str_add(&model, &trie_bytes, sizeof trie_bytes);
    str_add(&model, unit, UNITS * sizeof *unit);
    str_add(&model, strings, n_strings);
    const status s = spm_parse(spm, model.data, model.len, err);
    str_release(&model);
    return s;
}

static status parse_with_rules(struct spm **spm, const uint32_t unit[UNITS],
                               uint32_t trie_bytes, const char *strings, size_t n_strings,
                               struct err *err)
{
    return parse_with_tag(spm, "\x1A", unit, trie_bytes, strings, n_strings, err);
}

/* A trie with one rule, "a" to the first of the strings. */
static void one_rule(uint32_t unit[UNITS])
{
    for (size_t i = 0; i < UNITS; i++)
        unit[i] = 1u << 31;                       /* a value: leads nowhere */
    unit[0] = 0;                                  /* the root's base is 0 */
    unit['a'] = 'a' | 1u << 8 | ('a' ^ 2u) << 10; /* a leaf with base 2 */
}

TEST(rules_are_applied_when_they_are_whole)
{
    uint32_t unit[UNITS];
    struct spm *spm;
    struct spm_ids ids = {0};
    struct err err = {0};

    one_rule(unit);
    CHECK_OK(parse_with_rules(&spm, unit, sizeof unit, "f\0", 2, &err), &err);
    CHECK_OK(spm_encode(spm, (struct line){"aerry", 5}, &ids, &err), &err);
    CHECK_STR(decode(spm, ids.id, ids.n), "ferry");
    spm_ids_release(&ids);
    spm_free(spm);
}

TEST(rules_that_lead_outside_are_refused)
{
    static const uint32_t sizes[] = {0, 1, 1020, 0xFFFFFC00u, 0x7FFFFFFF, 1 << 11};
    uint32_t unit[UNITS];
    struct spm *spm;
    struct err err = {0};

    one_rule(unit);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        CHECK_FAILS(parse_with_rules(&spm, unit, sizes[i], "f\0", 2, &err), &err,
                    ERR_FORMAT, "damaged");
    CHECK_FAILS(parse_with_rules(&spm, unit, sizeof unit, "f", 1, &err), &err, ERR_FORMAT,
                "damaged"); /* the string has no end */
    CHECK_FAILS(parse_with_rules(&spm, unit, sizeof unit, "", 0, &err), &err, ERR_FORMAT,
                "damaged");
    unit[2] = 1u << 31 | 2; /* the rule's string starts behind the strings */
    CHECK_FAILS(parse_with_rules(&spm, unit, sizeof unit, "f\0", 2, &err), &err,
                ERR_FORMAT, "damaged");

    one_rule(unit);
    unit['a'] = 'a' | 300u << 10; /* to a block that is not there */
    CHECK_FAILS(parse_with_rules(&spm, unit, sizeof unit, "f\0", 2, &err), &err,
                ERR_FORMAT, "damaged");
    one_rule(unit);
    unit['a'] = 'a' | 1u << 9 | 1u << 10; /* the same by a shifted offset */
    CHECK_FAILS(parse_with_rules(&spm, unit, sizeof unit, "f\0", 2, &err), &err,
                ERR_FORMAT, "damaged");
    one_rule(unit);
    unit[0] = 1u << 31 | 300u << 10; /* the root, under the mask of a value */
    CHECK_FAILS(parse_with_rules(&spm, unit, sizeof unit, "f\0", 2, &err), &err,
                ERR_FORMAT, "damaged");
}

/* The tag of field 3 with a bit beyond the 32 that SentencePiece's parser looks at. */
TEST(rules_cannot_hide_behind_the_number_of_another_field)
{
    static const char *const tags[] = {"\x9A\x80\x80\x80\x10", "\x9A\x80\x80\x80\x70"};
    uint32_t unit[UNITS];
    struct spm *spm;
    struct err err = {0};

    one_rule(unit);
    unit['a'] = 'a' | 300u << 10; /* to a block that is not there */
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        CHECK_FAILS(parse_with_tag(&spm, tags[i], unit, sizeof unit, "f\0", 2, &err),
                    &err, ERR_FORMAT, "not a SentencePiece model");
}

TEST(pieces_of_an_unknown_kind_are_refused)
{
    struct spm *spm = small_model(), *hurt;
    const struct line bytes = spm_bytes(spm);
    struct str model = str_new(0);
    struct err err = {0};

    str_add(&model, bytes.text, bytes.n_bytes);
    str_add(&model, "\x0A\x07\x0A\x01z\x18\x02\x18\x4D", 9); /* kind 2, then 77 */
    CHECK_FAILS(spm_parse(&hurt, model.data, model.len, &err), &err, ERR_FORMAT,
                "no known kind");
    str_release(&model);
    spm_free(spm);
}

/* Fields that we do not know, in the model and in its trainer's settings. */
TEST(what_is_not_ours_in_a_model_stays_in_it)
{
    static const char model[] = "\x12\x0D\x18\x02\x20\x05\xA2\x06\x03"
                                "abc\x88\x02\x01"
                                "\xBA\x06\x02xy";
    static const char want[] = "\x12\x0E\x18\x02\x20\xAC\x02\xA2\x06\x03"
                               "abc\x88\x02\x00"
                               "\xBA\x06\x02xy";
    struct str out = str_new(0);
    struct err err = {0};

    CHECK_OK(spm_parts_put_rest(&out, model, sizeof model - 1, 300, false, &err), &err);
    CHECK(out.len == sizeof want - 1 && memcmp(out.data, want, out.len) == 0);
    CHECK_FAILS(spm_parts_put_rest(&out, model, sizeof model - 2, 300, false, &err), &err,
                ERR_FORMAT, "cut short");
    str_release(&out);
}

TEST(rules_that_match_without_end_are_refused)
{
    uint32_t unit[UNITS];
    struct spm *spm;
    struct spm_ids ids = {0};
    char text[100];
    struct err err = {0};

    memset(text, 'a', sizeof text);
    one_rule(unit);
    unit['a'] = 'a' | 1u << 8 | 'a' << 10; /* back to the root's base, again a leaf */
    CHECK_FAILS(parse_with_rules(&spm, unit, sizeof unit, "f\0", 2, &err), &err,
                ERR_FORMAT, "damaged");
    unit['a'] = 'a' | 'a' << 10; /* a loop without a leaf is harmless */
    CHECK_OK(parse_with_rules(&spm, unit, sizeof unit, "f\0", 2, &err), &err);
    CHECK_OK(spm_encode(spm, (struct line){text, sizeof text}, &ids, &err), &err);
    spm_ids_release(&ids);
    spm_free(spm);
}

TEST(random_damage_never_crashes)
{
    struct spm *spm = small_model(), *hurt;
    const struct line bytes = spm_bytes(spm);
    unsigned char *copy = malloc(bytes.n_bytes);
    struct rng rng = rng_open(rng_key(test_seed(), "damage"));
    struct spm_ids ids = {0};
    struct err err = {0};

    CHECK(copy);
    for (int round = 0; round < 150; round++) {
        memcpy(copy, bytes.text, bytes.n_bytes);
        for (int i = 0; i < 1 + round % 5; i++)
            copy[rng_below(&rng, round % 2 ? 700 : bytes.n_bytes)] =
                (unsigned char)rng_u64(&rng);
        if (spm_parse(&hurt, copy, bytes.n_bytes, &err) != OK)
            continue;
        ids.n = 0;
        if (spm_encode(hurt, (struct line){"the \xC3\xA4\xEF\xAC\x81 river", 13}, &ids,
                       &err) == OK) {
            struct str out = str_new(0);
            if (spm_decode(hurt, ids.id, ids.n, &out, &err) != OK)
                CHECK(err.msg[0]);
            str_release(&out);
        }
        spm_free(hurt);
    }
    spm_ids_release(&ids);
    free(copy);
    spm_free(spm);
}

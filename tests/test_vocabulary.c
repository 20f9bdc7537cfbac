/* Vocabularies of others: their tokens under our numbers, and a tokenizer that gives
 * these. */
#include "foreign/vocabulary.h"

#include <stdlib.h>

#include "base/file.h"
#include "test.h"

static struct err err;

static const struct vocabulary_names names = {"<pad>", "</s>", "<s>", "<unk>"};

static void add(struct vocabulary *v, const char *text, int64_t number)
{
    CHECK_OK(vocabulary_add(v, (struct line){text, strlen(text)}, number, &err), &err);
}

TEST(special_tokens_are_ours_and_the_others_keep_their_order)
{
    struct vocabulary v = {0};

    add(&v, "b", 3);
    add(&v, "</s>", 0);
    add(&v, "a", 1);
    add(&v, "<unk>", 4);
    CHECK_OK(vocabulary_close(&v, names, &err), &err);
    CHECK(v.n == 5 && v.n_ids == 7); /* number 2 has no token, but a row */
    CHECK(v.token[0].id == ID_EOS && v.token[4].id == ID_UNK);
    CHECK(v.token[1].id == 4 && v.token[2].id == 5 && v.token[3].id == 6);
    CHECK(v.has[ID_EOS] && v.has[ID_UNK] && !v.has[ID_PAD] && !v.has[ID_BOS]);
    vocabulary_release(&v);
}

TEST(a_vocabulary_has_as_many_numbers_as_its_table_has_rows)
{
    struct vocabulary v = {0};

    add(&v, "</s>", 0);
    add(&v, "<unk>", 1);
    add(&v, "a", 2);
    CHECK_OK(vocabulary_fit(&v, 2, &err), &err);
    CHECK(v.n == 2);
    CHECK_OK(vocabulary_fit(&v, 100, &err), &err);
    CHECK(v.n == 100 && !v.token[2].text && !v.token[99].text);
    CHECK_FAILS(vocabulary_fit(&v, 65537, &err), &err, ERR_FORMAT, "65537 rows");
    vocabulary_release(&v);
}

/* A line of a list ends where its file does, with nothing behind it. */
TEST(a_token_beyond_the_limit_is_named_by_its_bytes_alone)
{
    struct vocabulary v = {0};
    char *text = malloc(3);

    CHECK(text);
    memcpy(text, "abc", 3);
    CHECK_FAILS(vocabulary_add(&v, (struct line){text, 3}, 65536, &err), &err, ERR_FORMAT,
                "token abc has number 65536");
    free(text);
    vocabulary_release(&v);
}

TEST(numbers_and_special_tokens_stand_once)
{
    struct vocabulary v = {0};

    add(&v, "</s>", 0);
    CHECK_FAILS(vocabulary_add(&v, (struct line){"a", 1}, 0, &err), &err, ERR_FORMAT,
                "number 0");
    CHECK_FAILS(vocabulary_add(&v, (struct line){"a", 1}, -1, &err), &err, ERR_FORMAT,
                "number -1");
    CHECK_FAILS(vocabulary_add(&v, (struct line){"a", 1}, 65536, &err), &err, ERR_FORMAT,
                "number 65536");
    CHECK_FAILS(vocabulary_add(&v, (struct line){"\xff", 1}, 1, &err), &err, ERR_FORMAT,
                "UTF-8");
    CHECK_FAILS(vocabulary_close(&v, names, &err), &err, ERR_FORMAT, "no <unk>");
    add(&v, "</s>", 7);
    vocabulary_release(&v);
    add(&v, "</s>", 0);
    add(&v, "</s>", 1);
    CHECK_FAILS(vocabulary_close(&v, names, &err), &err, ERR_FORMAT, "</s> twice");
    vocabulary_release(&v);
}

/* ---- tokenizers ---- */

/* Of the pieces of a real model from the last to the first, but without some, and with
 * tokens that are no pieces. */
static struct spm *tokenizer(struct vocabulary *v, const char *left_out)
{
    struct spm *whole, *out;
    struct file_map map;
    int64_t n = 0;

    *v = (struct vocabulary){0};
    CHECK_OK(spm_load(&whole, test_data("spm_unigram.model"), &err), &err);
    add(v, "</s>", n++);
    add(v, ">>deu<<", n++);
    add(v, "\xE2\x82\xAC", n++); /* the sign of the euro, which no piece has */
    add(v, "no piece", n++);
    add(v, "<unk>", n++);
    for (size_t i = spm_size(whole); i-- > 0;) {
        const char *piece = spm_piece(whole, (int32_t)i);
        if (piece[0] != '<' && strcmp(piece, left_out) != 0)
            add(v, piece, n++);
    }
    CHECK_OK(vocabulary_close(v, names, &err), &err);
    CHECK_OK(file_map_open(&map, test_data("spm_unigram.model"), &err), &err);
    CHECK_OK(vocabulary_tokenizer(v, map.data, map.n_bytes, &out, &err), &err);
    file_map_close(&map);
    spm_free(whole);
    return out;
}

/* The pieces of a text are those that the model itself gives, under the vocabulary's
 * numbers. */
TEST(a_text_is_cut_as_before_into_other_numbers)
{
    static const char text[] = "the old ferry crosses the river";
    struct vocabulary v;
    struct spm *spm = tokenizer(&v, ""), *whole;
    struct spm_ids ids = {0}, want = {0};

    CHECK_OK(spm_load(&whole, test_data("spm_unigram.model"), &err), &err);
    CHECK_OK(spm_encode(spm, (struct line){text, sizeof text - 1}, &ids, &err), &err);
    CHECK_OK(spm_encode(whole, (struct line){text, sizeof text - 1}, &want, &err), &err);
    CHECK(ids.n == want.n && ids.n > 4);
    for (size_t i = 0; i < ids.n; i++)
        CHECK_STR(spm_piece(spm, ids.id[i]), spm_piece(whole, want.id[i]));
    for (size_t i = 0; i < v.n; i++)
        if (v.token[i].id > ID_UNK)
            CHECK_STR(spm_piece(spm, v.token[i].id), v.token[i].text);
    CHECK(spm_known(spm) == v.n_ids);
    spm_ids_release(&ids);
    spm_ids_release(&want);
    spm_free(whole);
    spm_free(spm);
    vocabulary_release(&v);
}

TEST(a_character_that_is_a_token_is_found_though_no_piece_has_it)
{
    struct vocabulary v;
    struct spm *spm = tokenizer(&v, "");
    struct spm_ids ids = {0};

    CHECK_OK(spm_encode(spm, (struct line){"a \xE2\x82\xAC no piece", 13}, &ids, &err),
             &err);
    CHECK(ids.n > 3);
    size_t n_euro = 0;
    for (size_t i = 0; i < ids.n; i++) {
        n_euro += ids.id[i] == v.token[2].id;
        CHECK(ids.id[i] != ID_UNK && ids.id[i] != v.token[3].id);
    }
    CHECK(n_euro == 1);
    spm_ids_release(&ids);
    spm_free(spm);
    vocabulary_release(&v);
}

TEST(a_mark_is_known_at_the_beginning_alone)
{
    struct vocabulary v;
    struct spm *spm = tokenizer(&v, "");
    size_t n;

#define MARK(text) spm_mark(spm, (struct line){text, sizeof text - 1}, &n)
    CHECK(MARK(">>deu<< a boat") == v.token[1].id && n == 8);
    CHECK(MARK(">>deu<<a boat") == v.token[1].id && n == 7);
    CHECK(MARK(">>deu<<") == v.token[1].id && n == 7);
    CHECK(MARK(">>deu<< \t ") == v.token[1].id && n == 10);
    CHECK(MARK(">>fra<< a boat") == -1 && n == 0);
    CHECK(MARK("a >>deu<< boat") == -1 && n == 0);
    CHECK(MARK(">>deu< a boat") == -1 && MARK(">>") == -1 && MARK("") == -1);
#undef MARK
    spm_free(spm);
    vocabulary_release(&v);
}

TEST(a_tokenizer_that_is_none_is_refused)
{
    struct vocabulary v = {0};
    struct spm *spm;

    add(&v, "</s>", 0);
    add(&v, "<unk>", 1);
    CHECK_OK(vocabulary_close(&v, names, &err), &err);
    CHECK(vocabulary_tokenizer(&v, "nonsense", 8, &spm, &err) == ERR_FORMAT && !spm);
    vocabulary_release(&v);
}

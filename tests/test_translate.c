/*
 * Raw lines in, raw lines out. The model's weights are random, so that its translations
 * mean nothing; but each line has its own, and every one can be compared.
 */
#include "decode/translate.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "decode/device_search.h"
#include "decode/translate_text.h"
#include "toy_model.h"

static struct err err;

struct setup {
    struct spm *spm;
    struct device device;
    struct model model;
    struct translate_config config;
};

static void open_setup(struct setup *s, size_t n_spare)
{
    s->spm = toy_model_spm();
    const struct model_config c = toy_model_config(spm_size(s->spm) + n_spare);
    CHECK_OK(device_open(&s->device, "cpu", (struct device_options){.threads = 2}, &err),
             &err);
    CHECK_OK(model_open(&s->model, &s->device, &c, false, &err), &err);
    float *flat = toy_model_weights(&s->model.params, 4);
    for (size_t i = 0; i < s->model.params.n_flat; i++)
        flat[i] *= 1.7f; /* sharper than a fresh model: no two tokens nearly alike */
    CHECK_OK(model_set_weights(&s->model, flat, &err), &err);
    free(flat);
    CHECK_OK(opt_defaults(translate_config_table, &s->config, &err), &err);
    s->config.extra_decode_length = 8;
}

static void close_setup(struct setup *s)
{
    spm_free(s->spm);
    model_close(&s->model);
    device_close(&s->device);
}

#define LINE(text)             \
    {                          \
        text, sizeof(text) - 1 \
    }
static const struct line text[] = {
    LINE("the ferry crosses the river"),
    LINE(""),
    LINE("we wait"),
    LINE("ein Kind wartet am anderen Ufer und der Fluss ist breit"),
    LINE("   "),
    LINE("we wait"),
    LINE("Fähre"),
    LINE("a wide and slow river"),
    LINE("die Fähre überquert den Fluss, wir warten auf die Fähre"),
    LINE("x"),
};
enum { N_LINES = sizeof text / sizeof *text };

static void run(struct setup *s, const struct line *lines, size_t n,
                struct translations *out)
{
    struct translator t;

    CHECK_OK(translate_open(&t, &s->model, s->spm, &s->config, &err), &err);
    CHECK_OK(translate_lines(&t, lines, n, out, &err), &err);
    CHECK(out->n_lines == n && t.n_done == n);
    translate_close(&t);
}

TEST(lines_come_back_in_order_and_like_each_alone)
{
    struct setup s;
    struct translations all = {0}, one = {0};
    size_t n_different = 0;

    open_setup(&s, 0);
    run(&s, text, N_LINES, &all);
    for (size_t i = 0; i < N_LINES; i++) {
        CHECK(all.n_found[i] == 1);
        run(&s, &text[i], 1, &one);
        CHECK_STR(translate_get(&all, i, 0), translate_get(&one, 0, 0));
        CHECK_NEAR(all.item[i].score, one.item[0].score, 1e-4);
        CHECK(strlen(translate_get(&all, i, 0)) == all.item[i].n_bytes);
        n_different += strcmp(translate_get(&all, i, 0), translate_get(&all, 0, 0)) != 0;
    }
    CHECK(n_different >= 4); /* else the order would not show */
    translate_release(&all);
    translate_release(&one);
    close_setup(&s);
}

TEST(lines_without_tokens_have_the_empty_translation)
{
    const struct line empty[] = {LINE(""), LINE(" \t "), LINE("")};
    struct setup s;
    struct translations out = {0};

    open_setup(&s, 0);
    run(&s, text, N_LINES, &out);
    CHECK_STR(translate_get(&out, 1, 0), "");
    CHECK_STR(translate_get(&out, 4, 0), "");
    CHECK(out.item[1].score == 0);
    CHECK(translate_get(&out, 0, 0)[0] != '\0');
    run(&s, empty, 3, &out);
    for (size_t i = 0; i < 3; i++)
        CHECK_STR(translate_get(&out, i, 0), "");
    run(&s, NULL, 0, &out);
    translate_release(&out);
    close_setup(&s);
}

TEST(batches_of_any_size_give_the_same)
{
    static const int64_t sizes[] = {1, 30, 60, 100000};
    struct setup s;
    struct translations want = {0}, got = {0};

    open_setup(&s, 0);
    run(&s, text, N_LINES, &want);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        s.config.batch_tokens = sizes[k];
        run(&s, text, N_LINES, &got);
        for (size_t i = 0; i < N_LINES; i++)
            CHECK_STR(translate_get(&got, i, 0), translate_get(&want, i, 0));
    }
    translate_release(&want);
    translate_release(&got);
    close_setup(&s);
}

TEST(the_nbest_list_begins_with_the_best_and_falls)
{
    struct setup s;
    struct translations one = {0}, four = {0};

    open_setup(&s, 0);
    run(&s, text, N_LINES, &one);
    s.config.nbest = 4;
    run(&s, text, N_LINES, &four);
    CHECK(four.n_best == 4);
    for (size_t i = 0; i < N_LINES; i++) {
        CHECK(four.n_found[i] >= 1 && four.n_found[i] <= 4);
        CHECK_STR(translate_get(&four, i, 0), translate_get(&one, i, 0));
        for (size_t k = 1; k < four.n_found[i]; k++)
            CHECK(four.item[i * 4 + k].score <= four.item[i * 4 + k - 1].score);
    }
    CHECK(four.n_found[0] > 1);
    translate_release(&one);
    translate_release(&four);
    close_setup(&s);
}

TEST(a_line_beyond_max_length_is_cut_and_counted)
{
    struct setup s;
    struct translator t;
    struct translations cut = {0}, whole = {0};
    struct spm_ids ids = {0};
    struct str head = str_new(0);

    open_setup(&s, 0);
    s.config.max_length = 6;
    s.config.split = false;
    CHECK_OK(spm_encode(s.spm, text[0], &ids, &err), &err);
    CHECK(ids.n > 4);
    CHECK_OK(translate_open(&t, &s.model, s.spm, &s.config, &err), &err);
    CHECK_OK(translate_lines(&t, text, 1, &cut, &err), &err);
    CHECK(t.n_cut == 1);
    /* the same as a line of the first four pieces */
    CHECK_OK(spm_decode(s.spm, ids.id, 4, &head, &err), &err);
    const struct line short_line = {head.data, head.len};
    CHECK_OK(translate_lines(&t, &short_line, 1, &whole, &err), &err);
    CHECK(t.n_cut == 1 && t.n_done == 2);
    CHECK_STR(translate_get(&whole, 0, 0), translate_get(&cut, 0, 0));
    translate_close(&t);
    translate_release(&cut);
    translate_release(&whole);
    spm_ids_release(&ids);
    str_release(&head);
    close_setup(&s);
}

TEST(sentences_of_a_line_are_translated_one_by_one)
{
    const struct line line = LINE("  We wait.  A wide river!\tFähre ");
    const struct line parts[] = {LINE("We wait."), LINE("A wide river!"), LINE("Fähre")};
    struct setup s;
    struct translations all = {0}, each = {0};
    char want[512];

    open_setup(&s, 0);
    s.config.alpha = 0;               /* scores are log-probabilities */
    s.config.extra_decode_length = 0; /* which sentences of one line share */
    run(&s, parts, 3, &each);
    run(&s, &line, 1, &all);
    snprintf(want, sizeof want, "  %s  %s\t%s ", translate_get(&each, 0, 0),
             translate_get(&each, 1, 0), translate_get(&each, 2, 0));
    CHECK_STR(translate_get(&all, 0, 0), want);
    CHECK_NEAR(all.item[0].score,
               each.item[0].score + each.item[1].score + each.item[2].score, 1e-4);
    s.config.nbest = 2;
    run(&s, parts, 3, &each);
    run(&s, &line, 1, &all);
    CHECK(all.n_found[0] == 2);
    CHECK_STR(translate_get(&all, 0, 0), want);
    snprintf(want, sizeof want, "  %s  %s\t%s ", translate_get(&each, 0, 1),
             translate_get(&each, 1, 1), translate_get(&each, 2, 1));
    CHECK_STR(translate_get(&all, 0, 1), want);
    s.config.nbest = 1;
    s.config.split = false;
    run(&s, &line, 1, &each);
    CHECK(strcmp(translate_get(&each, 0, 0), translate_get(&all, 0, 0)) != 0);
    translate_release(&all);
    translate_release(&each);
    close_setup(&s);
}

/* What is copied is of another script than what is translated. */
TEST(sentences_that_touch_get_a_blank_where_their_translations_need_one)
{
    const struct line lines[] = {LINE("We wait\u3002A wide river\uff01"),
                                 LINE("We wait\u3002\u65e5\u672c\u3002A river\uff01")};
    const struct line parts[] = {LINE("We wait\u3002"), LINE("A wide river\uff01"),
                                 LINE("A river\uff01")};
    struct setup s;
    struct translations all = {0}, each = {0};
    char want[512];

    open_setup(&s, 0);
    s.config.extra_decode_length = 0;
    run(&s, parts, 3, &each);
    run(&s, lines, 2, &all);
    snprintf(want, sizeof want, "%s %s", translate_get(&each, 0, 0),
             translate_get(&each, 1, 0));
    CHECK_STR(translate_get(&all, 0, 0), want);
    snprintf(want, sizeof want, "%s\u65e5\u672c\u3002%s", translate_get(&each, 0, 0),
             translate_get(&each, 2, 0));
    CHECK_STR(translate_get(&all, 1, 0), want);
    translate_release(&all);
    translate_release(&each);
    close_setup(&s);
}

/* All is copied, sentence by sentence and, where one is too long, in parts. */
TEST(what_is_copied_sentence_by_sentence_stays_as_it_is)
{
    const struct line lines[] = {
        LINE("\u4eca\u65e5\u306f\u3002\u5143\u6c17\uff1f "
             "\u306f\u3044\uff01\uff01\u5143\u3002"),
        LINE("\u201c\u4f60\u597d\u3002\u201d\u201c\u518d\u89c1\uff01\u201d\u8d70\u3002"
             "\u300c\u4f60\u3002\u300d"),
        LINE("\u4eca\u65e5\u306f\uff0c\u5143\u6c17\u5143\u6c17\u5143\u6c17\u5143\u6c17"
             "\u5143\u6c17\u5143"),
        LINE("\u0436\u0436\u0436\u0436\u0436\u0436\u0436\u0436\u0436\u0436\u0436\u0436"),
    };
    struct setup s;
    struct translations out = {0};

    open_setup(&s, 0);
    for (s.config.max_length = 3; s.config.max_length < 9; s.config.max_length++) {
        run(&s, lines, 4, &out);
        for (size_t i = 0; i < 4; i++)
            CHECK_STR(translate_get(&out, i, 0), lines[i].text);
    }
    translate_release(&out);
    close_setup(&s);
}

/* The model does not end by itself; the limit is what a line may have, not a sentence. */
TEST(a_translation_has_at_most_three_times_the_pieces_and_the_extra_length)
{
    const struct line lines[] = {
        LINE("We wait. A! I! We! A. Wide! River? Yes! No! We wait! We! We! A child!"),
        LINE("the ferry"), LINE("Ja! Ja! Ja!")};
    struct setup s;
    struct translations out = {0};
    struct spm_ids in = {0}, got = {0};

    open_setup(&s, 0);
    s.config.max_repeats = 0;
    s.config.extra_decode_length = 50;
    run(&s, lines, 3, &out);
    for (size_t i = 0; i < 3; i++) {
        const struct line line = {translate_get(&out, i, 0), out.item[i].n_bytes};
        in.n = got.n = 0;
        CHECK_OK(spm_encode(s.spm, lines[i], &in, &err), &err);
        CHECK_OK(spm_encode(s.spm, line, &got, &err), &err);
        /* this model spends S and EOS on pieces too: one more in each of 13 sentences */
        CHECK(got.n <= 3 * in.n + 50 + 13);
        CHECK(got.n > 2 * in.n); /* it does not end by itself */
    }
    spm_ids_release(&in);
    spm_ids_release(&got);
    translate_release(&out);
    close_setup(&s);
}

/* The model does not end by itself: what it makes is as long as it may be. */
TEST(a_short_sentence_has_as_much_room_in_a_long_line_as_alone)
{
    static const char words[] =
        "We wait. The river is wide and slow and the ferry is slow "
        "and a child waits on the other side and the river is wide";
    const struct line lines[] = {LINE(words), LINE("We wait."), LINE("")};
    struct setup s;
    struct translator t;
    struct translations out = {0};

    open_setup(&s, 0);
    s.config.max_repeats = 0;
    s.config.extra_decode_length = 20;
    CHECK_OK(translate_open(&t, &s.model, s.spm, &s.config, &err), &err);
    CHECK_OK(translate_lines(&t, lines, 3, &out, &err), &err);
    CHECK(str_begins(translate_get(&out, 0, 0), translate_get(&out, 1, 0)));
    CHECK(t.n_stopped == 2);
    translate_close(&t);
    translate_release(&out);
    close_setup(&s);
}

TEST(a_sentence_beyond_max_length_is_translated_in_parts)
{
    const struct line line = LINE("the ferry waits and the river, the wide river, waits");
    struct setup s;
    struct translator t;
    struct translations out = {0};

    open_setup(&s, 0);
    s.config.max_length = 12;
    CHECK_OK(translate_open(&t, &s.model, s.spm, &s.config, &err), &err);
    CHECK_OK(translate_lines(&t, &line, 1, &out, &err), &err);
    CHECK(t.n_divided == 1 && t.n_cut == 0 && t.n_done == 1);
    translate_close(&t);
    translate_release(&out);
    close_setup(&s);
}

TEST(the_limit_counts_the_specials)
{
    struct setup s;
    struct translations out = {0};
    struct spm_ids ids = {0};

    open_setup(&s, 0);
    s.config.split = false;
    CHECK_OK(spm_encode(s.spm, text[0], &ids, &err), &err);
    for (size_t missing = 0; missing < 2; missing++) {
        struct translator t;
        s.config.max_length = (int64_t)(ids.n + 2 - missing);
        CHECK_OK(translate_open(&t, &s.model, s.spm, &s.config, &err), &err);
        CHECK_OK(translate_lines(&t, text, 1, &out, &err), &err);
        CHECK(t.n_cut == missing);
        translate_close(&t);
    }
    translate_release(&out);
    spm_ids_release(&ids);
    close_setup(&s);
}

static status take_score(void *ctx, size_t i, const struct beam *found, struct err *e)
{
    (void)i, (void)e;
    *(double *)ctx = beam_get(found, 0).score;
    return OK;
}

TEST(a_line_is_translated_as_start_pieces_and_end)
{
    struct setup s;
    struct translations out = {0};
    struct spm_ids ids = {0};
    struct search *search;
    double score = 0;
    int32_t source[64] = {ID_BOS};

    open_setup(&s, 0);
    s.config.min_length = s.config.max_repeats = 0; /* the search alone */
    run(&s, text, 1, &out);
    CHECK_OK(spm_encode(s.spm, text[0], &ids, &err), &err);
    CHECK(ids.n < 60);
    memcpy(source + 1, ids.id, ids.n * sizeof *ids.id);
    source[ids.n + 1] = ID_EOS;
    const struct search_job job = {source, ids.n + 2, ids.n + 2 + 8};
    CHECK_OK(device_search_open(&search, &s.model,
                                (struct search_rules){{4, 1, 0.6}, .batch_tokens = 100},
                                &err),
             &err);
    CHECK_OK(search_run(search, &job, 1, take_score, &score, &err), &err);
    CHECK(score == out.item[0].score);
    search->close(search);
    translate_release(&out);
    spm_ids_release(&ids);
    close_setup(&s);
}

TEST(malformed_utf8_is_refused_by_line_number_and_the_translator_lives_on)
{
    const struct line bad[] = {LINE("fine"), LINE("not \xff fine"), LINE("cut \xc3")};
    struct setup s;
    struct translator t;
    struct translations out = {0};

    open_setup(&s, 0);
    snprintf(s.config.invalid, sizeof s.config.invalid, "refuse");
    CHECK_OK(translate_open(&t, &s.model, s.spm, &s.config, &err), &err);
    CHECK_FAILS(translate_lines(&t, bad, 3, &out, &err), &err, ERR_FORMAT, "line 2 ");
    CHECK_OK(translate_lines(&t, text, 2, &out, &err), &err);
    CHECK_FAILS(translate_lines(&t, bad + 2, 1, &out, &err), &err, ERR_FORMAT, "line 3 ");
    translate_close(&t);
    translate_close(&t);
    translate_release(&out);
    close_setup(&s);
}

TEST(malformed_utf8_is_read_as_replacement_characters)
{
    const struct line bad[] = {LINE("we \xff wait"), LINE("fine"), LINE("\xc3\xff"),
                               LINE("\0\0")};
    const struct line mended[] = {LINE("we \xEF\xBF\xBD wait")};
    struct setup s;
    struct translator t;
    struct translations out = {0}, want = {0};

    open_setup(&s, 0);
    run(&s, mended, 1, &want);
    CHECK_OK(translate_open(&t, &s.model, s.spm, &s.config, &err), &err);
    CHECK_OK(translate_lines(&t, bad, 4, &out, &err), &err);
    CHECK(t.n_invalid == 2);
    CHECK_STR(translate_get(&out, 0, 0), translate_get(&want, 0, 0));
    /* what has no pieces stands for itself */
    CHECK(t.n_copied >= 1);
    CHECK_STR(translate_get(&out, 2, 0), "\xEF\xBF\xBD\xEF\xBF\xBD");
    CHECK(translate_get(&out, 3, 0)[0] != '\0');
    translate_close(&t);
    translate_release(&out);
    translate_release(&want);
    close_setup(&s);
}

/* Untrained models, among them some that end at once. */
TEST(a_line_with_text_has_a_translation_with_text)
{
    struct setup s;
    struct translations out = {0};
    uint64_t n_empty = 0, n_lengthened = 0, n_unrepeated = 0;

    open_setup(&s, 0);
    for (uint64_t seed = 1; seed <= 48; seed++) {
        struct translator t;
        float *flat = toy_model_weights(&s.model.params, seed);
        CHECK_OK(model_set_weights(&s.model, flat, &err), &err);
        free(flat);
        s.config.beam = seed % 2 ? 1 : 4;
        s.config.min_length = (int64_t)(seed / 2 % 2);
        CHECK_OK(translate_open(&t, &s.model, s.spm, &s.config, &err), &err);
        CHECK_OK(translate_lines(&t, text, N_LINES, &out, &err), &err);
        for (size_t i = 0; i < N_LINES; i++)
            if (translate_get(&out, i, 0)[0] == '\0' && i != 1 && i != 4) {
                CHECK(s.config.min_length == 0);
                n_empty++;
            }
        CHECK(s.config.min_length || !t.n_lengthened);
        n_lengthened += t.n_lengthened;
        n_unrepeated += t.n_unrepeated;
        translate_close(&t);
    }
    CHECK(n_empty > 0 && n_lengthened > 0 && n_unrepeated > 0); /* the cases occur */
    translate_release(&out);
    close_setup(&s);
}

TEST(a_sentence_of_unknown_characters_is_copied)
{
    const struct line lines[] = {LINE("\u65e5\u672c\u8a9e"),
                                 LINE("We wait! \u65e5\u672c"), LINE("we \u2603"),
                                 LINE("\u041f\u0440, ...")};
    struct setup s;
    struct translator t;
    struct translations out = {0};

    open_setup(&s, 0);
    CHECK_OK(translate_open(&t, &s.model, s.spm, &s.config, &err), &err);
    CHECK_OK(translate_lines(&t, lines, 4, &out, &err), &err);
    CHECK_STR(translate_get(&out, 0, 0), lines[0].text);
    CHECK_STR(translate_get(&out, 3, 0), lines[3].text);
    CHECK(out.item[0].score == 0);
    CHECK(str_ends(translate_get(&out, 1, 0), " \u65e5\u672c"));
    CHECK(!strstr(translate_get(&out, 2, 0), "\u2603"));
    CHECK(t.n_copied == 3);
    translate_close(&t);
    translate_release(&out);
    close_setup(&s);
}

TEST(rows_of_the_model_beyond_the_tokenizer_have_no_text)
{
    struct setup s;
    struct translator t;
    struct translations out = {0};

    open_setup(&s, 500); /* nearly all tokens that it emits are such */
    CHECK_OK(translate_open(&t, &s.model, s.spm, &s.config, &err), &err);
    CHECK_OK(translate_lines(&t, text, N_LINES, &out, &err), &err);
    for (size_t i = 0; i < N_LINES; i++)
        CHECK((translate_get(&out, i, 0)[0] == '\0') == (i == 1 || i == 4));
    CHECK(t.n_copied > 0); /* the last resort */
    translate_close(&t);
    translate_release(&out);
    close_setup(&s);
}

TEST(options_and_tokenizers_that_do_not_fit_are_refused)
{
    struct setup s;
    struct translator t;
    struct model small;
    struct model_config c;

    open_setup(&s, 0);
    s.config.nbest = 5;
    CHECK_FAILS(translate_open(&t, &s.model, s.spm, &s.config, &err), &err, ERR_USAGE,
                "nbest = 5");
    translate_close(&t);
    s.config.nbest = 1;
    c = toy_model_config(spm_size(s.spm) - 1);
    CHECK_OK(model_open(&small, &s.device, &c, false, &err), &err);
    CHECK_FAILS(translate_open(&t, &small, s.spm, &s.config, &err), &err, ERR_USAGE,
                "tokenizer");
    translate_close(&t);
    model_close(&small);
    close_setup(&s);
}

static status collect(void *ctx, const void *bytes, size_t n, struct err *e)
{
    (void)e;
    str_add(ctx, bytes, n);
    return OK;
}

/* What the stream makes of a file of these bytes. */
static status stream_of(struct setup *s, const char *bytes, size_t n, size_t window,
                        bool has_scores, struct str *out)
{
    struct translator t;
    const char *path = test_path("input");

    str_reset(out);
    CHECK_OK(file_write(path, bytes, n, &err), &err);
    const struct translate_text_stream stream = {.fd = open(path, O_RDONLY | O_CLOEXEC),
                                                 .name = "input",
                                                 .window = window,
                                                 .pause_ms = -1,
                                                 .has_scores = has_scores,
                                                 .write = collect,
                                                 .ctx = out};
    CHECK(stream.fd >= 0);
    CHECK_OK(translate_open(&t, &s->model, s->spm, &s->config, &err), &err);
    const status result = translate_text_stream(&stream, &t, &err);
    translate_close(&t);
    close(stream.fd);
    return result;
}

static size_t count_feeds(const struct str *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->len; i++)
        n += s->data[i] == '\n';
    return n;
}

TEST(windows_of_any_size_give_the_same_stream)
{
    static const size_t windows[] = {1, 2, 3, 7, 100};
    struct setup s;
    struct str in = str_new(0), want = str_new(0), got = str_new(0);
    struct translations out = {0};

    open_setup(&s, 0);
    run(&s, text, N_LINES, &out);
    for (size_t i = 0; i < N_LINES; i++) {
        str_printf(&in, "%s\n", text[i].text);
        str_printf(&want, "%s\n", translate_get(&out, i, 0));
    }
    for (size_t k = 0; k < sizeof windows / sizeof *windows; k++) {
        CHECK_OK(stream_of(&s, in.data, in.len, windows[k], false, &got), &err);
        CHECK_STR(got.data, want.data);
    }
    /* without the last line feed, and with carriage returns */
    CHECK_OK(stream_of(&s, in.data, in.len - 1, 3, false, &got), &err);
    CHECK_STR(got.data, want.data);
    CHECK_OK(stream_of(&s, "we wait\r\n\r\n", 11, 3, false, &got), &err);
    CHECK(count_feeds(&got) == 2);
    CHECK(strncmp(got.data, translate_get(&out, 2, 0), out.item[2].n_bytes) == 0);
    CHECK_OK(stream_of(&s, "", 0, 3, false, &got), &err);
    CHECK(got.len == 0);
    translate_release(&out);
    str_release(&in);
    str_release(&want);
    str_release(&got);
    close_setup(&s);
}

TEST(scores_and_nbest_have_their_formats)
{
    struct setup s;
    struct str got = str_new(0);
    struct translations out = {0};
    char want[512];

    open_setup(&s, 0);
    s.config.nbest = 2;
    run(&s, text, 1, &out);
    CHECK(out.n_found[0] == 2);
    CHECK_OK(stream_of(&s, "\nthe ferry crosses the river\n", 29, 1, false, &got), &err);
    snprintf(want, sizeof want,
             "0 |||  ||| 0.000000\n1 ||| %s ||| %.6f\n1 ||| %s ||| %.6f\n",
             translate_get(&out, 0, 0), out.item[0].score, translate_get(&out, 0, 1),
             out.item[1].score);
    CHECK_STR(got.data, want);
    s.config.nbest = 1;
    CHECK_OK(stream_of(&s, "the ferry crosses the river\n", 28, 1, true, &got), &err);
    snprintf(want, sizeof want, "%s\t%.6f\n", translate_get(&out, 0, 0),
             out.item[0].score);
    CHECK_STR(got.data, want);
    translate_release(&out);
    str_release(&got);
    close_setup(&s);
}

TEST(a_stream_names_the_line_that_is_wrong)
{
    struct setup s;
    struct str got = str_new(0);

    open_setup(&s, 0);
    snprintf(s.config.invalid, sizeof s.config.invalid, "refuse");
    CHECK_FAILS(stream_of(&s, "a\nb\nc\xff\nd\n", 9, 2, false, &got), &err, ERR_FORMAT,
                "input: line 3 ");
    CHECK(count_feeds(&got) == 2); /* the first window had gone out */
    str_release(&got);
    close_setup(&s);
}

TEST(a_line_without_end_is_refused_before_memory_runs_out)
{
    const size_t n = TRANSLATE_TEXT_LINE_MAX + 100;
    struct setup s;
    struct str got = str_new(0);
    char *long_line = malloc(n);

    CHECK(long_line);
    memset(long_line, 'a', n);
    long_line[1] = '\n';
    open_setup(&s, 0);
    CHECK_FAILS(stream_of(&s, long_line, n, 100, false, &got), &err, ERR_FORMAT,
                "line 2 is longer");
    CHECK(count_feeds(&got) == 1);
    free(long_line);
    str_release(&got);
    close_setup(&s);
}

TEST(training_memory_that_was_reserved_before_is_kept)
{
    struct setup s;
    struct translations out = {0};
    const struct model_shape big = {64, 4000, 4000, 300, false};

    open_setup(&s, 0);
    CHECK_OK(model_reserve(&s.model, big, &err), &err);
    const size_t n_bytes = model_measure(&s.model, big);
    run(&s, text, N_LINES, &out);
    CHECK(model_measure(&s.model, big) == n_bytes);
    CHECK(s.model.waves.rows == 300);
    translate_release(&out);
    close_setup(&s);
}

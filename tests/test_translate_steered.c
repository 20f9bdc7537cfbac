/*
 * Raw lines in, raw lines out, told what to say. The model's weights are random: what it
 * says means nothing, but must hold what was asked.
 */
#include <stdlib.h>

#include "base/rng.h"
#include "base/utf8.h"
#include "decode/translate.h"
#include "toy_model.h"
#include "whole_words.h"

static struct err err;

struct setup {
    struct spm *spm;
    struct network network;
    struct translate_config config;
    struct engine_options engine;
};

static void open_network(struct network *n, const struct model_config *c, uint64_t seed)
{
    struct params p;

    CHECK_OK(params_open(&p, c, &err), &err);
    float *flat = toy_model_weights(&p, seed);
    for (size_t i = 0; i < p.n_flat; i++)
        flat[i] *= 1.7f; /* sharper than a fresh model: no two tokens nearly alike */
    CHECK_OK(network_open(n, c, &err), &err);
    CHECK_OK(network_pack(n, &p, flat, (struct network_types){0}, &err), &err);
    params_close(&p);
    free(flat);
}

static void open_setup(struct setup *s)
{
    *s = (struct setup){.spm = toy_model_spm(),
                        .engine = {.kernels = kernels_choose("cpu"), .n_threads = 1}};
    const struct model_config c = toy_model_config(spm_size(s->spm));
    open_network(&s->network, &c, 4);
    CHECK_OK(opt_defaults(translate_config_table, &s->config, &err), &err);
    s->config.extra_decode_length = 8;
}

static void close_setup(struct setup *s)
{
    network_close(&s->network);
    spm_free(s->spm);
}

static status run_counting(struct setup *s, const struct line *lines, size_t n,
                           struct translations *out, uint64_t *n_unmet)
{
    struct translator t;
    status result =
        translate_open_packed(&t, &s->network, s->spm, &s->config, s->engine, &err);

    THEN(result, translate_lines(&t, lines, n, out, &err));
    *n_unmet = t.n_unmet;
    translate_close(&t);
    return result;
}

static status run(struct setup *s, const struct line *lines, size_t n,
                  struct translations *out)
{
    uint64_t ignored;

    return run_counting(s, lines, n, out, &ignored);
}

static struct line line_of(const char *text)
{
    return (struct line){text, strlen(text)};
}

static const char *const sources[] = {"the ferry crosses the river", "we wait",
                                      "ein Kind wartet am anderen Ufer", "Fähre"};
enum { N_SOURCES = sizeof sources / sizeof *sources };

/* ---- given beginnings ---- */

/* Each source with each beginning of its own translation, cut anywhere. */
TEST(a_translation_goes_on_from_wherever_it_was_cut)
{
    struct setup s;
    struct translations plain = {0}, out = {0};

    open_setup(&s);
    for (size_t i = 0; i < N_SOURCES; i++) {
        const struct line source = line_of(sources[i]);
        s.config.prefix = false;
        CHECK_OK(run(&s, &source, 1, &plain), &err);
        const char *whole = translate_get(&plain, 0, 0);
        s.config.prefix = true;
        for (size_t cut = 0, len; cut <= strlen(whole); cut += len) {
            char line[512], given[256];
            snprintf(given, sizeof given, "%.*s", (int)cut, whole);
            snprintf(line, sizeof line, "%s\t%s", sources[i], given);
            const struct line text = line_of(line);
            CHECK_OK(run(&s, &text, 1, &out), &err);
            CHECK(str_begins(translate_get(&out, 0, 0), given));
            len = 1;
            if (cut < strlen(whole))
                utf8_decode(whole + cut, strlen(whole) - cut, &len);
        }
    }
    translate_release(&plain);
    translate_release(&out);
    close_setup(&s);
}

TEST(nothing_given_is_the_plain_translation)
{
    struct setup s;
    struct translations plain = {0}, out = {0};
    const struct line one = line_of("we wait. we wait"),
                      same[] = {line_of("we wait. we wait"),
                                line_of("we wait. we wait\t"),
                                line_of("we wait. we wait\t  ")};

    open_setup(&s);
    s.config.split = false;
    CHECK_OK(run(&s, &one, 1, &plain), &err);
    s.config.prefix = s.config.split = true; /* a line is one sentence nevertheless */
    CHECK_OK(run(&s, same, 3, &out), &err);
    for (size_t i = 0; i < 3; i++) {
        CHECK_STR(translate_get(&out, i, 0), translate_get(&plain, 0, 0));
        CHECK(out.item[i].score == plain.item[0].score);
    }
    translate_release(&plain);
    translate_release(&out);
    close_setup(&s);
}

TEST(what_is_given_stands_where_there_is_nothing_to_translate)
{
    struct setup s;
    struct translations out = {0};
    const struct line lines[] = {line_of("\tdie Fähre"), line_of("  \tdie "),
                                 line_of("\u65e5\u672c\tdie Fä"), line_of("")};

    open_setup(&s);
    s.config.prefix = true;
    CHECK_OK(run(&s, lines, 4, &out), &err);
    CHECK_STR(translate_get(&out, 0, 0), "die Fähre");
    CHECK_STR(translate_get(&out, 1, 0), "die ");
    CHECK(str_begins(translate_get(&out, 2, 0), "die Fä"));
    CHECK_STR(translate_get(&out, 3, 0), "");
    translate_release(&out);
    close_setup(&s);
}

/* Of a model that has learned few positions: shorter than they are, or refused. */
TEST(a_beginning_leaves_room_for_an_end)
{
    struct setup s;
    struct translations out = {0};

    open_setup(&s);
    struct model_config c = toy_model_config(spm_size(s.spm));
    c.arch.positions = POSITIONS_LEARNED;
    s.config.prefix = true;
    for (c.arch.max_positions = 8; c.arch.max_positions < 12; c.arch.max_positions++) {
        size_t n_refused = 0;
        network_close(&s.network);
        open_network(&s.network, &c, 4);
        for (size_t n = 1; n <= 12; n++) {
            char given[64] = "", line[80];
            for (size_t i = 0; i < n; i++)
                memcpy(given + 3 * i, "we ", 4);
            /* its end cannot be spelled: pieces up to there */
            snprintf(line, sizeof line, "we wait\t%s\xE6\xBC\xA2", given);
            const struct line text = line_of(line);
            if (run(&s, &text, 1, &out) == OK)
                CHECK(!n_refused && str_begins(translate_get(&out, 0, 0), line + 8));
            else
                CHECK(++n_refused && strstr(err.msg, "the given beginning has"));
        }
        CHECK(n_refused > 0 && n_refused < 12);
    }
    translate_release(&out);
    close_setup(&s);
}

TEST(lines_that_give_no_beginning_are_refused_by_number)
{
    struct setup s;
    struct translations out = {0};
    const struct line tabs[] = {line_of("a\tb"), line_of("a\tb\tc")},
                      longer[] = {line_of("a"), line_of("a\tabcdefgh")};

    open_setup(&s);
    s.config.prefix = true;
    CHECK_FAILS(run(&s, tabs, 2, &out), &err, ERR_FORMAT, "line 2: there are two tabs");
    s.config.max_length = 8;
    CHECK_FAILS(run(&s, longer, 2, &out), &err, ERR_FORMAT,
                "line 2: the given beginning has 10 tokens");
    translate_release(&out);
    close_setup(&s);
}

/* ---- forbidden phrases ---- */

static void write_file(const char *path, const char *text)
{
    CHECK_OK(file_write(path, text, strlen(text), &err), &err);
}

/* The words of the plain translation are forbidden one after the other. */
TEST(a_forbidden_phrase_is_in_no_translation)
{
    struct setup s;
    struct translations plain = {0}, out = {0};
    struct line lines[N_SOURCES];
    struct str list = str_new(0);
    char word[64];
    size_t n_words = 0;

    open_setup(&s);
    for (size_t i = 0; i < N_SOURCES; i++)
        lines[i] = line_of(sources[i]);
    CHECK_OK(run(&s, lines, N_SOURCES, &plain), &err);
    snprintf(s.config.forbid, sizeof s.config.forbid, "%s", test_path("forbid.txt"));
    for (size_t round = 0; round < 12; round++) {
        const char *text = translate_get(round ? &out : &plain, round % N_SOURCES, 0);
        sscanf(text, " %63s", word);
        if (!strchr(word, '(') && word[0])
            str_printf(&list, "%s\n", word);
        write_file(s.config.forbid, list.data);
        CHECK_OK(run(&s, lines, N_SOURCES, &out), &err);
        struct lines words = lines_over(list.data, list.len);
        for (struct line line; lines_next(&words, &line); n_words++) {
            snprintf(word, sizeof word, "%.*s", (int)line.n_bytes, line.text);
            for (size_t i = 0; i < N_SOURCES; i++)
                CHECK(!holds_phrase(translate_get(&out, i, 0), word));
        }
    }
    CHECK(n_words > 50);
    translate_release(&plain);
    translate_release(&out);
    str_release(&list);
    close_setup(&s);
}

/* ---- required phrases ---- */

static void write_glossary(struct setup *s, const char *text)
{
    snprintf(s->config.require, sizeof s->config.require, "%s",
             test_path("glossary.tsv"));
    write_file(s->config.require, text);
}

/* Random glossaries of the sources' words, random words forbidden: 250 of each source. */
TEST(a_thousand_random_glossaries_hold)
{
    static const char *const words[] = {"ferry", "crosses", "river",   "we",
                                        "wait",  "Kind",    "wartet",  "am",
                                        "Ufer",  "ein",     "anderen", "Fähre"};
    static const char *const phrases[] = {
        "die Fähre", "Fluss",         "breit und langsam",
        "wir",       "Ufer am Fluss", "side",
        "a child",   "auf",           "wide",
        "er",        "Kinder",        "am Ufer"};
    enum { N_WORDS = sizeof words / sizeof *words, N_PHRASES = 12, N_TERMS = 3 };
    struct setup s;
    struct translations out = {0};
    struct str glossary = str_new(0);
    size_t n_required = 0;

    open_setup(&s);
    snprintf(s.config.forbid, sizeof s.config.forbid, "%s", test_path("forbid.txt"));
    for (uint64_t seed = 1; seed <= 250; seed++) {
        struct rng random = rng_open(rng_key(seed, "glossary"));
        const size_t first = rng_below(&random, N_WORDS),
                     apart = 1 + 2 * rng_below(&random, 3);
        const size_t phrase = rng_below(&random, N_PHRASES);
        struct line lines[N_SOURCES];
        uint64_t n_unmet;

        str_reset(&glossary);
        for (size_t i = 0; i < N_TERMS; i++)
            str_printf(&glossary, "%s\t%s\n", words[(first + i * apart) % N_WORDS],
                       phrases[(phrase + i) % N_PHRASES]);
        write_glossary(&s, glossary.data);
        write_file(s.config.forbid, seed % 2 ? "der\nd\nie\nu\n" : "is\ne\n");
        s.config.beam = 1 + (int64_t)rng_below(&random, 5);
        for (size_t i = 0; i < N_SOURCES; i++)
            lines[i] = line_of(sources[i]);
        CHECK_OK(run_counting(&s, lines, N_SOURCES, &out, &n_unmet), &err);
        CHECK(n_unmet == 0);
        for (size_t i = 0; i < N_SOURCES; i++) {
            const char *text = translate_get(&out, i, 0);
            CHECK(!holds_phrase(text, seed % 2 ? "der" : "is"));
            CHECK(!holds_phrase(text, seed % 2 ? "u" : "e"));
            for (size_t k = 0; k < N_TERMS; k++) {
                const char *term = words[(first + k * apart) % N_WORDS];
                const bool is_there = holds_phrase(sources[i], term);
                CHECK(!is_there || holds_phrase(text, phrases[(phrase + k) % N_PHRASES]));
                n_required += is_there;
            }
        }
    }
    CHECK(n_required > 300);
    str_release(&glossary);
    translate_release(&out);
    close_setup(&s);
}

TEST(the_longest_term_counts_as_whole_words)
{
    struct setup s;
    struct translations out = {0}, plain = {0};
    const struct line lines[] = {line_of("the river is wide"),
                                 line_of("rivers and Rivers"),
                                 line_of("a river, the  river"), line_of("\uFF52iver")};

    open_setup(&s);
    CHECK_OK(run(&s, lines, 4, &plain), &err);
    write_glossary(&s, "river\tFluss\nthe river\tUfer\nthe\tKind\nRiver\tKind\n");
    CHECK_OK(run(&s, lines, 4, &out), &err);
    CHECK(holds_phrase(translate_get(&out, 0, 0), "Ufer"));
    CHECK(!holds_phrase(translate_get(&out, 0, 0), "Kind"));
    CHECK_STR(translate_get(&out, 1, 0), translate_get(&plain, 1, 0));
    CHECK(holds_phrase(translate_get(&out, 2, 0), "Ufer"));
    CHECK(holds_phrase(translate_get(&out, 2, 0), "Fluss"));
    CHECK(holds_phrase(translate_get(&out, 3, 0), "Fluss")); /* normalised */
    translate_release(&out);
    translate_release(&plain);
    close_setup(&s);
}

/* More phrases than a sentence takes; a source that is copied. */
TEST(what_is_not_said_is_counted)
{
    struct setup s;
    struct translations out = {0};
    struct str glossary = str_new(0), source = str_new(0);
    uint64_t n_unmet;

    open_setup(&s);
    s.config.max_length = 1024;
    for (char c = 'a'; c <= 'f'; c++)
        for (char d = 'a'; d <= 'f'; d++) {
            str_printf(&glossary, "%c%c\t%c%c\n", c, d, d, c);
            str_printf(&source, "%c%c ", c, d);
        }
    str_printf(&glossary, "+\tFluss\n");
    write_glossary(&s, glossary.data);
    const struct line lines[] = {line_of(source.data), line_of("+"), line_of("ab")};
    CHECK_OK(run_counting(&s, lines, 3, &out, &n_unmet), &err);
    CHECK(n_unmet == 2);
    CHECK(holds_phrase(translate_get(&out, 0, 0), "aa"));
    CHECK_STR(translate_get(&out, 1, 0), "+");
    CHECK(holds_phrase(translate_get(&out, 2, 0), "ba"));
    str_release(&glossary);
    str_release(&source);
    translate_release(&out);
    close_setup(&s);
}

TEST(a_glossary_that_is_none_is_refused_by_line)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"a\tb\nriver\n", "glossary.tsv:2: want a term of the source, one tab"},
        {"a\tb\tc\n", "glossary.tsv:1: want a term of the source, one tab"},
        {"river\t \n", "glossary.tsv:1: the phrase is empty"},
        {" \triver\n", "glossary.tsv:1: the phrase is empty"},
        {"a\tb\nb\tc\na\tc\n", "glossary.tsv:3: the term has another phrase in line 1"},
        {"a\t\u65e5\n", "glossary.tsv:1: the tokenizer does not know all letters"},
        {"a\tb river\n", "glossary.tsv:1: a phrase is required that forbid forbids"}};
    struct setup s;
    struct translations out = {0};
    const struct line line = line_of("a");

    open_setup(&s);
    snprintf(s.config.forbid, sizeof s.config.forbid, "%s", test_path("forbid.txt"));
    write_file(s.config.forbid, "river\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_glossary(&s, cases[i].text);
        CHECK(run(&s, &line, 1, &out) != OK && strstr(err.msg, cases[i].error));
    }
    write_glossary(&s, "a\tb\na\tb\n"); /* twice the same is once */
    CHECK_OK(run(&s, &line, 1, &out), &err);
    translate_release(&out);
    close_setup(&s);
}

/* ---- alternatives ---- */

/* The word behind a beginning, its blank first. */
static struct line next_word(const char *text, size_t n_given)
{
    const char *at = text + n_given;
    size_t n = at[0] == ' ';

    if (is_letter(at[n]))
        while (is_letter(at[n]))
            n++;
    else
        n += at[n] != '\0';
    return (struct line){at, n};
}

TEST(alternatives_begin_alike_and_differ_in_the_next_word)
{
    static const char *const given[] = {"", "die ", "die Fäh", "die Fähre.", "e"};
    struct setup s;
    struct translations out = {0}, same = {0}, one = {0};
    struct line lines[5];
    char text[5][80];

    open_setup(&s);
    s.config.prefix = true;
    for (size_t i = 0; i < 5; i++) {
        snprintf(text[i], sizeof text[i], "%s\t%s", sources[i % N_SOURCES], given[i]);
        lines[i] = line_of(text[i]);
    }
    CHECK_OK(run(&s, lines, 5, &one), &err);
    s.config.alternatives = 7;
    CHECK_OK(run(&s, lines, 5, &out), &err);
    s.engine = (struct engine_options){
        .kernels = s.engine.kernels, .n_threads = 2, .n_workers = 2};
    s.config.batch_tokens = 40;
    CHECK_OK(run(&s, lines, 5, &same), &err);
    for (size_t i = 0; i < 5; i++) {
        CHECK(out.n_found[i] == 7 && same.n_found[i] == 7);
        CHECK(out.item[i * 7].score >= one.item[i].score);
        for (size_t k = 0; k < 7; k++) {
            const char *got = translate_get(&out, i, k);
            const struct line word = next_word(got, strlen(given[i]));
            CHECK(str_begins(got, given[i]));
            CHECK_STR(translate_get(&same, i, k), got);
            CHECK(!k || out.item[i * 7 + k].score <= out.item[i * 7 + k - 1].score);
            for (size_t m = 0; m < k; m++) {
                const struct line other =
                    next_word(translate_get(&out, i, m), strlen(given[i]));
                CHECK(word.n_bytes != other.n_bytes ||
                      memcmp(word.text, other.text, word.n_bytes) != 0);
            }
        }
    }
    translate_release(&one);
    translate_release(&out);
    translate_release(&same);
    close_setup(&s);
}

TEST(alternatives_need_a_beginning_and_a_search)
{
    struct setup s;
    struct translations out = {0};
    const struct line line = line_of("a");

    open_setup(&s);
    s.config.alternatives = 2;
    CHECK_FAILS(run(&s, &line, 1, &out), &err, ERR_USAGE, "give prefix=true too");
    s.config.prefix = true;
    s.config.nbest = 2;
    CHECK_FAILS(run(&s, &line, 1, &out), &err, ERR_USAGE, "alternatives and nbest");
    s.config.sample = true;
    CHECK_FAILS(run(&s, &line, 1, &out), &err, ERR_USAGE, "alternatives and sample");
    translate_release(&out);
    close_setup(&s);
}

TEST(a_model_on_a_device_is_not_steered)
{
    struct setup s;
    struct device device;
    struct model model;
    struct translator t;

    open_setup(&s);
    const struct model_config c = toy_model_config(spm_size(s.spm));
    CHECK_OK(device_open(&device, "cpu", (struct device_options){.threads = 1}, &err),
             &err);
    CHECK_OK(model_open(&model, &device, &c, false, &err), &err);
    s.config.prefix = true;
    CHECK_FAILS(translate_open(&t, &model, s.spm, &s.config, &err), &err, ERR_USAGE,
                "prefix works on the processor alone");
    translate_close(&t);
    model_close(&model);
    device_close(&device);
    close_setup(&s);
}

/* ---- alignments ---- */

/* Both texts of a link begin and end with words, and links rise with the target. */
static void check_links(const struct translations *t, size_t item, struct line source)
{
    const struct translation *to = &t->item[item];
    const char *text = t->text.data + to->at;

    for (size_t i = 0; i < to->n_links; i++) {
        const struct alignments_link l = t->link[to->first_link + i];
        CHECK(l.source.begin < l.source.end && l.source.end <= source.n_bytes);
        CHECK(l.target.begin < l.target.end && l.target.end <= to->n_bytes);
        CHECK(source.text[l.source.begin] != ' ' && source.text[l.source.end - 1] != ' ');
        CHECK(!l.source.begin || source.text[l.source.begin - 1] == ' ');
        CHECK(!l.target.begin || text[l.target.begin - 1] == ' ');
        CHECK(!i || t->link[to->first_link + i - 1].target.begin <= l.target.begin);
    }
}

TEST(links_are_words_of_the_line_as_it_came)
{
    static const char *const lines[] = {
        "the ferry crosses the river. we wait!", "", "  we  wait ",
        "a \xff child waits.  \xfe the river is \xc3 wide.", "@@ @"};
    enum { N = sizeof lines / sizeof *lines };
    struct line line[N];
    struct setup s;
    struct translations plain = {0}, all = {0}, one = {0};

    open_setup(&s);
    for (size_t i = 0; i < N; i++)
        line[i] = line_of(lines[i]);
    s.config.nbest = 3;
    CHECK_OK(run(&s, line, N, &plain), &err);
    CHECK(!plain.n_links && !plain.link);
    s.config.alignments = true;
    CHECK_OK(run(&s, line, N, &all), &err);
    CHECK(all.text.len == plain.text.len &&
          memcmp(all.text.data, plain.text.data, all.text.len) == 0);
    for (size_t i = 0; i < N; i++) {
        CHECK_OK(run(&s, &line[i], 1, &one), &err);
        for (size_t k = 0; k < all.n_found[i]; k++) {
            const struct translation *x = &all.item[i * 3 + k], *y = &one.item[k];
            check_links(&all, i * 3 + k, line[i]);
            CHECK((x->n_links > 0) == (line[i].n_bytes > 0) && x->n_links == y->n_links);
            CHECK(!x->n_links ||
                  memcmp(all.link + x->first_link, one.link + y->first_link,
                         x->n_links * sizeof *all.link) == 0);
        }
    }
    CHECK(all.item[4 * 3].n_links == 2); /* a copy */
    translate_release(&plain);
    translate_release(&all);
    translate_release(&one);
    close_setup(&s);
}

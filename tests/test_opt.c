#include "base/opt.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "test.h"

#define SAMPLE_OPTIONS(X)                                                      \
    X(INT, max_steps, "100000", "optimizer updates", RANGE(0, 1e9))            \
    X(REAL, rate, "0.5", "scale of the schedule", RANGE(1e-9, 1e3))            \
    X(BOOL, pin, "false", "tie threads to cores", ANY)                         \
    X(CHOICE, optimizer, "adam", "update rule", ONE_OF("adam|adamw|novograd")) \
    X(STR, data, "", "directory of the corpus", ANY)                           \
    X(STR, note, "plain", "text", ANY)

struct sample {
    SAMPLE_OPTIONS(OPT_FIELD)
};

static const struct opt rows[] = {
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct sample, field), field, __VA_ARGS__)
    SAMPLE_OPTIONS(X)
#undef X
};
static const struct opt_table table = {rows, sizeof rows / sizeof *rows};

static struct sample defaults(void)
{
    struct err err = {0};
    struct sample c;

    memset(&c, 0, sizeof c);
    CHECK_OK(opt_defaults(table, &c, &err), &err);
    return c;
}

/* Parses "ferry" and the given words, up to a NULL. */
static status parse(struct sample *c, struct opt_words *words, struct err *err,
                    const char *const *word)
{
    char name[] = "ferry", *argv[16] = {name};
    int argc = 1;

    for (; word[argc - 1]; argc++)
        argv[argc] = (char *)(uintptr_t)word[argc - 1];
    return opt_parse(table, c, words, argc, argv, err);
}
#define PARSE(c, words, err, ...) \
    parse(c, words, err, (const char *[]){__VA_ARGS__, NULL})

static status yaml(struct sample *c, const char *text, struct err *err)
{
    return opt_yaml(table, c, text, strlen(text), "my.yaml", OPT_REFUSE_UNKNOWN, err);
}

static bool same_config(const struct sample *a, const struct sample *b)
{
    return a->max_steps == b->max_steps && a->rate == b->rate && a->pin == b->pin &&
           strcmp(a->optimizer, b->optimizer) == 0 && strcmp(a->data, b->data) == 0 &&
           strcmp(a->note, b->note) == 0;
}

TEST(defaults_come_from_the_table)
{
    const struct sample c = defaults();

    CHECK(c.max_steps == 100000);
    CHECK_NEAR(c.rate, 0.5, 0);
    CHECK(!c.pin);
    CHECK_STR(c.optimizer, "adam");
    CHECK_STR(c.data, "");
    CHECK_STR(c.note, "plain");
}

TEST(a_default_outside_its_own_range_is_an_error)
{
    const struct opt bad[] = {{.type = OPT_INT, .name = "n", .initial = "11", .hi = 10}};
    struct err err = {0};
    int64_t n;

    CHECK_FAILS(opt_defaults((struct opt_table){bad, 1}, &n, &err), &err, ERR_USAGE,
                "n = 11: want a number from 0 to 10");
}

TEST(every_spelling_of_an_option_sets_it)
{
    struct opt_words words = {.max = 0};
    struct err err = {0};
    struct sample c = defaults();

    CHECK_OK(PARSE(&c, &words, &err, "max_steps=7"), &err);
    CHECK(c.max_steps == 7);
    CHECK_OK(PARSE(&c, &words, &err, "max-steps=8"), &err);
    CHECK(c.max_steps == 8);
    CHECK_OK(PARSE(&c, &words, &err, "--max-steps", "9"), &err);
    CHECK(c.max_steps == 9);
    CHECK_OK(PARSE(&c, &words, &err, "--max_steps=10"), &err);
    CHECK(c.max_steps == 10);
    CHECK_OK(PARSE(&c, &words, &err, "--max-steps", "1e3"), &err);
    CHECK(c.max_steps == 1000);
    CHECK_OK(PARSE(&c, &words, &err, "--pin"), &err);
    CHECK(c.pin);
    CHECK_OK(PARSE(&c, &words, &err, "--no-pin"), &err);
    CHECK(!c.pin);
    CHECK_OK(PARSE(&c, &words, &err, "pin=On"), &err);
    CHECK(c.pin);
    CHECK_OK(PARSE(&c, &words, &err, "--pin=0"), &err);
    CHECK(!c.pin);
    CHECK_OK(PARSE(&c, &words, &err, "--pin", "true", "--pin", "false"), &err);
    CHECK(!c.pin);
    CHECK_OK(PARSE(&c, &words, &err, "--pin", "--max-steps", "11"), &err);
    CHECK(c.pin && c.max_steps == 11);
    CHECK_OK(PARSE(&c, &words, &err, "optimizer=adamw", "data=a=b --c"), &err);
    CHECK_STR(c.optimizer, "adamw");
    CHECK_STR(c.data, "a=b --c");
    CHECK_OK(PARSE(&c, &words, &err, "--rate", "1e-3", "--data", "-"), &err);
    CHECK_NEAR(c.rate, 1e-3, 0);
    CHECK_STR(c.data, "-");
    CHECK_OK(PARSE(&c, &words, &err, "data="), &err);
    CHECK_STR(c.data, "");
    CHECK(words.n == 0);
}

TEST(the_command_line_beats_the_file_and_the_file_beats_the_defaults)
{
    struct opt_words words = {0};
    struct err err = {0};
    struct sample c = defaults();

    CHECK_OK(yaml(&c, "max_steps: 5\nrate: 0.25\n", &err), &err);
    CHECK_OK(PARSE(&c, &words, &err, "rate=0.125"), &err);
    CHECK(c.max_steps == 5);
    CHECK_NEAR(c.rate, 0.125, 0);
    CHECK_STR(c.optimizer, "adam");
}

TEST(words_are_kept_in_order_and_counted)
{
    struct opt_words words = {.max = 3};
    struct err err = {0};
    struct sample c = defaults();

    CHECK_OK(PARSE(&c, &words, &err, "one", "pin=1", "-", "--", "--pin=0"), &err);
    CHECK(words.n == 3);
    CHECK_STR(words.word[0], "one");
    CHECK_STR(words.word[1], "-");
    CHECK_STR(words.word[2], "--pin=0");
    CHECK(c.pin);
    CHECK_FAILS(PARSE(&c, &words, &err, "four"), &err, ERR_USAGE,
                "unexpected argument 'four'");
    words = (struct opt_words){.max = 1};
    CHECK_OK(PARSE(&c, &words, &err, "./max_steps=3"), &err); /* a path, not a key */
    CHECK(c.max_steps == 100000);
}

TEST(more_words_than_there_is_room_for_name_the_limit)
{
    struct opt_words words = {.max = SIZE_MAX};
    struct err err = {0};
    struct sample c = defaults();

    for (int i = 0; i < 1024; i++)
        CHECK_OK(PARSE(&c, &words, &err, "file"), &err);
    CHECK_FAILS(PARSE(&c, &words, &err, "last"), &err, ERR_USAGE,
                "'last' is one argument too many: at most 1024 are taken");
}

TEST(unknown_options_suggest_the_nearest_name)
{
    struct opt_words words = {.max = 9};
    struct err err = {0};
    struct sample c = defaults();

    CHECK_FAILS(PARSE(&c, &words, &err, "--max-stesp", "3"), &err, ERR_USAGE,
                "unknown option 'max-stesp'; did you mean 'max_steps'?");
    CHECK_FAILS(PARSE(&c, &words, &err, "optimiser=adam"), &err, ERR_USAGE,
                "did you mean 'optimizer'?");
    CHECK_FAILS(PARSE(&c, &words, &err, "--no-data"), &err, ERR_USAGE, "unknown option");
    CHECK_FAILS(PARSE(&c, &words, &err, "--completely-else=1"), &err, ERR_USAGE,
                "unknown option 'completely-else'");
    CHECK(!strstr(err.msg, "did you mean"));
    CHECK_FAILS(PARSE(&c, &words, &err,
                      "--"
                      "=1"),
                &err, ERR_USAGE, "unknown option");
}

TEST(a_missing_value_is_asked_for)
{
    struct opt_words words = {0};
    struct err err = {0};
    struct sample c = defaults();

    CHECK_FAILS(PARSE(&c, &words, &err, "--data"), &err, ERR_USAGE,
                "--data needs a value");
    CHECK_FAILS(PARSE(&c, &words, &err, "--data", "--pin"), &err, ERR_USAGE,
                "--data needs a value");
    CHECK_STR(c.data, "");
}

TEST(bad_values_name_option_value_and_what_is_wanted)
{
    static const struct {
        const char *word, *message;
    } bad[] = {
        {"max_steps=-1", "max_steps = -1: want a number from 0 to 1000000000"},
        {"max_steps=1000000001", "want a number from"},
        {"max_steps=1.5", "max_steps = 1.5: want a whole number"},
        {"max_steps=", "want a number"},
        {"max_steps=ten", "max_steps = ten: want a number"},
        {"max_steps=10x", "want a number"},
        {"max_steps= 10", "want a number"},
        {"max_steps=0x10", "want a number"},
        {"max_steps=nan", "want a number"},
        {"rate=nan", "want a number"},
        {"rate=inf", "want a number"},
        {"rate=1e999", "want a number"},
        {"rate=0", "rate = 0: want a number from 1e-09 to 1000"},
        {"rate=1e", "want a number"},
        {"rate=--1", "want a number"},
        {"pin=maybe", "pin = maybe: want true or false"},
        {"pin=", "want true or false"},
        {"optimizer=adagrad", "optimizer = adagrad: want one of adam|adamw|novograd"},
        {"optimizer=ada", "want one of"},
        {"optimizer=", "want one of"},
        {"optimizer=adam|adamw", "want one of"},
        {"data=\xff\xfe", "data: the text is not UTF-8"},
    };
    struct opt_words words = {.max = 9};
    struct sample c = defaults();

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err err = {0};
        CHECK_FAILS(PARSE(&c, &words, &err, bad[i].word), &err, ERR_USAGE,
                    bad[i].message);
    }
    const struct sample fresh = defaults();
    CHECK(same_config(&c, &fresh)); /* a refused value changes nothing */
    CHECK(words.n == 0);
}

TEST(limits_are_inclusive)
{
    struct opt_words words = {0};
    struct err err = {0};
    struct sample c = defaults();

    CHECK_OK(PARSE(&c, &words, &err, "max_steps=0", "rate=1e-9"), &err);
    CHECK_OK(PARSE(&c, &words, &err, "max_steps=1e9", "rate=1000"), &err);
    CHECK(c.max_steps == 1000000000);
}

TEST(whole_numbers_beyond_the_exact_doubles_are_refused)
{
    const struct opt wide[] = {
        {.type = OPT_INT, .name = "n", .initial = "0", .lo = -1e300, .hi = 1e300}};
    const struct opt_table t = {wide, 1};
    struct err err = {0};
    int64_t n = 0;

    CHECK_OK(opt_set(t, &n, "n", "9007199254740992", &err), &err);
    CHECK(n == 9007199254740992);
    CHECK_FAILS(opt_set(t, &n, "n", "1e19", &err), &err, ERR_USAGE, "whole number");
    CHECK_FAILS(opt_set(t, &n, "n", "-1e19", &err), &err, ERR_USAGE, "whole number");
}

TEST(text_is_bounded)
{
    char text[OPT_TEXT_MAX + 1];
    struct err err = {0};
    struct sample c = defaults();

    memset(text, 'x', sizeof text);
    text[OPT_TEXT_MAX] = '\0';
    CHECK_FAILS(opt_set(table, &c, "data", text, &err), &err, ERR_USAGE,
                "data: 1024 bytes of text, at most 1023 are taken");
    text[OPT_TEXT_MAX - 1] = '\0';
    CHECK_OK(opt_set(table, &c, "data", text, &err), &err);
    CHECK_STR(c.data, text);
    CHECK_STR(c.note, "plain"); /* its neighbour is untouched */
}

TEST(yaml_sets_scalars_lists_and_quoted_text)
{
    struct err err = {0};
    struct sample c = defaults();

    CHECK_OK(yaml(&c,
                  "# a comment\n"
                  "max-steps: 12\n"
                  "pin: yes\n"
                  "optimizer: 'novograd'\n"
                  "data: [ a, \"b c\", 3 ]\n"
                  "note: |\n  two\n  lines\n",
                  &err),
             &err);
    CHECK(c.max_steps == 12 && c.pin);
    CHECK_STR(c.optimizer, "novograd");
    CHECK_STR(c.data, "a,b c,3");
    CHECK_STR(c.note, "two\nlines\n");
}

TEST(a_yaml_list_is_joined_by_commas_with_its_empty_items)
{
    struct err err = {0};
    struct sample c = defaults();

    CHECK_OK(yaml(&c, "data: ['', a, '', b]\n", &err), &err);
    CHECK_STR(c.data, ",a,,b");
    CHECK_OK(yaml(&c, "data:\n  - x\n  - y\n", &err), &err);
    CHECK_STR(c.data, "x,y");
    CHECK_OK(yaml(&c, "data: []\n", &err), &err);
    CHECK_STR(c.data, "");
}

TEST(yaml_mistakes_name_file_and_line)
{
    static const struct {
        const char *text, *message;
        status code;
    } bad[] = {
        {"pin: 1\nmax_stpes: 3\n", "my.yaml:2: unknown option 'max_stpes'", ERR_USAGE},
        {"\n\nmax_steps: x\n", "my.yaml:3: max_steps = x: want a number", ERR_USAGE},
        {"max_steps:\n", "my.yaml:1: max_steps = : want a number", ERR_USAGE},
        {"pin: 1\ndata:\n  inner: 2\n", "my.yaml:3: want a value or a list", ERR_FORMAT},
        {"data: [[1]]\n", "my.yaml:1: a list may hold plain values", ERR_FORMAT},
        {"data: ['a,b']\n", "my.yaml:1: an item of a list may not hold", ERR_FORMAT},
        {"data: &x [*x]\n", "my.yaml:1: ", ERR_FORMAT},
        {"? [a]\n: 1\n", "my.yaml:1: an option name must be plain text", ERR_FORMAT},
        {"- 1\n- 2\n", "my.yaml:1: want lines of the form", ERR_FORMAT},
        {"just words\n", "my.yaml:1: want lines of the form", ERR_FORMAT},
        {"data: \"a\\0b\"\n", "my.yaml:1: a NUL byte in a value", ERR_FORMAT},
        {"\"pin\\0x\": 1\n", "my.yaml:1: a NUL byte in an option name", ERR_FORMAT},
        {"pin: 1\nrate: 1\npin: 0\n", "my.yaml:3: pin was already set in line 1",
         ERR_FORMAT},
        {"max-steps: 1\nmax_steps: 1\n", "my.yaml:2: max_steps was already set",
         ERR_FORMAT},
        {"pin: 1\n---\nrate: 1\n", "my.yaml:3: a second document", ERR_FORMAT},
        {"pin: 1\n---\n: : :\n\t", "my.yaml:", ERR_FORMAT},
        {"pin: [1\nrate: 2", "not valid YAML", ERR_FORMAT},
        {"data: \"unclosed", "my.yaml:1: not valid YAML", ERR_FORMAT},
        {"a: b: c", "my.yaml:1: not valid YAML", ERR_FORMAT},
        {"data: \xff\n", "not valid YAML", ERR_FORMAT},
        {"pin: *nothing\n", "not valid YAML", ERR_FORMAT},
        {"%YAML 9.9\n---\npin: 1\n", "not valid YAML", ERR_FORMAT},
        {"data: [[[[[[[[[[[[[[[[[[[[[[[[\n", "my.yaml:1: nested more than 16 deep",
         ERR_FORMAT},
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err err = {0};
        struct sample c = defaults();
        CHECK_FAILS(yaml(&c, bad[i].text, &err), &err, bad[i].code, bad[i].message);
    }
}

/* Each took libyaml half a minute and more. */
TEST(yaml_that_would_take_minutes_is_refused_early)
{
    enum { N = 250000 };
    const size_t room = 9 * N;
    char *text = malloc(room);
    struct sample c = defaults();
    struct err err = {0};
    size_t n = (size_t)snprintf(text, room, "data: ");

    memset(text + n, '[', N);
    text[n + N] = '\0';
    CHECK_FAILS(yaml(&c, text, &err), &err, ERR_FORMAT, "nested more than 16 deep");
    for (size_t i = 0; i < N; i++)
        memcpy(text + n + 4 * i, "{a: ", 5);
    CHECK_FAILS(yaml(&c, text, &err), &err, ERR_FORMAT, "nested more than 16 deep");
    for (int i = 0; i < N / 4; i++)
        n += (size_t)snprintf(text + n, room - n, "%c&a%d 1", i ? ',' : '[', i);
    memcpy(text + n, "]\n", 3);
    CHECK_FAILS(yaml(&c, text, &err), &err, ERR_FORMAT, "more than 1000 anchors");
    memset(text, '#', 2 << 20);
    text[2 << 20] = '\0';
    CHECK_FAILS(yaml(&c, text, &err), &err, ERR_FORMAT,
                "2097152 bytes; a configuration has at most 1048576");
    free(text);
}

TEST(files_with_nothing_in_them_set_nothing)
{
    static const char *const nothing[] = {"", "\n\n", "# only a comment\n", "{}\n",
                                          "\xef\xbb\xbf"};
    const struct sample fresh = defaults();

    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
        struct err err = {0};
        struct sample c = defaults();
        CHECK_OK(yaml(&c, nothing[i], &err), &err);
        CHECK(same_config(&c, &fresh));
    }
}

TEST(unknown_keys_are_skipped_when_asked)
{
    const char *text = "other: {a: [1]}\nmax_steps: 4\nother: 2\n";
    struct err err = {0};
    struct sample c = defaults();

    CHECK_OK(opt_yaml(table, &c, text, strlen(text), "x", OPT_SKIP_UNKNOWN, &err), &err);
    CHECK(c.max_steps == 4);
}

TEST(a_config_file_is_read_or_its_path_named)
{
    struct err err = {0};
    struct sample c = defaults();

    CHECK_OK(file_write(test_path("a.yaml"), "max_steps: 3\n", 13, &err), &err);
    CHECK_OK(opt_file(table, &c, test_path("a.yaml"), OPT_REFUSE_UNKNOWN, &err), &err);
    CHECK(c.max_steps == 3);
    CHECK_OK(file_write(test_path("empty.yaml"), "", 0, &err), &err);
    CHECK_OK(opt_file(table, &c, test_path("empty.yaml"), OPT_REFUSE_UNKNOWN, &err),
             &err);
    CHECK_FAILS(opt_file(table, &c, test_path("none.yaml"), OPT_REFUSE_UNKNOWN, &err),
                &err, ERR_IO, "none.yaml: No such file");
    CHECK_FAILS(opt_file(table, &c, test_dir(), OPT_REFUSE_UNKNOWN, &err), &err, ERR_IO,
                "not a regular file");
}

/* Text of any code points, many of them special to YAML. */
static void random_text(struct rng *r, char *out, size_t n_out)
{
    static const uint32_t special[] = {'"',    '\\',     '\n',   '\t',   ' ',    ':',
                                       '#',    '\r',     0x7F,   0x85,   0xA0,   1,
                                       '\'',   0x2028,   0x2029, 0xFEFF, 0xFFFE, 0xFFFF,
                                       0xFFFD, 0x10FFFF, '%',    '{',    '-'};
    const size_t n = (size_t)rng_below(r, 40);
    size_t at = 0;

    for (size_t i = 0; i < n && at + 5 < n_out; i++) {
        uint32_t code = (uint32_t)(1 + rng_below(r, 0x10FFFF));
        if (rng_below(r, 2))
            code = special[rng_below(r, sizeof special / sizeof *special)];
        if (code >= 0xD800 && code <= 0xDFFF)
            code = 'x';
        at += utf8_encode(out + at, code);
    }
    out[at] = '\0';
}

TEST(a_dump_reads_back_as_the_same_config)
{
    struct rng r = rng_open(test_seed());
    struct err err = {0};

    for (int round = 0; round < 500; round++) {
        struct sample a = defaults(), b = defaults();
        struct str text = str_new(0);
        a.max_steps = (int64_t)rng_below(&r, 1000000001);
        a.rate = rng_unit(&r) + 1e-6;
        a.pin = rng_below(&r, 2);
        memcpy(a.optimizer, "novograd", 9);
        random_text(&r, a.data, sizeof a.data);
        random_text(&r, a.note, sizeof a.note);
        opt_dump(table, &a, &text);
        CHECK_OK(str_check(&text, "dump", &err), &err);
        CHECK_OK(yaml(&b, str_text(&text), &err), &err);
        if (!same_config(&a, &b))
            test_fail(__FILE__, __LINE__, "changed by a round trip:\n%s",
                      str_text(&text));
        str_release(&text);
    }
}

TEST(a_dumped_number_is_as_short_as_it_can_be)
{
    struct str text = str_new(0);
    struct sample c = defaults();

    c.rate = 0.1;
    opt_value(opt_find(table, "rate"), &c, &text);
    CHECK_STR(str_text(&text), "0.1");
    str_reset(&text);
    c.rate = 0.1 + 0.2;
    opt_value(opt_find(table, "rate"), &c, &text);
    CHECK_STR(str_text(&text), "0.30000000000000004");
    str_release(&text);
}

TEST(help_shows_default_limits_and_choices_within_100_columns)
{
    static const struct opt wide[] = {
        {.type = OPT_CHOICE,
         .name = "a_choice_of_many",
         .initial = "adam",
         .help =
             "a sentence of many words that goes on and on until no line could hold it",
         .choices = "adam|adamw|novograd|and_another|and_one_more|the_last"}};
    char *text = NULL;
    size_t n = 0, column = 0;
    FILE *out = open_memstream(&text, &n);

    opt_help(table, out);
    opt_help((struct opt_table){wide, 1}, out);
    fclose(out);
    CHECK(strstr(text, "  max_steps  optimizer updates (0 to 1e9) [100000]\n"));
    CHECK(strstr(text, "  rate       scale of the schedule (1e-9 to 1000) [0.5]\n"));
    CHECK(strstr(text, "  pin        tie threads to cores (true or false) [false]\n"));
    CHECK(strstr(text, "  optimizer  update rule (adam, adamw or novograd) [adam]\n"));
    CHECK(strstr(text, "  data       directory of the corpus\n"));
    CHECK(strstr(text, "the_last) [adam]\n"));
    for (const char *p = text; *p; p++) {
        column = *p == '\n' ? 0 : column + 1;
        CHECK(column <= 100);
    }
    free(text);
}

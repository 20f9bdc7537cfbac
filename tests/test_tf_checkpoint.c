#include "format/tf/tf_checkpoint.h"

#include "base/file.h"
#include "base/rng.h"
#include "test.h"

static struct err err;

static status parse(struct tf_checkpoint *c, const char *text)
{
    return tf_checkpoint_parse(c, text, strlen(text), &err);
}

TEST(the_pointer_file_of_tensorflow_is_read)
{
    struct tf_checkpoint c;

    CHECK_OK(tf_checkpoint_read(&c, test_data("golden.checkpoint"), &err), &err);
    CHECK_STR(c.latest, "model.ckpt-200");
    CHECK(c.n == 3);
    CHECK_STR(c.all[0], "/abs/model.ckpt-0");
    CHECK_STR(c.all[1], "a \"q\" 'q' \\ \t \xc3\xbc");
    CHECK_STR(c.all[2], "model.ckpt-200");
    tf_checkpoint_release(&c);
    tf_checkpoint_release(&c);
}

TEST(the_pointer_file_has_its_known_bytes)
{
    const char *const all[] = {"model.ckpt-0", "a\"b\\c\n\xc3\xbc"};
    struct file_map map;
    static const char want[] =
        "model_checkpoint_path: \"model.ckpt-0\"\n"
        "all_model_checkpoint_paths: \"model.ckpt-0\"\n"
        "all_model_checkpoint_paths: \"a\\\"b\\\\c\\n\\303\\274\"\n";

    CHECK_OK(tf_checkpoint_write(test_path("checkpoint"), all[0], all, 2, &err), &err);
    CHECK_OK(file_map_open(&map, test_path("checkpoint"), &err), &err);
    CHECK(map.n_bytes == sizeof want - 1 && memcmp(map.data, want, map.n_bytes) == 0);
    file_map_close(&map);
}

TEST(names_of_any_bytes_come_back)
{
    struct rng r = rng_open(rng_key(test_seed(), "names"));

    for (int round = 0; round < 50; round++) {
        struct tf_checkpoint c;
        char name[3][40];
        const char *all[] = {name[0], name[1], name[2]};
        for (int i = 0; i < 3; i++) {
            const size_t n = rng_below(&r, sizeof name[i]);
            for (size_t j = 0; j < n; j++)
                name[i][j] = (char)(1 + rng_below(&r, 255));
            name[i][n] = '\0';
        }
        CHECK_OK(tf_checkpoint_write(test_path("checkpoint"), all[2], all, 3, &err),
                 &err);
        CHECK_OK(tf_checkpoint_read(&c, test_path("checkpoint"), &err), &err);
        CHECK_STR(c.latest, name[2]);
        CHECK(c.n == 3);
        for (int i = 0; i < 3; i++)
            CHECK_STR(c.all[i], name[i]);
        tf_checkpoint_release(&c);
    }
}

TEST(every_form_of_text_that_the_format_allows_is_read)
{
    struct tf_checkpoint c;

    CHECK_OK(
        parse(&c, " # a comment\n\nmodel_checkpoint_path : 'one' \"\\x2dtwo\"; # end"),
        &err);
    CHECK_STR(c.latest, "one-two");
    CHECK(c.n == 0);
    tf_checkpoint_release(&c);

    CHECK_OK(parse(&c,
                   "last_preserved_timestamp: -1.5e+9 model_checkpoint_path:\"a\","
                   "future_field: \"skipped\" all_model_checkpoint_paths: '\\101\\7'"),
             &err);
    CHECK_STR(c.latest, "a");
    CHECK(c.n == 1);
    CHECK_STR(c.all[0], "A\a");
    tf_checkpoint_release(&c);

    CHECK_OK(parse(&c, ""), &err);
    CHECK(!c.latest && c.n == 0);
    tf_checkpoint_release(&c);
}

TEST(mistakes_name_their_line)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"model_checkpoint_path \"a\"", "line 1: expected ':'"},
        {"\n\nmodel_checkpoint_path:", "line 3: expected a quoted name"},
        {"\n{", "line 2: expected a field"},
        {"model_checkpoint_path: \"a", "line 1: a string does not end"},
        {"model_checkpoint_path: \"a\nb\"", "line 1: a string does not end"},
        {"model_checkpoint_path: \"a\\", "an escape that is not one"},
        {"model_checkpoint_path: \"\\q\"", "an escape that is not one"},
        {"model_checkpoint_path: \"\\0\"", "an escape that is not one"},
        {"model_checkpoint_path: \"\\777\"", "an escape that is not one"},
        {"model_checkpoint_path: \"\\x\"", "an escape that is not one"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tf_checkpoint c;
        CHECK_FAILS(parse(&c, cases[i].text), &err, ERR_FORMAT, cases[i].want);
        CHECK(!c.latest && !c.all);
    }
    struct tf_checkpoint c;
    CHECK_FAILS(tf_checkpoint_parse(&c, "model_checkpoint_path: \"a\0b\"", 28, &err),
                &err, ERR_FORMAT, "does not end");
    CHECK_FAILS(tf_checkpoint_read(&c, test_path("none"), &err), &err, ERR_IO, "none");
}

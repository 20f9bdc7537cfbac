#include "format/tf/checkpoint_dir.h"

#include <stdlib.h>
#include <unistd.h>

#include "format/tf/tf_checkpoint.h"
#include "test.h"

static struct err err;

/* A whole checkpoint of one number. */
static void make(const char *name)
{
    struct tensor_bundle_writer w;
    const float x = 1;

    CHECK_OK(tensor_bundle_begin(&w, test_path(name), &err), &err);
    CHECK_OK(tensor_bundle_add(&w, "x", TENSOR_FLOAT, NULL, 0, &err), &err);
    CHECK_OK(tensor_bundle_add_bytes(&w, &x, sizeof x, &err), &err);
    CHECK_OK(tensor_bundle_finish(&w, &err), &err);
}

static void make_three(void)
{
    make("model.ckpt-5");
    make("model.ckpt-40");
    make("model.ckpt-300");
}

static void point(const char *text)
{
    CHECK_OK(file_write(test_path("checkpoint"), text, strlen(text), &err), &err);
}

static void cut(const char *file)
{
    CHECK(truncate(test_path(file), 1) == 0);
}

/* The names in order, with commas. */
static const char *listed(void)
{
    static char text[400];
    struct checkpoint_dir c;
    size_t n = 0;

    CHECK_OK(checkpoint_dir_list(&c, test_dir(), &err), &err);
    text[0] = '\0';
    for (size_t i = 0; i < c.n; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? "," : "", c.name[i]);
    checkpoint_dir_release(&c);
    return text;
}

static void check_opens(const char *name, const char *note)
{
    struct checkpoint_choice c;

    CHECK_OK(checkpoint_dir_open(&c, test_dir(), &err), &err);
    CHECK_STR(c.prefix, test_path(name));
    if (!strstr(c.note, note) || (!*note && *c.note))
        test_fail(__FILE__, __LINE__, "%s", c.note);
    tensor_bundle_close(&c.bundle);
}

TEST(the_pointer_file_decides_though_newer_ones_are_there)
{
    make_three();
    point("model_checkpoint_path: \"model.ckpt-40\"\n");
    CHECK_STR(listed(), "model.ckpt-40,model.ckpt-300,model.ckpt-5");
    check_opens("model.ckpt-40", "");
    point("model_checkpoint_path: \"model.ckpt-5\"\n"
          "all_model_checkpoint_paths: \"model.ckpt-5\"\n"
          "all_model_checkpoint_paths: \"model.ckpt-40\"\n");
    CHECK_STR(listed(), "model.ckpt-5,model.ckpt-40,model.ckpt-300");
    check_opens("model.ckpt-5", "");
}

TEST(without_a_pointer_file_of_use_the_newest_is_found_by_its_name)
{
    static const char *const texts[] = {
        "", "garbage\n", "model_checkpoint_path: ", "future_field: \"x\"\n"};

    make_three();
    check_opens("model.ckpt-300", "there is no file");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        point(texts[i]);
        check_opens("model.ckpt-300", "instead");
    }
    cut("model.ckpt-300.index");
    check_opens("model.ckpt-40", "model.ckpt-300.index");
}

TEST(files_that_are_no_checkpoint_are_not_taken_for_one)
{
    struct checkpoint_choice c;

    CHECK(!checkpoint_dir_has_any(test_path("nothing here")));
    CHECK_OK(file_write(test_path("book.index"), "x", 1, &err), &err);
    CHECK_OK(file_write(test_path("volume-2.index"), "x", 1, &err), &err);
    CHECK(!checkpoint_dir_has_any(test_dir()));
    CHECK_FAILS(checkpoint_dir_open(&c, test_dir(), &err), &err, ERR_IO,
                "no checkpoint yet");
    CHECK_OK(file_write(test_path("model.ckpt-2.index"), "x", 1, &err), &err);
    CHECK(checkpoint_dir_has_any(test_dir()));
    CHECK_FAILS(checkpoint_dir_open(&c, test_dir(), &err), &err, ERR_FORMAT,
                "model.ckpt-2.index");
}

TEST(a_directory_that_cannot_be_read_is_not_called_empty)
{
    struct checkpoint_dir c;

    CHECK(symlink("loop", test_path("loop")) == 0);
    CHECK_FAILS(checkpoint_dir_list(&c, test_path("loop"), &err), &err, ERR_IO,
                "loop: Too many levels");
    CHECK(checkpoint_dir_has_any(test_path("loop")));
}

TEST(a_path_stands_for_a_name_in_the_directory)
{
    struct str text = str_new(0);

    make_three();
    str_printf(&text, "model_checkpoint_path: \"%s\"\n", test_path("model.ckpt-5"));
    point(str_text(&text));
    check_opens("model.ckpt-5", "");
    point("model_checkpoint_path: \"./model.ckpt-5\"\n");
    check_opens("model.ckpt-5", "");
    point("model_checkpoint_path: \"/before/it/was/moved/model.ckpt-5\"\n");
    check_opens("model.ckpt-5", "in another directory");
    str_release(&text);
}

TEST(what_a_terminal_would_obey_is_spelled_in_the_note)
{
    struct checkpoint_dir c;

    make("model.ckpt-5");
    point("model_checkpoint_path: \"/\\033[31mX/model.ckpt-5\"\n");
    CHECK_OK(checkpoint_dir_list(&c, test_dir(), &err), &err);
    CHECK(strstr(c.note, "/\\x1B[31mX/model.ckpt-5") && !strchr(c.note, '\033'));
    checkpoint_dir_release(&c);
}

TEST(a_path_out_of_the_directory_is_refused)
{
    static const char *const paths[] = {
        "../model.ckpt-7", "/model.ckpt-7", "..", "a/..", "", "/"};
    struct checkpoint_choice c;

    make_three();
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char text[100];
        snprintf(text, sizeof text, "model_checkpoint_path: \"%s\"\n", paths[i]);
        point(text);
        CHECK_FAILS(checkpoint_dir_open(&c, test_dir(), &err), &err, ERR_FORMAT,
                    "not in that directory");
    }
}

TEST(a_damaged_one_is_named_beside_the_one_in_its_place)
{
    struct checkpoint_choice c;

    make_three();
    point("model_checkpoint_path: \"model.ckpt-300\"\n"
          "all_model_checkpoint_paths: \"model.ckpt-40\"\n"
          "all_model_checkpoint_paths: \"model.ckpt-300\"\n");
    cut("model.ckpt-300.data-00000-of-00001");
    CHECK_OK(checkpoint_dir_open(&c, test_dir(), &err), &err);
    CHECK_STR(c.prefix, test_path("model.ckpt-40"));
    CHECK(c.damage.code == ERR_FORMAT && strstr(c.damage.msg, "model.ckpt-300"));
    CHECK(strstr(c.note, "model.ckpt-300") && strstr(c.note, "model.ckpt-40 instead"));
    tensor_bundle_close(&c.bundle);
}

#include "decode/output_name.h"

#include <unistd.h>

#include "test.h"

static struct err err;

static void check_name(const char *pattern, const char *input, const char *want)
{
    static char name[1][FILE_PATH_MAX];

    CHECK_OK(output_name_make(name, pattern, &input, 1, &err), &err);
    CHECK_STR(name[0], want);
}

TEST(a_pattern_takes_parts_of_the_input_file)
{
    check_name("{dir}/{stem}.de", "text/news.en.gz", "text/news.de");
    check_name("{dir}/{name}.de", "text/news.en.gz", "text/news.en.de");
    check_name("out/{name}", "/news.v2.zst", "out/news.v2");
    check_name("{dir}/x", "/news", "//x");
    check_name("{stem}-{stem}", ".hidden", ".hidden-.hidden");
    check_name("{name}", "a/.gz", ".gz");
    check_name("{stem}.out", "a.b/c", "c.out");
    check_name("{dir}/{name}.out", "news.xz", "./news.out");
    check_name("plain", "news.xz", "plain");
}

TEST(outputs_that_would_destroy_something_are_refused)
{
    static char name[2][FILE_PATH_MAX];
    char path[FILE_PATH_MAX];
    const char *one = test_path("one");

    CHECK_OK(file_write(one, "text", 4, &err), &err);
    snprintf(path, sizeof path, "%s", one);
    const char *const input[] = {path, "b.txt"}, *const same[] = {"a/x.en", "b/x.en"};
    CHECK_FAILS(output_name_make(name, path, input, 2, &err), &err, ERR_USAGE,
                "overwrite the input");
    CHECK_FAILS(output_name_make(name, "{dir}/{name}", input, 2, &err), &err, ERR_USAGE,
                "overwrite the input");
    CHECK_FAILS(output_name_make(name, "{stem}.de", same, 2, &err), &err, ERR_USAGE,
                "a/x.en and b/x.en would both be written to x.de");
    CHECK_OK(output_name_make(name, "all.de", same, 2, &err), &err);
    CHECK_OK(output_name_make(name, "{dir}/{stem}.de", same, 2, &err), &err);
    CHECK_FAILS(output_name_make(name, "{Dir}", same, 2, &err), &err, ERR_USAGE, "{dir}");
    CHECK_FAILS(output_name_make(name, "a{", same, 2, &err), &err, ERR_USAGE, "{dir}");
}

TEST(one_output_is_one_however_its_directory_is_spelled)
{
    static char name[2][FILE_PATH_MAX];
    static const char *const other[] = {"news/./a.en", "link/a.en", "news/../news/a.en"};
    char path[2][FILE_PATH_MAX];
    const char *const input[] = {path[0], path[1]};

    CHECK_OK(file_make_dirs(test_path("news"), &err), &err);
    CHECK(symlink("news", test_path("link")) == 0);
    snprintf(path[0], sizeof path[0], "%s", test_path("news/a.en.gz"));
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        snprintf(path[1], sizeof path[1], "%s", test_path(other[i]));
        CHECK_FAILS(output_name_make(name, "{dir}/{stem}.de", input, 2, &err), &err,
                    ERR_USAGE, "would both be written");
    }
    snprintf(path[1], sizeof path[1], "%s", test_path("link/b.en"));
    CHECK_OK(output_name_make(name, "{dir}/{stem}.de", input, 2, &err), &err);
}

#include "test.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/new_dir.h"

static struct err err;

static size_t n_entries(const char *path)
{
    DIR *d = opendir(path);
    size_t n = 0;

    CHECK(d);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void put_file(const struct new_dir *d, const char *name)
{
    char path[FILE_PATH_MAX];

    CHECK_OK(file_join(path, sizeof path, d->path, name, &err), &err);
    CHECK_OK(file_write(path, "x", 1, &err), &err);
}

TEST(a_directory_appears_with_its_files)
{
    struct new_dir d;

    CHECK_OK(new_dir_begin(&d, test_path("above/out/"), &err), &err);
    put_file(&d, "one");
    put_file(&d, "two");
    CHECK(!file_exists(test_path("above/out")));
    CHECK(file_is_abandoned(strrchr(d.path, '/') + 1)); /* of this process: no rest */
    CHECK_OK(new_dir_commit(&d, &err), &err);
    new_dir_abort(&d);
    CHECK(n_entries(test_path("above")) == 1 && n_entries(test_path("above/out")) == 2);
}

TEST(an_unfinished_directory_goes_with_its_files)
{
    struct new_dir d;

    CHECK_OK(new_dir_begin(&d, test_path("out"), &err), &err);
    put_file(&d, "one");
    new_dir_abort(&d);
    CHECK(n_entries(test_dir()) == 0);
    new_dir_abort(&d);
}

TEST(a_name_that_is_taken_is_refused)
{
    struct new_dir d;

    CHECK_OK(file_write(test_path("file"), "x", 1, &err), &err);
    CHECK_FAILS(new_dir_begin(&d, test_path("file"), &err), &err, ERR_USAGE,
                "already; name a new directory");
    CHECK(mkdir(test_path("full"), 0777) == 0);
    CHECK_OK(file_write(test_path("full/x"), "x", 1, &err), &err);
    CHECK_FAILS(new_dir_check(test_path("full"), &err), &err, ERR_USAGE, "already");
    CHECK(symlink("nothing", test_path("link")) == 0);
    CHECK_FAILS(new_dir_check(test_path("link"), &err), &err, ERR_USAGE, "already");
    CHECK_FAILS(new_dir_check("", &err), &err, ERR_USAGE, "empty");
    new_dir_abort(&d);
}

TEST(an_empty_directory_is_replaced)
{
    struct new_dir d;

    CHECK(mkdir(test_path("empty"), 0777) == 0);
    CHECK_OK(new_dir_begin(&d, test_path("empty"), &err), &err);
    put_file(&d, "one");
    CHECK_OK(new_dir_commit(&d, &err), &err);
    CHECK(n_entries(test_path("empty")) == 1);
}

/*
 * A compiled program is kept in the cache directory and loaded again, and one that the
 * driver does not take is compiled and written anew.
 * ctest: slow (PoCL compiles every kernel when it is asked for the program)
 */
#include <glob.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "device/device.h"
#include "test.h"

static void open_once(void)
{
    struct device d;
    struct err err;

    if (device_open(&d, "opencl", (struct device_options){0}, &err) != OK)
        test_skip("%s", err.msg);
    device_close(&d);
}

/* The one file of the cache; its size in bytes. */
static size_t kept(char path[FILE_PATH_MAX])
{
    struct file_map map = {0};
    struct err err;
    glob_t found;

    CHECK(glob(test_path("ferry/opencl-*.bin"), 0, NULL, &found) == 0);
    CHECK(found.gl_pathc == 1);
    snprintf(path, FILE_PATH_MAX, "%s", found.gl_pathv[0]);
    globfree(&found);
    CHECK_OK(file_map_open(&map, path, &err), &err);
    const size_t n_bytes = map.n_bytes;
    file_map_close(&map);
    return n_bytes;
}

TEST(a_compiled_program_is_kept_and_a_damaged_one_made_again)
{
    char path[FILE_PATH_MAX];
    struct err err;

    setenv("XDG_CACHE_HOME", test_dir(), 1);
    setenv("FERRY_OPENCL_CACHE", "1", 1);
    open_once();
    const size_t n_bytes = kept(path);
    CHECK(n_bytes > 10000);
    open_once();
    CHECK(kept(path) == n_bytes);
    CHECK_OK(file_write(path, "damaged", 7, &err), &err);
    open_once();
    CHECK(kept(path) > 10000);
}

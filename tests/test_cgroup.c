#include "base/mem.h"

#include <stdint.h>
#include <sys/stat.h>

#include "base/file.h"
#include "test.h"

static void put(const char *name, const char *text)
{
    struct err err;

    CHECK_OK(file_write(test_path(name), text, strlen(text), &err), &err);
}

static void make_dir(const char *name)
{
    CHECK(mkdir(test_path(name), 0700) == 0);
}

static size_t left(const char *list)
{
    char root[FILE_PATH_MAX];

    snprintf(root, sizeof root, "%s", test_path("groups"));
    return mem_group_bytes(list, root);
}

TEST(the_tightest_group_of_version_two_counts)
{
    make_dir("groups");
    make_dir("groups/a");
    make_dir("groups/a/b");
    put("groups/a/memory.max", "1000\n");
    put("groups/a/memory.current", "700\n");
    put("groups/a/memory.stat", "anon 500\ninactive_file 150\nfile 200\n");
    put("groups/a/b/memory.max", "max\n");
    put("groups/a/b/memory.current", "700\n");
    CHECK(left("0::/a/b\n") == 450);
    put("groups/a/b/memory.max", "800\n");
    CHECK(left("0::/a/b\n") == 100);
    put("groups/a/b/memory.max", "600\n"); /* it was lowered below what is used */
    CHECK(left("0::/a/b\n") == 0);
    CHECK(left("0::/\n") == SIZE_MAX);
}

TEST(version_one_has_a_tree_of_its_own)
{
    make_dir("groups");
    make_dir("groups/memory");
    make_dir("groups/memory/x");
    put("groups/memory/x/memory.limit_in_bytes", "5000\n");
    put("groups/memory/x/memory.usage_in_bytes", "3000\n");
    put("groups/memory/x/memory.stat", "inactive_file 1\ntotal_inactive_file 1000\n");
    CHECK(left("4:memory:/x\n3:cpu,cpuacct:/\n0::/\n") == 3000);
    CHECK(left("3:cpu,cpuacct:/x\n") == SIZE_MAX);
}

TEST(a_path_of_the_host_inside_a_container_means_its_root)
{
    make_dir("groups");
    put("groups/memory.max", "900\n");
    put("groups/memory.current", "200\n");
    CHECK(left("0::/system.slice/docker-1234.scope\n") == 700);
}

TEST(nonsense_limits_nothing)
{
    make_dir("groups");
    CHECK(left("") == SIZE_MAX);
    CHECK(left("no colon\n::\n0:\n9:memory\n\n") == SIZE_MAX);
    put("groups/memory.max", "not a number");
    put("groups/memory.current", "1");
    CHECK(left("0::/\n") == SIZE_MAX);
}

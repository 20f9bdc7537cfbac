#include "test.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct CMUnitTest tests[256];
static size_t n_tests, n_skipped;
static char dir[256];

void test_add(const char *name, test_fn *fn)
{
    tests[n_tests++] = (struct CMUnitTest){.name = name, .test_func = fn};
}

uint64_t test_seed(void)
{
    const char *text = getenv("FERRY_TEST_SEED");

    return text ? strtoull(text, NULL, 10) : 20170612;
}

void test_fail(const char *file, int line, const char *fmt, ...)
{
    char what[1500];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    print_error("%s:%d: %s  (seed %llu)\n", file, line, what,
                (unsigned long long)test_seed());
    _fail(file, line);
    abort(); /* _fail does not return; the compiler cannot know */
}

void test_skip(const char *fmt, ...)
{
    va_list ap;

    printf("skipped: ");
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
    fflush(stdout);
    n_skipped++;
    skip();
    abort(); /* skip does not return; the compiler cannot know */
}

static void remove_tree(const char *path)
{
    DIR *d = opendir(path);

    for (struct dirent *e; d && (e = readdir(d));) {
        char inner[1024];
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
        if (lstat(inner, &st) == 0 && S_ISDIR(st.st_mode))
            remove_tree(inner);
        else
            unlink(inner);
    }
    if (d)
        closedir(d);
    rmdir(path);
}

const char *test_dir(void)
{
    if (!dir[0]) {
        const char *tmp = getenv("TMPDIR");
        snprintf(dir, sizeof dir, "%s/ferry-test-XXXXXX", tmp ? tmp : "/tmp");
        if (!mkdtemp(dir))
            test_fail(__FILE__, __LINE__, "cannot make a directory in %s", dir);
    }
    return dir;
}

const char *test_path(const char *name)
{
    static char paths[8][512];
    static size_t next;
    char *path = paths[next++ % 8];

    snprintf(path, sizeof paths[0], "%s/%s", test_dir(), name);
    return path;
}

const char *test_data(const char *name)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/%s", FERRY_TEST_DATA, name);
    return path;
}

static int clean_up(void **state __attribute__((unused)))
{
    if (dir[0])
        remove_tree(dir);
    dir[0] = '\0';
    return 0;
}

/* Impossible sizes are refused by our code, as they are without the sanitizer. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* Leaks of other people's libraries; the file says which and why. */
const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
    return "print_suppressions=0:suppressions=" FERRY_TEST_DATA "/../lsan.supp";
}

/* CTest counts this status as skipped. */
enum { ALL_SKIPPED = 77 };

int main(int argc, char **argv)
{
    struct CMUnitTest chosen[256];
    size_t n = 0;

    for (size_t i = 0; i < n_tests; i++)
        if (argc < 2 || strstr(tests[i].name, argv[1])) {
            chosen[n] = tests[i];
            chosen[n++].teardown_func = clean_up;
        }
    if (!n) {
        print_error("%s: no test has '%s' in its name\n", argv[0],
                    argc < 2 ? "" : argv[1]);
        return 1;
    }
    const int n_failed = _cmocka_run_group_tests(argv[0], chosen, n, NULL, NULL);
    if (n_failed)
        return 1;
    return n_skipped == n ? ALL_SKIPPED : 0;
}

#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static void check_holds(const char *path, const char *text)
{
    struct file_map m;
    struct err err = {0};

    CHECK_OK(file_map_open(&m, path, &err), &err);
    CHECK(m.n_bytes == strlen(text));
    CHECK(m.n_bytes == 0 || memcmp(m.data, text, m.n_bytes) == 0);
    file_map_close(&m);
}

static size_t files_in(const char *dir)
{
    DIR *d = opendir(dir);
    size_t n = 0;

    CHECK(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

/* Runs act(path) in a child; its exit status, or minus the signal that ended it. */
static int in_child(int (*act)(const char *path), const char *path)
{
    int status_word;
    const pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0)
        _exit(act(path));
    CHECK(waitpid(pid, &status_word, 0) == pid);
    return WIFEXITED(status_word) ? WEXITSTATUS(status_word) : -WTERMSIG(status_word);
}

TEST(what_is_written_is_read_back)
{
    struct err err = {0};
    const char *path = test_path("a");

    CHECK_OK(file_write(path, "hello", 5, &err), &err);
    check_holds(path, "hello");
    CHECK(file_bytes(path) == 5 && file_exists(path) && !file_is_dir(path));
    CHECK_OK(file_write(path, "", 0, &err), &err);
    check_holds(path, "");
    CHECK(file_bytes(path) == 0);
    CHECK(files_in(test_dir()) == 1); /* no temporary is left */
}

TEST(pieces_of_any_size_arrive_in_order)
{
    enum { N = 3 << 20 }; /* more than the buffer, in pieces that do not divide it */
    struct file_writer w;
    struct file_map m;
    struct err err = {0};
    unsigned char *want = malloc(N);

    for (size_t i = 0; i < N; i++)
        want[i] = (unsigned char)(i * 2654435761u >> 13);
    CHECK_OK(file_writer_open(&w, test_path("big"), &err), &err);
    for (size_t at = 0, piece = 1; at < N; at += piece, piece = piece * 3 % 70001) {
        piece = piece < N - at ? piece : N - at;
        CHECK_OK(file_writer_add(&w, want + at, piece, &err), &err);
        CHECK(w.n_bytes == at + piece);
    }
    CHECK(!file_exists(test_path("big"))); /* not before the commit */
    CHECK_OK(file_writer_commit(&w, &err), &err);
    CHECK_OK(file_map_open(&m, test_path("big"), &err), &err);
    CHECK(m.n_bytes == N && memcmp(m.data, want, N) == 0);
    file_map_close(&m);
    free(want);
}

TEST(an_aborted_write_leaves_the_old_bytes_and_no_trace)
{
    struct file_writer w;
    struct err err = {0};
    const char *path = test_path("a");

    CHECK_OK(file_write(path, "old", 3, &err), &err);
    CHECK_OK(file_writer_open(&w, path, &err), &err);
    CHECK_OK(file_writer_add(&w, "new", 3, &err), &err);
    file_writer_abort(&w);
    file_writer_abort(&w);
    check_holds(path, "old");
    CHECK(files_in(test_dir()) == 1);
}

static int write_and_die(const char *path)
{
    static const char block[3 << 20];
    struct file_writer w;
    struct err err = {0};

    if (file_writer_open(&w, path, &err) != OK ||
        file_writer_add(&w, block, sizeof block, &err) != OK)
        return 1;
    kill(getpid(), SIGKILL);
    return 2;
}

TEST(a_writer_killed_halfway_leaves_the_old_bytes)
{
    struct err err = {0};
    const char *path = test_path("a");

    CHECK_OK(file_write(path, "old", 3, &err), &err);
    CHECK(in_child(write_and_die, path) == -SIGKILL);
    check_holds(path, "old");
}

static int write_beyond_the_limit(const char *path)
{
    static const char block[3 << 20];
    const struct rlimit limit = {1 << 20, 1 << 20};
    struct err err = {0};

    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    if (file_write(path, block, sizeof block, &err) != ERR_IO)
        return 2;
    return strstr(err.msg, path) && strstr(err.msg, "File too large") ? 0 : 3;
}

TEST(a_write_that_finds_no_room_fails_and_leaves_the_old_bytes)
{
    struct err err = {0};
    const char *path = test_path("a");

    CHECK_OK(file_write(path, "old", 3, &err), &err);
    CHECK(in_child(write_beyond_the_limit, path) == 0);
    check_holds(path, "old");
    CHECK(files_in(test_dir()) == 1);
}

static int commit_after_failure(const char *path)
{
    static const char block[3 << 20];
    const struct rlimit small = {1 << 20, RLIM_INFINITY};
    const struct rlimit large = {RLIM_INFINITY, RLIM_INFINITY};
    struct file_writer w;
    struct err err = {0};

    signal(SIGXFSZ, SIG_IGN);
    if (file_writer_open(&w, path, &err) != OK || setrlimit(RLIMIT_FSIZE, &small) != 0)
        return 1;
    if (file_writer_add(&w, block, sizeof block, &err) != ERR_IO)
        return 2;
    if (setrlimit(RLIMIT_FSIZE, &large) != 0)
        return 3;
    return file_writer_commit(&w, &err) == ERR_IO ? 0 : 4;
}

TEST(a_writer_that_failed_once_cannot_be_committed)
{
    CHECK(in_child(commit_after_failure, test_path("a")) == 0);
    CHECK(files_in(test_dir()) == 0);
}

TEST(failures_name_the_path_and_the_reason)
{
    struct file_map m;
    struct file_writer w = {0};
    struct err err = {0};

    CHECK_FAILS(file_map_open(&m, test_path("none"), &err), &err, ERR_IO,
                "none: No such file or directory");
    CHECK(!m.data && m.n_bytes == 0);
    file_map_close(&m);
    CHECK_FAILS(file_map_open(&m, test_dir(), &err), &err, ERR_IO, "not a regular file");
    CHECK_FAILS(file_map_open(&m, "/dev/null", &err), &err, ERR_IO, "not a regular file");
    CHECK_FAILS(file_writer_open(&w, test_path("no/such/dir/a"), &err), &err, ERR_IO,
                "no/such/dir/a: No such file");
    file_writer_abort(&w);
    CHECK_OK(file_make_dirs(test_path("d/inner"), &err), &err);
    CHECK_FAILS(file_write(test_path("d"), "x", 1, &err), &err, ERR_IO, "d: ");
    CHECK(files_in(test_dir()) == 1);
}

TEST(directories_are_made_with_their_parents)
{
    struct err err = {0};

    CHECK_OK(file_make_dirs(test_path("a/b/c"), &err), &err);
    CHECK(file_is_dir(test_path("a/b/c")));
    CHECK_OK(file_make_dirs(test_path("a/b/c"), &err), &err);
    CHECK_OK(file_make_dirs(test_path("a//d/"), &err), &err);
    CHECK(file_is_dir(test_path("a/d")));
    CHECK_OK(file_write(test_path("plain"), "x", 1, &err), &err);
    CHECK_FAILS(file_make_dirs(test_path("plain"), &err), &err, ERR_IO,
                "plain: exists and is not a directory");
    CHECK_FAILS(file_make_dirs(test_path("plain/x"), &err), &err, ERR_IO, "plain/x: ");
    CHECK_FAILS(file_make_dirs("", &err), &err, ERR_USAGE, "not a usable directory");
}

TEST(paths_too_long_are_refused)
{
    char name[3000], out[64];
    struct err err = {0};

    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    CHECK_FAILS(file_make_dirs(name, &err), &err, ERR_USAGE, "usable directory");
    CHECK_OK(file_join(out, 6, "ab", "cd", &err), &err);
    CHECK_STR(out, "ab/cd");
    CHECK_FAILS(file_join(out, 5, "ab", "cd", &err), &err, ERR_USAGE,
                "'ab/cd' is too long");
}

TEST(a_temporary_file_is_in_tmpdir_and_a_nameless_one_is_nowhere)
{
    char path[FILE_PATH_MAX], text[8] = "";
    struct err err = {0};
    int named, nameless;

    setenv("TMPDIR", test_dir(), 1);
    CHECK_OK(file_nameless(&nameless, &err), &err);
    CHECK(files_in(test_dir()) == 0);
    CHECK_OK(file_put(nameless, "hello", 5, "it", &err), &err);
    CHECK(pread(nameless, text, sizeof text, 0) == 5);
    CHECK_STR(text, "hello");
    CHECK_OK(file_temporary(&named, path, &err), &err);
    CHECK_OK(file_put(named, "bye", 3, "it", &err), &err);
    CHECK(files_in(test_dir()) == 1);
    CHECK(strncmp(path, test_dir(), strlen(test_dir())) == 0);
    check_holds(path, "bye");
    close(nameless);
    close(named);
    setenv("TMPDIR", test_path("absent"), 1);
    CHECK_FAILS(file_nameless(&nameless, &err), &err, ERR_IO, "set TMPDIR");
    CHECK(nameless == -1);
    unsetenv("TMPDIR");
}

TEST(what_does_not_fit_an_open_file_is_an_error_with_its_name)
{
    const int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct err err = {0};

    CHECK(fd >= 0);
    CHECK_FAILS(file_put(fd, "x", 1, "the list", &err), &err, ERR_IO,
                "the list: No space left");
    close(fd);
}

TEST(removing_is_fine_when_nothing_is_there)
{
    struct err err = {0};

    CHECK_OK(file_write(test_path("a"), "x", 1, &err), &err);
    CHECK_OK(file_remove(test_path("a"), &err), &err);
    CHECK(!file_exists(test_path("a")) && file_bytes(test_path("a")) == -1);
    CHECK_OK(file_remove(test_path("a"), &err), &err);
    CHECK_FAILS(file_remove(test_dir(), &err), &err, ERR_IO, test_dir());
}

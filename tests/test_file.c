#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
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

TEST(a_copy_does_not_see_what_becomes_of_the_file)
{
    struct file_map m, none;
    struct err err = {0};
    const char *path = test_path("a");

    CHECK_OK(file_write(path, "hello", 5, &err), &err);
    CHECK_OK(file_map_copy(&m, path, &err), &err);
    CHECK(truncate(path, 0) == 0);
    CHECK(m.n_bytes == 5 && memcmp(m.data, "hello", 5) == 0);
    CHECK_OK(file_map_copy(&none, path, &err), &err);
    CHECK(none.n_bytes == 0);
    file_map_close(&none);
    file_map_close(&m);
    CHECK_FAILS(file_map_copy(&m, test_dir(), &err), &err, ERR_IO, "not a regular file");
    CHECK(!m.data);
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
    return strstr(err.msg, path) && strstr(err.msg, "ulimit -f") ? 0 : 3;
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
    CHECK_FAILS(file_write(test_path("d"), "x", 1, &err), &err, ERR_IO,
                "d is a directory");
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

TEST(only_names_of_our_form_are_temporary_files)
{
    CHECK(file_is_tmp("a.tmp-ferry-1-0") && file_is_tmp("run.index.tmp-ferry-31415-12"));
    CHECK(!file_is_tmp("a.tmp-17") && !file_is_tmp("a.tmp-ferry-") &&
          !file_is_tmp("a.tmp-ferry-1") && !file_is_tmp("a.tmp-ferry-1-0.txt") &&
          !file_is_tmp(".tmp-ferry-1-0") && !file_is_tmp("a.tmp-ferry-x-0"));
    CHECK(file_is_abandoned("a.tmp-ferry-999999999-0") &&
          !file_is_abandoned("a.tmp-ferry-1-0")); /* it lives */
}

static void touch(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    CHECK(fd >= 0);
    close(fd);
}

TEST(the_rest_of_a_process_of_the_same_number_is_not_written_into)
{
    char rest[64];
    struct err err = {0};

    snprintf(rest, sizeof rest, "a" FILE_TMP_MARK "%ld-0", (long)getpid());
    CHECK(file_is_tmp(rest));
    CHECK(symlink("victim", test_path(rest)) == 0);
    CHECK_OK(file_write(test_path("a"), "new", 3, &err), &err);
    check_holds(test_path("a"), "new");
    CHECK(!file_exists(test_path("victim")));
}

/* Whether the link is there and leads to `to`. */
static bool is_link_to(const char *path, const char *to)
{
    char text[64] = "";

    return readlink(path, text, sizeof text - 1) > 0 && strcmp(text, to) == 0;
}

TEST(an_output_of_the_user_follows_links_and_keeps_them)
{
    struct stat st;
    struct err err = {0};

    CHECK_OK(file_make_dirs(test_path("d"), &err), &err);
    CHECK_OK(file_write(test_path("d/real"), "old", 3, &err), &err);
    CHECK(chmod(test_path("d/real"), 0640) == 0);
    CHECK(symlink("d/second", test_path("first")) == 0);
    CHECK(symlink("real", test_path("d/second")) == 0);
    CHECK_OK(file_write_output(test_path("first"), "new", 3, &err), &err);
    CHECK(is_link_to(test_path("first"), "d/second"));
    CHECK(is_link_to(test_path("d/second"), "real"));
    check_holds(test_path("d/real"), "new");
    CHECK(stat(test_path("d/real"), &st) == 0 && (st.st_mode & 07777) == 0640);
    CHECK(files_in(test_path("d")) == 2);

    CHECK(symlink("d/absent", test_path("dangling")) == 0);
    CHECK_OK(file_write_output(test_path("dangling"), "made", 4, &err), &err);
    CHECK(is_link_to(test_path("dangling"), "d/absent"));
    check_holds(test_path("d/absent"), "made");
    CHECK(symlink("no/such/dir", test_path("astray")) == 0);
    CHECK_FAILS(file_write_output(test_path("astray"), "x", 1, &err), &err, ERR_IO,
                "no/such must exist and be writable");
    CHECK(symlink("circle", test_path("circle")) == 0);
    CHECK_FAILS(file_write_output(test_path("circle"), "x", 1, &err), &err, ERR_IO,
                "symbolic links");
}

TEST(a_file_of_ours_replaces_a_link_and_leaves_what_it_points_at)
{
    struct err err = {0};

    CHECK_OK(file_write(test_path("theirs"), "keep", 4, &err), &err);
    CHECK(symlink("theirs", test_path("ours")) == 0);
    CHECK_OK(file_write(test_path("ours"), "new", 3, &err), &err);
    check_holds(test_path("theirs"), "keep");
    check_holds(test_path("ours"), "new");
}

static int read_slowly(const char *path)
{
    char text[1 << 12];
    size_t n = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);

    for (ssize_t got; (got = read(fd, text, sizeof text)) > 0; n += (size_t)got)
        usleep(10);
    return n == 3 << 20 ? 0 : 1;
}

TEST(bytes_go_into_a_pipe_and_the_pipe_stays)
{
    static const char block[3 << 20];
    struct err err = {0};
    struct stat st;
    int how;

    CHECK(mkfifo(test_path("pipe"), 0600) == 0);
    CHECK(symlink("pipe", test_path("link")) == 0);
    const pid_t pid = fork();
    if (pid == 0)
        _exit(read_slowly(test_path("pipe")));
    CHECK_OK(file_write_output(test_path("link"), block, sizeof block, &err), &err);
    CHECK(waitpid(pid, &how, 0) == pid && WIFEXITED(how) && WEXITSTATUS(how) == 0);
    CHECK(lstat(test_path("pipe"), &st) == 0 && S_ISFIFO(st.st_mode));
    CHECK(is_link_to(test_path("link"), "pipe"));
    CHECK(files_in(test_dir()) == 2);
    CHECK_FAILS(file_write(test_path("pipe"), "x", 1, &err), &err, ERR_IO,
                "pipe is a pipe, not a file");
}

TEST(devices_are_written_into)
{
    struct err err = {0};
    struct stat st;

    CHECK_FAILS(file_write_output("/dev/full", "x", 1, &err), &err, ERR_IO,
                "/dev/full: No space left");
    CHECK(symlink("/dev/full", test_path("full")) == 0);
    CHECK_FAILS(file_write_output(test_path("full"), "x", 1, &err), &err, ERR_IO,
                "full: No space left");
    CHECK(is_link_to(test_path("full"), "/dev/full"));
    if (mknod(test_path("null"), S_IFCHR | 0600, makedev(1, 3)) != 0)
        test_skip("needs root to make a device");
    const int fd = open(test_path("null"), O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        test_skip("devices cannot be opened here");
    close(fd);
    CHECK_OK(file_write_output(test_path("null"), "x", 1, &err), &err);
    CHECK(lstat(test_path("null"), &st) == 0 && S_ISCHR(st.st_mode));
}

/* "-bcdef" in two pieces, then '-' becomes 'a'. */
static status write_patched(const char *path, struct err *err)
{
    struct file_writer w;

    TRY(file_writer_open_patchable(&w, path, err));
    status result = file_writer_add(&w, "-bc", 3, err);
    THEN(result, file_writer_patch(&w, 0, "a", 1, err));
    THEN(result, file_writer_add(&w, "def", 3, err));
    THEN(result, file_writer_commit(&w, err));
    file_writer_abort(&w);
    return result;
}

TEST(bytes_are_patched_before_they_go_anywhere)
{
    const size_t n_open = files_in("/proc/self/fd");
    char name[32], text[8] = "";
    struct err err = {0};
    int ends[2];

    CHECK_OK(write_patched(test_path("a"), &err), &err);
    check_holds(test_path("a"), "abcdef");
    CHECK(pipe(ends) == 0);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[1]);
    CHECK_OK(write_patched(name, &err), &err);
    CHECK(read(ends[0], text, sizeof text) == 6);
    CHECK_STR(text, "abcdef");
    close(ends[0]);
    close(ends[1]);
    CHECK_FAILS(write_patched("/dev/full", &err), &err, ERR_IO, "full: No space left");
    CHECK(files_in(test_dir()) == 1 && files_in("/proc/self/fd") == n_open);
}

TEST(a_patchable_output_that_is_given_up_leaves_nothing)
{
    const char *full = "/dev/full", *path = test_path("a");
    const size_t n_open = files_in("/proc/self/fd");
    struct file_writer w;
    struct err err = {0};

    for (int i = 0; i < 2; i++) {
        CHECK_OK(file_writer_open_patchable(&w, i ? full : path, &err), &err);
        CHECK_OK(file_writer_add(&w, "x", 1, &err), &err);
        file_writer_abort(&w);
        file_writer_abort(&w);
    }
    CHECK(files_in(test_dir()) == 0);
    setenv("TMPDIR", test_path("absent"), 1);
    CHECK_FAILS(file_writer_open_patchable(&w, full, &err), &err, ERR_IO, "set TMPDIR");
    unsetenv("TMPDIR");
    file_writer_abort(&w);
    CHECK(files_in("/proc/self/fd") == n_open);
}

TEST(an_open_descriptor_is_written_where_it_stands)
{
    char name[32];
    struct err err = {0};
    const int fd = open(test_path("log"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    CHECK(fd >= 0 && write(fd, "a", 1) == 1);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    CHECK_OK(file_write_output(name, "bc", 2, &err), &err);
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    CHECK_OK(file_write_output(name, "d", 1, &err), &err);
    CHECK(write(fd, "e", 1) == 1);
    close(fd);
    check_holds(test_path("log"), "abcde");
    CHECK_FAILS(file_write_output(name, "x", 1, &err), &err, ERR_IO, "No such file");
}

TEST(directories_and_sockets_are_refused_before_anything_is_written)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "socket"};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct file_writer w;
    struct err err = {0};

    CHECK_FAILS(file_writer_open_output(&w, test_dir(), &err), &err, ERR_IO,
                " is a directory, not a file");
    CHECK(chdir(test_dir()) == 0);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&name, sizeof name) == 0);
    CHECK_FAILS(file_writer_open_output(&w, "socket", &err), &err, ERR_IO,
                "socket is a socket, not a file");
    close(fd);
    CHECK(chdir("/") == 0);
}

TEST(logs_and_locks_are_not_opened_through_links)
{
    struct err err = {0};
    int fd;

    CHECK(symlink("victim", test_path("log")) == 0);
    CHECK_FAILS(file_open_regular(&fd, test_path("log"), O_WRONLY | O_CREAT, &err), &err,
                ERR_IO, "log is a symbolic link");
    touch(test_path("victim"));
    CHECK_FAILS(file_open_regular(&fd, test_path("log"), O_WRONLY | O_CREAT, &err), &err,
                ERR_IO, "log is a symbolic link");
    CHECK(fd == -1);
    CHECK(mkfifo(test_path("pipe"), 0600) == 0);
    CHECK_FAILS(file_open_regular(&fd, test_path("pipe"), O_RDWR, &err), &err, ERR_IO,
                "pipe is not a regular file");
    CHECK_OK(file_open_regular(&fd, test_path("victim"), O_WRONLY | O_APPEND, &err),
             &err);
    close(fd);
}

TEST(an_output_that_cannot_be_written_is_known_before)
{
    struct err err = {0};

    CHECK_OK(file_check_output(test_path("new"), &err), &err);
    CHECK_OK(file_check_output("/dev/null", &err), &err);
    CHECK_FAILS(file_check_output(test_path("no/such"), &err), &err, ERR_IO,
                "no must exist and be writable");
    CHECK_FAILS(file_check_output(test_dir(), &err), &err, ERR_IO, "is a directory");
    touch(test_path("kept"));
    CHECK(chmod(test_path("kept"), 0400) == 0);
    if (geteuid() == 0)
        return; /* who may write all */
    CHECK_FAILS(file_check_output(test_path("kept"), &err), &err, ERR_IO,
                "kept: Permission denied");
}

TEST(the_directory_of_a_name_alone_is_named_as_such)
{
    struct err err = {0};
    int how = -1;

    CHECK(mkdir(test_path("shut"), 0555) == 0);
    const pid_t child = fork();
    if (child == 0) { /* root may write anywhere */
        const bool is_set =
            chdir(test_path("shut")) == 0 && (getuid() != 0 || setuid(65534) == 0);
        const status result = is_set ? file_check_output("out.txt", &err) : OK;
        _exit(result == ERR_IO && strstr(err.msg, "the directory . must exist") ? 0 : 1);
    }
    CHECK(waitpid(child, &how, 0) == child && how == 0);
}

TEST(a_lock_is_closed_to_others)
{
    struct err err;
    struct stat st;
    int fd;

    CHECK_OK(file_open_regular(&fd, test_path("lock"), O_RDWR | O_CREAT, &err), &err);
    CHECK(fchmod(fd, 0666) == 0);
    file_close_to_others(fd);
    CHECK(fstat(fd, &st) == 0 && (st.st_mode & 07777) == 0660);
    close(fd);
}

TEST(a_mapping_is_found_by_an_address_while_it_is_open)
{
    struct file_map m;
    struct err err = {0};

    CHECK_OK(file_write(test_path("a"), "hello", 5, &err), &err);
    CHECK_OK(file_map_open(&m, test_path("a"), &err), &err);
    const unsigned char *at = m.data + 4;
    CHECK_STR(file_mapped_at(at), test_path("a"));
    CHECK(!file_mapped_at(at + 1) && !file_mapped_at(NULL));
    file_map_close(&m);
    CHECK(!file_mapped_at(at));
}

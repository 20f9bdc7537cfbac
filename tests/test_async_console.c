#include "dist/watch/async_console.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "test.h"

/* Everything that comes through a pipe until its other end is closed. */
static size_t read_all(int fd, char *out, size_t n)
{
    size_t at = 0;

    for (ssize_t got; at < n - 1 && (got = read(fd, out + at, n - 1 - at)) > 0;)
        at += (size_t)got;
    out[at] = '\0';
    return at;
}

TEST(what_is_said_comes_out_in_order)
{
    struct async_console *s;
    struct err err;
    char text[256];
    int fd[2];

    CHECK(pipe2(fd, O_CLOEXEC) == 0);
    CHECK_OK(async_console_open(&s, fd[1], &err), &err);
    for (int i = 0; i < 3; i++)
        async_console_say(s, "line %d", i);
    async_console_close(s, 5);
    close(fd[1]);
    read_all(fd[0], text, sizeof text);
    CHECK_STR(text, "line 0\nline 1\nline 2\n");
    close(fd[0]);
}

/* Whole lines of the text, and those that it says were left out. */
static size_t count_lines(const char *text)
{
    size_t n = 0;

    for (const char *end; (end = strchr(text, '\n')); text = end + 1)
        n += *text == '(' ? strtoul(text + 1, NULL, 10) : 1;
    return n;
}

TEST(a_console_that_stands_still_keeps_nobody_waiting)
{
    enum { LINES = 400 }; /* more than the pipe and the buffer hold */
    static char text[1 << 20];
    char word[800];
    struct async_console *s;
    struct err err;
    int fd[2];

    memset(word, 'x', sizeof word);
    CHECK(pipe2(fd, O_CLOEXEC) == 0);
    CHECK_OK(async_console_open(&s, fd[1], &err), &err);
    const double t = clock_now();
    for (int i = 0; i < LINES; i++)
        async_console_say(s, "%d %.*s", i, (int)sizeof word, word);
    async_console_flush(s, 0.05);
    CHECK(clock_now() - t < 5);
    /* It is read again: what was kept comes, and how much was not, in one place or in
     * two, as the writer was fast. */
    for (size_t n = 0; count_lines(text) < LINES;) {
        const ssize_t got = read(fd[0], text + n, sizeof text - 1 - n);
        CHECK(got > 0);
        n += (size_t)got;
    }
    CHECK(strncmp(text, "0 xxx", 5) == 0);
    CHECK(count_lines(text) == LINES && strstr(text, " lines left out here)\n"));
    async_console_say(s, "after");
    async_console_close(s, 5);
    close(fd[1]);
    read_all(fd[0], text, sizeof text);
    CHECK_STR(text, "after\n");
    close(fd[0]);
}

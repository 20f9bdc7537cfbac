#include "base/progress.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "test.h"

/* A display whose output is collected. */
struct screen {
    char *text;
    size_t n;
    FILE *out;
    struct progress p;
};

static struct screen *open_screen(bool is_terminal)
{
    static struct screen s;

    s = (struct screen){0};
    s.out = open_memstream(&s.text, &s.n);
    s.p = progress_to(s.out);
    CHECK(!s.p.is_terminal);
    s.p.is_terminal = is_terminal;
    return &s;
}

static void close_screen(struct screen *s)
{
    fclose(s->out);
    free(s->text);
}

/* As if the last line had been shown long ago. */
static void make_due(struct progress *p)
{
    p->t_shown -= 1000;
}

TEST(a_zeroed_display_is_silent)
{
    struct progress p = {0};

    progress_begin(&p, "reading", "lines", 10);
    make_due(&p);
    CHECK(!progress_due(&p));
    progress_update(&p, 5);
    progress_line(&p, "x");
    progress_note(&p, "x");
    progress_end(&p, 10);
}

TEST(lines_in_a_file_are_plain_and_rare)
{
    struct screen *s = open_screen(false);

    progress_begin(&s->p, "reading", "lines", 100000);
    for (uint64_t i = 0; i < 50; i++)
        progress_update(&s->p, i); /* all within the first ten seconds */
    fflush(s->out);
    CHECK(s->n == 0);
    make_due(&s->p);
    s->p.t_start -= 10000; /* so many that the time of the test itself rounds away */
    progress_update(&s->p, 50000);
    progress_update(&s->p, 50001);
    CHECK(strstr(s->text, "reading    50000 lines  5.0 lines/s   50 %  ETA 2:46:4"));
    CHECK(strchr(s->text, '\n') == s->text + s->n - 1);
    progress_end(&s->p, 100000);
    CHECK(strstr(s->text, "\nreading    100000 lines  10.0 lines/s  in 2:46:4"));
    CHECK(!strchr(s->text, '\r') && !strchr(s->text, '\033'));
    close_screen(s);
}

TEST(an_unknown_total_shows_no_share)
{
    struct screen *s = open_screen(false);

    progress_begin(&s->p, "reading", "lines", 0);
    make_due(&s->p);
    s->p.t_start -= 10000;
    progress_update(&s->p, 50000);
    CHECK_STR(s->text, "reading    50000 lines  5.0 lines/s\n");
    close_screen(s);
}

TEST(a_terminal_line_is_redrawn_and_a_note_stays)
{
    struct screen *s = open_screen(true);

    progress_line(&s->p, "one");
    progress_line(&s->p, "two");
    CHECK_STR(s->text, "\rone\033[K\rtwo\033[K");
    CHECK(s->p.is_open);
    progress_note(&s->p, "done");
    CHECK_STR(s->text, "\rone\033[K\rtwo\033[K\rdone\033[K\n");
    progress_note(&s->p, "next");
    CHECK(strstr(s->text, "\nnext\n"));
    close_screen(s);
}

TEST(a_percent_sign_in_a_line_is_only_text)
{
    struct screen *s = open_screen(true);

    progress_line(&s->p, "50 %s %n");
    progress_note(&s->p, "100 %d");
    CHECK_STR(s->text, "\r50 %s %n\033[K\r100 %d\033[K\n");
    close_screen(s);
}

TEST(a_line_is_cut_to_the_width_of_a_real_terminal)
{
    const struct winsize size = {.ws_row = 24, .ws_col = 10};
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    char got[200] = "";

    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        test_skip("this container has no pseudo terminals");
    FILE *out = fopen(ptsname(master), "w");
    CHECK(out && ioctl(fileno(out), TIOCSWINSZ, &size) == 0);
    struct progress p = progress_to(out);
    CHECK(p.is_terminal);
    progress_line(&p, "\xC3\xA4"
                      "23456789\xC3\xA4"
                      "123");
    CHECK(read(master, got, sizeof got - 1) > 0);
    CHECK_STR(got, "\r\xC3\xA4"
                   "23456789\033[K");
    fclose(out);
    close(master);
}

TEST(durations_read_as_clock_times)
{
    char buf[24];

    CHECK_STR(progress_duration(buf, 0), "0:00");
    CHECK_STR(progress_duration(buf, 59.6), "1:00");
    CHECK_STR(progress_duration(buf, 245), "4:05");
    CHECK_STR(progress_duration(buf, 3723), "1:02:03");
    CHECK_STR(progress_duration(buf, 360000), "100:00:00");
    CHECK_STR(progress_duration(buf, -100), "0:00");
    CHECK_STR(progress_duration(buf, NAN), "0:00");
    CHECK_STR(progress_duration(buf, INFINITY), "0:00");
}

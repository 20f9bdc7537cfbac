#include "cli/terminal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

volatile sig_atomic_t terminal_is_over;

static volatile sig_atomic_t is_asked_to_stop; /* Ctrl-Z */
static struct termios before;
static bool is_entered;

static void note_end(int signal)
{
    (void)signal;
    terminal_is_over = 1;
}

static void note_stop(int signal)
{
    (void)signal;
    is_asked_to_stop = 1;
}

static void note_nothing(int signal)
{
    (void)signal; /* a changed window ends the wait for a key */
}

static void handle(int signal, void (*fn)(int))
{
    /* restart: a frame that waits in write() goes on; poll() ends all the same */
    struct sigaction a = {.sa_handler = fn, .sa_flags = SA_RESTART};

    sigemptyset(&a.sa_mask);
    sigaction(signal, &a, NULL);
}

void terminal_catch(void)
{
    handle(SIGINT, note_end);
    handle(SIGTERM, note_end);
    handle(SIGHUP, note_end);
}

static void say(const char *text)
{
    const ssize_t n = write(STDOUT_FILENO, text, strlen(text));

    (void)n; /* a terminal that is gone needs nothing */
}

static bool set_raw(void)
{
    struct termios raw = before;

    raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    return tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw) == 0;
}

status terminal_enter(struct err *err)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
        tcgetattr(STDIN_FILENO, &before) != 0 || !set_raw())
        return err_set(err, ERR_IO, "this is no terminal: %s", strerror(errno));
    is_entered = true;
    handle(SIGTSTP, note_stop);
    handle(SIGWINCH, note_nothing);
    say("\033[?1049h\033[?25l\033[2J");
    return OK;
}

void terminal_leave(void)
{
    if (!is_entered)
        return;
    is_entered = false;
    say("\033[0m\033[?25h\033[?1049l");
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    handle(SIGTSTP, SIG_DFL);
}

void terminal_size(size_t *columns, size_t *rows)
{
    struct winsize w;

    *columns = 80;
    *rows = 24;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0 || !w.ws_col || !w.ws_row)
        return;
    *columns = w.ws_col;
    *rows = w.ws_row;
}

void terminal_draw(const char *frame)
{
    fputs("\033[H", stdout);
    for (const char *at = frame; *at;) {
        const size_t n = strcspn(at, "\n");
        const bool is_last = at[n] == '\0' || at[n + 1] == '\0';
        fwrite(at, 1, n, stdout);
        fputs(is_last ? "\033[K" : "\033[K\r\n", stdout);
        at += n + (at[n] == '\n');
    }
    fputs("\033[J", stdout);
    fflush(stdout);
}

static void stop_for_a_while(void)
{
    struct err err;

    is_asked_to_stop = 0;
    terminal_leave();
    raise(SIGSTOP); /* until SIGCONT */
    if (terminal_enter(&err) != OK)
        terminal_is_over = 1;
}

int terminal_key(double seconds)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    char key;

    if (poll(&p, 1, (int)(1000 * seconds)) > 0) {
        const ssize_t n = read(STDIN_FILENO, &key, 1);
        if (n == 1)
            return key;
        if (n == 0 && (p.revents & POLLHUP))
            terminal_is_over = 1;
    }
    if (is_asked_to_stop)
        stop_for_a_while();
    return 0;
}

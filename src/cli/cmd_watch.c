#include <langinfo.h>
#include <locale.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/cmd.h"
#include "cli/terminal.h"
#include "report/judge/judgement.h"
#include "report/show/live.h"

/* kind, field, default, help, limits */
#define WATCH_OPTIONS(X)                                                       \
    X(REAL, every, "2", "seconds between updates", RANGE(0.2, 3600))           \
    X(BOOL, once, "false", "print the run's state once and exit", ANY)         \
    X(BOOL, http, "false", "serve a page that refreshes itself", ANY)          \
    X(INT, port, "6160", "port of the page; 0: any free one", RANGE(0, 65535)) \
    X(STR, bind, "", "address to serve the page on; empty: this machine only", ANY)

struct watch_options {
    WATCH_OPTIONS(OPT_FIELD)
};

OPT_TABLE(cmd_watch_options, struct watch_options, WATCH_OPTIONS);

static struct live_screen screen_of(bool is_terminal)
{
    struct live_screen s = {.has_color = is_terminal && !getenv("NO_COLOR")};

    setlocale(LC_CTYPE, ""); /* only to learn its character set */
    s.has_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    setlocale(LC_CTYPE, "C");
    terminal_size(&s.columns, &s.rows);
    return s;
}

static status make_frame(struct str *out, const char *run, struct runlog_follow *follow,
                         const struct live_screen *screen, struct err *err)
{
    struct judgement *t;

    TRY(mem_alloc(&t, 1, sizeof *t, err));
    status result = judgement_look(t, run, clock_wall(), follow, err);
    if (result == OK) {
        result = live_text(out, t, screen, err);
        judgement_close(t);
    }
    free(t);
    return result;
}

static status print_once(const char *run, struct err *err)
{
    const struct live_screen screen = screen_of(isatty(STDOUT_FILENO));
    struct str frame = str_new(0);

    const status result = make_frame(&frame, run, NULL, &screen, err);
    if (result == OK)
        fputs(str_text(&frame), stdout);
    str_release(&frame);
    return result;
}

/* Until q, a signal, or an error of reading the run. */
static status watch_terminal(const char *run, double every, struct err *err)
{
    struct runlog_follow follow = {.is_open = false};
    status result = OK;

    TRY(terminal_enter(err));
    while (result == OK && !terminal_is_over) {
        const struct live_screen screen = screen_of(true);
        struct str frame = str_new(0);
        result = make_frame(&frame, run, &follow, &screen, err);
        if (result == OK)
            terminal_draw(str_text(&frame));
        str_release(&frame);
        const int key = result == OK ? terminal_key(every) : 'q';
        if (key == 'q' || key == 'Q' || key == '\004')
            break;
    }
    terminal_leave();
    runlog_follow_close(&follow);
    return result;
}

static status watch_http(const char *run, const struct watch_options *o, struct err *err)
{
    struct live_http *server;

    TRY(live_http_open(&server, run, o->bind, (int)o->port, o->every, err));
    printf("http://%s:%d/\n", o->bind[0] ? o->bind : "127.0.0.1", live_http_port(server));
    fflush(stdout);
    const status result = live_http_serve(server, &terminal_is_over, err);
    live_http_close(server);
    return result;
}

status cmd_watch(int argc, char **argv, struct err *err)
{
    struct watch_options options;
    struct opt_words words = {.max = 1};

    TRY(opt_read(cmd_watch_options, &options, &words, argc, argv, err));
    if (words.n != 1)
        return err_set(err, ERR_USAGE, "give the run directory: ferry watch RUN");
    if (!options.http && (options.once || !isatty(STDOUT_FILENO)))
        return print_once(words.word[0], err);
    terminal_catch();
    if (options.http)
        return watch_http(words.word[0], &options, err);
    return watch_terminal(words.word[0], options.every, err);
}

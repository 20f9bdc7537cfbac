/*
 * live - a run as it stands now: a screen of text, a page, and a server of it.
 *
 * Both are made of the same judgement (judgement.h) as the report, so the three never
 * disagree. Text of others (names of hosts, messages) loses its control characters: a
 * hostile name cannot move the cursor.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct judgement;

struct live_screen {
    size_t columns, rows; /* 80 x 24 is enough */
    bool has_color, has_utf8;
};

/* At most `rows` lines, each at most `columns` wide and ended by "\n"; colours are
 * switched on and off within a line. */
status live_text(struct str *out, const struct judgement *t,
                 const struct live_screen *screen, struct err *err);

/* The same for a browser; `every` is said, not enforced. */
status live_page(struct str *out, const struct judgement *t, double every,
                 struct err *err);

/*
 * The page over HTTP, read-only: GET and HEAD of three fixed pages; every string on them
 * is escaped and the Content-Security-Policy allows nothing but our own style sheet.
 * Nothing of a request is ever used as a path, and one whose Host is none of our names is
 * refused (http/http.h, which also bounds what a client may cost). It reads the run's
 * files and knows no other process: it cannot disturb training.
 *
 * Owns: its server and the pages of a moment ago. Threads: one.
 */
struct live_http;

/* `address` "" is the loopback, IPv4 and IPv6; port 0 lets the system choose. */
status live_http_open(struct live_http **s, const char *run, const char *address,
                      int port, double every, struct err *err);
int live_http_port(const struct live_http *s);
/* Serve until *stop. If the run cannot be read, the browser is shown why and serving
 * continues. */
status live_http_serve(struct live_http *s, const volatile sig_atomic_t *stop,
                       struct err *err);
void live_http_close(struct live_http *s);

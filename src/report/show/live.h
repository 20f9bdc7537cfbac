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
 * is escaped and the Content-Security-Policy allows nothing but our own style sheet. A
 * connection has 8 KB and five seconds for its request and half a minute to take the
 * answer, and is then closed. A fixed number is served at once, without waiting for any
 * of them; one more than that takes the place of the one that was silent for longest. It
 * reads the run's files
 * and knows no other process: it cannot disturb training.
 *
 * Owns: its sockets and buffers. Threads: one.
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

/*
 * The head of an HTTP request, judged: which of our few pages it asks for, or the status
 * that refuses it. Nothing of a request is ever used as a path. A Host that is neither an
 * address nor one of our own names is refused: a page elsewhere whose name was made to
 * point here (DNS rebinding) reads nothing.
 */
enum { LIVE_REQUEST_MAX = 8192 };

enum live_route { LIVE_NOTHING, LIVE_NOW, LIVE_REPORT, LIVE_JSON };

struct live_request {
    int status; /* 200, or why not: 400, 403, 404, 405, 431, 505 */
    enum live_route route;
    bool is_head; /* HEAD: headers only */
};

/* True once the n bytes hold a whole head, or can never become a good one. `own_name` is
 * a name of this host that is accepted beside localhost and addresses; or NULL. */
bool live_request_read(struct live_request *r, const char *bytes, size_t n,
                       const char *own_name);

const char *live_request_reason(int code); /* "Not Found" */

/*
 * http - a server of HTTP/1.1 for few routes and many clients, over libmicrohttpd.
 *
 * One thread accepts, reads, parses and writes for all connections (epoll); it never
 * waits for one of them. A handler gets a whole request. It answers it at once, or holds
 * it, and any other thread answers it later, whole or as a stream of pieces. Nobody waits
 * meanwhile: the connection is suspended, and http_is_gone() tells when the client left,
 * so that work for it can be given up.
 *
 * What a client may cost is bounded: bytes of head and body, time for each of them and
 * for taking the answer, and the number of connections. In a full house the one that was
 * silent for longest makes room; a connection whose request is being worked on never
 * does. A request that two programs could read differently (two Content-Lengths, a length
 * and a transfer coding, blanks in the name of a header, not exactly one Host) is
 * refused, and its connection closed.
 *
 * Owns: sockets and buffers, and a request until it was answered. Threads: one opens,
 * runs and closes; handlers are called in http_run(). What another thread may call says
 * so.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/str.h"

struct http;
struct http_request;

struct http_limits {
    size_t connections; /* less where there are too few descriptors */
    size_t head_bytes, body_bytes;
    double t_head;   /* seconds for the head of a connection's first request */
    double t_idle;   /* between two requests, and for the head of the second */
    double t_body;   /* for the body */
    double t_answer; /* for taking the answer; of a stream, a piece of it */
};

/* What became of a request, when its answer left or its client did. */
struct http_done {
    const char *method, *path, *peer;
    unsigned status; /* 0: it had no answer */
    size_t n_bytes;  /* of the answer's body, as far as it was made */
    double seconds;  /* since its head was there */
};

struct http_options {
    const char *address; /* "" is the loopback, IPv4 and IPv6 */
    int port;            /* 0 lets the system choose */
    struct http_limits limits;
    bool is_closing; /* one request a connection */
    void (*handle)(void *ctx, struct http_request *r);
    /* Answer at once a request that is refused with this status. */
    void (*refuse)(void *ctx, struct http_request *r, unsigned status);
    void (*tick)(void *ctx); /* a few times a second; or NULL */
    void (*done)(void *ctx, const struct http_done *d); /* or NULL */
    void *ctx;
};

status http_open(struct http **h, const struct http_options *o, struct err *err);
int http_port(const struct http *h);

/*
 * Serve until *stop. Then no connection is accepted any more and no silent one kept, and
 * requests that came are answered, for at most t_grace seconds. Returns when the last
 * one is, or with ERR_LOST when time ran out; what is held then must be answered before
 * http_close().
 */
status http_run(struct http *h, const volatile sig_atomic_t *stop, double t_grace,
                struct err *err);
void http_close(struct http *h);

/* How many connections there are, and requests that are not answered yet. */
struct http_load {
    size_t n_connections, n_requests;
};
struct http_load http_load(const struct http *h);

/* ---- a request: for its handler, in its thread ---- */

const char *http_method(const struct http_request *r);
const char *http_path(const struct http_request *r); /* unescaped, without the query */
/* The value of a header or of a query's field; NULL when there is none. */
const char *http_header(const struct http_request *r, const char *name);
const char *http_query(const struct http_request *r, const char *name);
struct line http_body(const struct http_request *r);
/* The address of the client, without its port. */
const char *http_peer(const struct http_request *r);

/* Every field of a form in the body, urlencoded or multipart, in order; its value is
 * whole. ERR_FORMAT when the body is none. */
typedef void http_field(void *ctx, const char *name, struct line value);
status http_form(const struct http_request *r, http_field *take, void *ctx,
                 struct err *err);

/* ---- its answer ---- */

struct http_header {
    const char *name, *value;
};

enum { HTTP_HEADERS = 12 };

struct http_answer {
    unsigned status;
    const char *type; /* NULL: without Content-Type */
    struct http_header header[HTTP_HEADERS];
    size_t n_headers;
    struct str body; /* taken over */
};

void http_add_header(struct http_answer *a, const char *name, const char *value);

/* The request will be answered later, and maybe by another thread. */
void http_hold(struct http_request *r);

/* Answer it: in its handler, or any thread for one that is held. It is gone then. The
 * body is released either way. */
void http_answer(struct http_request *r, struct http_answer *a);

/* Answer a held request piece by piece, any one thread at a time: begin (the answer's
 * body is the first piece), any number of sends, and end, after which it is gone. */
void http_stream_begin(struct http_request *r, struct http_answer *a);
void http_stream_send(struct http_request *r, const char *bytes, size_t n);
void http_stream_end(struct http_request *r);

/* Whether the client left while its request was held; any thread. */
bool http_is_gone(const struct http_request *r);

/* "Not Found" */
const char *http_reason(unsigned code);

/* Whether a Host header names an address, localhost or `own_name`: a page elsewhere whose
 * name was made to point here (DNS rebinding) does not. */
bool http_host_is_own(const char *host, const char *own_name);

/* http_parts - what the files of this room know of each other. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "http/http.h"
#include "http/mhd_library.h"

enum { HTTP_LISTENERS = 2, HTTP_PEER = 64 };

enum http_phase {
    HTTP_WAITING,  /* for the head of a request */
    HTTP_READING,  /* its body */
    HTTP_WORKING,  /* on its answer */
    HTTP_ANSWERING /* sending that */
};

/* A connection, known to the loop's thread alone. */
struct http_conn {
    struct http_conn *next, *prev;
    int fd;
    enum http_phase phase;
    bool is_shut;
    double t_heard;  /* when something last happened */
    double deadline; /* until the next thing must have happened */
};

/* The pieces of a stream that wait for being sent. */
struct http_stream {
    struct str pending;
    size_t n_sent;
    bool is_on, is_over;
    bool is_waiting; /* the connection is suspended until there are more */
};

struct http_request {
    struct http *http;
    const struct mhd_library *mhd; /* which is there when http is no more */
    struct http_conn *conn;
    const char *method, *path;
    char peer[HTTP_PEER];
    struct str body;
    size_t n_body; /* bytes that came, kept or not */
    unsigned refusal;
    double t_begin;
    unsigned status;
    size_t n_answer;
    struct MHD_Response *response;
    bool is_handled, is_held;
    bool is_watched; /* its socket is, for the client's leaving */
    bool is_closing; /* no other request follows on its connection */
    atomic_bool is_gone;
    /* Guards what follows: a held request belongs to two threads. */
    pthread_mutex_t mutex;
    struct MHD_Connection *connection; /* NULL: it has ended */
    struct http_stream stream;
    int n_users;
};

struct http {
    struct http_options options;
    const struct mhd_library *mhd;
    int listener[HTTP_LISTENERS];
    size_t n_listeners;
    int port;
    int absent_fd; /* an epoll of the sockets whose requests are held */
    int wake_fd;   /* an eventfd: a connection was resumed, which the library, without a
                      listening socket of its own, does not tell by daemon_fd */
    struct MHD_Daemon *daemon;
    int daemon_fd;
    bool is_stopping;
    struct http_conn *conns;
    size_t n_conns; /* that are not shut */
    _Atomic size_t n_shown, n_requests;
    double t_tick;
};

/* http.c: wait for something to happen, at most for a moment, and let it happen. */
status http_turn(struct http *h, struct err *err);
/* Resume a connection, in any thread. */
void http_resume(struct http *h, struct MHD_Connection *connection);

/* http_listen.c */
status http_listen(struct http *h, struct err *err);
void http_deafen(struct http *h);

/* http_conn.c: connections and their time */
void http_conn_accept(struct http *h, int listener);
void http_conn_notify(void *cls, struct MHD_Connection *connection, void **context,
                      enum MHD_ConnectionNotificationCode what);
void http_conn_enter(struct http_conn *c, enum http_phase phase,
                     const struct http_limits *limits);
/* End those whose time is over; when stopping, also those that are silent. */
void http_conn_sweep(struct http *h);
/* Watch the socket for its client's leaving, or no longer. */
void http_conn_watch(struct http_request *r, bool is_watched);
void http_conn_leave(struct http *h);

/* http_request.c */
enum MHD_Result http_request_step(void *cls, struct MHD_Connection *connection,
                                  const char *url, const char *method,
                                  const char *version, const char *upload,
                                  size_t *n_upload, void **context);
void http_request_done(void *cls, struct MHD_Connection *connection, void **context,
                       enum MHD_RequestTerminationCode code);

#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "http/http_parts.h"

/* ---- what it says ---- */

const char *http_method(const struct http_request *r)
{
    return r->method;
}

const char *http_path(const struct http_request *r)
{
    return r->path;
}

const char *http_header(const struct http_request *r, const char *name)
{
    return r->mhd->lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

const char *http_query(const struct http_request *r, const char *name)
{
    return r->mhd->lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, name);
}

struct line http_body(const struct http_request *r)
{
    return (struct line){str_text(&r->body), r->body.len};
}

const char *http_peer(const struct http_request *r)
{
    return r->peer;
}

/* ---- forms ---- */

struct form {
    http_field *take;
    void *ctx;
    char name[64];
    bool has_field;
    struct str value;
};

static void end_field(struct form *f)
{
    if (f->has_field)
        f->take(f->ctx, f->name, (struct line){str_text(&f->value), f->value.len});
    str_reset(&f->value);
    f->has_field = false;
}

/* A value comes in pieces; one that begins anew is another field. */
static enum MHD_Result take_piece(void *cls, enum MHD_ValueKind kind, const char *key,
                                  const char *file, const char *type, const char *coding,
                                  const char *data, uint64_t at, size_t n)
{
    struct form *f = cls;

    (void)kind, (void)file, (void)type, (void)coding;
    if (at == 0) {
        end_field(f);
        f->has_field = key && strlen(key) < sizeof f->name;
        if (f->has_field)
            memcpy(f->name, key, strlen(key) + 1);
    }
    str_add(&f->value, data, n);
    return MHD_YES;
}

status http_form(const struct http_request *r, http_field *take, void *ctx,
                 struct err *err)
{
    enum { BUFFER = 4096 };
    struct form f = {.take = take, .ctx = ctx, .value = str_new(r->body.len + 1)};
    struct MHD_PostProcessor *p =
        r->mhd->create_post_processor(r->connection, BUFFER, take_piece, &f);

    if (!p)
        return err_set(err, ERR_FORMAT, "the body is no form");
    bool is_good = !r->body.len || r->mhd->post_process(p, r->body.data, r->body.len);
    is_good = r->mhd->destroy_post_processor(p) && is_good;
    if (is_good)
        end_field(&f);
    str_release(&f.value);
    return is_good ? OK : err_set(err, ERR_FORMAT, "the body is not a whole form");
}

/* ---- whether it may be read ---- */

struct headers {
    size_t n_lengths, n_codings, n_hosts;
    bool is_odd;
};

/* A name of other characters than these is read differently by different programs. */
static bool is_token(const char *name)
{
    return name[0] && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789!#$%&'*+-.^_`|~") == strlen(name);
}

/* A line end that is half there, or another control character, ends a value for some. */
static bool is_plain(const char *value)
{
    for (; *value; value++)
        if (((unsigned char)*value < ' ' && *value != '\t') || *value == 0x7f)
            return false;
    return true;
}

/* A line that goes on in the next one, as in HTTP of old, is one value for some programs.
 * The library appends the rest to the name instead, so that a length would be missed. */
static bool goes_on(const char *name, const char *what)
{
    const size_t n = strlen(what);

    return strncasecmp(name, what, n) == 0 && name[n];
}

static enum MHD_Result count_header(void *cls, enum MHD_ValueKind kind, const char *key,
                                    const char *value)
{
    struct headers *h = cls;

    (void)kind;
    h->is_odd |= !is_token(key) || (value && !is_plain(value)) ||
                 goes_on(key, "content-length") || goes_on(key, "transfer-encoding");
    if (strcasecmp(key, "content-length") == 0) {
        h->n_lengths++;
        h->is_odd |= !value || !value[0] || strspn(value, "0123456789") != strlen(value);
    } else if (strcasecmp(key, "transfer-encoding") == 0) {
        h->n_codings++;
        h->is_odd |= !value || strcasecmp(value, "chunked") != 0;
    } else if (strcasecmp(key, "host") == 0) {
        h->n_hosts++;
    }
    return MHD_YES;
}

/* 0: it may be. */
static unsigned judge_head(const struct http_request *r, const char *version)
{
    struct headers h = {0};

    r->mhd->get_connection_values(r->connection, MHD_HEADER_KIND, count_header, &h);
    const bool is_old = strcmp(version, "HTTP/1.0") == 0; /* no Host yet, no codings */
    if (h.is_odd || h.n_lengths + h.n_codings > 1 || h.n_hosts > 1 ||
        (is_old ? h.n_codings : h.n_hosts == 0))
        return 400;
    const char *length = http_header(r, "Content-Length");
    if (length && (strlen(length) > 15 ||
                   strtoull(length, NULL, 10) > r->http->options.limits.body_bytes))
        return 413;
    return 0;
}

/* So much of a body that is too large is read all the same, because a client that is
 * still sending does not see an answer. */
static size_t discard_max(const struct http_request *r)
{
    return 4 * r->http->options.limits.body_bytes + (1 << 20);
}

static bool is_endless(const struct http_request *r)
{
    const char *length = http_header(r, "Content-Length");

    return length && (strlen(length) > 15 || strtoull(length, NULL, 10) > discard_max(r));
}

/* ---- its life ---- */

static void drop(struct http_request *r)
{
    pthread_mutex_lock(&r->mutex);
    const int n_users = --r->n_users;
    pthread_mutex_unlock(&r->mutex);
    if (n_users)
        return;
    pthread_mutex_destroy(&r->mutex);
    if (r->response)
        r->mhd->destroy_response(r->response);
    str_release(&r->body);
    str_release(&r->stream.pending);
    free(r);
}

static void find_peer(struct http_request *r)
{
    const union MHD_ConnectionInfo *info =
        r->mhd->get_connection_info(r->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

    if (info && info->client_addr)
        (void)getnameinfo(info->client_addr,
                          info->client_addr->sa_family == AF_INET6
                              ? sizeof(struct sockaddr_in6)
                              : sizeof(struct sockaddr_in),
                          r->peer, sizeof r->peer, NULL, 0, NI_NUMERICHOST);
}

static struct http_request *begin(struct http *h, struct MHD_Connection *connection,
                                  const char *url, const char *method)
{
    const union MHD_ConnectionInfo *info =
        h->mhd->get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct http_request *r = calloc(1, sizeof *r);

    if (!r || !info || !info->socket_context) {
        free(r);
        return NULL;
    }
    r->http = h;
    r->mhd = h->mhd;
    r->conn = info->socket_context;
    r->connection = connection;
    r->method = method;
    r->path = url;
    r->n_users = 1;
    r->t_begin = clock_now();
    r->body = str_new(h->options.limits.body_bytes + 1);
    r->stream.pending = str_new(0);
    pthread_mutex_init(&r->mutex, NULL);
    find_peer(r);
    http_conn_enter(r->conn, HTTP_READING, &h->options.limits);
    atomic_fetch_add(&h->n_requests, 1);
    return r;
}

void http_request_done(void *cls, struct MHD_Connection *connection, void **context,
                       enum MHD_RequestTerminationCode code)
{
    struct http *h = cls;
    struct http_request *r = *context;

    (void)connection, (void)code;
    if (!r)
        return;
    *context = NULL;
    atomic_fetch_sub(&h->n_requests, 1);
    http_conn_watch(r, false);
    http_conn_enter(r->conn, HTTP_WAITING, &h->options.limits);
    atomic_store(&r->is_gone, true);
    if (h->options.done)
        h->options.done(h->options.ctx,
                        &(struct http_done){.method = r->method,
                                            .path = r->path,
                                            .peer = r->peer,
                                            .status = r->status,
                                            .n_bytes = r->n_answer,
                                            .seconds = clock_now() - r->t_begin});
    pthread_mutex_lock(&r->mutex);
    r->connection = NULL;
    pthread_mutex_unlock(&r->mutex);
    drop(r);
}

/* ---- its answer ---- */

void http_add_header(struct http_answer *a, const char *name, const char *value)
{
    BUG_ON(a->n_headers >= HTTP_HEADERS);
    a->header[a->n_headers++] = (struct http_header){name, value};
}

void http_hold(struct http_request *r)
{
    r->is_held = true;
    r->n_users++;
    http_conn_enter(r->conn, HTTP_WORKING, &r->http->options.limits);
    http_conn_watch(r, true);
    r->mhd->suspend_connection(r->connection);
}

static void add_headers(const struct http_request *r, struct MHD_Response *response,
                        const struct http_answer *a)
{
    if (a->type)
        (void)r->mhd->add_response_header(response, "Content-Type", a->type);
    for (size_t i = 0; i < a->n_headers; i++)
        (void)r->mhd->add_response_header(response, a->header[i].name,
                                          a->header[i].value);
}

/* Without memory for an answer the connection is closed. */
static void give(struct http_request *r, struct MHD_Response *response, unsigned code)
{
    pthread_mutex_lock(&r->mutex);
    r->response = response;
    r->status = code;
    if (r->is_held && r->connection)
        http_resume(r->http, r->connection);
    pthread_mutex_unlock(&r->mutex);
}

void http_answer(struct http_request *r, struct http_answer *a)
{
    static char nothing[] = "";
    const bool is_held = r->is_held, is_empty = !a->body.len;
    struct MHD_Response *response = r->mhd->create_response_from_buffer(
        a->body.len, is_empty ? nothing : a->body.data,
        is_empty ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_FREE);

    r->n_answer = a->body.len;
    if (response && !is_empty)
        a->body.data = NULL; /* the library's now */
    str_release(&a->body);
    if (response)
        add_headers(r, response, a);
    give(r, response, a->status);
    if (is_held)
        drop(r);
}

/* The next bytes of a stream. Without any, the connection is suspended until there are.
 */
static ssize_t read_stream(void *cls, uint64_t at, char *out, size_t n_max)
{
    struct http_request *r = cls;
    struct http_stream *s = &r->stream;
    ssize_t result = 0;

    (void)at;
    pthread_mutex_lock(&r->mutex);
    const size_t n =
        s->pending.len - s->n_sent < n_max ? s->pending.len - s->n_sent : n_max;
    http_conn_watch(r, false);
    http_conn_enter(r->conn, HTTP_ANSWERING, &r->http->options.limits);
    if (s->pending.bad) {
        result = MHD_CONTENT_READER_END_WITH_ERROR;
    } else if (n) {
        memcpy(out, s->pending.data + s->n_sent, n);
        s->n_sent += n;
        r->n_answer += n;
        result = (ssize_t)n;
    } else if (s->is_over) {
        result = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        s->is_waiting = true;
        str_reset(&s->pending);
        s->n_sent = 0;
        http_conn_enter(r->conn, HTTP_WORKING, &r->http->options.limits);
        http_conn_watch(r, true);
        r->mhd->suspend_connection(r->connection);
    }
    pthread_mutex_unlock(&r->mutex);
    return result;
}

void http_stream_begin(struct http_request *r, struct http_answer *a)
{
    enum { PIECE = 4096 };
    struct MHD_Response *response = r->mhd->create_response_from_callback(
        MHD_SIZE_UNKNOWN, PIECE, read_stream, r, NULL);

    if (response)
        add_headers(r, response, a);
    str_release(&r->stream.pending);
    r->stream.pending = a->body;
    a->body = str_new(0);
    give(r, response, a->status);
}

static void wake(struct http_request *r)
{
    if (r->stream.is_waiting && r->connection)
        http_resume(r->http, r->connection);
    r->stream.is_waiting = false;
}

void http_stream_send(struct http_request *r, const char *bytes, size_t n)
{
    pthread_mutex_lock(&r->mutex);
    str_add(&r->stream.pending, bytes, n);
    wake(r);
    pthread_mutex_unlock(&r->mutex);
}

void http_stream_end(struct http_request *r)
{
    pthread_mutex_lock(&r->mutex);
    r->stream.is_over = true;
    wake(r);
    pthread_mutex_unlock(&r->mutex);
    drop(r);
}

bool http_is_gone(const struct http_request *r)
{
    return atomic_load(&r->is_gone);
}

/* ---- step by step ---- */

static enum MHD_Result send_answer(struct http_request *r)
{
    struct http *h = r->http;

    http_conn_watch(r, false);
    if (!r->response)
        return MHD_NO;
    if (r->is_closing || h->is_stopping || h->options.is_closing)
        (void)r->mhd->add_response_header(r->response, "Connection", "close");
    http_conn_enter(r->conn, HTTP_ANSWERING, &h->options.limits);
    const enum MHD_Result result =
        r->mhd->queue_response(r->connection, r->status, r->response);
    r->mhd->destroy_response(r->response);
    r->response = NULL;
    return result;
}

static enum MHD_Result refuse(struct http_request *r)
{
    r->is_handled = true;
    r->is_closing = true;
    r->http->options.refuse(r->http->options.ctx, r, r->refusal);
    return send_answer(r);
}

static enum MHD_Result take_body(struct http_request *r, const char *bytes, size_t *n)
{
    r->n_body += *n;
    if (r->n_body > r->http->options.limits.body_bytes && !r->refusal)
        r->refusal = 413;
    if (!r->refusal)
        str_add(&r->body, bytes, *n);
    if (r->body.bad)
        r->refusal = 503;
    *n = 0;
    return r->n_body > discard_max(r) ? MHD_NO : MHD_YES;
}

enum MHD_Result http_request_step(void *cls, struct MHD_Connection *connection,
                                  const char *url, const char *method,
                                  const char *version, const char *upload,
                                  size_t *n_upload, void **context)
{
    struct http *h = cls;
    struct http_request *r = *context;

    if (!r) { /* the head is there */
        r = begin(h, connection, url, method);
        *context = r;
        if (!r)
            return MHD_NO;
        r->refusal = judge_head(r, version);
        const bool is_final = r->refusal && (r->refusal != 413 || is_endless(r));
        return is_final ? refuse(r) : MHD_YES;
    }
    if (*n_upload)
        return take_body(r, upload, n_upload);
    if (r->is_handled)
        return send_answer(r);
    if (r->refusal)
        return refuse(r);
    r->is_handled = true;
    http_conn_enter(r->conn, HTTP_ANSWERING, &h->options.limits);
    h->options.handle(h->options.ctx, r);
    return r->is_held ? MHD_YES : send_answer(r);
}

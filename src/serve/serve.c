#include "serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/pool.h"
#include "base/utf8.h"
#include "serve/api.h"

OPT_TABLE(serve_options, struct serve_config, SERVE_OPTIONS);

/* ---- answers ---- */

struct http_answer serve_answer(unsigned code)
{
    struct http_answer a = {.status = code, .body = str_new(0)};

    http_add_header(&a, "Access-Control-Allow-Origin", "*");
    http_add_header(&a, "Access-Control-Allow-Headers", "Authorization, Content-Type");
    http_add_header(&a, "Access-Control-Expose-Headers", "Authorization");
    http_add_header(&a, "Access-Control-Allow-Methods", "GET, POST");
    http_add_header(&a, "Access-Control-Allow-Credentials", "true");
    http_add_header(&a, "Access-Control-Max-Age", "1728000");
    http_add_header(&a, "X-Content-Type-Options", "nosniff");
    return a;
}

struct http_answer serve_json(unsigned code, json_t *value)
{
    char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;
    struct http_answer a = serve_answer(text ? code : 503);

    a.type = "application/json";
    str_puts(&a.body, text ? text : "{\"error\":\"The server is out of memory.\"}");
    str_putc(&a.body, '\n');
    free(text);
    json_decref(value);
    return a;
}

void serve_refuse(struct http_request *r, unsigned code, const char *fmt, ...)
{
    json_t *value = json_object();
    char text[1200];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    json_object_set_new(value, "error", serve_text((struct line){text, strlen(text)}));
    struct http_answer a = serve_json(code, value);
    if (code == 503)
        http_add_header(&a, "Retry-After", "1");
    http_answer(r, &a);
}

json_t *serve_text(struct line text)
{
    json_t *value = json_stringn(text.text, text.n_bytes);

    if (value && !memchr(text.text, '\0', text.n_bytes))
        return value;
    json_decref(value);
    struct str mended = str_new(0);
    for (size_t i = 0; i < text.n_bytes;) {
        const size_t n = strnlen(text.text + i, text.n_bytes - i);
        utf8_mend(&mended, text.text + i, n);
        i += n;
        if (i < text.n_bytes) {
            str_puts(&mended, "\xEF\xBF\xBD");
            i++;
        }
    }
    value = json_stringn(str_text(&mended), mended.len);
    str_release(&mended);
    return value;
}

static void refuse(void *ctx, struct http_request *r, unsigned code)
{
    (void)ctx;
    serve_refuse(r, code, "%s", http_reason(code));
}

/* ---- what an operator sees ---- */

static void say(void *ctx, const char *text)
{
    struct server *s = ctx;

    fprintf(s->console, "%s\n", text);
    fflush(s->console);
}

/* Whether a line can be written without waiting: standard output may be a pipe, and to
 * make it one that does not wait is not ours, since others may have it too. */
static bool has_room(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};

    return poll(&p, 1, 0) == 1 && p.revents & POLLOUT;
}

/* One line, in one write; what the file does not take is counted and lost. */
static void log_request(struct server *s, const struct http_done *d)
{
    const time_t now = (time_t)clock_wall();
    char when[32], method[32], path[128], line[512];
    struct tm tm;

    if (s->log_fd < 0)
        return;
    gmtime_r(&now, &tm);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
    utf8_spell(method, sizeof method, d->method); /* the client's word, as the path is */
    utf8_spell(path, sizeof path, d->path);
    const int n = snprintf(line, sizeof line, "%s %s %s %s %u %zu %.3f\n", when, d->peer,
                           method, path, d->status, d->n_bytes, d->seconds);
    if (n < 0 || !has_room(s->log_fd) || write(s->log_fd, line, (size_t)n) != n)
        s->metrics.n_log_lost++;
}

static void done(void *ctx, const struct http_done *d)
{
    struct server *s = ctx;

    metrics_request(&s->metrics, api_route_number(d->method, d->path), d->status);
    log_request(s, d);
}

static void tick(void *ctx)
{
    struct server *s = ctx;

    work_tick(s->work);
}

static bool is_loopback(const char *host)
{
    return !host[0] || strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

static size_t threads_of_a_model(const struct serve_config *c)
{
    return c->threads ? (size_t)c->threads : pool_cores();
}

static void greet(struct server *s)
{
    const char *host = s->config.host[0] ? s->config.host : "127.0.0.1";
    const bool is_v6 = strchr(host, ':');
    struct models_facts f;
    char text[2 * FILE_PATH_MAX + 128];

    for (size_t i = 0; models_facts(s->models, i, &f); i++) {
        snprintf(text, sizeof text, "%s to %s: %s%s%s", f.source, f.target, f.path,
                 f.terms[0] ? " with " : "", f.terms);
        say(s, text);
        if (f.note[0])
            say(s, f.note);
    }
    if (pool_crowded(text, 1, threads_of_a_model(&s->config)))
        say(s, text);
    if (!is_loopback(host))
        say(s, keys_are_needed(s->keys)
                   ? "warning: others can reach this server; without TLS in front of it "
                     "they and their API keys can be overheard"
                   : "warning: anyone who can reach this machine can use this server; "
                     "give keys=FILE, or host=127.0.0.1 and a proxy in front of it");
    snprintf(text, sizeof text, is_v6 ? "http://[%s]:%d/" : "http://%s:%d/", host,
             http_port(s->http));
    say(s, text);
}

/* ---- newer model files ---- */

struct looker {
    struct server *server;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t is_due;
    bool is_running, is_over;
};

static void wait_for_look(struct looker *l)
{
    struct timespec until;
    const double seconds = l->server->config.reload;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    (void)pthread_cond_timedwait(&l->is_due, &l->mutex, &until);
}

static void *look(void *arg)
{
    struct looker *l = arg;

    pthread_mutex_lock(&l->mutex);
    while (!l->is_over) {
        wait_for_look(l);
        pthread_mutex_unlock(&l->mutex);
        models_look(l->server->models, say, l->server);
        pthread_mutex_lock(&l->mutex);
    }
    pthread_mutex_unlock(&l->mutex);
    return NULL;
}

static status begin_looking(struct looker *l, struct err *err)
{
    pthread_mutex_init(&l->mutex, NULL);
    pthread_cond_init(&l->is_due, NULL);
    if (l->server->config.reload <= 0)
        return OK;
    TRY(os_thread(&l->thread, look, l, err));
    l->is_running = true;
    return OK;
}

static void end_looking(struct looker *l)
{
    if (l->is_running) {
        pthread_mutex_lock(&l->mutex);
        l->is_over = true;
        pthread_cond_signal(&l->is_due);
        pthread_mutex_unlock(&l->mutex);
        pthread_join(l->thread, NULL);
    }
    pthread_cond_destroy(&l->is_due);
    pthread_mutex_destroy(&l->mutex);
}

/* ---- a server ---- */

static status open_log(struct server *s, struct err *err)
{
    const char *path = s->config.access_log;

    s->log_fd = -1;
    if (!path[0])
        return OK;
    s->log_fd =
        strcmp(path, "-") == 0
            ? dup(STDOUT_FILENO)
            : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0640);
    return s->log_fd < 0 ? file_error(err, path) : OK;
}

static status open_models(struct server *s, const char *const *words, size_t n,
                          struct err *err)
{
    const struct serve_config *c = &s->config;
    struct translators_options o = {.n_threads = threads_of_a_model(c),
                                    .n_seats = (size_t)c->requests,
                                    .has_shortlist = c->shortlist};

    TRY(opt_defaults(translate_config_table, &o.search, err));
    o.search.beam = c->beam;
    o.search.max_length = c->max_length;
    return models_open(&s->models, words, n, c->glossary, &o, err);
}

static status open_http(struct server *s, struct err *err)
{
    const struct serve_config *c = &s->config;
    const struct http_options o = {.address = c->host,
                                   .port = (int)c->port,
                                   .limits = {.connections = (size_t)c->connections,
                                              .head_bytes = 16384,
                                              .body_bytes = (size_t)c->body_limit,
                                              .t_head = 10,
                                              .t_idle = 60,
                                              .t_body = 60,
                                              .t_answer = 60},
                                   .handle = api_handle,
                                   .refuse = refuse,
                                   .tick = tick,
                                   .done = done,
                                   .ctx = s};

    return http_open(&s->http, &o, err);
}

static status open_server(struct server *s, const char *const *words, size_t n,
                          struct err *err)
{
    const struct serve_config *c = &s->config;
    const struct work_options work = {.n_seats = (size_t)c->requests,
                                      .n_queue = (size_t)c->queue,
                                      .run = job_run,
                                      .is_over = job_is_over,
                                      .end = job_end};
    const struct keys_options keys = {c->keys, c->anonymous, c->per_minute};

    TRY(open_log(s, err));
    TRY(keys_open(&s->keys, &keys, err));
    TRY(open_models(s, words, n, err));
    TRY(work_open(&s->work, &work, err));
    return open_http(s, err);
}

/* Nothing is held any more when the threads have ended, so the sockets may go. */
static void close_server(struct server *s)
{
    work_close(s->work);
    http_close(s->http);
    models_close(s->models);
    keys_close(s->keys);
    if (s->log_fd >= 0)
        close(s->log_fd);
}

static status check(const struct serve_config *c, struct err *err)
{
    if (c->anonymous && !c->keys[0])
        return err_set(err, ERR_USAGE,
                       "anonymous is for a server with keys; give "
                       "keys=FILE too, or leave it out");
    return OK;
}

/* Time is over: whoever still waits is told so. */
static void give_up(struct server *s, const volatile sig_atomic_t *stop)
{
    struct err ignored;

    work_cancel(s->work);
    (void)http_run(s->http, stop, 1, &ignored);
}

status serve_run(const struct serve_config *c, const char *const *models, size_t n,
                 FILE *console, const volatile sig_atomic_t *stop, struct err *err)
{
    struct server *s;
    struct looker looker = {0};

    TRY(check(c, err));
    TRY(mem_alloc(&s, 1, sizeof *s, err));
    s->config = *c;
    if (s->config.alternatives_limit >= c->beam)
        s->config.alternatives_limit = c->beam - 1; /* a beam has no more */
    s->console = console;
    s->log_fd = -1;
    looker.server = s;
    status result = open_server(s, models, n, err);
    if (result == OK) {
        result = begin_looking(&looker, err);
        if (result == OK) {
            greet(s);
            result = http_run(s->http, stop, c->grace, err);
        }
        if (result == ERR_LOST)
            give_up(s, stop);
        end_looking(&looker);
    }
    close_server(s);
    free(s);
    return result;
}

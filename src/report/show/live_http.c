#include "report/show/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/str.h"
#include "format/sha256.h"
#include "http/http.h"
#include "page/page.h"
#include "report/judge/judgement.h"
#include "report/show/report.h"

enum { PAGE_MAX = 1 << 28 };

enum live_route { LIVE_NOW, LIVE_REPORT, LIVE_JSON, ROUTES };

static const char *const paths[ROUTES] = {"/", "/report", "/status.json"};

/* A page made a moment ago serves whoever asks next. */
struct cached {
    struct str text;
    double made;
    unsigned status;
};

struct live_http {
    char run[FILE_PATH_MAX];
    char own_name[256];
    char policy[256]; /* the Content-Security-Policy */
    char refresh[32];
    double every;
    struct http *http;
    struct runlog_follow follow;
    struct cached cached[ROUTES];
};

/* ---- pages ---- */

static void base64(char *out, const unsigned char *in, size_t n)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < n; i += 3) {
        const unsigned a = in[i], b = i + 1 < n ? in[i + 1] : 0u,
                       c = i + 2 < n ? in[i + 2] : 0u;
        *out++ = letters[a >> 2];
        *out++ = letters[(a & 3) << 4 | b >> 4];
        *out++ = i + 1 < n ? letters[(b & 15) << 2 | c >> 6] : '=';
        *out++ = i + 2 < n ? letters[c & 63] : '=';
    }
    *out = '\0';
}

/* The style sheet is allowed by its hash, so that no other can be smuggled in. */
static void make_policy(struct live_http *s)
{
    unsigned char hash[SHA256_BYTES];
    char text[64];
    struct sha256 h;

    sha256_init(&h);
    sha256_add(&h, "\n", 1);
    sha256_add(&h, page_style, strlen(page_style));
    sha256_end(&h, hash);
    base64(text, hash, sizeof hash);
    snprintf(s->policy, sizeof s->policy,
             "default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; "
             "form-action 'none'; frame-ancestors 'none'",
             text);
}

static status render(struct live_http *s, enum live_route route, struct str *out,
                     struct err *err)
{
    struct judgement *t;

    TRY(mem_alloc(&t, 1, sizeof *t, err));
    status result = judgement_look(t, s->run, clock_wall(), &s->follow, err);
    if (result == OK) {
        if (route == LIVE_JSON)
            result = report_text_json(out, t, 1, err);
        else if (route == LIVE_REPORT)
            result = report_page_write(out, t, err);
        else
            result = live_page(out, t, s->every, err);
        judgement_close(t);
    }
    free(t);
    return result;
}

static void make_page(struct live_http *s, enum live_route route)
{
    struct cached *c = &s->cached[route];
    struct err err;

    if (c->status && clock_now() - c->made < 1)
        return;
    str_release(&c->text);
    c->text = str_new(PAGE_MAX);
    c->status = 200;
    if (render(s, route, &c->text, &err) != OK) {
        c->status = 500;
        str_release(&c->text);
        c->text = str_new(PAGE_MAX);
        page_begin(&c->text, "No report");
        page_tag(&c->text, "p", NULL, err.msg);
        page_end(&c->text);
    }
    c->made = clock_now();
}

/* ---- answers ---- */

static struct http_answer answer_of(const struct live_http *s, unsigned code)
{
    struct http_answer a = {
        .status = code, .type = "text/plain; charset=utf-8", .body = str_new(PAGE_MAX)};

    http_add_header(&a, "Cache-Control", "no-store");
    http_add_header(&a, "Content-Security-Policy", s->policy);
    http_add_header(&a, "X-Content-Type-Options", "nosniff");
    http_add_header(&a, "Referrer-Policy", "no-referrer");
    if (code == 405)
        http_add_header(&a, "Allow", "GET, HEAD");
    return a;
}

static void refuse(void *ctx, struct http_request *r, unsigned code)
{
    struct http_answer a = answer_of(ctx, code);

    str_printf(&a.body, "%s\n", http_reason(code));
    http_answer(r, &a);
}

static void show(struct live_http *s, struct http_request *r, enum live_route route)
{
    make_page(s, route);
    const struct cached *page = &s->cached[route];
    struct http_answer a = answer_of(s, page->status);
    const bool is_json = route == LIVE_JSON && page->status == 200;

    a.type = is_json ? "application/json; charset=utf-8" : "text/html; charset=utf-8";
    if (route == LIVE_NOW)
        http_add_header(&a, "Refresh", s->refresh);
    str_add(&a.body, page->text.data, page->text.len);
    http_answer(r, &a);
}

static void handle(void *ctx, struct http_request *r)
{
    struct live_http *s = ctx;
    const char *host = http_header(r, "Host"), *method = http_method(r);

    if (!host) {
        refuse(s, r, 400);
        return;
    }
    if (!http_host_is_own(host, s->own_name)) {
        refuse(s, r, 403);
        return;
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        refuse(s, r, 405);
        return;
    }
    for (enum live_route i = 0; i < ROUTES; i++)
        if (strcmp(http_path(r), paths[i]) == 0) {
            show(s, r, i);
            return;
        }
    refuse(s, r, 404);
}

/* ---- serving ---- */

status live_http_open(struct live_http **out, const char *run, const char *address,
                      int port, double every, struct err *err)
{
    static const struct http_limits limits = {.connections = 64,
                                              .head_bytes = 8192,
                                              .body_bytes = 1024,
                                              .t_head = 5,
                                              .t_idle = 5,
                                              .t_body = 5,
                                              .t_answer = 30};
    struct live_http *s;

    *out = NULL;
    if (strlen(run) >= sizeof s->run)
        return err_set(err, ERR_USAGE, "%.40s...: the path of the run is too long", run);
    TRY(mem_alloc(&s, 1, sizeof *s, err));
    memcpy(s->run, run, strlen(run) + 1);
    os_host_name(s->own_name, sizeof s->own_name);
    s->every = every;
    snprintf(s->refresh, sizeof s->refresh, "%.0f", every);
    for (size_t i = 0; i < ROUTES; i++)
        s->cached[i].text = str_new(PAGE_MAX);
    make_policy(s);
    const struct http_options o = {.address = address,
                                   .port = port,
                                   .limits = limits,
                                   .is_closing = true,
                                   .handle = handle,
                                   .refuse = refuse,
                                   .ctx = s};
    const status result = http_open(&s->http, &o, err);
    if (result != OK) {
        live_http_close(s);
        return result;
    }
    *out = s;
    return OK;
}

int live_http_port(const struct live_http *s)
{
    return http_port(s->http);
}

status live_http_serve(struct live_http *s, const volatile sig_atomic_t *stop,
                       struct err *err)
{
    const status result = http_run(s->http, stop, 1, err);

    return result == ERR_LOST ? OK : result; /* a browser can ask again */
}

void live_http_close(struct live_http *s)
{
    if (!s)
        return;
    http_close(s->http);
    for (size_t i = 0; i < ROUTES; i++)
        str_release(&s->cached[i].text);
    runlog_follow_close(&s->follow);
    free(s);
}

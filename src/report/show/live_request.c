#include "report/show/live.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *path;
    enum live_route route;
} routes[] = {{"/", LIVE_NOW}, {"/report", LIVE_REPORT}, {"/status.json", LIVE_JSON}};

/* Part of the request's bytes; not terminated. */
struct span {
    const char *at;
    size_t n;
};

static bool is_text(struct span s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.at, text, s.n) == 0;
}

/* What stands before `stop`; *rest is what stands behind it. */
static bool cut(struct span *rest, const char *stop, struct span *head)
{
    const char *at = memmem(rest->at, rest->n, stop, strlen(stop));

    if (!at)
        return false;
    *head = (struct span){rest->at, (size_t)(at - rest->at)};
    rest->n -= head->n + strlen(stop);
    rest->at = at + strlen(stop);
    return true;
}

static int read_target(struct live_request *r, struct span target)
{
    const char *query = memchr(target.at, '?', target.n);

    if (query)
        target.n = (size_t)(query - target.at);
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (is_text(target, routes[i].path)) {
            r->route = routes[i].route;
            return 200;
        }
    return 404;
}

static int read_first_line(struct live_request *r, struct span line)
{
    struct span method, target;

    if (!cut(&line, " ", &method) || !cut(&line, " ", &target))
        return 400;
    if (line.n != 8 || memcmp(line.at, "HTTP/1.", 7) != 0)
        return line.n > 5 && memcmp(line.at, "HTTP/", 5) == 0 ? 505 : 400;
    r->is_head = is_text(method, "HEAD");
    if (!r->is_head && !is_text(method, "GET"))
        return 405;
    return read_target(r, target);
}

static bool is_address(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    char inner[64];
    const size_t n = strlen(host);

    if (inet_pton(AF_INET, host, &v4) == 1)
        return true;
    if (n < 3 || n - 2 >= sizeof inner || host[0] != '[' || host[n - 1] != ']')
        return false;
    memcpy(inner, host + 1, n - 2);
    inner[n - 2] = '\0';
    return inet_pton(AF_INET6, inner, &v6) == 1;
}

/* "host" or "host:port". */
static bool is_our_host(struct span value, const char *own_name)
{
    char host[256];

    while (value.n && (value.at[0] == ' ' || value.at[0] == '\t')) {
        value.at++;
        value.n--;
    }
    while (value.n && (value.at[value.n - 1] == ' ' || value.at[value.n - 1] == '\t'))
        value.n--;
    const char *colon = memrchr(value.at, ':', value.n);
    if (colon &&
        strspn(colon + 1, "0123456789") >= (size_t)(value.at + value.n - colon - 1))
        value.n = (size_t)(colon - value.at);
    if (value.n == 0 || value.n >= sizeof host || memchr(value.at, '\0', value.n))
        return false;
    memcpy(host, value.at, value.n);
    host[value.n] = '\0';
    return strcasecmp(host, "localhost") == 0 || is_address(host) ||
           (own_name && own_name[0] && strcasecmp(host, own_name) == 0);
}

static int read_headers(struct span rest, const char *own_name)
{
    struct span line, name;
    size_t n_hosts = 0;

    while (cut(&rest, "\r\n", &line) && line.n) {
        if (!cut(&line, ":", &name) || name.n == 0)
            return 400;
        if (name.n != 4 || strncasecmp(name.at, "host", 4) != 0)
            continue;
        if (++n_hosts > 1)
            return 400;
        if (!is_our_host(line, own_name))
            return 403;
    }
    return n_hosts == 1 ? 200 : 400;
}

bool live_request_read(struct live_request *r, const char *bytes, size_t n,
                       const char *own_name)
{
    struct span rest = {bytes, n}, line;

    *r = (struct live_request){.status = 400};
    const char *end = memmem(bytes, n, "\r\n\r\n", 4);
    if (!end) {
        r->status = 431;
        return n >= LIVE_REQUEST_MAX;
    }
    rest.n = (size_t)(end - bytes) + 4;
    if (!cut(&rest, "\r\n", &line))
        return true;
    const int first = read_first_line(r, line);
    const int headers = read_headers(rest, own_name);
    r->status = headers != 200 ? headers : first;
    if (r->status != 200)
        r->route = LIVE_NOTHING;
    return true;
}

const char *live_request_reason(int code)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {{200, "OK"},
                   {403, "Forbidden"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {431, "Request Header Fields Too Large"},
                   {500, "Internal Server Error"},
                   {505, "HTTP Version Not Supported"}};

    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == code)
            return reasons[i].reason;
    return "Bad Request";
}

#include "fetch/transfer.h"

#ifdef FERRY_CURL

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <curl/curl.h>

enum { MAX_REDIRECTS = 10, CONNECT_SECONDS = 20, MAX_WAIT = 120 };

/* One exchange: what the server said, and how far the body came. */
struct exchange {
    CURL *curl;
    const struct transfer_request *q;
    const struct transfer_sink *sink;
    struct err *err;
    status failed; /* of the sink */
    struct transfer_head head;
    uint64_t n_body;
    bool has_begun, is_refused, is_stale;
    char why[TRANSFER_TEXT];
    char curl_text[CURL_ERROR_SIZE];
};

/* A field of the last answer's head, "" when it is not there. */
static const char *field(const struct exchange *x, const char *name)
{
    struct curl_header *h;

    return curl_easy_header(x->curl, name, 0, CURLH_HEADER, -1, &h) == CURLHE_OK
               ? h->value
               : "";
}

/* Whether the end of the body is marked, even if its length was not given. */
static bool is_framed(const struct exchange *x)
{
    long version = 0;

    curl_easy_getinfo(x->curl, CURLINFO_HTTP_VERSION, &version);
    return version >= CURL_HTTP_VERSION_2_0 ||
           strcasecmp(field(x, "Transfer-Encoding"), "chunked") == 0;
}

/* A weak tag says "about the same", which is not enough to join two halves. */
static void choose_validator(struct exchange *x)
{
    const bool is_strong = field(x, "ETag")[0] == '"';

    snprintf(x->head.validator, sizeof x->head.validator, "%s",
             field(x, is_strong ? "ETag" : "Last-Modified"));
}

static bool refuse(struct exchange *x, bool is_stale, const char *why)
{
    x->is_refused = true;
    x->is_stale = is_stale;
    snprintf(x->why, sizeof x->why, "%s", why);
    return false;
}

/* The head is complete and a body begins: is it one that we can take? */
static bool begin_body(struct exchange *x, bool is_part)
{
    int64_t n_length = -1, range_at = -1, range_total = -1;

    if (sscanf(field(x, "Content-Length"), "%" SCNd64, &n_length) != 1)
        n_length = -1;
    if (sscanf(field(x, "Content-Range"), "bytes %" SCNd64 "-%*d/%" SCNd64, &range_at,
               &range_total) < 2)
        range_total = -1;
    choose_validator(x);
    x->head.at = is_part ? x->q->at : 0;
    x->head.n_total = is_part ? range_total : n_length;
    if (is_part && (x->q->at == 0 || range_at != (int64_t)x->q->at))
        return refuse(x, true, "the server sent other bytes than those asked for");
    if (is_part &&
        (strcmp(x->head.validator, x->q->validator) != 0 || range_total != x->q->n_total))
        return refuse(x, true, "the file on the server has changed");
    if (n_length < 0 && !is_framed(x))
        return refuse(x, false,
                      "the server sends no Content-Length, so that a file that was cut "
                      "short could not be told from a whole one");
    x->has_begun = true;
    x->failed = x->sink->begin(x->sink->to, &x->head, x->err);
    return x->failed == OK;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *user)
{
    struct exchange *x = user;
    long code = 0;

    n *= size;
    curl_easy_getinfo(x->curl, CURLINFO_RESPONSE_CODE, &code);
    if (code != 200 && code != 206)
        return n; /* a page that explains itself to people */
    if (!x->has_begun && !begin_body(x, code == 206))
        return CURL_WRITEFUNC_ERROR;
    x->failed = x->sink->add(x->sink->to, bytes, n, x->err);
    x->n_body += n;
    return x->failed == OK ? n : CURL_WRITEFUNC_ERROR;
}

static struct curl_slist *headers_of(const struct transfer_request *q)
{
    char line[TRANSFER_TEXT + 16];

    if (q->at == 0 || !q->validator[0])
        return NULL;
    snprintf(line, sizeof line, "If-Range: %s", q->validator);
    return curl_slist_append(NULL, line);
}

static void set_options(struct exchange *x, const char *url, struct curl_slist *headers)
{
    CURL *c = x->curl;
    char range[40];

    curl_easy_reset(c);
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_USERAGENT, "ferry/" FERRY_VERSION);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, x->curl_text);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, x);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    const double t = x->q->t_stall < 1 ? 1 : x->q->t_stall;
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)t);
    if (x->q->ca[0])
        curl_easy_setopt(c, CURLOPT_CAINFO, x->q->ca);
    if (headers) {
        snprintf(range, sizeof range, "%" PRIu64 "-", x->q->at);
        curl_easy_setopt(c, CURLOPT_RANGE, range);
        curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    }
}

/* Is `code` one that asks for another address, and may we go there? */
static bool redirected(struct exchange *x, long code, char url[TRANSFER_URL],
                       struct transfer_result *r)
{
    char *next = NULL;

    curl_easy_getinfo(x->curl, CURLINFO_REDIRECT_URL, &next);
    if (code < 300 || code > 399 || !next)
        return false;
    if (strncasecmp(url, "https:", 6) == 0 && strncasecmp(next, "https:", 6) != 0) {
        snprintf(r->why, sizeof r->why,
                 "it redirects from https to '%.150s', which could be forged", next);
        return false;
    }
    snprintf(url, TRANSFER_URL, "%s", next);
    return true;
}

/* Failures that a second try cannot mend. */
static bool is_hopeless(CURLcode code)
{
    switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_TOO_MANY_REDIRECTS:
        return true;
    default:
        return false;
    }
}

static void judge_code(const struct exchange *x, long code, struct transfer_result *r)
{
    curl_off_t wait = 0;

    r->end = TRANSFER_NEVER;
    if (code == 408 || code == 429 || code >= 500)
        r->end = TRANSFER_AGAIN;
    else if (code == 416 || code == 412)
        r->end = TRANSFER_STALE;
    curl_easy_getinfo(x->curl, CURLINFO_RETRY_AFTER, &wait);
    r->t_wait = wait < MAX_WAIT ? (double)wait : MAX_WAIT;
    if (!r->why[0])
        snprintf(r->why, sizeof r->why, "the server answers %ld", code);
}

static void judge(const struct exchange *x, CURLcode done, long code,
                  struct transfer_result *r)
{
    const uint64_t n_have = x->head.at + x->n_body;

    if (x->is_refused) {
        r->end = x->is_stale ? TRANSFER_STALE : TRANSFER_NEVER;
        snprintf(r->why, sizeof r->why, "%s", x->why);
    } else if (done != CURLE_OK) {
        r->end = is_hopeless(done) ? TRANSFER_NEVER : TRANSFER_AGAIN;
        snprintf(r->why, sizeof r->why, "%s",
                 x->curl_text[0] ? x->curl_text : curl_easy_strerror(done));
    } else if (code != 200 && code != 206) {
        judge_code(x, code, r);
    } else if (!x->has_begun || x->n_body == 0) {
        r->end = TRANSFER_AGAIN;
        snprintf(r->why, sizeof r->why, "the server sent an empty file");
    } else if (x->head.n_total >= 0 && n_have != (uint64_t)x->head.n_total) {
        r->end = TRANSFER_AGAIN;
        snprintf(r->why, sizeof r->why,
                 "%" PRIu64 " bytes came of %" PRId64 " that were promised", n_have,
                 x->head.n_total);
    }
}

static status run(struct exchange *x, struct transfer_result *r)
{
    struct curl_slist *headers = headers_of(x->q);
    char url[TRANSFER_URL];
    CURLcode done;
    long code;
    int n_hops = 0;

    snprintf(url, sizeof url, "%s", x->q->url);
    do {
        set_options(x, url, headers);
        x->curl_text[0] = '\0';
        done = curl_easy_perform(x->curl);
        code = 0;
        curl_easy_getinfo(x->curl, CURLINFO_RESPONSE_CODE, &code);
    } while (done == CURLE_OK && redirected(x, code, url, r) &&
             ++n_hops <= MAX_REDIRECTS);
    curl_slist_free_all(headers);
    if (n_hops > MAX_REDIRECTS)
        snprintf(r->why, sizeof r->why, "it redirects more than %d times", MAX_REDIRECTS);
    judge(x, done, code, r);
    return x->failed;
}

status transfer_get(const struct transfer_request *q, const struct transfer_sink *sink,
                    struct transfer_result *r, struct err *err)
{
    struct exchange x = {.q = q, .sink = sink, .err = err, .failed = OK};

    *r = (struct transfer_result){.end = TRANSFER_WHOLE};
    x.curl = curl_easy_init();
    if (!x.curl)
        return err_set(err, ERR_MEMORY, "no memory to begin a download");
    const status result = run(&x, r);
    curl_easy_cleanup(x.curl);
    return result;
}

#else

status transfer_get(const struct transfer_request *q, const struct transfer_sink *sink,
                    struct transfer_result *r, struct err *err)
{
    (void)sink;
    *r = (struct transfer_result){.end = TRANSFER_NEVER};
    return err_set(err, ERR_USAGE,
                   "%.200s: this ferry was built without libcurl and cannot download; "
                   "install libcurl4-openssl-dev and build again",
                   q->url);
}

#endif

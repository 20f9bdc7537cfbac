/*
 * Proxies come from the environment (http_proxy, https_proxy, no_proxy). Redirections are
 * followed, at most ten, and never from https to http. An answer is only whole when the
 * server said how long it is and as much came: everything else is not DOWNLOAD_WHOLE.
 */
#include "fetch/download.h"

#ifdef FERRY_CURL

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fetch/curl_library.h"

enum { MAX_REDIRECTS = 10, CONNECT_SECONDS = 20, MAX_WAIT = 120 };

/* One exchange: what the server said, and how far the body came. */
struct exchange {
    const struct curl_library *lib;
    CURL *curl;
    struct download_part *part;
    uint64_t at; /* first byte asked for; 0: all */
    struct err *err;
    status failed; /* of the part */
    uint64_t n_body;
    bool has_begun, is_refused, is_stale;
    char why[DOWNLOAD_TEXT];
    char curl_text[CURL_ERROR_SIZE];
};

/* A field of the last answer's head, "" when it is not there. */
static const char *field(const struct exchange *x, const char *name)
{
    struct curl_header *h;

    return x->lib->easy_header(x->curl, name, 0, CURLH_HEADER, -1, &h) == CURLHE_OK
               ? h->value
               : "";
}

/* Whether the end of the body is marked, even if its length was not given. */
static bool is_framed(const struct exchange *x)
{
    long version = 0;

    x->lib->easy_getinfo(x->curl, CURLINFO_HTTP_VERSION, &version);
    return version >= CURL_HTTP_VERSION_2_0 ||
           strcasecmp(field(x, "Transfer-Encoding"), "chunked") == 0;
}

static bool refuse(struct exchange *x, bool is_stale, const char *why)
{
    x->is_refused = true;
    x->is_stale = is_stale;
    snprintf(x->why, sizeof x->why, "%s", why);
    return false;
}

static bool refuse_long(struct exchange *x)
{
    char why[DOWNLOAD_TEXT];

    snprintf(why, sizeof why,
             "the server sends more than %" PRIu64
             " MB, which is more than the file can have",
             x->part->config->max_bytes / 1000000);
    return refuse(x, false, why);
}

/* The head is complete and a body begins: is it one that we can take? */
static bool begin_body(struct exchange *x, bool is_part)
{
    /* a weak tag says "about the same", which is not enough to join two halves */
    const bool is_strong = field(x, "ETag")[0] == '"';
    int64_t n_length = -1, range_at = -1, range_total = -1;
    char validator[DOWNLOAD_TEXT];

    if (sscanf(field(x, "Content-Length"), "%" SCNd64, &n_length) != 1)
        n_length = -1;
    if (sscanf(field(x, "Content-Range"), "bytes %" SCNd64 "-%*d/%" SCNd64, &range_at,
               &range_total) < 2)
        range_total = -1;
    snprintf(validator, sizeof validator, "%s",
             field(x, is_strong ? "ETag" : "Last-Modified"));
    if (is_part && (x->at == 0 || range_at != (int64_t)x->at))
        return refuse(x, true, "the server sent other bytes than those asked for");
    if (is_part &&
        (strcmp(validator, x->part->validator) != 0 || range_total != x->part->n_total))
        return refuse(x, true, "the file on the server has changed");
    if (n_length < 0 && !is_framed(x))
        return refuse(x, false,
                      "the server sends no Content-Length, so that a file that was cut "
                      "short could not be told from a whole one");
    if (n_length > 0 && (uint64_t)n_length > x->part->config->max_bytes)
        return refuse_long(x);
    x->has_begun = true;
    x->failed = download_begin(x->part, is_part, n_length, validator, x->err);
    return x->failed == OK;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *user)
{
    struct exchange *x = user;
    long code = 0;

    n *= size;
    x->lib->easy_getinfo(x->curl, CURLINFO_RESPONSE_CODE, &code);
    if (code != 200 && code != 206)
        return n; /* a page that explains itself to people */
    if (!x->has_begun && !begin_body(x, code == 206))
        return CURL_WRITEFUNC_ERROR;
    if (x->part->n + n > x->part->config->max_bytes && !refuse_long(x))
        return CURL_WRITEFUNC_ERROR;
    x->failed = download_add(x->part, bytes, n, x->err);
    x->n_body += n;
    return x->failed == OK ? n : CURL_WRITEFUNC_ERROR;
}

static void set_options(struct exchange *x, const char *url, struct curl_slist *headers)
{
    CURL *c = x->curl;
    char range[40];

    x->lib->easy_reset(c);
    x->lib->easy_setopt(c, CURLOPT_URL, url);
    x->lib->easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    x->lib->easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    x->lib->easy_setopt(c, CURLOPT_USERAGENT, "ferry/" FERRY_VERSION);
    x->lib->easy_setopt(c, CURLOPT_ERRORBUFFER, x->curl_text);
    x->lib->easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
    x->lib->easy_setopt(c, CURLOPT_WRITEDATA, x);
    x->lib->easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    const double stall = x->part->config->t_stall, t = stall < 1 ? 1 : stall;
    x->lib->easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
    x->lib->easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)t);
    if (x->part->config->ca[0])
        x->lib->easy_setopt(c, CURLOPT_CAINFO, x->part->config->ca);
    if (headers) {
        snprintf(range, sizeof range, "%" PRIu64 "-", x->at);
        x->lib->easy_setopt(c, CURLOPT_RANGE, range);
        x->lib->easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    }
}

/* Is `code` one that asks for another address, and may we go there? */
static bool redirected(struct exchange *x, long code, char url[DOWNLOAD_URL],
                       struct download_try *r)
{
    char *next = NULL;

    x->lib->easy_getinfo(x->curl, CURLINFO_REDIRECT_URL, &next);
    if (code < 300 || code > 399 || !next)
        return false;
    if (strncasecmp(url, "https:", 6) == 0 && strncasecmp(next, "https:", 6) != 0) {
        snprintf(r->why, sizeof r->why,
                 "it redirects from https to '%.150s', which could be forged", next);
        return false;
    }
    snprintf(url, DOWNLOAD_URL, "%s", next);
    return true;
}

/* Failures that a second try cannot mend. */
static bool is_hopeless(CURLcode code)
{
    return code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT ||
           code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
           code == CURLE_TOO_MANY_REDIRECTS;
}

static void judge_code(const struct exchange *x, long code, struct download_try *r)
{
    curl_off_t wait = 0;

    r->end = DOWNLOAD_NEVER;
    if (code == 408 || code == 429 || code >= 500)
        r->end = DOWNLOAD_AGAIN;
    else if (code == 416 || code == 412)
        r->end = DOWNLOAD_STALE;
    x->lib->easy_getinfo(x->curl, CURLINFO_RETRY_AFTER, &wait);
    r->t_wait = wait < MAX_WAIT ? (double)wait : MAX_WAIT;
    if (!r->why[0])
        snprintf(r->why, sizeof r->why, "the server answers %ld", code);
}

static void judge(const struct exchange *x, CURLcode done, long code,
                  struct download_try *r)
{
    const struct download_part *p = x->part;

    if (x->is_refused) {
        r->end = x->is_stale ? DOWNLOAD_STALE : DOWNLOAD_NEVER;
        snprintf(r->why, sizeof r->why, "%s", x->why);
    } else if (done != CURLE_OK) {
        r->end = is_hopeless(done) ? DOWNLOAD_NEVER : DOWNLOAD_AGAIN;
        snprintf(r->why, sizeof r->why, "%s",
                 x->curl_text[0] ? x->curl_text : x->lib->easy_strerror(done));
    } else if (code != 200 && code != 206) {
        judge_code(x, code, r);
    } else if (!x->has_begun || x->n_body == 0) {
        r->end = DOWNLOAD_AGAIN;
        snprintf(r->why, sizeof r->why, "the server sent an empty file");
    } else if (p->n_total >= 0 && p->n != (uint64_t)p->n_total) {
        r->end = DOWNLOAD_AGAIN;
        snprintf(r->why, sizeof r->why,
                 "%" PRIu64 " bytes came of %" PRId64 " that were promised", p->n,
                 p->n_total);
    }
}

static status run(struct exchange *x, struct download_try *r)
{
    char url[DOWNLOAD_URL], if_range[DOWNLOAD_TEXT + 16];
    struct curl_slist *headers = NULL;
    CURLcode done;
    long code;
    int n_hops = 0;

    snprintf(url, sizeof url, "%s", x->part->url);
    snprintf(if_range, sizeof if_range, "If-Range: %s", x->part->validator);
    if (x->at)
        headers = x->lib->slist_append(NULL, if_range);
    do {
        set_options(x, url, headers);
        x->curl_text[0] = '\0';
        done = x->lib->easy_perform(x->curl);
        code = 0;
        x->lib->easy_getinfo(x->curl, CURLINFO_RESPONSE_CODE, &code);
    } while (done == CURLE_OK && redirected(x, code, url, r) &&
             ++n_hops <= MAX_REDIRECTS);
    x->lib->slist_free_all(headers);
    if (n_hops > MAX_REDIRECTS)
        snprintf(r->why, sizeof r->why, "it redirects more than %d times", MAX_REDIRECTS);
    judge(x, done, code, r);
    return x->failed;
}

status download_http(struct download_part *p, struct download_try *r, struct err *err)
{
    struct exchange x = {
        .part = p, .at = p->validator[0] ? p->n : 0, .err = err, .failed = OK};

    *r = (struct download_try){.end = DOWNLOAD_WHOLE};
    TRY(curl_library_open(&x.lib, err));
    x.curl = x.lib->easy_init();
    if (!x.curl)
        return err_set(err, ERR_MEMORY, "no memory to begin a download");
    const status result = run(&x, r);
    x.lib->easy_cleanup(x.curl);
    return result;
}

#else

status download_http(struct download_part *p, struct download_try *r, struct err *err)
{
    *r = (struct download_try){.end = DOWNLOAD_NEVER};
    return err_set(err, ERR_USAGE,
                   "%.200s: this ferry was built without libcurl and cannot download; "
                   "install libcurl4-openssl-dev and build again",
                   p->url);
}

#endif

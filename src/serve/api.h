/*
 * api - the routes of a server, one row each, and what they take.
 *
 * The row decides which requests a handler gets, which values it takes and which of them
 * must be there; the descriptions at /spec (Swagger 2) and /v1/openapi.json (OpenAPI 3)
 * are made of the same rows (serve/api_describe.c).
 *
 * Threads: tables that do not change; handlers run in the HTTP thread.
 */
#pragma once

#include <jansson.h>

#include "serve/job.h"
#include "serve/server.h"

/* TEXTS: a string or a list of strings. LIST: of objects of the row's `item`, or without
 * one of anything. */
enum api_type {
    API_TEXT,
    API_TEXTS,
    API_STRINGS,
    API_INT,
    API_NUMBER,
    API_BOOL,
    API_LIST,
    API_OBJECT
};

struct api_field {
    const char *name;
    enum api_type type;
    bool is_required;
    const char *choices; /* "text|html", or NULL */
    const char *help;
    const struct api_field *item;
};

/* Names that begin so are LibreTranslate's; others are of the plain interface. */
enum api_face { API_LIBRE, API_PLAIN, API_OTHER };

/* A request whose values were read. */
struct api_request {
    struct server *server;
    struct http_request *http;
    json_t *values; /* an object; of forms and queries, of strings */
    bool is_json;
};

struct api_route {
    const char *method, *path;
    enum api_face face;
    const char *summary;
    const struct api_field *field, *answer; /* ended by a row without a name */
    bool is_list;                           /* the answer is a list of such objects */
    bool has_key;                           /* limited, and by keys */
    void (*handle)(struct api_request *r);
};

extern const struct api_route api_routes[];
extern const size_t api_n_routes;

/* The path of route i, or "other". */
const char *api_route_name(size_t i);
size_t api_route_number(const char *method, const char *path);

/* "GET, HEAD, OPTIONS": what may be asked of a path; "" when it is none of the table. */
enum { API_ALLOW = 48 };
const char *api_allow(char out[API_ALLOW], const char *path);

/* Read what the route takes; false: the request was refused. */
bool api_read_values(struct api_request *r, const struct api_route *route);

/* A value's text, "" when it is none; numbers in their digits. */
const char *api_text(const struct api_request *r, const char *name);
/* Whether a field is there and not empty. */
bool api_has(const struct api_request *r, const char *name);

/* Whether the caller may ask for so many characters; otherwise it was answered. */
bool api_allows(struct api_request *r, size_t n_chars);

/* Check a request for translations and make a job of it, or refuse it. */
struct api_ask {
    const char *text; /* the field of the texts */
    bool needs_source;
    json_t *(*answer)(const struct job *j);
};
void api_translate(struct api_request *r, const struct api_ask *ask);

/* Put a job of the request into the queue. The request's values go first: two threads
 * would count references to the same ones. */
void api_put(struct api_request *r, struct job *j);

/* The document of a face's routes. */
json_t *api_describe_swagger(void);
json_t *api_describe_openapi(int64_t alternatives_limit);

/* Handlers. */
void api_libre_translate(struct api_request *r);
void api_libre_detect(struct api_request *r);
void api_libre_suggest(struct api_request *r);
void api_libre_languages(struct api_request *r);
void api_libre_settings(struct api_request *r);
void api_libre_spec(struct api_request *r);
void api_plain_translate(struct api_request *r);
void api_plain_languages(struct api_request *r);
void api_plain_openapi(struct api_request *r);
void api_other_health(struct api_request *r);
void api_other_metrics(struct api_request *r);

/* A request, which is answered at once or becomes a job for the queue; ctx: the server.
 */
void api_handle(void *ctx, struct http_request *r);

/* A request for translations: checked, and made a job. */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "serve/api.h"

/* ---- checks; each refuses the request and says false ---- */

static bool has_all(struct api_request *r, const struct api_ask *ask)
{
    const char *const names[] = {ask->text, ask->needs_source ? "source" : NULL,
                                 "target"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i] && !api_has(r, names[i])) {
            serve_refuse(r->http, 400, "Invalid request: missing %s parameter", names[i]);
            return false;
        }
    return true;
}

static bool read_texts(struct job *j, struct api_request *r, const char *name)
{
    const int64_t char_limit = r->server->config.char_limit,
                  batch_limit = r->server->config.batch_limit;
    struct err err;

    if (job_take_texts(j, json_object_get(r->values, name), &err) != OK) {
        serve_refuse(r->http, 400,
                     "Invalid request: %s parameter is not a string or a list of strings",
                     name);
        return false;
    }
    const bool has_many = j->is_list && j->n > (size_t)batch_limit;
    const bool has_much = char_limit && j->n_chars > (size_t)char_limit;
    if (has_many || has_much)
        serve_refuse(r->http, 400,
                     "Invalid request: request (%zu) exceeds text limit (%lld)",
                     has_many ? j->n : j->n_chars,
                     (long long)(has_many ? batch_limit : char_limit));
    return !has_many && !has_much;
}

/* One of our languages; NULL: it was refused. */
static const char *find_language(struct api_request *r, const char *name)
{
    const char *code = api_text(r, name), *found = models_find(r->server->models, code);

    if (!found)
        serve_refuse(r->http, 400, "%s is not supported", code);
    return found;
}

static bool read_languages(struct job *j, struct api_request *r)
{
    const char *source = NULL;
    struct models_route route;

    j->is_auto = !api_has(r, "source") || strcmp(api_text(r, "source"), "auto") == 0;
    if (!j->is_auto) {
        source = find_language(r, "source");
        if (!source)
            return false;
    }
    j->target = find_language(r, "target");
    if (!j->target)
        return false;
    for (size_t i = 0; source && i < j->n; i++)
        j->text[i].source = source;
    if (!source || models_route(r->server->models, source, j->target, &route))
        return true;
    serve_refuse(r->http, 400,
                 "%s (%s) is not available as a target language from %s (%s)",
                 codes_name(j->target), j->target, codes_name(source), source);
    return false;
}

static bool read_format(struct job *j, struct api_request *r)
{
    const char *format = api_text(r, "format");

    j->is_html = strcmp(format, "html") == 0;
    if (!api_has(r, "format") || j->is_html || strcmp(format, "text") == 0)
        return true;
    serve_refuse(r->http, 400, "%s format is not supported", format);
    return false;
}

/* A number, or the digits of one, as forms have it; nothing is 0. */
static bool read_count(const json_t *value, long long *n)
{
    const char *text = json_string_value(value);

    *n = 0;
    if (!value || json_is_null(value))
        return true;
    if (!text) {
        *n = json_integer_value(value);
        return json_is_integer(value);
    }
    char *end;
    *n = strtoll(text, &end, 10);
    return !*end;
}

static bool read_alternatives(struct job *j, struct api_request *r)
{
    const long long limit = r->server->config.alternatives_limit;
    long long n;

    if (!read_count(json_object_get(r->values, "alternatives"), &n)) {
        serve_refuse(r->http, 400,
                     "Invalid request: alternatives parameter is not a number");
        return false;
    }
    if (n > limit) {
        serve_refuse(r->http, 400,
                     "Invalid request: alternatives parameter must be <= %lld", limit);
        return false;
    }
    j->n_alternatives = n > 0 ? (size_t)n : 0;
    return true;
}

/* How a translation begins: of one text of one line, and nothing else could be meant. */
static bool read_beginning(struct job *j, struct api_request *r)
{
    json_t *value = json_object_get(r->values, "beginning");
    const char *beginning = json_string_value(value);
    struct err err;

    if (!json_string_length(value))
        return true;
    if (job_keep(j, value, &err) != OK) {
        serve_refuse(r->http, 503, "The server is out of memory.");
        return false;
    }
    const char *why = j->n != 1    ? "is for one text"
                      : j->is_html ? "is for text, not for html"
                      : memchr(j->text->text.text, '\n', j->text->text.n_bytes)
                          ? "is for a text of one line"
                      : strpbrk(beginning, "\n\r") ? "has a line end"
                                                   : NULL;
    if (why)
        serve_refuse(r->http, 400, "Invalid request: beginning parameter %s", why);
    /* white space before a line is the text's own */
    size_t n = strlen(beginning), len;
    while (n && utf8_is_space(utf8_decode(beginning, n, &len))) {
        beginning += len;
        n -= len;
    }
    j->beginning = beginning;
    return !why;
}

void api_put(struct api_request *r, struct job *j)
{
    json_decref(r->values);
    r->values = NULL;
    job_put(j);
}

void api_translate(struct api_request *r, const struct api_ask *ask)
{
    if (!has_all(r, ask))
        return;
    struct job *j = job_new(r->server, r->http);
    if (!j) {
        serve_refuse(r->http, 503, "The server is out of memory.");
        return;
    }
    j->answer = ask->answer;
    j->is_stream = json_is_true(json_object_get(r->values, "stream"));
    j->has_links = json_is_true(json_object_get(r->values, "links"));
    if (read_texts(j, r, ask->text) && read_languages(j, r) && read_format(j, r) &&
        read_alternatives(j, r) && read_beginning(j, r) && api_allows(r, j->n_chars))
        api_put(r, j);
    else
        job_free(j);
}

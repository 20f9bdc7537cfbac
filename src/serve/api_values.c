/* The values of a request: of JSON, a form or the query. */
#include <string.h>
#include <strings.h>

#include "serve/api.h"

bool api_has(const struct api_request *r, const char *name)
{
    const json_t *v = json_object_get(r->values, name);

    return (json_is_string(v) && json_string_length(v)) || json_is_number(v) ||
           json_is_true(v) || (json_is_array(v) && json_array_size(v));
}

const char *api_text(const struct api_request *r, const char *name)
{
    const char *text = json_string_value(json_object_get(r->values, name));

    return text ? text : "";
}

/* Of a form: line ends become LF, as LibreTranslate has it. */
static json_t *form_text(struct line value)
{
    struct str text = str_new(0);

    for (size_t i = 0; i < value.n_bytes; i++)
        if (value.text[i] != '\r')
            str_putc(&text, value.text[i]);
        else if (i + 1 == value.n_bytes || value.text[i + 1] != '\n')
            str_putc(&text, '\n');
    json_t *result = serve_text((struct line){str_text(&text), text.len});
    str_release(&text);
    return result;
}

static void take_field(void *ctx, const char *name, struct line value)
{
    struct api_request *r = ctx;

    if (!json_object_get(r->values, name)) /* the first of several counts */
        json_object_set_new(r->values, name, form_text(value));
}

static bool is_type(const char *type, const char *want)
{
    const size_t n = strlen(want);

    return type && strncasecmp(type, want, n) == 0 &&
           (type[n] == '\0' || type[n] == ';' || type[n] == ' ');
}

static void take_query(struct api_request *r, const struct api_field *field)
{
    for (; field->name; field++) {
        const char *value = http_query(r->http, field->name);
        if (value)
            take_field(r, field->name, (struct line){value, strlen(value)});
    }
}

/* False: the request was refused. */
static bool read_body(struct api_request *r, const struct api_route *route)
{
    const char *type = http_header(r->http, "Content-Type");
    const struct line body = http_body(r->http);
    struct err err;

    r->is_json = is_type(type, "application/json");
    if (r->is_json && strcmp(route->method, "POST") == 0) {
        r->values = json_loadb(body.text, body.n_bytes, 0, NULL);
        if (json_is_object(r->values))
            return true;
        serve_refuse(r->http, 400, "Invalid JSON format");
        return false;
    }
    r->values = json_object();
    const bool is_form = is_type(type, "application/x-www-form-urlencoded") ||
                         is_type(type, "multipart/form-data");
    if (is_form && http_form(r->http, take_field, r, &err) != OK) {
        serve_refuse(r->http, 400, "Invalid request: %s", err.msg);
        return false;
    }
    take_query(r, route->field);
    return true;
}

/* ---- their types ---- */

static bool is_string(const json_t *v)
{
    return json_is_string(v);
}

static bool is_strings(const json_t *v)
{
    for (size_t i = 0; i < json_array_size(v); i++)
        if (!json_is_string(json_array_get(v, i)))
            return false;
    return json_is_array(v);
}

static bool is_string_or_strings(const json_t *v)
{
    return json_is_string(v) || is_strings(v);
}

static bool is_count(const json_t *v)
{
    return json_is_integer(v) && json_integer_value(v) >= 0;
}

static bool is_boolean(const json_t *v)
{
    return json_is_boolean(v);
}

static const struct {
    bool (*holds)(const json_t *v);
    const char *meaning;
} types[] = {[API_TEXT] = {is_string, "a string"},
             [API_TEXTS] = {is_string_or_strings, "a string or a list of strings"},
             [API_INT] = {is_count, "a number, 0 or more"},
             [API_BOOL] = {is_boolean, "true or false"}};

/* What the description of the plain interface says of its values holds to the letter;
 * LibreTranslate's clients send null and numbers as strings, and get what they are used
 * to. False: the request was refused. */
static bool have_types(struct api_request *r, const struct api_route *route)
{
    for (const struct api_field *f = route->field; f->name; f++) {
        const json_t *v = json_object_get(r->values, f->name);
        if (!v || types[f->type].holds(v))
            continue;
        serve_refuse(r->http, 400, "Invalid request: %s parameter is not %s", f->name,
                     types[f->type].meaning);
        return false;
    }
    return true;
}

bool api_read_values(struct api_request *r, const struct api_route *route)
{
    return read_body(r, route) &&
           (route->face != API_PLAIN || !r->is_json || have_types(r, route));
}

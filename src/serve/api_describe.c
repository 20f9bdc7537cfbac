/* The routes, described for programs: Swagger 2 as LibreTranslate does, and OpenAPI 3. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "serve/api.h"

static json_t *choices_json(const char *choices)
{
    json_t *list = json_array();

    for (const char *at = choices; *at;) {
        const size_t n = strcspn(at, "|");
        json_array_append_new(list, json_stringn(at, n));
        at += n + (at[n] == '|');
    }
    return list;
}

/* Values that are asked for must not be empty where they must be there; those of an
 * answer are what they are. */
enum api_way { ASKED, ANSWERED };

static json_t *object_json(const struct api_field *field, enum api_way way);

static json_t *list_json(json_t *item)
{
    return json_pack("{ss, so}", "type", "array", "items", item);
}

static json_t *string_json(void)
{
    return json_pack("{ss}", "type", "string");
}

static json_t *text_or_texts_json(size_t least)
{
    json_t *text = string_json(), *list = list_json(string_json());

    if (least) {
        json_object_set_new(text, "minLength", json_integer((json_int_t)least));
        json_object_set_new(list, "minItems", json_integer((json_int_t)least));
    }
    return json_pack("{s[oo]}", "oneOf", text, list);
}

static json_t *type_json(const struct api_field *f, size_t least)
{
    static const char *const names[] = {[API_TEXT] = "string",
                                        [API_INT] = "integer",
                                        [API_NUMBER] = "number",
                                        [API_BOOL] = "boolean"};

    switch (f->type) {
    case API_TEXTS:
        return text_or_texts_json(least);
    case API_STRINGS:
        return list_json(string_json());
    case API_LIST:
        return list_json(f->item ? object_json(f->item, ANSWERED) : json_object());
    case API_OBJECT: /* or a list of them */
        return json_object();
    default:
        return json_pack("{ss}", "type", names[f->type]);
    }
}

static json_t *field_json(const struct api_field *f, enum api_way way)
{
    const size_t least = way == ASKED && f->is_required;
    json_t *schema = type_json(f, least);

    json_object_set_new(schema, "description", json_string(f->help));
    if (least && f->type == API_TEXT)
        json_object_set_new(schema, "minLength", json_integer((json_int_t)least));
    if (way == ASKED && f->type == API_INT)
        json_object_set_new(schema, "minimum", json_integer(0));
    if (f->choices)
        json_object_set_new(schema, "enum", choices_json(f->choices));
    return schema;
}

static json_t *object_json(const struct api_field *field, enum api_way way)
{
    json_t *properties = json_object(), *required = json_array();

    for (; field && field->name; field++) {
        json_object_set_new(properties, field->name, field_json(field, way));
        if (field->is_required)
            json_array_append_new(required, json_string(field->name));
    }
    json_t *schema = json_pack("{ss, so}", "type", "object", "properties", properties);
    if (json_array_size(required))
        json_object_set(schema, "required", required);
    json_decref(required);
    return schema;
}

static json_t *answer_json(const struct api_route *r)
{
    json_t *object = object_json(r->answer, ANSWERED);

    return r->is_list ? json_pack("{ss, so}", "type", "array", "items", object) : object;
}

static json_t *error_json(void)
{
    return json_pack("{sss{s{ssss}}s[s]}", "type", "object", "properties", "error",
                     "type", "string", "description", "Error message", "required",
                     "error");
}

/* status, what it means; of routes that take values all of them, of others those below */
static const struct {
    const char *status, *meaning;
    bool is_of_work; /* of routes that translate */
} errors[] = {{"400", "Invalid request", true},
              {"403", "Invalid API key", true},
              {"413", "The body is too large", true},
              {"415", "The body is not JSON", true},
              {"429", "Slow down", true},
              {"500", "Translation error", true},
              {"503", "The queue is full, or the time was over", true}};

static json_t *path_of(json_t *paths, const struct api_route *r, json_t *operation)
{
    json_t *methods = json_object_get(paths, r->path);
    char method[8] = "";

    for (size_t i = 0; r->method[i] && i + 1 < sizeof method; i++)
        method[i] = (char)tolower((unsigned char)r->method[i]);
    if (!methods) {
        methods = json_object();
        json_object_set_new(paths, r->path, methods);
    }
    json_object_set_new(methods, method, operation);
    return paths;
}

/* ---- Swagger 2 ---- */

static json_t *swagger_parameters(const struct api_route *r)
{
    json_t *list = json_array();

    for (const struct api_field *f = r->field; f->name; f++) {
        json_t *p = json_pack("{ss, ss, sb, ss, ss}", "in", "formData", "name", f->name,
                              "required", f->is_required, "description", f->help, "type",
                              f->type == API_INT ? "integer" : "string");
        if (f->choices)
            json_object_set_new(p, "enum", choices_json(f->choices));
        json_array_append_new(list, p);
    }
    return list;
}

static json_t *swagger_operation(const struct api_route *r)
{
    json_t *answers = json_pack("{s{ss, so}}", "200", "description", r->summary, "schema",
                                answer_json(r));

    for (size_t i = 0; r->has_key && i < sizeof errors / sizeof *errors; i++)
        json_object_set_new(answers, errors[i].status,
                            json_pack("{ss, so}", "description", errors[i].meaning,
                                      "schema", error_json()));
    return json_pack("{ss, s[s], so, so}", "summary", r->summary, "tags", "translate",
                     "parameters", swagger_parameters(r), "responses", answers);
}

json_t *api_describe_swagger(void)
{
    json_t *paths = json_object();

    for (size_t i = 0; i < api_n_routes; i++)
        if (api_routes[i].face == API_LIBRE)
            path_of(paths, &api_routes[i], swagger_operation(&api_routes[i]));
    return json_pack("{ss, s{ss, ss, ss}, ss, so}", "swagger", "2.0", "info", "title",
                     "LibreTranslate", "description",
                     "LibreTranslate's interface, answered by Ferry", "version",
                     FERRY_VERSION, "basePath", "/", "paths", paths);
}

/* ---- OpenAPI 3 ---- */

static json_t *content_of(const char *type, json_t *schema)
{
    return json_pack("{s{so}}", type, "schema", schema);
}

static json_t *openapi_answers(const struct api_route *r)
{
    json_t *content = content_of("application/json", answer_json(r));

    if (strcmp(r->path, "/v1/translate") == 0)
        json_object_set_new(content, "text/event-stream", json_pack("{s{}}", "schema"));
    json_t *answers =
        json_pack("{s{ss, so}}", "200", "description", r->summary, "content", content);
    for (size_t i = 0; r->has_key && i < sizeof errors / sizeof *errors; i++) {
        json_t *schema = json_pack("{ss}", "$ref", "#/components/schemas/Error");
        json_object_set_new(answers, errors[i].status,
                            json_pack("{ss, so}", "description", errors[i].meaning,
                                      "content", content_of("application/json", schema)));
    }
    return answers;
}

static json_t *openapi_operation(const struct api_route *r, int64_t alternatives_limit)
{
    json_t *operation =
        json_pack("{ss, so}", "summary", r->summary, "responses", openapi_answers(r));
    char id[64] = "";
    size_t n = 0;

    for (const char *c = r->path; *c && n + 1 < sizeof id; c++)
        if (isalnum((unsigned char)*c))
            id[n++] = *c;
    json_object_set_new(operation, "operationId", json_string(id));
    if (r->field->name) {
        json_t *schema = object_json(r->field, ASKED);
        json_t *most =
            json_object_get(json_object_get(schema, "properties"), "alternatives");
        if (most)
            json_object_set_new(most, "maximum", json_integer(alternatives_limit));
        json_object_set_new(operation, "requestBody",
                            json_pack("{sb, so}", "required", 1, "content",
                                      content_of("application/json", schema)));
    }
    if (r->has_key)
        json_object_set_new(operation, "security", json_pack("[{}, {s[]}]", "bearer"));
    return operation;
}

json_t *api_describe_openapi(int64_t alternatives_limit)
{
    json_t *paths = json_object();

    for (size_t i = 0; i < api_n_routes; i++)
        if (api_routes[i].face == API_PLAIN)
            path_of(paths, &api_routes[i],
                    openapi_operation(&api_routes[i], alternatives_limit));
    return json_pack(
        "{ss, s{ss, ss, ss}, so, s{s{s{ss, ss}}, s{so}}}", "openapi", "3.0.3", "info",
        "title", "Ferry", "description", "Translation by models that run on this server",
        "version", FERRY_VERSION, "paths", paths, "components", "securitySchemes",
        "bearer", "type", "http", "scheme", "bearer", "schemas", "Error", error_json());
}

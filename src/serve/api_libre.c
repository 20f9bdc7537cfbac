/* LibreTranslate's interface; docs/serve.md says which parts of it there are. */
#include <string.h>

#include "serve/api.h"

/* ---- translations ---- */

static json_t *guess_json(const struct job_text *t)
{
    return json_pack("{sf, ss}", "confidence", t->confidence, "language", t->source);
}

static json_t *best_json(const struct job_text *t)
{
    return serve_text((struct line){str_text(&t->best), t->best.len});
}

/* One value, or a list of them when the texts came as one. */
static json_t *of_texts(const struct job *j, json_t *(*make)(const struct job_text *t))
{
    if (!j->is_list)
        return make(&j->text[0]);
    json_t *list = json_array();
    for (size_t i = 0; i < j->n; i++)
        json_array_append_new(list, make(&j->text[i]));
    return list;
}

static json_t *translated(const struct job *j)
{
    json_t *result = json_object();

    if (j->n_alternatives)
        json_object_set_new(result, "alternatives", of_texts(j, job_alternatives));
    if (j->is_auto)
        json_object_set_new(result, "detectedLanguage", of_texts(j, guess_json));
    json_object_set_new(result, "translatedText", of_texts(j, best_json));
    return result;
}

void api_libre_translate(struct api_request *r)
{
    static const struct api_ask ask = {"q", true, translated};

    api_translate(r, &ask);
}

/* ---- detection ---- */

static json_t *detected(const struct job *j)
{
    const struct detect_guesses *g = &j->text[0].guesses;
    json_t *list = json_array();

    for (size_t i = 0; i < g->n; i++)
        json_array_append_new(list,
                              json_pack("{sf, ss}", "confidence", g->item[i].confidence,
                                        "language", g->item[i].language));
    if (!g->n)
        json_array_append_new(list,
                              json_pack("{sf, ss}", "confidence", 0.0, "language", "en"));
    return list;
}

void api_libre_detect(struct api_request *r)
{
    json_t *q = json_object_get(r->values, "q");
    struct err err;

    if (json_is_array(q)) /* its first text speaks for it */
        q = json_array_get(q, 0);
    if (!api_has(r, "q") || !json_is_string(q)) {
        serve_refuse(r->http, 400, "Invalid request: missing q parameter");
        return;
    }
    struct job *j = job_new(r->server, r->http);
    if (!j || job_take_texts(j, q, &err) != OK) {
        serve_refuse(r->http, 503, "The server is out of memory.");
        job_free(j);
        return;
    }
    j->is_auto = j->is_detection = true;
    j->answer = detected;
    if (api_allows(r, j->n_chars))
        api_put(r, j);
    else
        job_free(j);
}

void api_libre_suggest(struct api_request *r)
{
    serve_refuse(r->http, 403, "Suggestions are disabled on this server.");
}

/* ---- languages ---- */

static json_t *targets_of(const struct models *m, const char *source)
{
    json_t *list = json_array();
    struct models_route route;

    for (size_t i = 0; models_language(m, i); i++)
        if (models_route(m, source, models_language(m, i), &route))
            json_array_append_new(list, json_string(models_language(m, i)));
    return list;
}

void api_libre_languages(struct api_request *r)
{
    const struct models *m = r->server->models;
    json_t *list = json_array();

    for (size_t i = 0; models_language(m, i); i++) {
        const char *code = models_language(m, i);
        json_array_append_new(list, json_pack("{ss, ss, so}", "code", code, "name",
                                              codes_name(code), "targets",
                                              targets_of(m, code)));
    }
    struct http_answer a = serve_json(200, list);
    http_answer(r->http, &a);
}

static json_t *language_json(const char *code)
{
    return json_pack("{ss, ss}", "code", code, "name",
                     strcmp(code, "auto") == 0 ? "Auto Detect" : codes_name(code));
}

void api_libre_settings(struct api_request *r)
{
    const struct server *s = r->server;
    struct models_facts f = {.target = "en"};
    const json_int_t limit = s->config.char_limit ? (json_int_t)s->config.char_limit : -1;

    (void)models_facts(s->models, 0, &f);
    struct http_answer a = serve_json(
        200,
        json_pack("{sI, si, sb, sb, sb, sb, s[], s{so, so}}", "charLimit", limit,
                  "frontendTimeout", 500, "apiKeys", keys_exist(s->keys), "keyRequired",
                  keys_are_needed(s->keys), "suggestions", 0, "filesTranslation", 0,
                  "supportedFilesFormat", "language", "source", language_json("auto"),
                  "target", language_json(f.target)));
    http_answer(r->http, &a);
}

void api_libre_spec(struct api_request *r)
{
    struct http_answer a = serve_json(200, api_describe_swagger());

    http_answer(r->http, &a);
}

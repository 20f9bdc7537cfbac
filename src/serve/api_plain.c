/* The plain interface, and what every server has: health and metrics. */
#include <string.h>

#include "serve/api.h"

static json_t *text_json(const struct job *j, const struct job_text *t)
{
    json_t *result = json_pack("{so, ss}", "text",
                               serve_text((struct line){str_text(&t->best), t->best.len}),
                               "source", t->source);

    if (j->is_auto)
        json_object_set_new(result, "confidence", json_real(t->confidence));
    if (j->n_alternatives)
        json_object_set_new(result, "alternatives", job_alternatives(t));
    if (j->has_links)
        json_object_set_new(
            result, "links",
            text_links_json(&t->links, t->text,
                            (struct line){str_text(&t->best), t->best.len}));
    return result;
}

static json_t *translated(const struct job *j)
{
    json_t *list = json_array();

    for (size_t i = 0; i < j->n; i++)
        json_array_append_new(list, text_json(j, &j->text[i]));
    return json_pack("{so}", "translations", list);
}

void api_plain_translate(struct api_request *r)
{
    static const struct api_ask ask = {"text", false, translated};

    if (!r->is_json)
        serve_refuse(r->http, 415,
                     "The body must be JSON: Content-Type: "
                     "application/json");
    else
        api_translate(r, &ask);
}

static json_t *direction_json(struct models *m, const char *source, const char *target)
{
    struct models_route route;
    struct models_facts first;

    if (strcmp(source, target) == 0 || !models_route(m, source, target, &route))
        return NULL;
    json_t *d = json_pack("{ss, ss}", "source", source, "target", target);
    if (route.n_legs > 1 && models_facts(m, route.leg[0], &first))
        json_object_set_new(d, "through", json_string(first.target));
    return d;
}

void api_plain_languages(struct api_request *r)
{
    struct models *m = r->server->models;
    json_t *list = json_array();

    for (size_t i = 0; models_language(m, i); i++)
        for (size_t k = 0; models_language(m, k); k++) {
            json_t *d = direction_json(m, models_language(m, i), models_language(m, k));
            if (d)
                json_array_append_new(list, d);
        }
    struct http_answer a = serve_json(200, list);
    http_answer(r->http, &a);
}

void api_plain_openapi(struct api_request *r)
{
    struct http_answer a =
        serve_json(200, api_describe_openapi(r->server->config.alternatives_limit));

    http_answer(r->http, &a);
}

void api_other_health(struct api_request *r)
{
    struct http_answer a = serve_json(200, json_pack("{ss}", "status", "ok"));

    http_answer(r->http, &a);
}

/* ---- metrics ---- */

static void show_metrics(struct server *s, struct str *out)
{
    const struct work_load work = work_load(s->work);
    const struct http_load http = http_load(s->http);
    struct metrics *m = &s->metrics;
    struct models_facts f;
    struct hub_counts hub = {0};
    double n_loads = 0;

    for (size_t i = 0; models_facts(s->models, i, &f); i++) {
        n_loads += (double)f.n_loads;
        hub.n_waiting += f.counts.n_waiting;
        hub.n_in_flight += f.counts.n_in_flight;
        hub.n_slots += f.counts.n_slots;
        hub.n_sentences += f.counts.n_sentences;
        hub.n_steps += f.counts.n_steps;
        hub.n_tokens += f.counts.n_tokens;
    }
    /* clang-format off */
    const struct metrics_gauge gauges[] = {
        {"ferry_connections", "Open connections.", false, (double)http.n_connections},
        {"ferry_requests_in_flight", "Requests that are not answered yet.", false, (double)http.n_requests},
        {"ferry_queue_length", "Requests that wait for a request thread.", false, (double)work.n_waiting},
        {"ferry_queue_limit", "Requests that may wait.", false, (double)s->config.queue},
        {"ferry_translations_running", "Requests that are being translated.", false, (double)work.n_running},
        {"ferry_texts_total", "Texts that were translated.", true, (double)m->n_texts},
        {"ferry_lines_total", "Lines that were translated.", true, (double)m->n_lines},
        {"ferry_source_characters_total", "Characters that were translated.", true, (double)m->n_chars_in},
        {"ferry_target_characters_total", "Characters of translations.", true, (double)m->n_chars_out},
        {"ferry_sentences_waiting", "Sentences that wait for a place in a batch.", false, (double)hub.n_waiting},
        {"ferry_sentences_in_flight", "Sentences in the batches of all models.", false, (double)hub.n_in_flight},
        {"ferry_batch_slots", "Places that the batches have.", false, (double)hub.n_slots},
        {"ferry_sentences_total", "Sentences that were translated or given up.", true, (double)hub.n_sentences},
        {"ferry_batch_steps_total", "Steps of batches; target_tokens by steps is how full they are.", true, (double)hub.n_steps},
        {"ferry_target_tokens_total", "Tokens of translations.", true, (double)hub.n_tokens},
        {"ferry_cancelled_total", "Translations given up: late, or the client left.", true, (double)m->n_cancelled},
        {"ferry_model_loads_total", "How often a model file was loaded.", true, n_loads},
        {"ferry_access_log_lost_total", "Lines that the access log did not take.", true, (double)m->n_log_lost},
        {"process_resident_memory_bytes", "Memory in use.", false, metrics_memory()},
    };
    /* clang-format on */
    metrics_show(m, api_route_name, gauges, sizeof gauges / sizeof *gauges, out);
}

void api_other_metrics(struct api_request *r)
{
    const struct serve_config *c = &r->server->config;
    const char *given = http_header(r->http, "Authorization");

    if (!c->metrics) {
        serve_refuse(r->http, 404, "Not Found");
        return;
    }
    if (c->metrics_token[0] && (!given || strncmp(given, "Bearer ", 7) != 0 ||
                                strcmp(given + 7, c->metrics_token) != 0)) {
        serve_refuse(r->http, 401, "Unauthorized");
        return;
    }
    struct http_answer a = serve_answer(200);
    a.type = "text/plain; version=0.0.4; charset=utf-8";
    show_metrics(r->server, &a.body);
    http_answer(r->http, &a);
}

#include "serve/api.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "serve/page/page.h"

/* ---- the table ---- */

/* clang-format off */
static const struct api_field none[] = {{0}};

static const struct api_field translate_values[] = {
    {"q", API_TEXTS, true, NULL, "Text(s) to translate"},
    {"source", API_TEXT, true, NULL, "Source language code, or auto"},
    {"target", API_TEXT, true, NULL, "Target language code"},
    {"format", API_TEXT, false, "text|html", "Format of source text"},
    {"alternatives", API_INT, false, NULL, "Preferred number of alternative translations"},
    {"api_key", API_TEXT, false, NULL, "API key"},
    {0}};
static const struct api_field translate_answer[] = {
    {"translatedText", API_TEXTS, true, NULL, "Translated text(s)"},
    {"detectedLanguage", API_OBJECT, false, NULL, "Of source auto: language and confidence, of a list a list"},
    {"alternatives", API_LIST, false, NULL, "Alternative translations, of a list a list of lists"},
    {0}};
static const struct api_field detect_values[] = {
    {"q", API_TEXT, true, NULL, "Text to detect"},
    {"api_key", API_TEXT, false, NULL, "API key"},
    {0}};
static const struct api_field detect_answer[] = {
    {"confidence", API_NUMBER, true, NULL, "Confidence value, 0 to 100"},
    {"language", API_TEXT, true, NULL, "Language code"},
    {0}};
static const struct api_field languages_answer[] = {
    {"code", API_TEXT, true, NULL, "Language code"},
    {"name", API_TEXT, true, NULL, "Human-readable language name (in English)"},
    {"targets", API_STRINGS, true, NULL, "Supported target language codes"},
    {0}};
static const struct api_field settings_answer[] = {
    {"charLimit", API_INT, true, NULL, "Character input limit (-1 indicates no limit)"},
    {"frontendTimeout", API_INT, true, NULL, "Milliseconds before a page translates what was typed"},
    {"apiKeys", API_BOOL, true, NULL, "Whether there are API keys"},
    {"keyRequired", API_BOOL, true, NULL, "Whether an API key is required"},
    {"suggestions", API_BOOL, true, NULL, "Whether suggestions are taken"},
    {"filesTranslation", API_BOOL, true, NULL, "Whether files are translated"},
    {"supportedFilesFormat", API_STRINGS, true, NULL, "Formats of files"},
    {"language", API_OBJECT, true, NULL, "Languages that a page begins with"},
    {0}};
static const struct api_field plain_values[] = {
    {"text", API_TEXTS, true, NULL, "Text or list of texts; line ends are kept"},
    {"source", API_TEXT, false, NULL, "Code of the texts' language; auto, or absent: each is detected"},
    {"target", API_TEXT, true, NULL, "Code of the language to translate to"},
    {"format", API_TEXT, false, "text|html", "What the texts are"},
    {"alternatives", API_INT, false, NULL, "How many further translations of each text, at most"},
    {"beginning", API_TEXT, false, NULL, "How the translation of a single line begins; alternatives are of its next word then"},
    {"links", API_BOOL, false, NULL, "Which characters belong together; of text, not of html"},
    {"stream", API_BOOL, false, NULL, "Answer with server-sent events: line, for each line; then end, or error"},
    {0}};
static const struct api_field plain_translation[] = {
    {"text", API_TEXT, true, NULL, "The translation"},
    {"source", API_TEXT, true, NULL, "Code of the text's language"},
    {"confidence", API_NUMBER, false, NULL, "Of a source that was detected: 0 to 100"},
    {"alternatives", API_STRINGS, false, NULL, "Further translations, if they were asked for"},
    {"links", API_LIST, false, NULL, "[begin, end, begin, end] in text and translation, if they were asked for"},
    {0}};
static const struct api_field plain_answer[] = {
    {"translations", API_LIST, true, NULL, "One for each text", plain_translation},
    {0}};
static const struct api_field plain_directions[] = {
    {"source", API_TEXT, true, NULL, "Language code"},
    {"target", API_TEXT, true, NULL, "Language code"},
    {"through", API_TEXT, false, NULL, "The language between two models, if there is one"},
    {0}};
static const struct api_field health_answer[] = {{"status", API_TEXT, true, NULL, "ok"}, {0}};

const struct api_route api_routes[] = {
    {"POST", "/translate", API_LIBRE, "Translate text from a language to another",
     translate_values, translate_answer, false, true, api_libre_translate},
    {"POST", "/detect", API_LIBRE, "Detect the language of a single text", detect_values, detect_answer, true, true, api_libre_detect},
    {"GET", "/languages", API_LIBRE, "Retrieve list of supported languages", none, languages_answer, true, false, api_libre_languages},
    {"GET", "/frontend/settings", API_LIBRE, "Retrieve frontend specific settings", none,
     settings_answer, false, false, api_libre_settings},
    {"POST", "/v1/translate", API_PLAIN, "Translate texts", plain_values, plain_answer, false, true, api_plain_translate},
    {"GET", "/v1/directions", API_PLAIN, "List what can be translated into what", none, plain_directions, true, false, api_plain_languages},
    {"GET", "/health", API_PLAIN, "Whether the server answers", none, health_answer, false, false, api_other_health},
    {"GET", "/spec", API_OTHER, "This interface, as Swagger 2", none, NULL, false, false, api_libre_spec},
    {"GET", "/v1/openapi.json", API_OTHER, "This interface, as OpenAPI 3", none, NULL, false, false, api_plain_openapi},
    {"POST", "/suggest", API_OTHER, "A better translation, which is not taken", none, NULL, false, false, api_libre_suggest},
    {"GET", "/metrics", API_OTHER, "Counters in Prometheus' text format", none, NULL, false, false, api_other_metrics},
};
/* clang-format on */

const size_t api_n_routes = sizeof api_routes / sizeof *api_routes;

const char *api_route_name(size_t i)
{
    return i < api_n_routes ? api_routes[i].path : "other";
}

size_t api_route_number(const char *method, const char *path)
{
    const bool is_head = strcmp(method, "HEAD") == 0;
    size_t found = api_n_routes;

    for (size_t i = 0; i < api_n_routes && found == api_n_routes; i++)
        if (strcmp(api_routes[i].path, path) == 0 &&
            strcmp(api_routes[i].method, is_head ? "GET" : method) == 0)
            found = i;
    return found;
}

/* ---- who may ---- */

/* In the values, as LibreTranslate has it, or as a header. */
static const char *key_of(const struct api_request *r)
{
    const char *header = http_header(r->http, "Authorization");

    if (api_has(r, "api_key"))
        return api_text(r, "api_key");
    return header && strncasecmp(header, "Bearer ", 7) == 0 ? header + 7 : NULL;
}

static void refuse_slow(struct api_request *r, int64_t per_minute, double wait)
{
    json_t *value = json_object();
    char text[96], seconds[32];

    snprintf(text, sizeof text, "Slowdown: %lld per 1 minute", (long long)per_minute);
    snprintf(seconds, sizeof seconds, "%.0f", ceil(wait) < 1 ? 1 : ceil(wait));
    json_object_set_new(value, "error", json_string(text));
    struct http_answer a = serve_json(429, value);
    http_add_header(&a, "Retry-After", seconds);
    http_answer(r->http, &a);
}

bool api_allows(struct api_request *r, size_t n_chars)
{
    int64_t per_minute = 0;
    double wait = 0;

    switch (keys_ask(r->server->keys, key_of(r), http_peer(r->http), n_chars, clock_now(),
                     &per_minute, &wait)) {
    case KEYS_GOOD:
        return true;
    case KEYS_MISSING:
        serve_refuse(r->http, 400,
                     "Please contact the server operator to get an API key");
        return false;
    case KEYS_WRONG:
        serve_refuse(r->http, 403, "Invalid API key");
        return false;
    default:
        refuse_slow(r, per_minute, wait);
        return false;
    }
}

/* ---- dispatch ---- */

const char *api_allow(char out[API_ALLOW], const char *path)
{
    size_t n = 0;

    out[0] = '\0';
    for (size_t i = 0; i < api_n_routes; i++)
        if (strcmp(api_routes[i].path, path) == 0) {
            const bool is_get = strcmp(api_routes[i].method, "GET") == 0;
            n += (size_t)snprintf(out + n, API_ALLOW - n, "%s, %s", api_routes[i].method,
                                  is_get ? "HEAD, " : "");
        }
    if (n)
        snprintf(out + n, API_ALLOW - n, "OPTIONS");
    return out;
}

/* Another method than the path's; OPTIONS is what a browser asks before it lets a page
 * ask. */
static void answer_other(struct http_request *r, const char *allow)
{
    const bool is_options = strcmp(http_method(r), "OPTIONS") == 0;
    struct http_answer a =
        is_options ? serve_answer(204)
                   : serve_json(405, json_pack("{ss}", "error", http_reason(405)));

    http_add_header(&a, "Allow", allow);
    http_answer(r, &a);
}

void api_handle(void *ctx, struct http_request *http)
{
    struct api_request r = {.server = ctx, .http = http};
    const char *method = http_method(http), *path = http_path(http);
    const size_t number = api_route_number(method, path);

    if (number < api_n_routes) {
        const struct api_route *route = &api_routes[number];
        if (api_read_values(&r, route))
            route->handle(&r);
        json_decref(r.values);
        return;
    }
    const bool is_get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    if (is_get && r.server->config.page && page_answer(http))
        return;
    char allow[API_ALLOW];
    if (*api_allow(allow, path))
        answer_other(http, allow);
    else
        serve_refuse(http, 404, "Not Found");
}

#include "serve/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "serve/legs.h"
#include "serve/server.h"

/* ---- its texts ---- */

struct job *job_new(struct server *s, struct http_request *r)
{
    struct job *j = calloc(1, sizeof *j);

    if (!j)
        return NULL;
    j->server = s;
    j->request = r;
    j->t_begin = clock_now();
    j->deadline = s->config.deadline > 0 ? j->t_begin + s->config.deadline : HUGE_VAL;
    return j;
}

status job_keep(struct job *j, json_t *value, struct err *err)
{
    if (!j->values)
        j->values = json_array();
    return json_array_append(j->values, value) == 0
               ? OK
               : err_set(err, ERR_MEMORY, "no memory for a value of a request");
}

static status take_text(struct job *j, const json_t *value, struct err *err)
{
    if (!json_is_string(value))
        return err_set(err, ERR_USAGE, "a text is no string");
    const struct line text = {json_string_value(value), json_string_length(value)};
    j->text[j->n++].text = text;
    j->n_chars += utf8_count(text.text, text.n_bytes);
    return OK;
}

status job_take_texts(struct job *j, json_t *q, struct err *err)
{
    TRY(job_keep(j, q, err));
    j->is_list = json_is_array(q);
    const size_t n = j->is_list ? json_array_size(q) : 1;

    TRY(mem_alloc(&j->text, n, sizeof *j->text, err));
    for (size_t i = 0; i < n; i++)
        TRY(take_text(j, j->is_list ? json_array_get(q, i) : q, err));
    return OK;
}

void job_free(struct job *j)
{
    if (!j)
        return;
    for (size_t i = 0; i < j->n; i++) {
        str_release(&j->text[i].best);
        for (size_t k = 0; j->text[i].alternative && k < j->n_alternatives; k++)
            str_release(&j->text[i].alternative[k]);
        free(j->text[i].alternative);
        text_links_release(&j->text[i].links);
    }
    free(j->text);
    json_decref(j->values);
    free(j);
}

void job_put(struct job *j)
{
    struct http_request *r = j->request;

    http_hold(r); /* before another thread can answer it */
    if (work_put(j->server->work, j))
        return;
    job_free(j);
    serve_refuse(r, 503, "The server is busy: its queue is full. Try again later.");
}

bool job_is_over(const struct job *j)
{
    return http_is_gone(j->request) || clock_now() > j->deadline;
}

/* ---- translating ---- */

/* A text, or of a stream or one with links a line of it: what is translated and put
 * together as a whole. */
struct unit {
    size_t text, line; /* which of the job's, and of the text's */
    struct markup markup;
};

struct units {
    struct unit *unit;
    size_t n, cap;
};

static void release_units(struct units *u)
{
    for (size_t i = 0; i < u->n; i++)
        markup_release(&u->unit[i].markup);
    free(u->unit);
}

static status add_unit(struct units *u, const struct job *j, size_t text, size_t line,
                       struct line part, struct err *err)
{
    TRY(mem_grow(&u->unit, &u->cap, u->n + 1, sizeof *u->unit, err));
    struct unit *unit = &u->unit[u->n++];
    *unit = (struct unit){.text = text, .line = line};
    return markup_parse(&unit->markup, part, j->is_html ? MARKUP_HTML : MARKUP_TEXT, err);
}

/* Bytes of the first line of a text, its end counted. */
static size_t first_line(struct line text)
{
    const char *end = memchr(text.text, '\n', text.n_bytes);

    return end ? (size_t)(end - text.text) + 1 : text.n_bytes;
}

static status add_text(struct units *u, const struct job *j, size_t i, struct err *err)
{
    const bool is_by_line = (j->is_stream || j->has_links) && !j->is_html;
    struct line rest = j->text[i].text;

    for (size_t line = 0; rest.n_bytes; line++) {
        const size_t n = is_by_line ? first_line(rest) : rest.n_bytes;
        TRY(add_unit(u, j, i, line, (struct line){rest.text, n}, err));
        rest.text += n;
        rest.n_bytes -= n;
    }
    return OK;
}

static void send_event(struct job *j, const char *name, json_t *value)
{
    struct str event = str_new(0);
    char *data = json_dumps(value, JSON_COMPACT);

    str_printf(&event, "event: %s\ndata: %s\n\n", name, data ? data : "{}");
    http_stream_send(j->request, str_text(&event), event.len);
    free(data);
    json_decref(value);
    str_release(&event);
}

static void send_line(struct job *j, const struct unit *u, const struct str *all,
                      size_t from)
{
    send_event(
        j, "line",
        json_pack("{sI, sI, so}", "text", (json_int_t)u->text, "line",
                  (json_int_t)u->line, "translation",
                  serve_text((struct line){str_text(all) + from, all->len - from})));
}

/* Append the unit in its translations of this rank; `first` is its first segment's number
 * among all. Links live until all of a unit's are at hand; those of its best go to `kept`
 * as well, unless that is NULL. */
static status put_unit(struct str *out, const struct job *j, const struct unit *u,
                       struct legs *legs, size_t first, size_t rank,
                       struct text_links *kept, struct err *err)
{
    RELEASED_BY(mem_release) struct markup_translation *t = NULL;
    RELEASED_BY(mem_release) struct markup_link *links = NULL;
    const size_t begin = out->len;
    size_t n = 0, cap = 0;

    TRY(mem_alloc(&t, u->markup.n_segments, sizeof *t, err));
    for (size_t i = 0; i < u->markup.n_segments; i++) {
        TRY(legs_get(legs, first + i, rank, &t[i], err));
        TRY(mem_grow(&links, &cap, n + t[i].n_links, sizeof *links, err));
        if (t[i].n_links)
            memcpy(links + n, t[i].link, t[i].n_links * sizeof *links);
        n += t[i].n_links;
    }
    for (size_t i = 0, at = 0; i < u->markup.n_segments; at += t[i++].n_links)
        t[i].link = links + at;
    TRY(markup_join(out, &u->markup, t, NULL, err));
    const char *text = j->text[u->text].text.text;
    return kept ? text_links_add(kept, &u->markup, (size_t)(u->markup.source.text - text),
                                 t, out, begin, err)
                : OK;
}

static status put_units(struct job *j, const struct unit *unit, size_t n,
                        struct legs *legs, bool is_copied, struct err *err)
{
    for (size_t i = 0, first = 0; i < n; first += unit[i++].markup.n_segments) {
        struct job_text *t = &j->text[unit[i].text];
        const size_t begin = t->best.len;
        if (is_copied)
            str_add(&t->best, unit[i].markup.source.text, unit[i].markup.source.n_bytes);
        else
            TRY(put_unit(&t->best, j, &unit[i], legs, first, 0,
                         j->has_links && !j->is_html ? &t->links : NULL, err));
        for (size_t k = 0; k < j->n_alternatives && !is_copied && !j->is_html; k++)
            TRY(put_unit(&t->alternative[k], j, &unit[i], legs, first, k + 1, NULL, err));
        if (j->is_stream)
            send_line(j, &unit[i], &t->best, begin);
    }
    return OK;
}

/* Units translated in one call, put where they belong and, if the client waits for them,
 * sent. */
static status do_units(struct job *j, const struct unit *unit, size_t n,
                       const struct models_route *route, const struct work_seat *seat,
                       struct err *err)
{
    RELEASED_BY(mem_release) struct line *lines = NULL;
    RELEASED_BY(legs_release) struct legs legs = {0};
    size_t n_lines = 0, n_marks = 0, at = 0;

    for (size_t i = 0; i < n; i++) {
        n_lines += unit[i].markup.n_segments;
        n_marks += unit[i].markup.n_marks;
    }
    TRY(mem_alloc(&lines, n_lines, sizeof *lines, err));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < unit[i].markup.n_segments; k++)
            lines[at++] = markup_text(&unit[i].markup, k);
    const struct legs_call call = {.models = j->server->models,
                                   .route = *route,
                                   .seat = seat,
                                   .lines = lines,
                                   .n = n_lines,
                                   .has_alternatives = j->n_alternatives && !j->is_html,
                                   .has_links = n_marks > 0 || j->has_links,
                                   .beginning = j->beginning,
                                   .n_best = j->n_alternatives + 1};
    if (route->n_legs)
        TRY(legs_run(&legs, &call, err));
    j->server->metrics.n_lines += n_lines;
    return put_units(j, unit, n, &legs, !route->n_legs, err);
}

/* The texts that are in this language. */
static status do_language(struct job *j, const char *source, const struct work_seat *seat,
                          struct err *err)
{
    enum { AT_ONCE = 4 }; /* lines of a stream */
    RELEASED_BY(release_units) struct units u = {0};
    struct models_route route;

    if (!models_route(j->server->models, source, j->target, &route))
        return err_set(err, ERR_USAGE,
                       "%s (%s) is not available as a target language from %s (%s)",
                       codes_name(j->target), j->target, codes_name(source), source);
    for (size_t i = 0; i < j->n; i++)
        if (strcmp(j->text[i].source, source) == 0)
            TRY(add_text(&u, j, i, err));
    const size_t step = j->is_stream ? AT_ONCE : u.n;
    for (size_t from = 0; from < u.n; from += step)
        TRY(do_units(j, u.unit + from, step < u.n - from ? step : u.n - from, &route,
                     seat, err));
    return OK;
}

/* A translation that says what a better one says is none. */
static void drop_repeats(struct job *j, struct job_text *t)
{
    for (size_t k = 0; k < j->n_alternatives && !j->is_html; k++) {
        bool is_new = strcmp(str_text(&t->alternative[k]), str_text(&t->best)) != 0;
        for (size_t i = 0; i < t->n_alternatives; i++)
            is_new = is_new && strcmp(str_text(&t->alternative[k]),
                                      str_text(&t->alternative[i])) != 0;
        if (!is_new)
            continue;
        const struct str kept = t->alternative[k];
        t->alternative[k] = t->alternative[t->n_alternatives];
        t->alternative[t->n_alternatives++] = kept;
    }
}

/* What of HTML is in a language; false: it cannot be told. */
static bool words_of(struct str *words, struct line html)
{
    RELEASED_BY(markup_release) struct markup m = {0};
    struct err ignored;

    if (markup_parse(&m, html, MARKUP_HTML, &ignored) != OK)
        return false;
    for (size_t i = 0; i < m.n_segments; i++) {
        const struct line segment = markup_text(&m, i);
        str_add(words, segment.text, segment.n_bytes);
        str_putc(words, ' ');
    }
    return str_check(words, "the words of a text", &ignored) == OK;
}

static void detect(const struct job *j, struct job_text *t)
{
    RELEASED_BY(str_release) struct str words = str_new(0);
    struct line text = t->text;

    if (j->is_html && words_of(&words, t->text))
        text = (struct line){str_text(&words), words.len};
    detect_text(j->server->models, text, &t->guesses);
    const bool is_known = t->guesses.n > 0;
    t->source =
        is_known ? t->guesses.item[0].language : detect_unknown(j->server->models);
    t->confidence = is_known ? t->guesses.item[0].confidence : 0;
}

static status begin_texts(struct job *j, struct err *err)
{
    for (size_t i = 0; i < j->n; i++) {
        struct job_text *t = &j->text[i];
        t->best = str_new(0);
        TRY(mem_alloc(&t->alternative, j->n_alternatives, sizeof *t->alternative, err));
        for (size_t k = 0; k < j->n_alternatives; k++)
            t->alternative[k] = str_new(0);
        if (j->is_auto)
            detect(j, t);
    }
    return OK;
}

static status do_texts(struct job *j, const struct work_seat *seat, struct err *err)
{
    TRY(begin_texts(j, err));
    for (size_t i = 0; i < j->n && !j->is_detection; i++) {
        bool is_first = true; /* of its language */
        for (size_t k = 0; k < i; k++)
            is_first = is_first && strcmp(j->text[k].source, j->text[i].source) != 0;
        if (is_first)
            TRY(do_language(j, j->text[i].source, seat, err));
    }
    for (size_t i = 0; i < j->n && !j->is_detection; i++) {
        drop_repeats(j, &j->text[i]);
        TRY(str_check(&j->text[i].best, "the translation", err));
        j->server->metrics.n_chars_out +=
            utf8_count(str_text(&j->text[i].best), j->text[i].best.len);
    }
    return OK;
}

/* ---- answering ---- */

json_t *job_alternatives(const struct job_text *t)
{
    json_t *list = json_array();

    for (size_t i = 0; i < t->n_alternatives; i++)
        json_array_append_new(list, serve_text((struct line){str_text(&t->alternative[i]),
                                                             t->alternative[i].len}));
    return list;
}

static void begin_stream(struct job *j)
{
    struct http_answer a = serve_answer(200);

    a.type = "text/event-stream";
    http_add_header(&a, "Cache-Control", "no-store");
    http_add_header(&a, "X-Accel-Buffering", "no"); /* a proxy must not collect it */
    http_stream_begin(j->request, &a);
}

static void end_stream(struct job *j, const char *name, json_t *value)
{
    send_event(j, name, value);
    http_stream_end(j->request);
}

/* Who has closed its side may still read. */
static const char *why_cancelled(const struct job *j)
{
    if (clock_now() > j->deadline)
        return "The translation took longer than this server allows.";
    return http_is_gone(j->request) ? "The client closed its side of the connection."
                                    : "The server is stopping.";
}

/* What went wrong is the client's fault, its time's, or ours. */
static void fail(struct job *j, const struct work_seat *seat)
{
    const bool is_cancelled = atomic_load(&seat->is_cancelled);
    const bool is_theirs =
        j->result == ERR_USAGE || (j->beginning && j->result == ERR_FORMAT);
    const unsigned code = is_cancelled ? 503 : is_theirs ? 400 : 500;
    const char *why = is_cancelled ? why_cancelled(j) : j->err.msg;

    j->server->metrics.n_cancelled += is_cancelled;
    if (j->is_stream)
        end_stream(
            j, "error",
            json_pack("{so}", "error", serve_text((struct line){why, strlen(why)})));
    else if (code == 500)
        serve_refuse(j->request, code, "Cannot translate text: %s", why);
    else
        serve_refuse(j->request, code, "%s", why);
}

static void finish(struct job *j)
{
    struct metrics *m = &j->server->metrics;

    if (!j->is_detection) {
        m->n_texts += j->n;
        m->n_chars_in += j->n_chars;
        metrics_took(m, clock_now() - j->t_begin);
    }
    if (j->is_stream) {
        end_stream(j, "end", j->answer(j));
        return;
    }
    struct http_answer a = serve_json(200, j->answer(j));
    http_answer(j->request, &a);
}

void job_run(struct job *j, const struct work_seat *seat)
{
    if (j->is_stream)
        begin_stream(j);
    j->result = atomic_load(&seat->is_cancelled)
                    ? err_set(&j->err, ERR_CANCELLED, "it was cancelled")
                    : do_texts(j, seat, &j->err);
}

void job_end(struct job *j, const struct work_seat *seat)
{
    if (j->result == OK)
        finish(j);
    else
        fail(j, seat);
    job_free(j);
}

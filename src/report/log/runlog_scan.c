/* Lines of run.jsonl that are as the journal writes them: no blanks, no escapes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/log/runlog.h"
#include "report/log/runlog_entry.h"

/* The line ends with a brace, so that no number runs on behind it. */
struct scan {
    const char *at, *end;
    struct runlog *log;
    bool has_ranks; /* their list was read */
};

static bool skip(struct scan *s, const char *text)
{
    const size_t n = strlen(text);

    if ((size_t)(s->end - s->at) < n || memcmp(s->at, text, n) != 0)
        return false;
    s->at += n;
    return true;
}

static bool skip_byte(struct scan *s, char c)
{
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

/* A string of plain ASCII. */
static bool scan_text(struct scan *s, const char **text, size_t *n)
{
    if (!skip_byte(s, '"'))
        return false;
    *text = s->at;
    while (s->at < s->end && *s->at >= ' ' && *s->at < 127 && *s->at != '"' &&
           *s->at != '\\')
        s->at++;
    *n = (size_t)(s->at - *text);
    return skip_byte(s, '"');
}

static size_t digits(struct scan *s)
{
    const char *from = s->at;

    while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
        s->at++;
    return (size_t)(s->at - from);
}

/* By JSON's grammar, and the same double that jansson makes of it. */
static bool scan_number(struct scan *s, double *v)
{
    enum { EXACT = 15 }; /* digits of an integer that a double holds */
    const char *from = s->at;

    skip_byte(s, '-');
    const bool is_zero = s->at < s->end && *s->at == '0';
    const size_t n = digits(s);
    if (!n || (is_zero && n > 1))
        return false;
    bool is_real = false;
    if (skip_byte(s, '.')) {
        is_real = true;
        if (!digits(s))
            return false;
    }
    if (skip_byte(s, 'e') || skip_byte(s, 'E')) {
        is_real = true;
        if (!skip_byte(s, '-'))
            skip_byte(s, '+');
        if (!digits(s))
            return false;
    }
    if (!is_real && n > EXACT)
        return false;
    *v = is_real ? strtod(from, NULL) : (double)strtoll(from, NULL, 10);
    return isfinite(*v);
}

static const struct runlog_field *find_field(const struct runlog_object *o, size_t from,
                                             const char *name, size_t n)
{
    for (size_t k = 0; k < o->n; k++) {
        const struct runlog_field *f = &o->field[(from + k) % o->n];
        if (strlen(f->name) == n && memcmp(f->name, name, n) == 0)
            return f;
    }
    return NULL;
}

static bool scan_value(struct scan *s, const struct runlog_field *f, void *to)
{
    const char *text;
    size_t n;
    struct err ignored;

    if (f->type == RUNLOG_TEXT)
        return scan_text(s, &text, &n) &&
               runlog_entry_name(s->log, to, text, n, &ignored) == OK;
    if (f->type == RUNLOG_HASH) {
        const bool is_text = scan_text(s, &text, &n);
        if (is_text)
            *(uint64_t *)to = strtoull(text, NULL, 16);
        return is_text;
    }
    if (f->type == RUNLOG_FLAG || f->type == RUNLOG_JSON)
        return false;
    if (!skip(s, "null"))
        return scan_number(s, to);
    *(double *)to = NAN;
    return true;
}

typedef bool scan_fn(struct scan *s, void *to);

/* The members of an object up to its brace, into the struct of their kind; `inner` reads
 * those that are lists or objects. */
static bool scan_members(struct scan *s, enum runlog_kind kind, void *to, scan_fn *inner)
{
    const struct runlog_object *o = &runlog_schema[kind];
    size_t next = 0; /* they stand in the schema's order */

    for (size_t i = 0; i < o->n; i++)
        if (o->field[i].type <= RUNLOG_MAYBE) /* the rest is zeroed */
            *(double *)((char *)to + o->field[i].at) = NAN;
    do {
        const char *name;
        size_t n;
        if (!scan_text(s, &name, &n) || !skip_byte(s, ':'))
            return false;
        const struct runlog_field *f = find_field(o, next, name, n);
        if (!f || (f->type == RUNLOG_JSON ? !inner || !inner(s, to)
                                          : !scan_value(s, f, (char *)to + f->at)))
            return false;
        next = (size_t)(f - o->field) + 1;
    } while (skip_byte(s, ','));
    return skip_byte(s, '}');
}

/* {"eth0":{"sent":0,...},...} */
static bool scan_cards(struct scan *s, void *to)
{
    struct runlog_rank *r = to;
    struct runlog_card c;
    const char *name;
    size_t n;

    if (!skip_byte(s, '{'))
        return false;
    if (skip_byte(s, '}'))
        return true;
    do {
        if (!scan_text(s, &name, &n) || !skip(s, ":{") ||
            !scan_members(s, RUNLOG_KIND_CARD, &c, NULL))
            return false;
        runlog_entry_card(r, &c);
    } while (skip_byte(s, ','));
    return skip_byte(s, '}');
}

static bool scan_rank(struct scan *s, struct runlog_rank *r)
{
    *r = (struct runlog_rank){.card_sent = NAN, .card_received = NAN, .card_errors = NAN};
    return skip_byte(s, '{') && scan_members(s, RUNLOG_KIND_RANK, r, scan_cards);
}

static bool scan_ranks(struct scan *s, void *to)
{
    struct runlog *log = s->log;
    struct runlog_rank r;
    struct err ignored;

    (void)to;
    if (s->has_ranks || !skip_byte(s, '['))
        return false;
    s->has_ranks = true;
    if (skip_byte(s, ']'))
        return true;
    do {
        if (!scan_rank(s, &r) || runlog_entry_add_rank(log, &r, &ignored) != OK)
            return false;
    } while (skip_byte(s, ','));
    return skip_byte(s, ']');
}

static bool is_over(const struct scan *s)
{
    return s->at == s->end;
}

static status add_step(struct scan *s, bool *is_done, struct err *err)
{
    struct runlog_step e = {.steps = NAN};

    if (!scan_members(s, RUNLOG_KIND_STEP, &e, NULL) || !is_over(s) || !isfinite(e.step))
        return OK;
    *is_done = true;
    TRY(runlog_entry_add_step(s->log, &e, err));
    runlog_entry_time(s->log, e.t, false);
    return OK;
}

static status add_ranks(struct scan *s, bool *is_done, struct err *err)
{
    struct runlog_ranks e = {.first = s->log->n_rank};

    if (!scan_members(s, RUNLOG_KIND_RANKS, &e, scan_ranks) || !is_over(s) ||
        !s->has_ranks || !isfinite(e.step)) {
        s->log->n_rank = e.first;
        return OK;
    }
    *is_done = true;
    TRY(runlog_entry_add_ranks(s->log, &e, err));
    runlog_entry_time(s->log, e.t, false);
    return OK;
}

status runlog_scan(struct runlog *log, const char *line, size_t n, bool *is_done,
                   struct err *err)
{
    struct scan s = {line, line + n, log, false};

    *is_done = false;
    if (!n || line[n - 1] != '}')
        return OK;
    if (skip(&s, "{\"event\":\"step\","))
        return add_step(&s, is_done, err);
    if (skip(&s, "{\"event\":\"ranks\","))
        return add_ranks(&s, is_done, err);
    return OK;
}

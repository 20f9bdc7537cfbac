#include "decode/worker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/pool.h"
#include "decode/columns.h"
#include "decode/step_rows.h"

/* Sources that are encoded together: enough for wide products, few enough that the
 * places which wait for rows take little memory. Room is taken for lengths rounded up. */
enum { AHEAD = 8, ENCODE_TOKENS = 512, LENGTH_STEP = 64 };

/* A sentence whose source is encoded. */
struct sentence {
    struct worker_job of;
    struct session_source source;
};

struct slot {
    struct sentence sentence;
    struct beam *beam;
    size_t max_len, n_rows; /* room of the beam */
    int32_t *entry;         /* [n_steps,rows] of the cache, by step and row; -1: none */
    size_t n_steps;
    struct columns columns;                /* with a shortlist */
    const struct session_columns *outputs; /* of its rows; NULL: the whole vocabulary */
    bool is_busy;
};

/* What sentences in flight have taken. */
struct taken {
    size_t n_slots, n_rows, n_entries;
    size_t n_wishing; /* rows that may wish logits */
};

struct worker {
    const struct network *net;
    const struct infer_kernels *k;
    struct worker_room room;
    struct pool *pool; /* NULL: the caller alone */
    struct session session;
    struct ensemble_networks more; /* networks that are asked beside it */
    struct ensemble others;
    bool is_open;      /* the session, and what else the room decides */
    struct slot *slot; /* [n_slots] */
    struct taken taken;
    struct sentence ready[AHEAD];
    size_t n_ready, next_ready;
    struct worker_job held; /* for whose source there was no place yet */
    bool has_held;
    struct step_rows rows;  /* of a step */
    struct sampler sampler; /* of whichever sentence is advanced */
    uint64_t *gram;         /* [max_src] */
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t worker_rows(const struct search_rules *rules)
{
    return rules->beam.width + rules->beam.n_extra;
}

/* A guide may refuse the first of them. */
size_t worker_top(const struct search_rules *rules)
{
    enum { GUIDED = 16 };
    const size_t n = 2 * rules->beam.width;

    if (rules->samples)
        return 1;
    return rules->has_guides ? larger(n, GUIDED) : n;
}

static bool may_wish(const struct search_rules *rules)
{
    return rules->has_guides || rules->samples;
}

/* ---- room ---- */

static struct session_shape shape_of(const struct worker_room *r)
{
    const size_t n_src = linear_round(r->max_src, SESSION_ROUND);

    return (struct session_shape){
        .n_rows = larger(r->n_slots * r->n_each, r->max_rows),
        .n_entries = larger(r->n_tokens * r->n_each, r->max_len * r->max_rows),
        .n_memory = larger(r->n_tokens, n_src) + r->n_slots * SESSION_ROUND,
        .n_tokens = larger(r->max_src, ENCODE_TOKENS),
        .max_len = larger(r->max_len, r->max_src),
        .n_top = r->max_top};
}

static void close_room(struct worker *w)
{
    session_close(&w->session);
    ensemble_close(&w->others);
    step_rows_close(&w->rows);
    free(w->gram);
    w->gram = NULL;
    w->is_open = false;
}

static status open_room(struct worker *w, struct err *err)
{
    const struct session_shape shape = shape_of(&w->room);

    status result = session_open(&w->session, w->net, w->k, w->pool, shape, err);
    THEN(result, ensemble_open(&w->others, w->more, w->k, w->pool, shape, err));
    THEN(result, step_rows_open(&w->rows, w->net, shape, w->room.max_len, err));
    THEN(result, mem_alloc(&w->gram, w->room.max_src, sizeof *w->gram, err));
    w->is_open = result == OK;
    if (result != OK)
        close_room(w);
    return result;
}

static bool fits_room(const struct worker *w, const struct worker_job *j)
{
    return w->is_open && j->job.n <= w->room.max_src &&
           j->job.max_len <= w->room.max_len &&
           worker_rows(j->rules) <= w->room.max_rows &&
           worker_top(j->rules) <= w->room.max_top;
}

/* Nothing is in flight: room for this one too. */
static status make_room(struct worker *w, const struct worker_job *j, struct err *err)
{
    struct worker_room *r = &w->room;
    const struct worker_room old = *r;

    close_room(w);
    if (j->job.n > r->max_src)
        r->max_src = linear_round(j->job.n, LENGTH_STEP);
    if (j->job.max_len > r->max_len)
        r->max_len = linear_round(j->job.max_len, LENGTH_STEP);
    r->max_rows = larger(r->max_rows, worker_rows(j->rules));
    r->max_top = larger(r->max_top, worker_top(j->rules));
    if (open_room(w, err) == OK)
        return OK;
    *r = old; /* which smaller sentences may still find */
    return err_wrap(err, "translating a sentence of %zu tokens", j->job.n);
}

/* A slot's beam and columns, as large as the sentence needs them. */
static status make_slot_room(struct worker *w, struct slot *s, const struct worker_job *j,
                             struct err *err)
{
    const size_t n_rows = worker_rows(j->rules);
    const struct shortlist *list = j->rules->shortlist;

    if (!s->beam || s->n_rows < n_rows || s->max_len < j->job.max_len) {
        s->n_rows = larger(s->n_rows, n_rows);
        s->max_len = larger(s->max_len, w->room.max_len);
        beam_close(s->beam);
        free(s->entry);
        s->entry = NULL;
        TRY(beam_open(&s->beam, s->max_len, s->n_rows, err));
        if (mem_alloc(&s->entry, s->max_len * s->n_rows, sizeof *s->entry, err) != OK) {
            beam_close(s->beam);
            s->beam = NULL;
            return err->code;
        }
    }
    if (list && (s->columns.list != list || s->columns.max_src < j->job.n)) {
        columns_close(&s->columns);
        TRY(columns_open(&s->columns, w->net, list, w->room.max_src, err));
    }
    return OK;
}

/* ---- life ---- */

status worker_open(struct worker **out, const struct network *net,
                   struct ensemble_networks more, const struct infer_kernels *k,
                   size_t n_threads, struct worker_room room, struct err *err)
{
    struct worker *w;

    *out = NULL;
    TRY(mem_alloc(&w, 1, sizeof *w, err));
    *w = (struct worker){.net = net, .more = more, .k = k, .room = room};
    status result = n_threads > 1 ? pool_open(&w->pool, n_threads, false, err) : OK;
    THEN(result, mem_alloc(&w->slot, room.n_slots, sizeof *w->slot, err));
    THEN(result, open_room(w, err));
    if (result != OK) {
        worker_close(w);
        return result;
    }
    *out = w;
    return OK;
}

void worker_close(struct worker *w)
{
    if (!w)
        return;
    close_room(w);
    pool_close(w->pool);
    for (size_t i = 0; i < w->room.n_slots && w->slot; i++) {
        beam_close(w->slot[i].beam);
        free(w->slot[i].entry);
        columns_close(&w->slot[i].columns);
    }
    free(w->slot);
    sampler_close(&w->sampler);
    free(w);
}

/* ---- sentences come ---- */

static bool is_cancelled(const struct worker_job *j)
{
    return atomic_load_explicit(j->is_cancelled, memory_order_acquire);
}

/* The next sentence that waits and has a place, now that the worker is about to encode n
 * others. */
static bool next_job(struct worker *w, struct worker_queue *q, size_t n,
                     struct sentence *s)
{
    const size_t n_have = w->taken.n_slots + n;
    struct err err;

    for (;;) {
        if (!w->has_held && !q->take(q, n_have, &w->held))
            return false;
        w->has_held = true;
        s->of = w->held;
        if (fits_room(w, &s->of)) {
            w->has_held = !session_lend(&w->session, s->of.job.n, &s->source);
            return !w->has_held;
        }
        if (n_have)
            return false;
        if (make_room(w, &s->of, &err) == OK)
            continue;
        w->has_held = false;
        q->done(q, &s->of, NULL, &err);
    }
}

/* The next waiting sentences, encoded, as far as there are places for them. */
static void encode_next(struct worker *w, struct worker_queue *q)
{
    struct session_sentence list[AHEAD];
    size_t n = 0, n_tokens = 0;

    w->n_ready = w->next_ready = 0;
    while (n < AHEAD && n_tokens < ENCODE_TOKENS) {
        struct sentence *s = &w->ready[n];
        if (!next_job(w, q, n, s))
            break;
        list[n++] = (struct session_sentence){s->of.job.id, s->source};
        n_tokens += s->of.job.n;
    }
    if (n) {
        session_encode(&w->session, list, n);
        ensemble_encode(&w->others, list, n);
    }
    w->n_ready = n;
}

static struct slot *free_slot(struct worker *w)
{
    for (size_t i = 0; i < w->room.n_slots; i++)
        if (!w->slot[i].is_busy)
            return &w->slot[i];
    return NULL;
}

/* What a guide asks for, or chance draws, may be any token. */
static const struct session_columns *outputs_of(struct slot *s,
                                                const struct worker_job *j)
{
    if (!j->rules->shortlist || may_wish(j->rules))
        return NULL;
    return columns_take(&s->columns, j->job.id, j->job.n);
}

/* All that the sentence may become. */
static struct taken need_of(const struct worker_job *j)
{
    const size_t n = worker_rows(j->rules);

    return (struct taken){.n_slots = 1,
                          .n_rows = n,
                          .n_entries = j->job.max_len * n,
                          .n_wishing = may_wish(j->rules) ? n : 0};
}

static bool has_place(const struct worker *w, struct taken need)
{
    return w->taken.n_slots < w->room.n_slots &&
           w->taken.n_rows + need.n_rows <= w->session.shape.n_rows &&
           w->taken.n_entries + need.n_entries <= w->session.shape.n_entries;
}

static status open_sampler(struct worker *w, const struct search_rules *rules,
                           struct err *err)
{
    if (!rules->samples || w->sampler.n_max)
        return OK;
    return sampler_open(&w->sampler, rules->sampling, w->k,
                        (size_t)w->net->config.vocab_size, err);
}

/* The sentence gets a slot. */
static status begin(struct worker *w, struct slot *s, const struct sentence *sentence,
                    struct err *err)
{
    const struct worker_job *j = &sentence->of;
    const struct taken need = need_of(j);
    struct beam_options options = j->rules->beam;

    TRY(open_sampler(w, j->rules, err));
    TRY(step_rows_reserve(&w->rows, w->taken.n_wishing + need.n_wishing, err));
    TRY(make_slot_room(w, s, j, err));
    options.sampler = j->rules->samples ? &w->sampler : NULL;
    s->sentence = *sentence;
    s->is_busy = true;
    s->n_steps = 0;
    s->outputs = outputs_of(s, j);
    w->taken.n_slots++;
    w->taken.n_rows += need.n_rows;
    w->taken.n_entries += need.n_entries;
    w->taken.n_wishing += need.n_wishing;
    beam_begin(s->beam, search_limit(j->rules, &j->job, w->gram), options);
    return OK;
}

/* Give waiting sentences rows, as long as there are some and the cache has room for all
 * that they may become. */
static void fill(struct worker *w, struct worker_queue *q)
{
    struct err err;

    for (;;) {
        if (w->taken.n_slots == w->room.n_slots)
            return;
        if (w->next_ready == w->n_ready)
            encode_next(w, q);
        if (w->next_ready == w->n_ready)
            return;
        const struct sentence *next = &w->ready[w->next_ready];
        if (!has_place(w, need_of(&next->of)))
            return;
        w->next_ready++;
        if (begin(w, free_slot(w), next, &err) != OK) {
            session_give_back(&w->session, next->source);
            q->done(q, &next->of, NULL, &err);
        }
    }
}

/* ---- and go ---- */

/* What the sentence had is free again. */
static void leave(struct worker *w, struct slot *s)
{
    const struct taken had = need_of(&s->sentence.of);

    for (size_t i = 0; i < s->n_steps * had.n_rows; i++)
        if (s->entry[i] >= 0)
            session_drop_entry(&w->session, s->entry[i]);
    session_give_back(&w->session, s->sentence.source);
    w->taken.n_slots--;
    w->taken.n_rows -= had.n_rows;
    w->taken.n_entries -= had.n_entries;
    w->taken.n_wishing -= had.n_wishing;
    s->is_busy = false;
}

/* Those that nobody waits for any more, in flight or not. */
static void drop_cancelled(struct worker *w, struct worker_queue *q)
{
    size_t n = w->next_ready;

    for (size_t i = 0; i < w->room.n_slots; i++) {
        struct slot *s = &w->slot[i];
        if (!s->is_busy || !is_cancelled(&s->sentence.of))
            continue;
        leave(w, s);
        q->done(q, &s->sentence.of, NULL, NULL);
    }
    for (size_t i = w->next_ready; i < w->n_ready; i++) {
        const struct sentence s = w->ready[i];
        if (!is_cancelled(&s.of)) {
            w->ready[n++] = s;
            continue;
        }
        session_give_back(&w->session, s.source);
        q->done(q, &s.of, NULL, NULL);
    }
    w->n_ready = n;
    if (w->has_held && is_cancelled(&w->held)) {
        w->has_held = false;
        q->done(q, &w->held, NULL, NULL);
    }
}

/* ---- a step ---- */

static bool wants_prob(const struct search_rules *rules)
{
    return !rules->beam.is_greedy || rules->wants_scores || rules->has_guides;
}

/* Rows of one slot from `first` on, each with a new entry of the cache; the row behind
 * them. */
static size_t add_rows(struct worker *w, struct slot *s, size_t first)
{
    const struct search_rules *rules = s->sentence.of.rules;
    const struct beam_rows rows = beam_rows(s->beam);
    const struct step_ask ask = {.beam = s->beam,
                                 .n_top = worker_top(rules),
                                 .wants_prob = wants_prob(rules),
                                 .source = s->sentence.source,
                                 .outputs = s->outputs};
    const size_t width = worker_rows(rules), t = rows.t;
    int32_t *now = s->entry + t * width;

    s->n_steps = t + 1;
    for (size_t r = 0; r < width; r++)
        now[r] = r < rows.n ? session_take_entry(&w->session) : -1;
    for (size_t r = 0; r < rows.n; r++) {
        int32_t *history = step_rows_history(&w->rows, first + r);
        for (size_t u = 0; u <= t; u++)
            history[u] = s->entry[u * width + (size_t)rows.physical[r * (t + 1) + u]];
        step_rows_ask(&w->rows, &ask, first, r);
    }
    return first + rows.n;
}

/* The slot's beam goes on, or is over and leaves. */
static void advance(struct worker *w, struct worker_queue *q, struct slot *s,
                    size_t first)
{
    const struct worker_job *j = &s->sentence.of;
    const struct beam_next next = step_rows_next(&w->rows, first, worker_top(j->rules));
    struct err err;

    w->sampler.options = j->rules->sampling;
    const bool is_ok = beam_advance(s->beam, &next, &err) == OK;
    if (is_ok && beam_rows(s->beam).n)
        return;
    leave(w, s);
    q->done(q, j, is_ok ? s->beam : NULL, is_ok ? NULL : &err);
}

static void step(struct worker *w, struct worker_queue *q)
{
    const size_t n_sentences = w->taken.n_slots;
    size_t n = 0, first = 0;

    step_rows_begin(&w->rows);
    for (size_t i = 0; i < w->room.n_slots; i++)
        if (w->slot[i].is_busy)
            n = add_rows(w, &w->slot[i], n);
    step_rows_get(&w->rows, &w->session, &w->others, n);
    for (size_t i = 0; i < w->room.n_slots; i++) {
        struct slot *s = &w->slot[i];
        if (!s->is_busy)
            continue;
        const size_t n_rows = beam_rows(s->beam).n;
        advance(w, q, s, first);
        first += n_rows;
    }
    q->stepped(q, n_sentences);
}

void worker_run(struct worker *w, struct worker_queue *q)
{
    for (;;) {
        drop_cancelled(w, q);
        fill(w, q);
        if (!w->taken.n_slots)
            return;
        step(w, q);
    }
}

double worker_time_step(struct worker *w, size_t n_sentences, size_t width)
{
    enum { TIMES = 3 };
    struct session *s = &w->session;
    struct step_rows *a = &w->rows;
    const size_t n = n_sentences * width;
    const size_t t = w->net->config.arch.has_no_begin; /* S would cost nothing */
    struct session_source source;
    double best = INFINITY;

    BUG_ON(n > s->shape.n_rows || !session_lend(s, SESSION_ROUND, &source));
    for (size_t i = 0; i < n; i++) {
        const size_t to = i * a->n_top;
        step_rows_history(a, i)[t] = session_take_entry(s);
        a->row[i] = (struct session_row){
            .token = -1,
            .t = t,
            .source = source,
            .best = {a->log_prob + to, a->id + to, a->n_top, .wants_prob = true},
            .entry = step_rows_history(a, i)};
    }
    for (int i = 0; i < TIMES; i++) {
        const double start = clock_now();
        step_rows_get(a, s, &w->others, n);
        const double took = clock_now() - start;
        best = took < best ? took : best;
    }
    for (size_t i = 0; i < n; i++)
        session_drop_entry(s, step_rows_history(a, i)[t]);
    session_give_back(s, source);
    return best;
}

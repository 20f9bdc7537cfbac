#include "decode/device_search.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/decoder.h"

struct room {
    size_t n_sents, n_src, max_len; /* max_len: target positions */
};

struct device_search {
    struct search search; /* first: what others see */
    struct model *model;
    struct room room;
    struct decoder *decoder;
    struct beam **beam;                 /* [n_sents] */
    int32_t *first_row;                 /* [n_sents,max_len] of each step */
    int32_t *src_id, *src_at, *src_pos; /* packed sources of the batch */
    int32_t *src_pair;
    uint64_t *gram;                                    /* [n_src] */
    int32_t *token, *first, *last, *physical, *top_id; /* of the rows of a step */
    void *top;                                         /* reals of the device */
    double *log_prob;
};

static void drop_room(struct device_search *s)
{
    decoder_close(s->decoder);
    for (size_t i = 0; i < s->room.n_sents && s->beam; i++)
        beam_close(s->beam[i]);
    free(s->beam);
    free(s->first_row);
    free(s->src_id);
    free(s->src_at);
    free(s->src_pos);
    free(s->src_pair);
    free(s->gram);
    free(s->token);
    free(s->first);
    free(s->last);
    free(s->physical);
    free(s->top_id);
    free(s->top);
    free(s->log_prob);
    *s = (struct device_search){.search = s->search, .model = s->model};
}

static status take_rows(struct device_search *s, size_t rows, size_t n_top,
                        struct err *err)
{
    size_t n_physical;

    TRY(mem_mul(&n_physical, rows, s->room.max_len, err));
    TRY(mem_alloc(&s->token, rows, sizeof *s->token, err));
    TRY(mem_alloc(&s->first, rows, sizeof *s->first, err));
    TRY(mem_alloc(&s->last, rows, sizeof *s->last, err));
    TRY(mem_alloc(&s->physical, n_physical, sizeof *s->physical, err));
    TRY(mem_alloc(&s->top_id, rows * n_top, sizeof *s->top_id, err));
    TRY(mem_alloc(&s->top, rows * n_top, s->model->device->real_bytes, err));
    return mem_alloc(&s->log_prob, rows * n_top, sizeof *s->log_prob, err);
}

static status take_room(struct device_search *s, struct err *err)
{
    const struct room *r = &s->room;
    const size_t width = s->search.rules.beam.width, rows = r->n_sents * width;
    const struct decoder_shape shape = {rows, r->n_src, r->max_len, 2 * width};

    TRY(decoder_open(&s->decoder, s->model, shape, err));
    TRY(mem_alloc(&s->beam, r->n_sents, sizeof(struct beam *), err));
    for (size_t i = 0; i < r->n_sents; i++)
        TRY(beam_open(&s->beam[i], r->max_len, width, err));
    TRY(mem_alloc(&s->first_row, r->n_sents * r->max_len, sizeof *s->first_row, err));
    TRY(mem_alloc(&s->src_id, r->n_src, sizeof *s->src_id, err));
    TRY(mem_alloc(&s->src_at, r->n_sents + 1, sizeof *s->src_at, err));
    TRY(mem_alloc(&s->src_pos, r->n_src, sizeof *s->src_pos, err));
    TRY(mem_alloc(&s->src_pair, r->n_src, sizeof *s->src_pair, err));
    TRY(mem_alloc(&s->gram, r->n_src, sizeof *s->gram, err));
    return take_rows(s, rows, 2 * width, err);
}

/*
 * The cache is rows x positions. Batches of short sentences have many rows, those of
 * long ones many positions; room for both at once would be several times either, so
 * new room is taken for the batch at hand and not for the largest of everything.
 */
static status make_room(struct device_search *s, struct room want, struct err *err)
{
    if (want.n_sents <= s->room.n_sents && want.n_src <= s->room.n_src &&
        want.max_len <= s->room.max_len)
        return OK;
    drop_room(s);
    s->room = want;
    if (take_room(s, err) != OK) {
        drop_room(s);
        return err_wrap(err, "searching %zu sentences of up to %zu target tokens",
                        want.n_sents, want.max_len);
    }
    return OK;
}

/* ---- a step of all living rows ---- */

/* The rows of beam i, whose rows of earlier steps stood where first_row says. */
static size_t add_rows(struct device_search *s, size_t i, size_t at, size_t t)
{
    const struct beam_rows rows = beam_rows(s->beam[i]);
    int32_t *first_row = s->first_row + i * s->room.max_len;

    if (!rows.n)
        return at;
    first_row[t] = (int32_t)at;
    for (size_t r = 0; r < rows.n; r++, at++) {
        s->token[at] = rows.token[r];
        s->first[at] = s->src_at[i];
        s->last[at] = s->src_at[i + 1];
        for (size_t u = 0; u <= t; u++)
            s->physical[at * (t + 1) + u] = first_row[u] + rows.physical[r * (t + 1) + u];
    }
    return at;
}

static double real_at(const void *top, size_t i, size_t real_bytes)
{
    return real_bytes == sizeof(double) ? ((const double *)top)[i]
                                        : (double)((const float *)top)[i];
}

/* One position of all beams that are not over; how many rows there were. */
static status step(struct device_search *s, size_t n_sents, size_t t, size_t *n_rows,
                   struct err *err)
{
    struct device *d = s->model->device;
    const size_t n_top = 2 * s->search.rules.beam.width;
    size_t n = 0;

    for (size_t i = 0; i < n_sents; i++)
        n = add_rows(s, i, n, t);
    *n_rows = n;
    if (!n)
        return OK;
    decoder_step(s->decoder, t,
                 &(struct decoder_rows){n, s->token, s->first, s->last, s->physical},
                 s->top, s->top_id);
    TRY(device_sync(d, err));
    for (size_t i = 0; i < n * n_top; i++)
        s->log_prob[i] = real_at(s->top, i, d->real_bytes);
    for (size_t i = 0, at = 0; i < n_sents; i++) {
        const size_t n_own = beam_rows(s->beam[i]).n;
        if (n_own)
            TRY(beam_advance(s->beam[i],
                             &(struct beam_next){.log_prob = s->log_prob + at * n_top,
                                                 .id = s->top_id + at * n_top,
                                                 .n_top = n_top},
                             err));
        at += n_own;
    }
    return OK;
}

/* ---- a batch ---- */

/* The longest source and the longest target that the batch may lead to. */
static struct room room_of(const struct search_job *jobs, size_t n, size_t *max_src)
{
    struct room room = {.n_sents = n};

    *max_src = 0;
    for (size_t i = 0; i < n; i++) {
        room.n_src += jobs[i].n;
        *max_src = jobs[i].n > *max_src ? jobs[i].n : *max_src;
        room.max_len = jobs[i].max_len > room.max_len ? jobs[i].max_len : room.max_len;
    }
    return room;
}

static void encode(struct device_search *s, const struct search_job *jobs, size_t n,
                   size_t max_src)
{
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        beam_begin(s->beam[i], search_limit(&s->search.rules, &jobs[i], s->gram),
                   s->search.rules.beam);
        memcpy(s->src_id + at, jobs[i].id, jobs[i].n * sizeof *s->src_id);
        for (size_t p = 0; p < jobs[i].n; p++)
            s->src_pos[at++] = (int32_t)p;
        s->src_at[i + 1] = (int32_t)at;
    }
    model_encode(s->model, &(struct model_batch){.n_sents = n,
                                                 .n_src = at,
                                                 .max_src = max_src,
                                                 .src_at = s->src_at,
                                                 .src_id = s->src_id,
                                                 .src_pos = s->src_pos,
                                                 .src_pair = s->src_pair});
    decoder_begin(s->decoder);
}

static status run_batch(struct device_search *s, const struct search_job *jobs, size_t n,
                        struct err *err)
{
    size_t max_src, n_rows = 1;
    const struct room room = room_of(jobs, n, &max_src);
    const struct model_shape shape = {.n_sents = n,
                                      .n_src = room.n_src,
                                      .max_len = max_src > room.max_len ? max_src
                                                                        : room.max_len};

    TRY(model_reserve(s->model, shape, err));
    TRY(make_room(s, room, err));
    encode(s, jobs, n, max_src);
    for (size_t t = 0; n_rows; t++)
        TRY(step(s, n, t, &n_rows, err));
    return OK;
}

/* How many of n jobs make a batch: sentences times the longest target. */
static size_t batch_size(const struct device_search *s, const struct search_job *jobs,
                         size_t n)
{
    size_t longest = 0, i = 0;

    for (; i < n; i++) {
        longest = jobs[i].max_len > longest ? jobs[i].max_len : longest;
        if (i > 0 && (i + 1) * longest > s->search.rules.batch_tokens)
            break;
    }
    return i;
}

static status run(struct search *search, const struct search_job *jobs, size_t n,
                  search_done *done, void *ctx, struct err *err)
{
    struct device_search *s = (struct device_search *)search;

    for (size_t first = 0, size; first < n; first += size) {
        size = batch_size(s, jobs + first, n - first);
        TRY(run_batch(s, jobs + first, size, err));
        for (size_t i = 0; i < size; i++)
            TRY(done(ctx, first + i, s->beam[i], err));
    }
    return OK;
}

static void close_search(struct search *search)
{
    struct device_search *s = (struct device_search *)search;

    drop_room(s);
    free(s);
}

status device_search_open(struct search **search, struct model *m,
                          struct search_rules rules, struct err *err)
{
    struct device_search *s;

    BUG_ON(rules.has_guides || rules.samples);
    *search = NULL;
    TRY(mem_alloc(&s, 1, sizeof *s, err));
    *s = (struct device_search){
        .search = {.rules = rules, .run = run, .close = close_search}, .model = m};
    *search = &s->search;
    return OK;
}

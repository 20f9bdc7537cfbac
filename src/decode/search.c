#include "decode/search.h"

#include <stdlib.h>

#include "base/mem.h"

void search_init(struct search *s, struct model *m, struct beam_options options,
                 size_t max_repeats)
{
    *s = (struct search){.model = m, .options = options, .max_repeats = max_repeats};
}

static void drop_room(struct search *s)
{
    decoder_close(s->decoder);
    beam_close(s->beam);
    free(s->src_pos);
    free(s->src_pair);
    free(s->limit);
    free(s->gram);
    free(s->first);
    free(s->last);
    free(s->top);
    search_init(s, s->model, s->options, s->max_repeats);
}

void search_close(struct search *s)
{
    drop_room(s);
    *s = (struct search){0};
}

static status take_room(struct search *s, struct search_room room, struct err *err)
{
    const size_t width = s->options.width, rows = room.n_sents * width;
    const struct decoder_shape shape = {rows, room.n_src, room.max_len, 2 * width};

    TRY(decoder_open(&s->decoder, s->model, shape, err));
    TRY(beam_open(&s->beam, room.n_sents, room.max_len, width, err));
    TRY(mem_alloc(&s->src_pos, room.n_src, sizeof *s->src_pos, err));
    TRY(mem_alloc(&s->src_pair, room.n_src, sizeof *s->src_pair, err));
    TRY(mem_alloc(&s->limit, room.n_sents, sizeof *s->limit, err));
    TRY(mem_alloc(&s->gram, room.n_src, sizeof *s->gram, err));
    TRY(mem_alloc(&s->first, rows, sizeof *s->first, err));
    TRY(mem_alloc(&s->last, rows, sizeof *s->last, err));
    TRY(mem_alloc(&s->top, rows * 2 * width, s->model->device->real_bytes, err));
    s->room = room;
    return OK;
}

/*
 * The cache is rows x positions. Batches of short sentences have many rows, those of
 * long ones many positions; room for both at once would be several times either, so
 * new room is taken for the batch at hand and not for the largest of everything.
 */
static status make_room(struct search *s, struct search_room want, struct err *err)
{
    if (want.n_sents <= s->room.n_sents && want.n_src <= s->room.n_src &&
        want.max_len <= s->room.max_len)
        return OK;
    drop_room(s);
    if (take_room(s, want, err) != OK) {
        drop_room(s);
        return err_wrap(err, "searching %zu sentences of up to %zu target tokens",
                        want.n_sents, want.max_len);
    }
    return OK;
}

static double real_at(const void *top, size_t i, size_t real_bytes)
{
    return real_bytes == sizeof(double) ? ((const double *)top)[i]
                                        : (double)((const float *)top)[i];
}

static status step(void *ctx, size_t t, const struct beam_rows *rows, double *log_prob,
                   int32_t *id, struct err *err)
{
    struct search *s = ctx;
    struct device *d = s->model->device;
    const struct decoder_rows ask = {rows->n, rows->token, s->first, s->last,
                                     rows->physical};

    for (size_t r = 0; r < rows->n; r++) {
        s->first[r] = s->src_at[rows->sentence[r]];
        s->last[r] = s->src_at[rows->sentence[r] + 1];
    }
    decoder_step(s->decoder, t, &ask, s->top, id);
    TRY(device_sync(d, err));
    for (size_t i = 0; i < rows->n * 2 * s->options.width; i++)
        log_prob[i] = real_at(s->top, i, d->real_bytes);
    return OK;
}

/* The longest source and the longest target that the batch may lead to. */
static struct search_room room_of(const struct search_batch *b, size_t *max_src)
{
    struct search_room room = {b->n_sents, b->n_src, 0};

    *max_src = 0;
    for (size_t i = 0; i < b->n_sents; i++) {
        const size_t n = (size_t)(b->at[i + 1] - b->at[i]);
        *max_src = n > *max_src ? n : *max_src;
        room.max_len = b->max_len[i] > room.max_len ? b->max_len[i] : room.max_len;
    }
    return room;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* How often the most frequent run of BEAM_GRAM of the n ids occurs; at least 1. */
static size_t repeats_of(uint64_t *gram, const int32_t *id, size_t n)
{
    size_t n_grams = 0, most = 1;

    _Static_assert(BEAM_GRAM == 4, "ids of 16 bits, four of which are a number");
    for (size_t i = BEAM_GRAM; i <= n; i++)
        gram[n_grams++] = (uint64_t)(uint16_t)id[i - 4] << 48 |
                          (uint64_t)(uint16_t)id[i - 3] << 32 |
                          (uint64_t)(uint16_t)id[i - 2] << 16 | (uint16_t)id[i - 1];
    qsort(gram, n_grams, sizeof *gram, by_value);
    for (size_t i = 1, same = 1; i < n_grams; i++) {
        same = gram[i] == gram[i - 1] ? same + 1 : 1;
        most = same > most ? same : most;
    }
    return most;
}

static struct beam_limit limit_of(const struct search *s, const struct search_batch *b,
                                  size_t i)
{
    const size_t n = (size_t)(b->at[i + 1] - b->at[i]);
    struct beam_limit limit = {.max_len = b->max_len[i]};

    if (s->max_repeats)
        limit.max_repeats = s->max_repeats + repeats_of(s->gram, b->id + b->at[i], n) - 1;
    return limit;
}

static void encode(struct search *s, const struct search_batch *b, size_t max_src)
{
    for (size_t i = 0; i < b->n_sents; i++) {
        s->limit[i] = limit_of(s, b, i);
        for (int32_t at = b->at[i]; at < b->at[i + 1]; at++)
            s->src_pos[at] = at - b->at[i];
    }
    s->src_at = b->at;
    model_encode(s->model, &(struct model_batch){.n_sents = b->n_sents,
                                                 .n_src = b->n_src,
                                                 .max_src = max_src,
                                                 .src_at = b->at,
                                                 .src_id = b->id,
                                                 .src_pos = s->src_pos,
                                                 .src_pair = s->src_pair});
    decoder_begin(s->decoder);
}

status search_run(struct search *s, const struct search_batch *b, struct err *err)
{
    size_t max_src;
    const struct search_room room = room_of(b, &max_src);
    const struct model_shape shape = {.n_sents = b->n_sents,
                                      .n_src = b->n_src,
                                      .max_len = max_src > room.max_len ? max_src
                                                                        : room.max_len};
    const struct beam_source source = {step, s};

    TRY(model_reserve(s->model, shape, err));
    TRY(make_room(s, room, err));
    encode(s, b, max_src);
    return beam_search(s->beam, &source, s->limit, b->n_sents, s->options, err);
}

/*
 * Batches of pairs, encoded by all threads, go to the bins of the shuffle in their order.
 * A record of a bin is struct record, the ids of both sides in 16 bits, and with
 * reference_names the text of both sides.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "prepare/packer.h"
#include "prepare/prepare_bins.h"
#include "prepare/prepare_stages.h"
#include "prepare/shuffle.h"
#include "text/subword/encoder.h"

/* What each thread has for itself: the ids of its part of the batch, end to end. */
struct worker {
    struct encoder *encoder;
    struct spm_ids ids;
    struct err err;
};

struct encoding {
    struct prepare *p;
    struct prepare_batch batch;
    struct worker *worker; /* [n_workers], one a thread */
    size_t n_workers;
    struct {
        size_t at, n;
    } (*side)[PAIRS_SIDES]; /* [PREPARE_BATCH_PAIRS] in the worker's ids */
    struct shuffle shuffle;
    uint16_t *narrow;
    size_t narrow_cap;
};

static void encode_part(void *ctx, size_t part, size_t n_parts)
{
    struct encoding *e = ctx;
    const struct pool_range r = pool_split(e->batch.n, part, n_parts);
    struct worker *w = &e->worker[part];

    w->ids.n = 0;
    w->err.code = OK;
    for (size_t i = r.begin; i < r.end; i++) {
        const struct pairs_row row = prepare_batch_row(&e->batch, i);
        for (int s = 0; s < PAIRS_SIDES; s++) {
            e->side[i][s].at = w->ids.n;
            if (encoder_encode(w->encoder, row.side[s], &w->ids, &w->err) != OK)
                return;
            e->side[i][s].n = w->ids.n - e->side[i][s].at;
        }
    }
}

/* Encode the batch; an error of any thread is that of all. */
static status encode_batch(struct encoding *e, struct err *err)
{
    pool_run(e->p->pool, encode_part, e);
    for (size_t i = 0; i < e->n_workers; i++)
        if (e->worker[i].err.code != OK) {
            *err = e->worker[i].err;
            return err->code;
        }
    return OK;
}

/* The ids of side `s` of pair `i`, which is in part `part`. */
static struct spm_ids ids_of(const struct encoding *e, size_t part, size_t i, int s)
{
    int32_t *all = e->worker[part].ids.id;

    return (struct spm_ids){.id = all ? all + e->side[i][s].at : NULL,
                            .n = e->side[i][s].n};
}

static status narrow(struct encoding *e, const struct spm_ids ids[PAIRS_SIDES],
                     struct err *err)
{
    const size_t n = ids[0].n + ids[1].n;

    TRY(mem_grow(&e->narrow, &e->narrow_cap, n, sizeof *e->narrow, err));
    for (size_t i = 0; i < n; i++)
        e->narrow[i] = (uint16_t)(i < ids[0].n ? ids[0].id[i] : ids[1].id[i - ids[0].n]);
    return OK;
}

/* Control characters alone are no text to SentencePiece. row->line is the number of the
 * pair in the cleaned text. */
static status drop_pair(struct encoding *e, struct pairs_row *row, struct err *err)
{
    const uint64_t seen = e->p->stats->n_reason[FILTER_PIECES];

    prepare_stats_drop(e->p->stats, FILTER_PIECES, 1);
    if (seen >= PREPARE_SAMPLES)
        return OK;
    TRY(prepare_text_where(e->p, row->line[PAIRS_SOURCE] - 1, row, err));
    prepare_stats_sample(e->p->stats, FILTER_PIECES, (size_t)seen, row);
    return OK;
}

static status add_pair(struct encoding *e, size_t part, size_t i, struct err *err)
{
    struct pairs_row row = prepare_batch_row(&e->batch, i);
    const struct spm_ids ids[PAIRS_SIDES] = {ids_of(e, part, i, 0),
                                             ids_of(e, part, i, 1)};
    const bool with_text = e->p->config->reference_names;
    struct prepare_stage_stats *stats = &e->p->stats->stage[PREPARE_ENCODE];
    struct prepare_record record = {.n_ids = {(uint32_t)ids[0].n, (uint32_t)ids[1].n}};

    if (!ids[0].n || !ids[1].n)
        return drop_pair(e, &row, err);
    TRY(narrow(e, ids, err));
    for (int s = 0; s < PAIRS_SIDES; s++) {
        record.n_bytes[s] = with_text ? (uint32_t)row.side[s].n_bytes : 0;
        stats->after.n_bytes[s] += ids[s].n * sizeof *e->narrow;
    }
    stats->after.n_pairs++;
    const struct shuffle_piece piece[] = {
        {&record, sizeof record},
        {e->narrow, (ids[0].n + ids[1].n) * sizeof *e->narrow},
        {row.side[0].text, record.n_bytes[0]},
        {row.side[1].text, record.n_bytes[1]}};
    return shuffle_add(&e->shuffle, piece, 4, err);
}

static status add_batch(struct encoding *e, struct err *err)
{
    TRY(encode_batch(e, err));
    for (size_t part = 0; part < e->n_workers; part++) {
        const struct pool_range r = pool_split(e->batch.n, part, e->n_workers);
        for (size_t i = r.begin; i < r.end; i++)
            TRY(add_pair(e, part, i, err));
    }
    return OK;
}

static status encode_text(struct encoding *e, struct prepare_text *text, struct err *err)
{
    struct pairs_row row = {0};
    uint64_t n = 0;
    bool has = true;

    while (has) {
        prepare_batch_reset(&e->batch);
        while (has && !prepare_batch_is_full(&e->batch)) {
            TRY(prepare_text_next(text, row.side, &has, err));
            row.line[PAIRS_SOURCE] = row.line[PAIRS_TARGET] = text->n_read;
            if (has)
                TRY(prepare_batch_add(&e->batch, &row, err));
        }
        TRY(add_batch(e, err));
        n += e->batch.n;
        progress_update(e->p->progress, n);
    }
    progress_end(e->p->progress, n);
    return OK;
}

/* Ids take two bytes, and a piece stands for at least a byte of text, or nearly so. */
static status open_shuffle(struct encoding *e, struct err *err)
{
    struct prepare_stats *stats = e->p->stats;
    const struct prepare_size *text = &stats->stage[PREPARE_CLEAN].after;
    const uint64_t n_text = text->n_bytes[0] + text->n_bytes[1];
    const uint64_t n_record = sizeof(struct prepare_record) * (text->n_pairs + 1) +
                              n_text * (e->p->config->reference_names ? 3 : 2);
    size_t n_bins;

    TRY(shuffle_bins(&n_bins, n_record, text->n_pairs, prepare_budget(e->p), err));
    stats->n_bins = n_bins;
    return shuffle_open(&e->shuffle, e->p->work.dir, PREPARE_BINS, n_bins,
                        (uint64_t)e->p->config->seed, err);
}

static status encode_training(struct encoding *e, struct err *err)
{
    struct prepare *p = e->p;
    struct prepare_text text;

    progress_begin(p->progress, "encoding", "pairs", p->stats->n_reason[CLEAN_KEEP]);
    p->stats->stage[PREPARE_ENCODE].before = p->stats->stage[PREPARE_CLEAN].after;
    TRY(open_shuffle(e, err));
    TRY(prepare_text_open(&text, p, err));
    const status result = encode_text(e, &text, err);
    prepare_text_close(&text);
    TRY(result);
    TRY(shuffle_commit(&e->shuffle, err));
    for (uint64_t k = 0; k < p->stats->n_bins; k++)
        TRY(work_add(&p->made, err, PREPARE_BINS "-%llu", (unsigned long long)k));
    if (!p->stats->n_reason[CLEAN_KEEP])
        return err_set(err, ERR_FORMAT, "the tokenizer sees no text in any of the pairs");
    return OK;
}

/* Raw text of a held-out set, and its corpus. */
struct held_out {
    struct packer packer;
    struct file_writer text[PAIRS_SIDES];
};

static status open_held_out(struct held_out *h, struct prepare *p, enum prepare_set set,
                            struct err *err)
{
    static const char *const ending[PAIRS_SIDES] = {"source", "target"};
    const char *name = prepare_stats_set_name(set);
    char file[64], path[FILE_PATH_MAX];

    for (int s = 0; s < PAIRS_SIDES; s++) {
        snprintf(file, sizeof file, "%s.%s", name, ending[s]);
        TRY(file_join(path, sizeof path, p->work.final, file, err));
        TRY(file_writer_open(&h->text[s], path, err));
        TRY(work_add(&p->made, err, "final/%s", file));
    }
    snprintf(file, sizeof file, "%s.bin", name);
    TRY(file_join(path, sizeof path, p->work.final, file, err));
    TRY(work_add(&p->made, err, "final/%s", file));
    return packer_open(&h->packer, path, p->spm, p->stats->tokenizer_hash,
                       &p->stats->set[set], err);
}

static status put_held_out(struct held_out *h, struct encoding *e, struct err *err)
{
    TRY(encode_batch(e, err));
    for (size_t part = 0; part < e->n_workers; part++) {
        const struct pool_range r = pool_split(e->batch.n, part, e->n_workers);
        for (size_t i = r.begin; i < r.end; i++) {
            const struct pairs_row row = prepare_batch_row(&e->batch, i);
            const struct spm_ids ids[PAIRS_SIDES] = {ids_of(e, part, i, 0),
                                                     ids_of(e, part, i, 1)};
            TRY(packer_add(&h->packer, ids, err));
            for (int s = 0; s < PAIRS_SIDES; s++) {
                TRY(file_writer_add(&h->text[s], row.side[s].text, row.side[s].n_bytes,
                                    err));
                TRY(file_writer_add(&h->text[s], "\n", 1, err));
            }
        }
    }
    return OK;
}

static status read_held_out(struct held_out *h, struct encoding *e, struct pairs *in,
                            struct err *err)
{
    struct pairs_row row;
    bool has = true;

    while (has) {
        prepare_batch_reset(&e->batch);
        while (has && !prepare_batch_is_full(&e->batch)) {
            TRY(pairs_next(in, &row, &has, err));
            if (!has)
                break;
            if (row.is_cut)
                return err_set(err, ERR_FORMAT,
                               "%s:%llu: a line of more than a mebibyte; a held-out set "
                               "is kept whole",
                               in->file[row.file].path[PAIRS_SOURCE],
                               (unsigned long long)row.line[PAIRS_SOURCE]);
            TRY(prepare_batch_add(&e->batch, &row, err));
        }
        TRY(put_held_out(h, e, err));
    }
    TRY(file_writer_commit(&h->text[PAIRS_SOURCE], err));
    TRY(file_writer_commit(&h->text[PAIRS_TARGET], err));
    return packer_commit(&h->packer, err);
}

static status encode_held_out(struct encoding *e, enum prepare_set set, struct err *err)
{
    struct held_out h = {0};

    if (!e->p->input[set].n_files)
        return OK;
    pairs_rewind(&e->p->input[set]);
    e->p->stats->set[set] = (struct prepare_set_stats){0};
    status result = open_held_out(&h, e->p, set, err);
    if (result == OK)
        result = read_held_out(&h, e, &e->p->input[set], err);
    packer_release(&h.packer);
    file_writer_abort(&h.text[PAIRS_SOURCE]);
    file_writer_abort(&h.text[PAIRS_TARGET]);
    return result;
}

static status open_encoding(struct encoding *e, struct prepare *p, struct err *err)
{
    *e = (struct encoding){.p = p, .n_workers = pool_size(p->pool)};
    TRY(prepare_batch_open(&e->batch, err));
    TRY(mem_alloc(&e->side, PREPARE_BATCH_PAIRS, sizeof *e->side, err));
    TRY(mem_alloc(&e->worker, e->n_workers, sizeof *e->worker, err));
    /* Words once seen cost nothing: a quarter of the memory keeps millions of them. */
    const size_t cache = (size_t)(prepare_budget(p) / 4 / e->n_workers);
    for (size_t i = 0; i < e->n_workers; i++)
        TRY(encoder_new(&e->worker[i].encoder, p->spm, cache, err));
    return OK;
}

static void close_encoding(struct encoding *e)
{
    for (size_t i = 0; e->worker && i < e->n_workers; i++) {
        encoder_free(e->worker[i].encoder);
        spm_ids_release(&e->worker[i].ids);
    }
    free(e->worker);
    free(e->side);
    free(e->narrow);
    shuffle_abort(&e->shuffle);
    prepare_batch_close(&e->batch);
}

status prepare_stage_encode(struct prepare *p, struct err *err)
{
    struct encoding e;

    status result = open_encoding(&e, p, err);
    if (result == OK)
        result = encode_training(&e, err);
    if (result == OK)
        result = encode_held_out(&e, PREPARE_VALID, err);
    if (result == OK)
        result = encode_held_out(&e, PREPARE_TEST, err);
    close_encoding(&e);
    return result;
}

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "prepare/bin_sort.h"
#include "prepare/prepare_stages.h"
#include "text/subword/encoder.h"

/* What each thread has for itself: the ids of its part of the batch, end to end. */
struct worker {
    struct encoder *encoder[PAIRS_SIDES]; /* one twice, unless targets have their own */
    struct spm_ids ids;
};

struct encoding {
    struct prepare *p;
    struct worker *worker; /* [n_workers], one per thread */
    size_t n_workers;
    struct {
        size_t at, n;
    } (*side)[PAIRS_SIDES]; /* [PREPARE_BATCH_PAIRS] in the worker's ids */
    struct bin_sort sort;
    uint64_t key, n_sorted; /* of the random order */
    uint16_t *narrow;
    size_t narrow_cap;
    /* of a held-out set: raw text and corpus */
    struct prepare_pack pack;
    struct file_writer text[PAIRS_SIDES];
    const struct pairs *input;
};

/* The ids of a source: those of its text behind those of its mark. None where the text
 * has none. */
static status encode_source(const struct prepare *p, struct worker *w, struct line text,
                            struct err *err)
{
    const struct line own = {p->marks.own, p->marks.own ? strlen(p->marks.own) : 0};
    const size_t before = w->ids.n;
    size_t n_mark, ignored;
    int32_t mark = spm_mark(p->spm, text, &n_mark);

    if (mark < 0 && own.text)
        mark = spm_mark(p->spm, own, &ignored);
    if (mark >= 0)
        TRY(spm_ids_add(&w->ids, mark, err));
    const size_t begin = w->ids.n;
    TRY(encoder_encode(w->encoder[PAIRS_SOURCE],
                       (struct line){text.text + n_mark, text.n_bytes - n_mark}, &w->ids,
                       err));
    if (w->ids.n == begin)
        w->ids.n = before;
    return OK;
}

static status encode_range(void *ctx, const struct prepare_batch *b, size_t part,
                           struct pool_range range, struct err *err)
{
    struct encoding *e = ctx;
    struct worker *w = &e->worker[part];

    w->ids.n = 0;
    for (size_t i = range.begin; i < range.end; i++) {
        const struct pairs_row row = prepare_batch_row(b, i);
        for (int s = 0; s < PAIRS_SIDES; s++) {
            e->side[i][s].at = w->ids.n;
            TRY(s == PAIRS_SOURCE
                    ? encode_source(e->p, w, row.side[s], err)
                    : encoder_encode(w->encoder[s], row.side[s], &w->ids, err));
            e->side[i][s].n = w->ids.n - e->side[i][s].at;
        }
    }
    return OK;
}

/* The ids of pair `i`, which is in part `part`. */
static void find_ids(const struct encoding *e, size_t part, size_t i,
                     struct spm_ids ids[PAIRS_SIDES])
{
    int32_t *all = e->worker[part].ids.id;

    for (int s = 0; s < PAIRS_SIDES; s++)
        ids[s] = (struct spm_ids){.id = all ? all + e->side[i][s].at : NULL,
                                  .n = e->side[i][s].n};
}

static status narrow(struct encoding *e, const struct spm_ids ids[PAIRS_SIDES],
                     struct err *err)
{
    const size_t n = ids[0].n + ids[1].n;

    BUG_ON((ids[0].n && !ids[0].id) || (ids[1].n && !ids[1].id));
    TRY(mem_grow(&e->narrow, &e->narrow_cap, n, sizeof *e->narrow, err));
    for (size_t i = 0; i < n; i++)
        e->narrow[i] = (uint16_t)(i < ids[0].n ? ids[0].id[i] : ids[1].id[i - ids[0].n]);
    return OK;
}

/* Control characters alone are no text to SentencePiece. */
static status drop_pair(struct encoding *e, struct pairs_row *row, struct err *err)
{
    const uint64_t seen = e->p->stats->n_reason[FILTER_PIECES];

    prepare_stats_drop(e->p->stats, FILTER_PIECES, 1);
    if (seen >= PREPARE_SAMPLES)
        return OK;
    TRY(prepare_batch_where(e->p, row, err));
    prepare_stats_sample(e->p->stats, FILTER_PIECES, (size_t)seen, row);
    return OK;
}

static status add_pair(void *ctx, const struct prepare_batch *b, size_t part, size_t i,
                       struct err *err)
{
    struct encoding *e = ctx;
    struct pairs_row row = prepare_batch_row(b, i);
    struct spm_ids ids[PAIRS_SIDES];
    const bool with_text = e->p->config->reference_names;
    struct prepare_stage_stats *stats = &e->p->stats->stage[PREPARE_ENCODE];
    struct prepare_record record;

    find_ids(e, part, i, ids);
    if (!ids[0].n || !ids[1].n)
        return drop_pair(e, &row, err);
    TRY(narrow(e, ids, err));
    for (int s = 0; s < PAIRS_SIDES; s++) {
        record.n_ids[s] = (uint32_t)ids[s].n;
        record.n_bytes[s] = with_text ? (uint32_t)row.side[s].n_bytes : 0;
        stats->after.n_bytes[s] += ids[s].n * sizeof *e->narrow;
    }
    record.weight = row.weight;
    stats->after.n_pairs++;
    const struct bin_sort_piece piece[] = {
        {&record, sizeof record},
        {e->narrow, (ids[0].n + ids[1].n) * sizeof *e->narrow},
        {row.side[0].text, record.n_bytes[0]},
        {row.side[1].text, record.n_bytes[1]}};
    return bin_sort_add(&e->sort, rng_hash(e->key, e->n_sorted++), piece, 4, err);
}

/* Ids take two bytes, and a piece stands for at least a byte of text, or nearly so. */
static status open_bins(struct encoding *e, struct err *err)
{
    struct prepare_stats *stats = e->p->stats;
    const struct prepare_size *text = &stats->stage[PREPARE_CLEAN].after;
    const uint64_t n_text = text->n_bytes[0] + text->n_bytes[1];
    const uint64_t n_record = sizeof(struct prepare_record) * (text->n_pairs + 1) +
                              n_text * (e->p->config->reference_names ? 3 : 2);
    size_t n_bins;

    TRY(bin_sort_plan(&n_bins, n_record, text->n_pairs, prepare_budget(e->p), "pairs",
                      err));
    stats->n_bins = n_bins;
    e->key = rng_key((uint64_t)e->p->config->seed, "prepare");
    for (size_t k = 0; k < n_bins; k++)
        TRY(workdir_add(&e->p->work, err, PREPARE_BINS "-%zu", k));
    return bin_sort_open(&e->sort, e->p->work.dir, PREPARE_BINS, n_bins, err);
}

static status encode_training(struct encoding *e, struct err *err)
{
    struct prepare *p = e->p;
    const struct prepare_job job = {
        .label = "encoding", .work = encode_range, .put = add_pair, .ctx = e};

    p->stats->stage[PREPARE_ENCODE].before = p->stats->stage[PREPARE_CLEAN].after;
    TRY(open_bins(e, err));
    TRY(prepare_batch_run(p, &job, err));
    TRY(bin_sort_commit(&e->sort, err));
    if (!p->stats->n_reason[CLEAN_KEEP])
        return err_set(err, ERR_FORMAT, "the tokenizer sees no text in any of the pairs");
    return OK;
}

/* Before the text of a source that has none, so that the set is translated with it. */
static status put_own_mark(struct encoding *e, struct line source, struct err *err)
{
    const char *own = e->p->marks.own;
    struct file_writer *text = &e->text[PAIRS_SOURCE];
    size_t n;

    if (!own || spm_mark(e->p->spm, source, &n) >= 0)
        return OK;
    TRY(file_writer_add(text, own, strlen(own), err));
    return file_writer_add(text, " ", 1, err);
}

static status put_held_out(void *ctx, const struct prepare_batch *b, size_t part,
                           size_t i, struct err *err)
{
    struct encoding *e = ctx;
    const struct pairs_row row = prepare_batch_row(b, i);
    struct spm_ids ids[PAIRS_SIDES];

    if (row.is_cut)
        return err_set(err, ERR_FORMAT,
                       "%s:%llu: a line of more than 1 MiB; a held-out set must be kept "
                       "whole",
                       e->input->file[row.file].path[PAIRS_SOURCE],
                       (unsigned long long)row.line[PAIRS_SOURCE]);
    find_ids(e, part, i, ids);
    TRY(prepare_pack_add(&e->pack, ids, 1, err));
    TRY(put_own_mark(e, row.side[PAIRS_SOURCE], err));
    for (int s = 0; s < PAIRS_SIDES; s++)
        TRY(file_writer_add_line(&e->text[s], row.side[s].text, row.side[s].n_bytes,
                                 err));
    return OK;
}

static status encode_held_out(struct encoding *e, enum prepare_set set, struct err *err)
{
    static const char *const ending[PAIRS_SIDES] = {"source", "target"};
    struct prepare *p = e->p;
    const bool is_given = p->input[set].n_files;
    const struct prepare_job job = {.pairs = is_given ? &p->input[set] : NULL,
                                    .text = prepare_stats_set_names[set],
                                    .work = encode_range,
                                    .put = put_held_out,
                                    .ctx = e};

    if (!prepare_has_set(p, set))
        return OK;
    pairs_rewind(&p->input[set]);
    e->input = &p->input[set];
    for (int s = 0; s < PAIRS_SIDES; s++)
        TRY(workdir_create(&p->work, &e->text[s], err, "final/%s.%s",
                           prepare_stats_set_names[set], ending[s]));
    TRY(prepare_pack_open(&e->pack, p, set, err));
    TRY(prepare_batch_run(p, &job, err));
    TRY(file_writer_commit(&e->text[PAIRS_SOURCE], err));
    TRY(file_writer_commit(&e->text[PAIRS_TARGET], err));
    return prepare_pack_commit(&e->pack, err);
}

static status open_encoding(struct encoding *e, struct err *err)
{
    TRY(mem_alloc(&e->side, PREPARE_BATCH_PAIRS, sizeof *e->side, err));
    TRY(mem_alloc(&e->worker, e->n_workers, sizeof *e->worker, err));
    const uint64_t *n_text = e->p->stats->stage[PREPARE_CLEAN].after.n_bytes;
    /* Words once seen cost nothing: a quarter of the memory keeps millions of them. The
     * words of the text, of two bytes or more with their blank, need no more than all. */
    const uint64_t part = prepare_budget(e->p) / 4 / e->n_workers;
    const uint64_t all = (n_text[PAIRS_SOURCE] + n_text[PAIRS_TARGET]) / 2 * 64;
    const size_t cache = (size_t)(part < all ? part : all);
    const struct spm *source = e->p->spm, *target = spm_target(source);
    for (size_t i = 0; i < e->n_workers; i++) {
        struct encoder **encoder = e->worker[i].encoder;
        TRY(encoder_new(&encoder[PAIRS_SOURCE], source, cache, err));
        encoder[PAIRS_TARGET] = encoder[PAIRS_SOURCE];
        if (target != source)
            TRY(encoder_new(&encoder[PAIRS_TARGET], target, cache, err));
    }
    return OK;
}

static void close_encoding(struct encoding *e)
{
    for (size_t i = 0; e->worker && i < e->n_workers; i++) {
        struct encoder **encoder = e->worker[i].encoder;
        if (encoder[PAIRS_TARGET] != encoder[PAIRS_SOURCE])
            encoder_free(encoder[PAIRS_TARGET]);
        encoder_free(encoder[PAIRS_SOURCE]);
        spm_ids_release(&e->worker[i].ids);
    }
    free(e->worker);
    free(e->side);
    free(e->narrow);
    bin_sort_abort(&e->sort);
    corpus_file_abort(&e->pack.corpus);
    file_writer_abort(&e->text[PAIRS_SOURCE]);
    file_writer_abort(&e->text[PAIRS_TARGET]);
}

status prepare_stage_encode(struct prepare *p, struct err *err)
{
    RELEASED_BY(close_encoding)
    struct encoding e = {.p = p, .n_workers = pool_size(p->pool)};

    TRY(open_encoding(&e, err));
    TRY(encode_training(&e, err));
    TRY(encode_held_out(&e, PREPARE_VALID, err));
    return encode_held_out(&e, PREPARE_TEST, err);
}

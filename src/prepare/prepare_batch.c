/*
 * Pairs are read into a batch, worked on by all threads and handed on in their order, so
 * that no result depends on the number of threads.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "prepare/prepare_stages.h"
#include "text/line_reader.h"

enum { BATCH_BYTES = 8 << 20 };

/* The text that the clean stage left, pair by pair, what it left out passed over. */
struct text {
    struct line_reader side[PAIRS_SIDES];
    struct file_map left_out; /* bits */
    struct file_map weights;  /* floats; none: all 1 */
    uint64_t n_read;          /* pairs passed, those included */
};

static status open_text(struct text *t, const struct prepare *p,
                        const struct prepare_job *job, struct err *err)
{
    static const char *const ending[PAIRS_SIDES] = {"source", "target"};
    char path[FILE_PATH_MAX], name[32];

    for (int s = 0; s < PAIRS_SIDES; s++) {
        snprintf(name, sizeof name, "%s.%s", job->text ? job->text : "clean", ending[s]);
        TRY(workdir_path(&p->work, path, name, err));
        TRY(line_reader_open(&t->side[s], path, path, err));
        line_reader_keep_mark(&t->side[s]);
    }
    if (!job->text && p->stats->has_weights) {
        TRY(workdir_path(&p->work, path, "clean.weights", err));
        TRY(file_map_open(&t->weights, path, err));
    }
    if (job->text || job->n_whole || !prepare_leaves_out(p->config))
        return OK;
    TRY(workdir_path(&p->work, path, "left_out", err));
    return file_map_open(&t->left_out, path, err);
}

static void close_text(struct text *t)
{
    for (int s = 0; s < PAIRS_SIDES; s++)
        line_reader_close(&t->side[s]);
    file_map_close(&t->left_out);
    file_map_close(&t->weights);
}

static bool is_left_out(const struct text *t, uint64_t i)
{
    return t->left_out.data && (t->left_out.data[i / 8] >> i % 8 & 1);
}

/* Of the pair that was read last. */
static float weight_of(const struct text *t)
{
    const size_t at = (size_t)(t->n_read - 1) * sizeof(float);
    float weight = 1;

    if (t->weights.data && at + sizeof weight <= t->weights.n_bytes)
        memcpy(&weight, t->weights.data + at, sizeof weight);
    return weight;
}

static status next_text(struct text *t, struct pairs_row *row, bool *has, struct err *err)
{
    bool has_target;

    *row = (struct pairs_row){0};
    do {
        TRY(line_reader_next(&t->side[PAIRS_SOURCE], &row->side[PAIRS_SOURCE], has, err));
        TRY(line_reader_next(&t->side[PAIRS_TARGET], &row->side[PAIRS_TARGET],
                             &has_target, err));
        if (*has != has_target)
            return err_set(err, ERR_FORMAT, "%s changed while it was read",
                           t->side[PAIRS_SOURCE].in.name);
    } while (*has && is_left_out(t, t->n_read++));
    row->line[PAIRS_SOURCE] = row->line[PAIRS_TARGET] = t->n_read;
    if (*has)
        row->weight = weight_of(t);
    return OK;
}

status prepare_batch_where(const struct prepare *p, struct pairs_row *row,
                           struct err *err)
{
    char path[FILE_PATH_MAX];
    struct prepare_place place;
    const off_t at = (off_t)((row->line[PAIRS_SOURCE] - 1) * sizeof place);

    TRY(workdir_path(&p->work, path, "clean.places", err));
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    const ssize_t n = pread(fd, &place, sizeof place, at);
    close(fd);
    if (n != sizeof place)
        return err_set(err, ERR_FORMAT, "%s was cut", path);
    row->file = (size_t)place.file;
    memcpy(row->line, place.line, sizeof row->line);
    return OK;
}

struct prepare_batch {
    struct str text;
    struct batch_pair {
        struct pairs_row row; /* its text is at at[] */
        size_t at[PAIRS_SIDES];
    } pair[PREPARE_BATCH_PAIRS];
    size_t n;
};

static status add_row(struct prepare_batch *b, const struct pairs_row *row,
                      struct err *err)
{
    struct batch_pair *p = &b->pair[b->n++];

    p->row = *row;
    for (int s = 0; s < PAIRS_SIDES; s++) {
        p->at[s] = b->text.len;
        str_add(&b->text, row->side[s].text, row->side[s].n_bytes);
    }
    return str_check(&b->text, "a batch of pairs", err);
}

struct pairs_row prepare_batch_row(const struct prepare_batch *b, size_t i)
{
    struct pairs_row row = b->pair[i].row;

    for (int s = 0; s < PAIRS_SIDES; s++)
        row.side[s].text = str_text(&b->text) + b->pair[i].at[s];
    return row;
}

/* A job under way. */
struct run {
    const struct prepare_job *job;
    struct text text;
    struct prepare_batch *batch;
    struct err *err; /* [n_parts] of each thread */
    size_t n_parts;
};

static status fill_batch(struct run *r, bool *has, struct err *err)
{
    struct prepare_batch *b = r->batch;
    struct pairs_row row;

    str_reset(&b->text);
    b->n = 0;
    while (*has && b->n < PREPARE_BATCH_PAIRS && b->text.len < BATCH_BYTES) {
        TRY(r->job->pairs ? pairs_next(r->job->pairs, &row, has, err)
                          : next_text(&r->text, &row, has, err));
        if (*has)
            TRY(add_row(b, &row, err));
    }
    return OK;
}

static void work_part(void *ctx, size_t part, size_t n_parts)
{
    struct run *r = ctx;
    const struct pool_range range = pool_split(r->batch->n, part, n_parts);

    r->err[part].code = OK;
    if (r->job->work(r->job->ctx, r->batch, part, range, &r->err[part]) != OK)
        return; /* read from r->err by use_batch */
}

static status use_batch(struct run *r, struct pool *pool, struct err *err)
{
    const struct prepare_job *job = r->job;

    if (job->work)
        pool_run(pool, work_part, r);
    for (size_t part = 0; part < r->n_parts; part++) {
        const struct pool_range range = pool_split(r->batch->n, part, r->n_parts);
        if (r->err[part].code != OK) {
            *err = r->err[part];
            return err->code;
        }
        for (size_t i = range.begin; i < range.end && job->put; i++)
            TRY(job->put(job->ctx, r->batch, part, i, err));
    }
    return OK;
}

static void close_run(struct run *r)
{
    close_text(&r->text);
    if (r->batch)
        str_release(&r->batch->text);
    free(r->batch);
    free(r->err);
}

status prepare_batch_run(struct prepare *p, const struct prepare_job *job,
                         struct err *err)
{
    RELEASED_BY(close_run) struct run r = {.job = job, .n_parts = pool_size(p->pool)};
    struct progress silent = {0}, *progress = job->label ? p->progress : &silent;
    const uint64_t n_used = job->n_whole ? job->n_whole : p->stats->n_reason[CLEAN_KEEP];
    uint64_t n = 0;

    TRY(mem_alloc(&r.batch, 1, sizeof *r.batch, err));
    TRY(mem_alloc(&r.err, r.n_parts, sizeof *r.err, err));
    r.batch->text = str_new(0);
    if (!job->pairs)
        TRY(open_text(&r.text, p, job, err));
    progress_begin(progress, job->label, "pairs",
                   job->pairs ? job->pairs->n_lines : n_used);
    for (bool has = true; has;) {
        TRY(fill_batch(&r, &has, err));
        TRY(use_batch(&r, p->pool, err));
        n += r.batch->n;
        progress_update(progress, n);
    }
    progress_end(progress, n);
    return OK;
}

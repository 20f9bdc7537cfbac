#include "train/eval/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/mem.h"
#include "base/pool.h"
#include "base/str.h"
#include "base/utf8.h"
#include "corpus/batch.h"
#include "dist/comm/comm.h"
#include "score/bleu.h"
#include "score/loops.h"
#include "train/update/upload.h"

/* The sentences of n that are this rank's. */
static struct pool_range part_of(const struct evaluate_options *o, size_t n)
{
    if (!o->comm)
        return (struct pool_range){0, n};
    return pool_split(n, (size_t)o->comm->rank, (size_t)o->comm->size);
}

/* What is known of one sentence, or of several. */
struct sentence_loss {
    double sum; /* over its tokens */
    uint64_t n_tokens;
};

/* ids up to the first EOS, without padding and the start symbol */
static size_t words_of(int32_t *out, const int32_t *id, size_t n)
{
    size_t k = 0;

    for (size_t i = 0; i < n && id[i] != ID_EOS; i++)
        if (id[i] != ID_PAD && id[i] != ID_BOS)
            out[k++] = id[i];
    return k;
}

/* Everything one pass over a rank's part of the set needs beside the model. */
struct pass {
    struct batch batch;
    struct pool_range part; /* sentences of this rank */
    uint32_t *pair;         /* [n_pairs] 0, 1, 2... */
    float *loss;
    int32_t *best;
    size_t cap;                  /* of loss and best */
    struct sentence_loss *known; /* of the part, in order */
    size_t n_known;
    struct bleu_stats forced;
    int32_t *hyp, *ref; /* [max_length] scratch of one sentence */
};

static status add_batch(struct pass *p, struct err *err)
{
    const struct batch *b = &p->batch;

    for (size_t i = 0; i < b->n_sents; i++) {
        const size_t at = (size_t)b->tgt_at[i], n = (size_t)b->tgt_at[i + 1] - at;
        struct sentence_loss *one = &p->known[p->n_known++];
        *one = (struct sentence_loss){.n_tokens = n};
        for (size_t k = 0; k < n; k++)
            one->sum += (double)p->loss[at + k];
        const size_t n_hyp = words_of(p->hyp, p->best + at, n);
        const size_t n_ref = words_of(p->ref, b->tgt_label + at, n);
        TRY(bleu_add_ids(&p->forced, p->hyp, n_hyp, p->ref, n_ref, err));
    }
    return OK;
}

static status open_pass(struct pass *p, const struct dataset_set *set,
                        const struct evaluate_options *o, struct err *err)
{
    const size_t n = set->corpus.n_pairs;

    p->part = part_of(o, n);
    TRY(mem_alloc(&p->pair, n, sizeof *p->pair, err));
    TRY(mem_alloc(&p->known, p->part.end - p->part.begin, sizeof *p->known, err));
    TRY(mem_alloc(&p->hyp, o->max_length, sizeof *p->hyp, err));
    TRY(mem_alloc(&p->ref, o->max_length, sizeof *p->ref, err));
    p->cap = MAX(o->batch_tokens, o->max_length);
    TRY(mem_alloc(&p->loss, p->cap, sizeof *p->loss, err));
    TRY(mem_alloc(&p->best, p->cap, sizeof *p->best, err));
    for (size_t i = 0; i < n; i++)
        p->pair[i] = (uint32_t)i;
    return OK;
}

static void close_pass(struct pass *p)
{
    batch_release(&p->batch);
    free(p->pair);
    free(p->known);
    free(p->loss);
    free(p->best);
    free(p->hyp);
    free(p->ref);
}

static status forward_batch(struct pass *p, struct model *m,
                            const struct evaluate_options *o, struct err *err)
{
    const struct model_run run = {.smooth = o->smooth, .want_best = true};
    const struct model_batch b = upload_batch(&p->batch);
    const struct model_shape shape = {b.n_sents, b.n_src, b.n_tgt, o->max_length, false};

    TRY(model_reserve(m, shape, err));
    model_forward(m, &b, &run);
    model_losses(m, p->loss);
    model_best(m, p->best);
    return add_batch(p, err);
}

static status run_pass(struct pass *p, struct model *m, const struct dataset_set *set,
                       const struct evaluate_options *o, struct err *err)
{
    const struct batch_limit limit = {2 * o->batch_tokens, o->batch_tokens};

    TRY(open_pass(p, set, o, err));
    for (size_t at = p->part.begin; at < p->part.end;) {
        const size_t k =
            batch_cut(&set->corpus, p->pair + at, p->part.end - at, o->max_length, limit);
        TRY(batch_gather(&p->batch, &set->corpus, p->pair + at, k, o->max_length, err));
        TRY(forward_batch(p, m, o, err));
        at += k;
    }
    return OK;
}

/* The counts of all ranks in those of each; numbers below 2^53 are exact in double. */
static status sum_counts(struct bleu_stats *b, struct comm *comm, struct err *err)
{
    enum { N = sizeof *b / sizeof(uint64_t) };
    uint64_t count[N];
    double x[N];

    memcpy(count, b, sizeof count);
    for (size_t i = 0; i < N; i++)
        x[i] = (double)count[i];
    TRY(comm_allreduce(comm, COMM_SUM, x, N, err));
    for (size_t i = 0; i < N; i++)
        count[i] = (uint64_t)x[i];
    memcpy(b, count, sizeof count);
    return OK;
}

/* The sentences of all ranks in order, added up by the first rank as one rank would: over
 * all tokens, and over batches of `group` sentences, whose means count by sentences. */
static void conclude(struct evaluate_result *r, const struct sentence_loss *known,
                     size_t n, const struct bleu_stats *forced, size_t group)
{
    struct sentence_loss all = {0};
    double weighted = 0;

    for (size_t first = 0; first < n; first += group) {
        const size_t n_sents = MIN(group, n - first);
        struct sentence_loss batch = {0};
        for (size_t i = first; i < first + n_sents; i++) {
            all.sum += known[i].sum;
            batch.sum += known[i].sum;
            batch.n_tokens += known[i].n_tokens;
        }
        all.n_tokens += batch.n_tokens;
        if (batch.n_tokens)
            weighted += batch.sum / (double)batch.n_tokens * (double)n_sents;
    }
    r->valid_loss = all.sum / (double)all.n_tokens;
    r->eval_loss = weighted / (double)n;
    r->forced_bleu = bleu_nltk(forced);
    r->n_pairs = n;
    r->n_tokens = all.n_tokens;
}

static status join_pass(struct evaluate_result *r, struct pass *p,
                        const struct evaluate_options *o, struct err *err)
{
    struct str all = str_new(SIZE_MAX / 2);
    struct comm *comm = o->comm;

    if (!comm || comm->size == 1) {
        conclude(r, p->known, p->n_known, &p->forced, o->group);
        return OK;
    }
    TRY(sum_counts(&p->forced, comm, err));
    status result = comm_gather(comm, &all, p->known, p->n_known * sizeof *p->known, err);
    if (result == OK && comm->rank == 0)
        conclude(r, (const struct sentence_loss *)(const void *)all.data,
                 all.len / sizeof(struct sentence_loss), &p->forced, o->group);
    THEN(result, comm_bcast(comm, r, sizeof *r, 0, err));
    str_release(&all);
    return result;
}

status evaluate_loss(struct evaluate_result *r, struct model *m,
                     const struct dataset_set *set, const struct evaluate_options *o,
                     struct err *err)
{
    struct evaluate_options fitting = *o;
    struct pass p = {0};

    if (!set->corpus.n_pairs)
        return err_set(err, ERR_FORMAT, "the set to evaluate on has no sentences");
    fitting.max_length = MIN(o->max_length, architecture_longest(&m->config.arch));
    status result = run_pass(&p, m, set, &fitting, err);
    THEN(result, join_pass(r, &p, &fitting, err));
    close_pass(&p);
    return result;
}

/* Of translations and their references; sums, so that those of ranks add up. */
struct counts {
    struct metric_sums metric[N_METRIC];
    double n_loops;
    double n_chars[2]; /* of the translations; of the references */
};

/* ref: the set's own, and more. */
static status count_text(struct counts *c, struct measures_text text, struct line hyp,
                         const struct line *ref, size_t n_refs, struct err *err)
{
    bool loops, ref_loops = false;

    for (enum metric m = 0; m < N_METRIC; m++) {
        const struct metric_options o = measures_metric(m, text);
        TRY(metric_add(&c->metric[m], &o, hyp, ref, n_refs, err));
    }
    TRY(loops_find(&loops, hyp, err));
    if (loops)
        TRY(loops_find(&ref_loops, ref[0], err));
    c->n_loops += loops && !ref_loops;
    c->n_chars[0] += (double)utf8_count(hyp.text, hyp.n_bytes);
    c->n_chars[1] += (double)utf8_count(ref[0].text, ref[0].n_bytes);
    return OK;
}

/* The numbers of n translations. */
static void score_text(struct evaluate_result *r, const struct counts *c,
                       const struct evaluate_options *how, size_t n)
{
    for (enum metric m = 0; m < N_METRIC; m++) {
        const struct metric_options o = measures_metric(m, how->text);
        const size_t n_refs = 1 + (how->more ? how->more->n : 0);
        RELEASED_BY(result_release)
        struct result result = metric_result(&c->metric[m], &o, n_refs);
        r->score[m] = result.score;
        snprintf(r->name[m], sizeof r->name[m], "%s", str_text(&result.name));
        snprintf(r->signature[m], sizeof r->signature[m], "%s",
                 str_text(&result.signature));
    }
    r->has_text = true;
    r->n_translated = n;
    r->repeating = n ? c->n_loops / (double)n : 0;
    r->length_ratio = c->n_chars[1] > 0 ? c->n_chars[0] / c->n_chars[1] : 0;
}

/* This rank's translations are counted here, and only the counts travel. The first rank
 * also translates what is to be shown, where its own part is shorter. */
status evaluate_text(struct evaluate_result *r, struct translations *out,
                     struct translator *t, const struct dataset_set *set,
                     const struct evaluate_options *o, struct err *err)
{
    const size_t n = o->text_pairs ? MIN(o->text_pairs, set->source.n) : set->source.n;
    const struct pool_range part = part_of(o, n);
    const bool is_first = !o->comm || o->comm->rank == 0;
    const size_t end = is_first ? MAX(part.end, MIN(o->n_shown, n)) : part.end;
    struct counts counts = {0};

    TRY(translate_lines(t, set->source.line + part.begin, end - part.begin, out, err));
    for (size_t i = part.begin; i < part.end; i++) {
        const char *text = translate_get(out, i - part.begin, 0);
        struct line ref[1 + REFERENCES_MAX] = {set->target.line[i]};
        const size_t n_refs = 1 + references_of(o->more, i, ref + 1);
        TRY(count_text(&counts, o->text, (struct line){text, strlen(text)}, ref, n_refs,
                       err));
    }
    if (!is_first)
        translate_release(out);
    if (o->comm)
        TRY(comm_allreduce(o->comm, COMM_SUM, counts.metric[0].x,
                           sizeof counts / sizeof(double), err));
    score_text(r, &counts, o, n);
    return o->comm ? comm_bcast(o->comm, r, sizeof *r, 0, err) : OK;
}

double evaluate_measure(const struct evaluate_result *r, unsigned measure)
{
    if (measure == MEASURE_LOSS)
        return r->valid_loss;
    return r->has_text ? r->score[measure] : NAN;
}

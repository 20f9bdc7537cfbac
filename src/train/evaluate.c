#include "train/evaluate.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "corpus/batch.h"
#include "score/bleu.h"
#include "train/upload.h"

enum { PAD = SPM_PAD, EOS = SPM_EOS, START = SPM_BOS };

/* Running sums over the set, in the order of its sentences. */
struct sums {
    double loss, group_loss, weighted; /* of all, of the group at hand, of done groups */
    size_t n_tokens, group_tokens, group_sents, n_sents;
    struct bleu_stats forced;
    int32_t *hyp, *ref; /* [max_length] scratch of one sentence */
};

static void end_group(struct sums *s)
{
    if (!s->group_tokens)
        return;
    s->weighted += s->group_loss / (double)s->group_tokens * (double)s->group_sents;
    s->group_loss = 0;
    s->group_tokens = s->group_sents = 0;
}

static void add_loss(struct sums *s, const float *loss, size_t n, size_t group)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)loss[i];
    s->loss += sum;
    s->n_tokens += n;
    s->n_sents++;
    s->group_loss += sum;
    s->group_tokens += n;
    if (++s->group_sents == group)
        end_group(s);
}

/* ids up to the first EOS, without padding and the start symbol */
static size_t words_of(int32_t *out, const int32_t *id, size_t n)
{
    size_t k = 0;

    for (size_t i = 0; i < n && id[i] != EOS; i++)
        if (id[i] != PAD && id[i] != START)
            out[k++] = id[i];
    return k;
}

static status add_batch(struct sums *s, const struct batch *b, const float *loss,
                        const int32_t *best, size_t group, struct err *err)
{
    for (size_t i = 0; i < b->n_sents; i++) {
        const size_t at = (size_t)b->tgt_at[i], n = (size_t)b->tgt_at[i + 1] - at;
        add_loss(s, loss + at, n, group);
        const size_t n_hyp = words_of(s->hyp, best + at, n);
        const size_t n_ref = words_of(s->ref, b->tgt_label + at, n);
        TRY(bleu_add_ids(&s->forced, s->hyp, n_hyp, s->ref, n_ref, err));
    }
    return OK;
}

/* Everything one pass over the set needs beside the model. */
struct pass {
    struct batch batch;
    uint32_t *pair; /* [n_pairs] 0, 1, 2... */
    float *loss;
    int32_t *best;
    size_t cap; /* of loss and best */
    struct sums sums;
};

static status open_pass(struct pass *p, const struct dataset_set *set,
                        const struct evaluate_options *o, struct err *err)
{
    const size_t n = set->corpus.n_pairs;

    TRY(mem_alloc(&p->pair, n, sizeof *p->pair, err));
    TRY(mem_alloc(&p->sums.hyp, o->max_length, sizeof *p->sums.hyp, err));
    TRY(mem_alloc(&p->sums.ref, o->max_length, sizeof *p->sums.ref, err));
    p->cap = o->batch_tokens > o->max_length ? o->batch_tokens : o->max_length;
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
    free(p->loss);
    free(p->best);
    free(p->sums.hyp);
    free(p->sums.ref);
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
    return add_batch(&p->sums, &p->batch, p->loss, p->best, o->group, err);
}

static status run_pass(struct pass *p, struct model *m, const struct dataset_set *set,
                       const struct evaluate_options *o, struct err *err)
{
    const size_t n = set->corpus.n_pairs;
    const struct batch_limit limit = {2 * o->batch_tokens, o->batch_tokens};

    TRY(open_pass(p, set, o, err));
    for (size_t at = 0; at < n;) {
        const size_t k =
            batch_cut(&set->corpus, p->pair + at, n - at, o->max_length, limit);
        TRY(batch_gather(&p->batch, &set->corpus, p->pair + at, k, o->max_length, err));
        TRY(forward_batch(p, m, o, err));
        at += k;
    }
    end_group(&p->sums);
    return OK;
}

status evaluate_loss(struct evaluate_result *r, struct model *m,
                     const struct dataset_set *set, const struct evaluate_options *o,
                     struct err *err)
{
    struct pass p = {0};

    if (!set->corpus.n_pairs)
        return err_set(err, ERR_FORMAT, "the set to evaluate on has no sentences");
    const status result = run_pass(&p, m, set, o, err);
    if (result == OK) {
        const struct sums *s = &p.sums;
        r->valid_loss = s->loss / (double)s->n_tokens;
        r->eval_loss = s->weighted / (double)s->n_sents;
        r->forced_bleu = bleu_nltk(&s->forced);
        r->n_pairs = s->n_sents;
        r->n_tokens = s->n_tokens;
    }
    close_pass(&p);
    return result;
}

static status score(struct evaluate_result *r, const struct translations *out,
                    const struct dataset_set *set, size_t n, struct err *err)
{
    const struct bleu_options how = {0};
    struct bleu_stats stats = {0};
    struct str signature = str_new(0);

    for (size_t i = 0; i < n; i++) {
        const char *text = translations_text(out, i, 0);
        const struct bleu_text hyp = {text, strlen(text)};
        const struct line want = set->target.line[i];
        const struct bleu_text ref = {want.text, want.n_bytes};
        TRY(bleu_add(&stats, how.tokenize, hyp, &ref, 1, err));
    }
    r->bleu = bleu_score(&stats, &how).score;
    r->has_bleu = true;
    r->n_translated = n;
    bleu_signature(&signature, &how, 1);
    snprintf(r->signature, sizeof r->signature, "%s", str_text(&signature));
    str_release(&signature);
    return OK;
}

status evaluate_bleu(struct evaluate_result *r, struct translations *out,
                     struct translator *t, const struct dataset_set *set,
                     const struct evaluate_options *o, struct err *err)
{
    size_t n = set->source.n;

    if (o->bleu_pairs && o->bleu_pairs < n)
        n = o->bleu_pairs;
    TRY(translate_lines(t, set->source.line, n, out, err));
    return score(r, out, set, n, err);
}

#include "decode/pairs/scorer.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "decode/forced/passes.h"
#include "recipe/special_ids.h"
#include "text/subword/encoder.h"

/* Where a pair's tokens are among all ids. */
struct place {
    size_t source, n_source, target, n_target;
    bool is_cut;
};

struct scorer {
    const struct network *net;
    const struct spm *spm;
    struct scorer_options options;
    struct encoder *encoder, *target; /* the same where one tokenizer is of both sides */
    struct passes *passes;
    struct spm_ids ids; /* of all pairs: S, pieces, EOS of each side */
    struct place *place;
    size_t n, cap;
    struct passes_pair *pair; /* [n] */
    double *log_prob;         /* as long as ids; those of targets are filled */
    size_t log_prob_cap, pair_cap;
};

status scorer_open(struct scorer **out, const struct network *net, const struct spm *spm,
                   struct scorer_options options, struct err *err)
{
    struct scorer *s;

    *out = NULL;
    TRY(spm_check_special(spm, err));
    if (spm_known(spm_target(spm)) > (size_t)net->config.vocab_size)
        return err_set(err, ERR_USAGE,
                       "the tokenizer has %zu pieces, the model a vocabulary of %lld; "
                       "they do not belong together",
                       spm_known(spm_target(spm)), (long long)net->config.vocab_size);
    TRY(mem_alloc(&s, 1, sizeof *s, err));
    *s = (struct scorer){.net = net, .spm = spm, .options = options};
    if (options.max_length > architecture_longest(&net->config.arch))
        s->options.max_length = architecture_longest(&net->config.arch);
    status result = encoder_new(&s->encoder, spm, 0, err);
    s->target = s->encoder;
    if (spm_target(spm) != spm)
        THEN(result, encoder_new(&s->target, spm_target(spm), 0, err));
    THEN(result, passes_open(&s->passes, net, options.kernels, options.n_threads, err));
    if (result != OK) {
        scorer_close(s);
        return result;
    }
    *out = s;
    return OK;
}

void scorer_close(struct scorer *s)
{
    if (!s)
        return;
    passes_close(s->passes);
    if (s->target != s->encoder)
        encoder_free(s->target);
    encoder_free(s->encoder);
    spm_ids_release(&s->ids);
    free(s->place);
    free(s->pair);
    free(s->log_prob);
    free(s);
}

/* ---- pairs to ids ---- */

static status begin(struct scorer *s, size_t n, struct err *err)
{
    s->ids.n = 0;
    s->n = n;
    TRY(mem_grow(&s->place, &s->cap, n, sizeof *s->place, err));
    return mem_grow(&s->pair, &s->pair_cap, n, sizeof *s->pair, err);
}

/* A side whose pieces were appended behind its S: cut to max_length, and EOS. */
static status end_side(struct scorer *s, size_t at, size_t *n, bool *is_cut,
                       struct err *err)
{
    const size_t most = at + s->options.max_length - 1;

    *is_cut |= s->ids.n > most;
    s->ids.n = s->ids.n > most ? most : s->ids.n;
    TRY(spm_ids_add(&s->ids, ID_EOS, err));
    *n = s->ids.n - at;
    return OK;
}

/* marks: the tokenizer whose marks the text may begin with; NULL: none. */
static status add_text(struct scorer *s, struct encoder *e, const struct spm *marks,
                       struct line text, size_t *at, size_t *n, bool *is_cut,
                       struct err *err)
{
    size_t n_mark = 0;
    const int32_t mark = marks ? spm_mark(marks, text, &n_mark) : -1;

    *at = s->ids.n;
    TRY(spm_ids_add(&s->ids, ID_BOS, err));
    if (mark >= 0)
        TRY(spm_ids_add(&s->ids, mark, err));
    text.text += n_mark;
    text.n_bytes -= n_mark;
    TRY(encoder_encode(e, text, &s->ids, err));
    return end_side(s, *at, n, is_cut, err);
}

static status add_ids(struct scorer *s, const uint16_t *id, size_t n_id, size_t *at,
                      size_t *n, bool *is_cut, struct err *err)
{
    *at = s->ids.n;
    TRY(spm_ids_add(&s->ids, ID_BOS, err));
    for (size_t i = 0; i < n_id; i++)
        TRY(spm_ids_add(&s->ids, id[i], err));
    return end_side(s, *at, n, is_cut, err);
}

static status keep(void *ctx, size_t pair, struct passes_found found, struct err *err)
{
    const struct scorer *s = ctx;
    const struct place *p = &s->place[pair];

    (void)err;
    memcpy(s->log_prob + p->target, found.log_prob, p->n_target * sizeof *s->log_prob);
    return OK;
}

static status run(struct scorer *s, struct err *err)
{
    TRY(mem_grow(&s->log_prob, &s->log_prob_cap, s->ids.n, sizeof *s->log_prob, err));
    for (size_t i = 0; i < s->n; i++) {
        const struct place *p = &s->place[i];
        s->pair[i] = (struct passes_pair){s->ids.id + p->source, s->ids.id + p->target,
                                          p->n_source, p->n_target};
    }
    return passes_run(s->passes, s->pair, s->n, PASSES_LOG_PROB, keep, s, err);
}

status scorer_run(struct scorer *s, const struct line *source, const struct line *target,
                  size_t n, struct err *err)
{
    TRY(begin(s, n, err));
    for (size_t i = 0; i < n; i++) {
        struct place *p = &s->place[i];
        p->is_cut = false;
        TRY(add_text(s, s->encoder, s->spm, source[i], &p->source, &p->n_source,
                     &p->is_cut, err));
        TRY(add_text(s, s->target, NULL, target[i], &p->target, &p->n_target, &p->is_cut,
                     err));
    }
    return run(s, err);
}

status scorer_run_ids(struct scorer *s, const struct scorer_ids *pair, size_t n,
                      struct err *err)
{
    TRY(begin(s, n, err));
    for (size_t i = 0; i < n; i++) {
        struct place *p = &s->place[i];
        p->is_cut = false;
        TRY(add_ids(s, pair[i].source, pair[i].n_source, &p->source, &p->n_source,
                    &p->is_cut, err));
        TRY(add_ids(s, pair[i].target, pair[i].n_target, &p->target, &p->n_target,
                    &p->is_cut, err));
    }
    return run(s, err);
}

struct scorer_pair scorer_get(const struct scorer *s, size_t i)
{
    const struct place *p = &s->place[i];
    struct scorer_pair pair = {.id = s->ids.id + p->target,
                               .log_prob = s->log_prob + p->target,
                               .n = p->n_target,
                               .is_cut = p->is_cut};

    BUG_ON(i >= s->n);
    for (size_t k = 0; k < pair.n; k++)
        pair.sum += pair.log_prob[k];
    return pair;
}

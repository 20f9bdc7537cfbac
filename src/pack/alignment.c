#include "pack/alignment.h"

#include <stdlib.h>
#include <string.h>

#include "align/bitext.h"
#include "align/ttable.h"
#include "align/viterbi.h"
#include "base/mem.h"
#include "base/pool.h"
#include "decode/forced/links.h"
#include "decode/forced/passes.h"
#include "recipe/special_ids.h"

/* A validation pair that is compared. */
struct pair {
    uint32_t at;                     /* in the set */
    size_t source, target;           /* first ids */
    size_t link, n_source, n_target; /* its matrix of words */
};

struct work {
    struct alignment *a;
    const struct spm *spm;
    const struct dataset_set *set;
    struct ttable forward, backward;
    struct pair *pair;
    size_t n, cap;
    struct spm_ids ids;
    struct passes_pair *given; /* [n] */
    unsigned char *link;       /* of all pairs, [target words,source words] each */
    size_t n_link, link_cap;
    struct words source, target;
    struct links found;
    size_t layer; /* at hand */
    int32_t to_source[BITEXT_LONGEST], to_target[BITEXT_LONGEST];
    unsigned char piece[BITEXT_LONGEST * BITEXT_LONGEST]; /* links of pieces */
};

double alignment_f1(struct alignment_score s)
{
    const uint64_t n = s.n_found + s.n_wanted;

    return n ? 2 * (double)s.n_common / (double)n : 0;
}

void alignment_release(struct alignment *a)
{
    free(a->layer);
    *a = (struct alignment){0};
}

/* ---- what the corpus says ---- */

static status learn(struct work *w, const struct dataset *data,
                    const struct alignment_options *o, struct err *err)
{
    struct ttable_options how = ttable_defaults();
    struct corpus some = data->train;
    struct pool *pool = NULL;

    if (some.n_pairs > o->n_learnt)
        some.n_pairs = (uint32_t)o->n_learnt;
    TRY(pool_open(&pool, o->n_threads, false, err));
    how.pool = pool;
    how.progress = o->progress;
    how.alpha = 0.01; /* sparser rows align better: docs/align.md */
    status result = ttable_learn(&w->forward, &some, &how, err);
    how.is_reverse = true;
    THEN(result, ttable_learn(&w->backward, &some, &how, err));
    pool_close(pool);
    return result;
}

static status add_side(struct work *w, struct sentence s, size_t *at, struct err *err)
{
    *at = w->ids.n;
    TRY(spm_ids_add(&w->ids, ID_BOS, err));
    for (size_t i = 0; i < s.len; i++)
        TRY(spm_ids_add(&w->ids, s.token[i], err));
    return spm_ids_add(&w->ids, ID_EOS, err);
}

/* The mark of a source is a token, but no word. */
static status make_words(struct work *w, uint32_t at, size_t S, size_t T, struct err *err)
{
    struct line source = w->set->source.line[at];
    size_t n_mark;

    (void)spm_mark(w->spm, source, &n_mark);
    source.text += n_mark;
    source.n_bytes -= n_mark;
    TRY(words_of_text(&w->source, w->spm, source, S + 2, err));
    return words_of_text(&w->target, spm_target(w->spm), w->set->target.line[at], T + 2,
                         err);
}

/* The statistical alignment of a pair, in pieces and then in words. */
static status align_pair(struct work *w, struct pair *p, struct sentence s,
                         struct sentence t, struct err *err)
{
    viterbi_align(w->to_source, &w->forward, s.token, s.len, t.token, t.len);
    viterbi_align(w->to_target, &w->backward, t.token, t.len, s.token, s.len);
    viterbi_grow(w->piece, w->to_source, w->to_target, s.len, t.len);
    TRY(make_words(w, p->at, s.len, t.len, err));
    p->n_source = w->source.n;
    p->n_target = w->target.n;
    p->link = w->n_link;
    w->n_link += p->n_source * p->n_target;
    TRY(mem_grow(&w->link, &w->link_cap, w->n_link, 1, err));
    memset(w->link + p->link, 0, p->n_source * p->n_target);
    for (size_t j = 0; j < t.len; j++)
        for (size_t i = 0; i < s.len; i++)
            if (w->piece[j * s.len + i] && w->source.of[i + 1] != WORDS_NONE &&
                w->target.of[j + 1] != WORDS_NONE)
                w->link[p->link + w->target.of[j + 1] * p->n_source +
                        w->source.of[i + 1]] = 1;
    return OK;
}

static status take_pairs(struct work *w, size_t n_max, struct err *err)
{
    const struct corpus *c = &w->set->corpus;
    const struct bitext b = {.corpus = c};

    for (uint32_t i = 0; i < c->n_pairs && w->n < n_max; i++) {
        const struct bitext_pair pair = bitext_pair(&b, i);
        if (!pair.source.len)
            continue;
        TRY(mem_grow(&w->pair, &w->cap, w->n + 1, sizeof *w->pair, err));
        struct pair *p = &w->pair[w->n++];
        *p = (struct pair){.at = i};
        TRY(add_side(w, pair.source, &p->source, err));
        TRY(add_side(w, pair.target, &p->target, err));
        TRY(align_pair(w, p, pair.source, pair.target, err));
    }
    TRY(mem_alloc(&w->given, w->n, sizeof *w->given, err));
    for (size_t i = 0; i < w->n; i++) {
        const struct pair *p = &w->pair[i];
        const size_t end = i + 1 < w->n ? w->pair[i + 1].source : w->ids.n;
        w->given[i] = (struct passes_pair){w->ids.id + p->source, w->ids.id + p->target,
                                           p->target - p->source, end - p->target};
    }
    return OK;
}

/* ---- what the model says ---- */

static status compare(void *ctx, size_t pair, struct passes_found found, struct err *err)
{
    struct work *w = ctx;
    const struct pair *p = &w->pair[pair];
    const size_t S = w->given[pair].n_source - 2, T = w->given[pair].n_target - 2;
    struct alignment_score *score = &w->a->layer[w->layer];

    TRY(make_words(w, p->at, S, T, err));
    TRY(links_find(&w->found, found.attention, &w->source, &w->target, err));
    for (size_t i = 0; i < p->n_source * p->n_target; i++)
        score->n_wanted += w->link[p->link + i];
    score->n_found += w->found.n;
    for (size_t i = 0; i < w->found.n; i++)
        score->n_common += w->link[p->link + w->found.link[i].target * p->n_source +
                                   w->found.link[i].source];
    return OK;
}

static status measure(struct work *w, const struct network *net,
                      const struct dataset *data, const struct alignment_options *o,
                      struct err *err)
{
    struct passes *passes = NULL;
    struct alignment *a = w->a;

    a->n_layers = net->decoder.n_layers;
    TRY(mem_alloc(&a->layer, a->n_layers, sizeof *a->layer, err));
    TRY(learn(w, data, o, err));
    TRY(take_pairs(w, o->n_compared, err));
    a->n_pairs = w->n;
    TRY(passes_open(&passes, net, o->kernels, o->n_threads, err));
    status result = OK;
    for (w->layer = 0; w->layer < a->n_layers && result == OK; w->layer++)
        result = passes_run(passes, w->given, w->n, (int)w->layer, compare, w, err);
    for (size_t i = 0; i < a->n_layers; i++)
        if (alignment_f1(a->layer[i]) > alignment_f1(a->layer[a->best]))
            a->best = i;
    passes_close(passes);
    return result;
}

status alignment_measure(struct alignment *a, const struct network *net,
                         const struct spm *spm, const struct dataset *data,
                         struct alignment_options options, struct err *err)
{
    struct work w = {.a = a, .spm = spm, .set = &data->valid};

    *a = (struct alignment){0};
    const status result = measure(&w, net, data, &options, err);
    ttable_release(&w.forward);
    ttable_release(&w.backward);
    free(w.pair);
    free(w.given);
    free(w.link);
    spm_ids_release(&w.ids);
    words_release(&w.source);
    words_release(&w.target);
    links_release(&w.found);
    return result;
}

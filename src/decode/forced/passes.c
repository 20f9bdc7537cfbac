#include "decode/forced/passes.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/pool.h"
#include "infer/session.h"

enum { TOKENS = 1024 }; /* of a side that are packed into one pass */

/* Longest target first: passes of pairs that are alike. */
struct ranked {
    size_t n_target, pair;
};

struct passes {
    const struct network *net;
    const struct infer_kernels *kernels;
    struct pool *pool;
    struct session session;
    size_t longest, n_tokens, pairs_max; /* what it has room for; 0: none yet */
    struct ranked *order;
    size_t order_cap;
    struct session_sentence *sentence; /* [pairs_max] of a pass */
    struct session_pair *pair;
    double *log_prob; /* [n_tokens] of a pass */
    float *attention;
    size_t attention_cap;
};

status passes_open(struct passes **out, const struct network *net,
                   const struct infer_kernels *kernels, size_t n_threads, struct err *err)
{
    struct passes *p;

    *out = NULL;
    TRY(mem_alloc(&p, 1, sizeof *p, err));
    *p = (struct passes){.net = net, .kernels = kernels};
    if (n_threads != 1 && pool_open(&p->pool, n_threads, false, err) != OK) {
        passes_close(p);
        return err->code;
    }
    *out = p;
    return OK;
}

static void drop_room(struct passes *p)
{
    session_close(&p->session);
    free(p->sentence);
    free(p->pair);
    free(p->log_prob);
    p->sentence = NULL;
    p->pair = NULL;
    p->log_prob = NULL;
    p->longest = 0;
}

void passes_close(struct passes *p)
{
    if (!p)
        return;
    drop_room(p);
    pool_close(p->pool);
    free(p->order);
    free(p->attention);
    free(p);
}

static status open_room(struct passes *p, size_t longest, struct err *err)
{
    p->n_tokens = longest > TOKENS ? longest : TOKENS;
    p->pairs_max = p->n_tokens / 2; /* S and EOS each */
    TRY(mem_alloc(&p->sentence, p->pairs_max, sizeof *p->sentence, err));
    TRY(mem_alloc(&p->pair, p->pairs_max, sizeof *p->pair, err));
    TRY(mem_alloc(&p->log_prob, p->n_tokens, sizeof *p->log_prob, err));
    TRY(session_open(
        &p->session, p->net, p->kernels, p->pool,
        (struct session_shape){.n_rows = p->pairs_max,
                               .n_entries = 1,
                               .n_memory = p->n_tokens + p->pairs_max * SESSION_ROUND,
                               .n_tokens = p->n_tokens,
                               .max_len = longest,
                               .n_top = 1},
        err));
    p->longest = longest;
    return OK;
}

/* Room for sides of the longest pair. */
static status take_room(struct passes *p, const struct passes_pair *pair, size_t n,
                        struct err *err)
{
    enum { STEP = 64 };
    size_t longest = 1;

    for (size_t i = 0; i < n; i++) {
        longest = pair[i].n_source > longest ? pair[i].n_source : longest;
        longest = pair[i].n_target > longest ? pair[i].n_target : longest;
    }
    if (longest <= p->longest)
        return OK;
    drop_room(p);
    const status result = open_room(p, linear_round(longest, STEP), err);
    if (result != OK)
        drop_room(p);
    return result;
}

static int by_length(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->n_target != y->n_target)
        return x->n_target < y->n_target ? 1 : -1;
    return (x->pair > y->pair) - (x->pair < y->pair);
}

/* How many of n ordered pairs make a pass. */
static size_t pass_size(const struct passes *p, const struct passes_pair *pair,
                        const struct ranked *order, size_t n)
{
    size_t k = 0, n_source = 0, n_target = 0;

    for (; k < n && k < p->pairs_max; k++) {
        n_source += pair[order[k].pair].n_source;
        n_target += pair[order[k].pair].n_target;
        if (k && (n_source > p->n_tokens || n_target > p->n_tokens))
            break;
    }
    return k;
}

/* Places for the attention of the k pairs of a pass. */
static status place_attention(struct passes *p, size_t k, struct err *err)
{
    size_t n = 0;

    for (size_t i = 0; i < k; i++)
        n += p->pair[i].n * p->pair[i].source.n;
    TRY(mem_grow(&p->attention, &p->attention_cap, n, sizeof *p->attention, err));
    n = 0;
    for (size_t i = 0; i < k; i++) {
        p->pair[i].attention = p->attention + n;
        n += p->pair[i].n * p->pair[i].source.n;
    }
    return OK;
}

static status run_pass(struct passes *p, const struct passes_pair *pair,
                       const struct ranked *order, size_t k, int layer, struct err *err)
{
    const bool wants_attention = layer != PASSES_LOG_PROB;

    for (size_t i = 0; i < k; i++) {
        const struct passes_pair *from = &pair[order[i].pair];
        struct session_source *to = &p->sentence[i].to;
        BUG_ON(!session_lend(&p->session, from->n_source, to));
        p->sentence[i].id = from->source;
        p->pair[i] = (struct session_pair){*to, from->target, from->n_target, NULL};
    }
    const status result = wants_attention ? place_attention(p, k, err) : OK;
    if (result == OK) {
        p->session.shape.tells = wants_attention ? (size_t)layer : 0;
        session_encode(&p->session, p->sentence, k);
        session_score(&p->session, p->pair, k, wants_attention ? NULL : p->log_prob);
    }
    for (size_t i = 0; i < k; i++)
        session_give_back(&p->session, p->sentence[i].to);
    return result;
}

status passes_run(struct passes *p, const struct passes_pair *pair, size_t n, int layer,
                  passes_done *done, void *ctx, struct err *err)
{
    if (!n)
        return OK;
    TRY(take_room(p, pair, n, err));
    TRY(mem_grow(&p->order, &p->order_cap, n, sizeof *p->order, err));
    for (size_t i = 0; i < n; i++)
        p->order[i] = (struct ranked){pair[i].n_target, i};
    qsort(p->order, n, sizeof *p->order, by_length);
    for (size_t first = 0, k; first < n; first += k) {
        const struct ranked *order = p->order + first;
        const double *log_prob = p->log_prob;
        k = pass_size(p, pair, order, n - first);
        TRY(run_pass(p, pair, order, k, layer, err));
        for (size_t i = 0; i < k; i++) {
            TRY(done(ctx, order[i].pair,
                     (struct passes_found){log_prob, p->pair[i].attention}, err));
            log_prob += p->pair[i].n;
        }
    }
    return OK;
}

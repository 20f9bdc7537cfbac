#include "infer/ensemble.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static status open_parts(struct ensemble *e, struct ensemble_networks more,
                         const struct infer_kernels *k, struct pool *pool,
                         struct session_shape shape, struct err *err)
{
    size_t n_logits;

    TRY(mem_mul(&n_logits, e->n_rows * (more.n + 1), e->stride, err));
    TRY(mem_alloc(&e->logit, n_logits, sizeof *e->logit, err));
    TRY(mem_alloc(&e->wish, e->n_rows * (more.n + 1), sizeof *e->wish, err));
    TRY(mem_alloc(&e->row, e->n_rows, sizeof *e->row, err));
    TRY(mem_alloc(&e->session, more.n, sizeof *e->session, err));
    for (; e->n < more.n; e->n++)
        TRY(session_open(&e->session[e->n], more.net[e->n], k, pool, shape, err));
    return OK;
}

status ensemble_open(struct ensemble *e, struct ensemble_networks more,
                     const struct infer_kernels *k, struct pool *pool,
                     struct session_shape shape, struct err *err)
{
    *e = (struct ensemble){.n_rows = shape.n_rows};
    if (!more.n)
        return OK;
    e->n_vocab = (size_t)more.net[0]->config.vocab_size;
    e->stride = linear_round(e->n_vocab, LINEAR_PANEL);
    return open_parts(e, more, k, pool, shape, err);
}

void ensemble_close(struct ensemble *e)
{
    for (size_t i = 0; i < e->n; i++)
        session_close(&e->session[i]);
    free(e->session);
    free(e->logit);
    free(e->wish);
    free(e->row);
    *e = (struct ensemble){0};
}

void ensemble_encode(struct ensemble *e, const struct session_sentence *list, size_t n)
{
    for (size_t i = 0; i < e->n; i++)
        session_encode(&e->session[i], list, n);
}

/* ---- the mean ---- */

static const struct session_wish *wish_of(const struct ensemble *e, size_t network,
                                          size_t row)
{
    return &e->wish[network * e->n_rows + row];
}

static double log_prob_of(const struct session_wish *w, size_t id)
{
    return (double)w->logit[id] - w->log_sum;
}

/* The likeliest network's log-probability: the mean is not above it. */
static double most(const struct ensemble *e, size_t row, size_t id)
{
    double top = log_prob_of(wish_of(e, 0, row), id);

    for (size_t i = 1; i <= e->n; i++) {
        const double p = log_prob_of(wish_of(e, i, row), id);
        top = p > top ? p : top;
    }
    return top;
}

static double mean(const struct ensemble *e, size_t row, size_t id, double top)
{
    double sum = 0;

    if (top == -INFINITY)
        return top;
    for (size_t i = 0; i <= e->n; i++)
        sum += exp(log_prob_of(wish_of(e, i, row), id) - top);
    return top + log(sum / (double)(e->n + 1));
}

/* The likeliest tokens, best first, of equal ones the lower first. Few means are
 * computed: most tokens are below the worst that was kept with every network. */
static void pick(const struct ensemble *e, size_t row, struct session_best best)
{
    double *log_prob = best.log_prob;
    int32_t *id = best.id;
    size_t n = 0;

    for (size_t v = 0; v < e->n_vocab; v++) {
        const double top = most(e, row, v);
        if (n == best.n && top <= log_prob[n - 1])
            continue;
        const double p = mean(e, row, v, top);
        size_t at = n < best.n ? n++ : n;
        if (at == best.n && p <= log_prob[at - 1])
            continue;
        for (at = at == best.n ? at - 1 : at; at && p > log_prob[at - 1]; at--) {
            log_prob[at] = log_prob[at - 1];
            id[at] = id[at - 1];
        }
        log_prob[at] = p;
        id[at] = (int32_t)v;
    }
    for (; n < best.n; n++) {
        log_prob[n] = -INFINITY;
        id[n] = -1;
    }
}

/* What a row wishes. Logits are such that their probabilities are the means: those of the
 * first, where all are equal. */
static void tell(const struct ensemble *e, size_t row, struct session_wish *wish)
{
    wish->log_sum = wish_of(e, 0, row)->log_sum;
    for (size_t i = 0; i < wish->n; i++) {
        const size_t v = (size_t)wish->id[i];
        wish->log_prob[i] = mean(e, row, v, most(e, row, v));
    }
    for (size_t v = 0; wish->logit && v < e->n_vocab; v++)
        wish->logit[v] = (float)(mean(e, row, v, most(e, row, v)) + wish->log_sum);
}

void ensemble_step(struct ensemble *e, struct session *first,
                   const struct session_row *row, size_t n)
{
    for (size_t i = 0; i <= e->n; i++) {
        struct session_wish *wish = e->wish + i * e->n_rows;
        for (size_t r = 0; r < n; r++) {
            wish[r] = (struct session_wish){.logit = e->logit +
                                                     (i * e->n_rows + r) * e->stride};
            e->row[r] = row[r];
            e->row[r].best.wants_prob = true;
            e->row[r].wish = &wish[r];
            e->row[r].columns = NULL;
        }
        session_step(i ? &e->session[i - 1] : first, e->row, n);
    }
    for (size_t r = 0; r < n; r++) {
        pick(e, r, row[r].best);
        if (row[r].wish)
            tell(e, r, row[r].wish);
    }
}

#include "decode/step_rows.h"

#include <stdlib.h>

#include "base/mem.h"
#include "decode/steer/guide.h"

static size_t n_round(const struct step_rows *a)
{
    return linear_round(a->n_vocab, LINEAR_PANEL);
}

static status open_parts(struct step_rows *a, struct err *err)
{
    TRY(mem_alloc(&a->row, a->n_rows, sizeof *a->row, err));
    TRY(mem_alloc(&a->history, a->n_rows * a->max_len, sizeof *a->history, err));
    TRY(mem_alloc(&a->log_prob, a->n_rows * a->n_top, sizeof *a->log_prob, err));
    TRY(mem_alloc(&a->id, a->n_rows * a->n_top, sizeof *a->id, err));
    TRY(mem_alloc(&a->wish, a->n_rows, sizeof *a->wish, err));
    TRY(mem_alloc(&a->wanted, a->n_rows * GUIDE_WANTED, sizeof *a->wanted, err));
    return mem_alloc(&a->more, a->n_rows, sizeof *a->more, err);
}

status step_rows_open(struct step_rows *a, const struct network *net,
                      struct session_shape shape, size_t max_len, struct err *err)
{
    *a = (struct step_rows){.n_rows = shape.n_rows,
                            .n_top = shape.n_top,
                            .max_len = max_len,
                            .n_vocab = (size_t)net->config.vocab_size};
    const status result = open_parts(a, err);
    if (result != OK)
        step_rows_close(a);
    return result;
}

void step_rows_close(struct step_rows *a)
{
    free(a->row);
    free(a->history);
    free(a->log_prob);
    free(a->id);
    free(a->wish);
    free(a->more);
    free(a->wanted);
    free(a->logit);
    *a = (struct step_rows){0};
}

status step_rows_reserve(struct step_rows *a, size_t n_wishing, struct err *err)
{
    return mem_grow(&a->logit, &a->cap_logits, n_wishing, n_round(a) * sizeof *a->logit,
                    err);
}

void step_rows_begin(struct step_rows *a)
{
    a->n_wishing = 0;
}

/* What the beam wishes of row `at`, as a session takes it. */
static struct session_wish *wish_of(struct step_rows *a, size_t at, struct beam_wish want)
{
    struct session_wish *wish = &a->wish[at];

    if (!want.wants_logits && !want.n)
        return NULL;
    *wish = (struct session_wish){
        .id = want.id, .n = want.n, .log_prob = a->wanted + at * GUIDE_WANTED};
    if (!want.wants_logits)
        return wish;
    BUG_ON(a->n_wishing == a->cap_logits);
    wish->logit = a->logit + a->n_wishing++ * n_round(a);
    return wish;
}

void step_rows_ask(struct step_rows *a, const struct step_ask *ask, size_t first,
                   size_t r)
{
    const struct beam_rows rows = beam_rows(ask->beam);
    const size_t at = first + r, to = first * a->n_top + r * ask->n_top;

    a->row[at] = (struct session_row){.token = rows.token[r],
                                      .t = rows.t,
                                      .source = ask->source,
                                      .best = {.log_prob = a->log_prob + to,
                                               .id = a->id + to,
                                               .n = ask->n_top,
                                               .wants_prob = ask->wants_prob},
                                      .entry = step_rows_history(a, at),
                                      .wish = wish_of(a, at, beam_wish(ask->beam, r)),
                                      .columns = ask->outputs};
}

void step_rows_get(struct step_rows *a, struct session *s, struct ensemble *others,
                   size_t n)
{
    if (others->n)
        ensemble_step(others, s, a->row, n);
    else
        session_step(s, a->row, n);
    for (size_t i = 0; i < n; i++)
        if (a->row[i].wish)
            a->more[i] = (struct beam_more){.log_prob = a->row[i].wish->log_prob,
                                            .logit = a->row[i].wish->logit,
                                            .n_logits = a->n_vocab,
                                            .log_sum = a->row[i].wish->log_sum};
}

struct beam_next step_rows_next(const struct step_rows *a, size_t first, size_t n_top)
{
    return (struct beam_next){.log_prob = a->log_prob + first * a->n_top,
                              .id = a->id + first * a->n_top,
                              .n_top = n_top,
                              .more = a->more + first};
}

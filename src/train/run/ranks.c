#include <math.h>
#include <stdio.h>

#include "train/run/peers.h"

enum { FAR = 10, ENOUGH_RANKS = 3, MOST_RANKS = 4096 };

/* What is compared of a rank. */
struct measure {
    const char *name;
    size_t at; /* in struct ranks_own */
};

static double value(const struct ranks_own *own, struct measure m)
{
    return *(const double *)(const void *)((const char *)own + m.at);
}

/* The value of which as many ranks with tokens lie below as above. */
static double median(const struct comm *c, const struct ranks_own *all, struct measure m,
                     size_t *n)
{
    double best = NAN;

    *n = 0;
    for (int r = 0; r < c->size; r++)
        *n += all[r].n_tokens > 0;
    for (int r = 0; r < c->size; r++) {
        const double mine = value(&all[r], m);
        size_t below = 0, equal = 0;
        for (int q = 0; q < c->size; q++) {
            below += all[q].n_tokens > 0 && value(&all[q], m) < mine;
            equal += all[q].n_tokens > 0 && value(&all[q], m) == mine;
        }
        if (all[r].n_tokens > 0 && below <= *n / 2 && below + equal > *n / 2)
            best = mine;
    }
    return best;
}

static bool find_far(const struct comm *c, const struct ranks_own *all, struct measure m,
                     char *text, size_t n_text)
{
    char name[COMM_NAME_MAX];
    size_t n;
    const double middle = median(c, all, m, &n);

    for (int r = 0; n >= ENOUGH_RANKS && r < c->size; r++)
        if (all[r].n_tokens > 0 && value(&all[r], m) > FAR * middle) {
            snprintf(text, n_text,
                     "%s: %s %g, the ranks' median is %g; its memory or processor may be "
                     "faulty",
                     comm_name(c, r, name), m.name, value(&all[r], m), middle);
            return true;
        }
    return false;
}

bool ranks_find_odd(const struct comm *c, const struct ranks_own *all, char *text,
                    size_t n_text)
{
    static const struct measure norm = {"gradient norm",
                                        offsetof(struct ranks_own, grad_norm)},
                                loss = {"loss", offsetof(struct ranks_own, mean_loss)};
    char name[COMM_NAME_MAX];

    for (int r = 0; r < c->size; r++)
        if (!isfinite(all[r].mean_loss) || !isfinite(all[r].grad_norm)) {
            snprintf(text, n_text, "%s: loss %g, gradient norm %g", comm_name(c, r, name),
                     all[r].mean_loss, all[r].grad_norm);
            return true;
        }
    if (c->size > MOST_RANKS)
        return false; /* the search below is quadratic */
    return find_far(c, all, norm, text, n_text) || find_far(c, all, loss, text, n_text);
}

/* ---- what travels with every update ---- */

struct ranks_most ranks_most_of(const struct comm *c, const struct ranks_own *own)
{
    static const double none = -INFINITY;
    const bool has = own->n_tokens > 0;
    /* the first of several ranks counts as the most */
    const double last = c->size - 1 - c->rank;

    return (struct ranks_most){.loss = has ? own->mean_loss : none,
                               .norm = has ? own->grad_norm : none,
                               .minus_loss = has ? -own->mean_loss : none,
                               .minus_norm = has ? -own->grad_norm : none,
                               .minus_failed =
                                   own->save_failed > 0 ? -(double)c->rank : none,
                               .skipped = own->n_skipped * c->size + last};
}

/* A median is no less than the least. */
bool ranks_may_be_odd(const struct ranks_most *m)
{
    return !(m->loss <= FAR * -m->minus_loss && m->norm <= FAR * -m->minus_norm) ||
           m->loss == INFINITY || m->norm == INFINITY;
}

int ranks_failed_save(const struct ranks_most *m)
{
    return isfinite(m->minus_failed) ? (int)-m->minus_failed : -1;
}

int ranks_most_skipped(const struct comm *c, const struct ranks_most *m,
                       int64_t *n_skipped)
{
    const int64_t both = (int64_t)m->skipped;

    *n_skipped = both / c->size;
    return c->size - 1 - (int)(both % c->size);
}

#include "train/ranks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "dist/comm.h"

enum { FAR = 10, ENOUGH_RANKS = 3, MOST_RANKS = 4096 };

const char *ranks_name(const struct comm *c, int rank, char name[RANKS_NAME_MAX])
{
    snprintf(name, RANKS_NAME_MAX, "rank %d on host %s", rank, c->peer[rank].host);
    return name;
}

/* The value of which as many ranks with tokens lie below as above. */
static double median(const struct comm *c, const struct ranks_own *all, size_t *n)
{
    double best = NAN;

    *n = 0;
    for (int r = 0; r < c->size; r++)
        *n += all[r].n_tokens > 0;
    for (int r = 0; r < c->size; r++) {
        size_t below = 0, equal = 0;
        for (int q = 0; q < c->size; q++) {
            below += all[q].n_tokens > 0 && all[q].grad_norm < all[r].grad_norm;
            equal += all[q].n_tokens > 0 && all[q].grad_norm == all[r].grad_norm;
        }
        if (all[r].n_tokens > 0 && below <= *n / 2 && below + equal > *n / 2)
            best = all[r].grad_norm;
    }
    return best;
}

bool ranks_find_odd(const struct comm *c, const struct ranks_own *all, char *text,
                    size_t n_text)
{
    char name[RANKS_NAME_MAX];
    size_t n;

    for (int r = 0; r < c->size; r++)
        if (!isfinite(all[r].mean_loss) || !isfinite(all[r].grad_norm)) {
            snprintf(text, n_text, "%s: loss %g, gradient norm %g",
                     ranks_name(c, r, name), all[r].mean_loss, all[r].grad_norm);
            return true;
        }
    if (c->size > MOST_RANKS)
        return false; /* the search below is quadratic */
    const double middle = median(c, all, &n);
    for (int r = 0; n >= ENOUGH_RANKS && r < c->size; r++)
        if (all[r].n_tokens > 0 && all[r].grad_norm > FAR * middle) {
            snprintf(text, n_text,
                     "%s: gradient norm %g, the ranks' median is %g; its memory or "
                     "processor may be faulty",
                     ranks_name(c, r, name), all[r].grad_norm, middle);
            return true;
        }
    return false;
}

int ranks_failed_save(const struct comm *c, const struct ranks_own *all)
{
    for (int r = 0; r < c->size; r++)
        if (all[r].save_failed > 0)
            return r;
    return -1;
}

int ranks_most_skipped(const struct comm *c, const struct ranks_own *all)
{
    int most = 0;

    for (int r = 1; r < c->size; r++)
        if (all[r].n_skipped > all[most].n_skipped)
            most = r;
    return most;
}

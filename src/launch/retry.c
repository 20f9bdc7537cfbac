#include "launch/retry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double t_settled = 10; /* a start that lasted longer was not hopeless */
static const double t_long = 600;   /* one that got further for so long: a new trouble */
static const double t_most = 30;    /* the longest pause */
static const double t_mend = 15;    /* a disk may come a little later than its host */

/* Bad options, bad files and a diverged run stay what they are. */
static bool is_final(status code)
{
    return code == ERR_USAGE || code == ERR_FORMAT || code == ERR_NUMERIC;
}

/* The ranks themselves said what was missing: a disk, memory, a device. */
static bool is_lasting(status code)
{
    return code == ERR_IO || code == ERR_MEMORY || code == ERR_DEVICE;
}

/* A start that got further than all before it begins the count anew: faults that are few
 * enough for training to go on shall not add up over weeks. */
static void count(struct retry *r, const struct retry_loss *l)
{
    const bool is_further = l->step > r->step_best;
    const bool is_long = is_further && l->t_lasted > t_long;
    const bool is_same = l->code == r->code && strcmp(l->host, r->host) == 0;

    r->n_starts++;
    r->n_vain = is_further ? 1 : r->n_vain + 1;
    r->n_same = is_same && r->n_starts > 1 && !is_long ? r->n_same + 1 : 1;
    r->step_best = is_further ? l->step : r->step_best;
    r->is_lasting = is_lasting(l->code);
    r->has_worked |= l->has_worked;
    r->code = l->code;
    snprintf(r->host, sizeof r->host, "%s", l->host);
}

/* In the same place: twice without getting further, or three times in any case. */
static bool is_stuck(const struct retry *r)
{
    return r->is_lasting && (r->n_same > 2 || (r->n_same == 2 && r->n_vain > 1));
}

enum retry_answer retry_judge(struct retry *r, const struct retry_loss *l)
{
    count(r, l);
    const bool is_first = r->n_starts == 1;
    const bool may_leave_out = l->host[0] && l->may_leave_out && !is_first;
    const bool is_ours = r->is_lasting || is_final(l->code);

    if (is_ours && !l->has_worked && may_leave_out && r->n_vain <= r->n_most)
        return RETRY_WITHOUT;
    /* So does whatever all ranks agree on before any update was ever made. Later it may
     * pass: a host that comes back has its disks a little after its ssh. */
    if (is_final(l->code) || (r->is_lasting && l->is_agreed && !r->has_worked) ||
        (is_first && !l->has_begun))
        return RETRY_NEVER;
    if (is_stuck(r) && !may_leave_out)
        return RETRY_NEVER;
    if (r->n_vain > r->n_most)
        return RETRY_ENOUGH;
    return is_stuck(r) ? RETRY_WITHOUT : RETRY_AGAIN;
}

double retry_pause(const struct retry *r, enum retry_answer answer, double t_lasted)
{
    if (answer == RETRY_WITHOUT || (r->n_vain < 2 && t_lasted > t_settled))
        return 0;
    const double t = fmin(pow(2, (double)r->n_vain - 1), t_most);
    return r->is_lasting ? fmax(t, t_mend) : t;
}

/* ------------------------------------------------------------ hosts left out */

static const double t_left_out = 900; /* then it may have been mended */

static struct left_out_host *find(struct left_out *l, const char *host)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->host[i].name, host) == 0)
            return &l->host[i];
    return NULL;
}

void retry_leave_out(struct left_out *l, const char *host, status code, double now)
{
    struct left_out_host *h = find(l, host);

    if (!h)
        h = &l->host[l->n++]; /* hosts are no more than HOSTS_MAX */
    snprintf(h->name, sizeof h->name, "%s", host);
    h->code = code;
    h->t_end = now + t_left_out;
}

bool retry_is_left_out(struct left_out *l, const char *host, double now, status *code)
{
    const struct left_out_host *h = find(l, host);

    if (h)
        *code = h->code;
    return h && now < h->t_end;
}

/* Findings about ranks and hosts: stragglers, links, clocks, crowded cores. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page/fmt.h"
#include "report/judge/health.h"
#include "report/judge/run.h"

/* The mean busy time of all ranks but one. */
static double others_busy(const struct rank_means *r, size_t but)
{
    double sum = 0;

    for (size_t i = 0; i < r->n; i++)
        sum += i == but ? 0 : r->of[i].busy;
    return sum / (double)(r->n - 1);
}

status health_ranks_straggler(struct health_finding *f, const struct run *run,
                              struct err *err)
{
    const struct rank_means *r = &run->by_rank;

    (void)err;
    if (r->n < 2 || r->n_laps < 3)
        return OK;
    const struct rank_mean *slow = &r->of[r->slowest];
    const double others = others_busy(r, r->slowest);
    if (!(slow->busy > 1.12 * others) || !(slow->slowest_share > 0.6) ||
        !(slow->busy - others > 0.03 * slow->t_step))
        return OK;
    health_seen(f,
                "Rank %s on %s is busy for %s a step, the others for %s; it was the "
                "slowest in %s of the entries.",
                fmt_count(slow->rank).s, slow->host ? slow->host : "a host not named",
                fmt_seconds(slow->busy).s, fmt_seconds(others).s,
                fmt_percent(slow->slowest_share).s);
    health_advise(f, "Look at what else runs on that host, at its clock rate and "
                     "temperature; `ferry bench gemm` there and on another tells.");
    return OK;
}

status health_ranks_errors(struct health_finding *f, const struct run *run,
                           struct err *err)
{
    (void)err;
    for (size_t i = 0; i < run->by_rank.n; i++) {
        const struct rank_mean *m = &run->by_rank.of[i];
        if (!(m->card_errors > 0))
            continue;
        health_seen(f, "The cards of %s counted %s error%s or dropped packets.",
                    m->host ? m->host : "a host not named", fmt_count(m->card_errors).s,
                    m->card_errors == 1 ? "" : "s");
    }
    if (f->evidence.len)
        health_advise(f, "Look at cable, port and `ethtool -S`; every lost packet stalls "
                         "the whole exchange until it is sent again.");
    return OK;
}

/* 12.5 MB/s less the frames' own bytes: what a port left at 100 Mb/s carries. */
status health_ranks_port(struct health_finding *f, const struct run *run, struct err *err)
{
    const struct runlog_start *s = runlog_latest(&run->log);

    (void)err;
    if (!s || !(s->mb_per_s > 9 && s->mb_per_s < 12.6))
        return OK;
    health_seen(f, "At the start a card carried %s MB/s = %s Mb/s.",
                fmt_number(s->mb_per_s, 3).s, fmt_number(8 * s->mb_per_s, 3).s);
    health_advise(f, "`ethtool CARD` shows the negotiated speed: a gigabit port with a "
                     "bad cable, or a virtual port at its default, falls back to this.");
    return OK;
}

status health_ranks_clocks(struct health_finding *f, const struct run *run,
                           struct err *err)
{
    const struct runlog_start *s = runlog_latest(&run->log);

    (void)err;
    if (!s || !(s->clock_spread_s > 5))
        return OK;
    health_seen(f, "At the start they were %s apart.", fmt_seconds(s->clock_spread_s).s);
    health_advise(f, "Run chrony or ntpd; until then times of different hosts' logs do "
                     "not compare.");
    return OK;
}

static double ranks_on(const struct rank_means *r, const char *host)
{
    double n = 0;

    for (size_t i = 0; i < r->n; i++)
        n += r->of[i].host == host ? 1 : 0;
    return n;
}

/* "1 rank", "2 ranks" */
static struct fmt counted(double n, const char *noun)
{
    struct fmt f;

    snprintf(f.s, sizeof f.s, "%.40s %s%s", fmt_count(n).s, noun, n == 1 ? "" : "s");
    return f;
}

/* By count where the log has the host's processors; otherwise by processor time that
 * the threads were not given although they computed. */
status health_ranks_crowded(struct health_finding *f, const struct run *run,
                            struct err *err)
{
    const struct runlog_start *s = runlog_latest(&run->log);
    const struct rank_means *r = &run->by_rank;

    (void)err;
    if (!s || !(s->threads >= 1))
        return OK;
    /* the only thread of a rank on a card may wait for the card */
    const bool is_cpu = s->device && strncmp(s->device, "cpu", 3) == 0;
    for (size_t i = 0; i < r->n && !f->evidence.len; i++) {
        const struct rank_mean *m = &r->of[i];
        const double wanted = s->threads * (m->t_compute + m->t_update) / m->t_step;
        if ((s->threads > 1 || is_cpu) && m->cores < 0.6 * wanted)
            health_seen(f,
                        "Rank %s on %s has %s and computes %s of the time, but was given "
                        "%s processor seconds a second.",
                        fmt_count(m->rank).s, m->host ? m->host : "a host not named",
                        counted(s->threads, "thread").s,
                        fmt_percent((m->t_compute + m->t_update) / m->t_step).s,
                        fmt_number(m->cores, 3).s);
        else if (s->threads * ranks_on(r, m->host) > s->processors)
            health_seen(
                f, "%s runs %s of %s on %s.", m->host ? m->host : "A host not named",
                counted(ranks_on(r, m->host), "rank").s, counted(s->threads, "thread").s,
                counted(s->processors, "processor").s);
    }
    if (!r->n && s->ranks == 1 && s->threads > s->processors)
        health_seen(f, "%s run on %s.", counted(s->threads, "thread").s,
                    counted(s->processors, "processor").s);
    if (f->evidence.len)
        health_advise(f, "Set threads so that ranks times threads is at most the number "
                         "of cores of the host, and stop what else computes there.");
    return OK;
}

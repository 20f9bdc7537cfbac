/* Findings about ranks and hosts: stragglers, links, clocks, crowded cores. */
#include <math.h>
#include <string.h>

#include "page/fmt.h"
#include "report/judge/health.h"
#include "report/judge/network.h"
#include "report/judge/run.h"

/* The mean busy time of all ranks but one. */
static double others_busy(const struct rank_means *r, size_t but)
{
    double sum = 0;

    for (size_t i = 0; i < r->n; i++)
        sum += i == but ? 0 : r->of[i].busy;
    return sum / (double)(r->n - 1);
}

void health_ranks_straggler(struct health_finding *f, const struct run *run)
{
    const struct rank_means *r = &run->by_rank;

    if (r->n < 2 || r->n_laps < 3)
        return;
    const struct rank_mean *slow = &r->of[r->slowest];
    const double others = others_busy(r, r->slowest);
    if (!(slow->busy > 1.12 * others) || !(slow->slowest_share > 0.6) ||
        !(slow->busy - others > 0.03 * slow->t_step))
        return;
    health_found(f,
                 "Look at what else runs on that host, at its clock rate and "
                 "temperature; `ferry bench gemm` there and on another tells.",
                 "Rank %s on %s is busy for %s per step, the others for %s; it was the "
                 "slowest in %s of the entries.",
                 fmt_count(slow->rank).s, slow->host ? slow->host : "a host not named",
                 fmt_seconds(slow->busy).s, fmt_seconds(others).s,
                 fmt_percent(slow->slowest_share).s);
}

void health_ranks_errors(struct health_finding *f, const struct run *run)
{
    for (size_t i = 0; i < run->by_rank.n; i++) {
        const struct rank_mean *m = &run->by_rank.of[i];
        if (!(m->card_errors > 0))
            continue;
        health_found(f,
                     "Look at cable, port and `ethtool -S`; every lost packet stalls "
                     "the whole exchange until it is sent again.",
                     "The cards of %s counted %s error%s or dropped packets.",
                     m->host ? m->host : "a host not named", fmt_count(m->card_errors).s,
                     m->card_errors == 1 ? "" : "s");
    }
}

/* 12.5 MB/s less the frames' own bytes: what a port left at 100 Mb/s carries. */
static bool is_fast_ethernet(double mb_per_s)
{
    return mb_per_s > 9 && mb_per_s < 12.6;
}

void health_ranks_port(struct health_finding *f, const struct run *run)
{
    static const char advice[] = "`ethtool CARD` shows the negotiated speed: a gigabit "
                                 "port with a bad cable, or a "
                                 "virtual port at its default, falls back to this.";
    const struct runlog_start *s = runlog_latest(&run->log);
    struct network w;

    network_judge(&w, run);
    if (s && is_fast_ethernet(s->mb_per_s))
        health_found(f, advice, "At the start a card carried %s MB/s = %s Mb/s.",
                     fmt_number(s->mb_per_s, 3).s, fmt_number(8 * s->mb_per_s, 3).s);
    else if (w.is_computed && w.verdict != NETWORK_NONE && w.share > 0.5 &&
             is_fast_ethernet(1e-6 * w.rate))
        health_found(f, advice,
                     "A step takes %s and %s %s MB/s = %s Mb/s, just what such a port "
                     "carries.",
                     fmt_seconds(w.t_step).s,
                     w.card ? "the cards show" : "its gradients, as computed, need",
                     fmt_number(1e-6 * w.rate, 3).s, fmt_number(8e-6 * w.rate, 3).s);
}

void health_ranks_clocks(struct health_finding *f, const struct run *run)
{
    const struct runlog_start *s = runlog_latest(&run->log);

    if (!s || !(s->clock_spread_s > 5))
        return;
    health_found(f,
                 "Run chrony or ntpd; until then times of different hosts' logs do "
                 "not compare.",
                 "At the start they were %s apart.", fmt_seconds(s->clock_spread_s).s);
}

/* The step at which the model left session i: a later one may have begun before its end.
 */
static double left_at(const struct runlog *log, size_t i)
{
    double step = log->n_step ? log->step[log->n_step - 1].step : 0;

    for (size_t k = i + 1; k < log->n_start; k++)
        step = fmin(step, log->start[k].step);
    return step;
}

/* Neighbouring sessions of equally many ranks are one span. */
void health_ranks_fewer(struct health_finding *f, const struct run *run)
{
    const struct runlog *log = &run->log;
    double most = 0;

    for (size_t i = 0; i < log->n_start; i++)
        most = fmax(most, log->start[i].ranks);
    for (size_t i = 0, next; i < log->n_start; i = next) {
        const struct runlog_start *s = &log->start[i];
        for (next = i + 1; next < log->n_start && log->start[next].ranks == s->ranks;)
            next++;
        if (s->ranks < most && left_at(log, next - 1) > s->step)
            health_found(f,
                         "The order of the data and the size of an update are the same: "
                         "pairs_hash in run.jsonl shows it.",
                         "Steps %s to %s were trained on %s of %s ranks.",
                         fmt_count(s->step + 1).s, fmt_count(left_at(log, next - 1)).s,
                         fmt_count(s->ranks).s, fmt_count(most).s);
    }
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
    return fmt_printf("%s %s%s", fmt_count(n).s, noun, n == 1 ? "" : "s");
}

/* By count where the log has the host's processors; otherwise by processor time that
 * the threads were not given although they computed. */
void health_ranks_crowded(struct health_finding *f, const struct run *run)
{
    static const char advice[] =
        "Set threads so that ranks times threads is at most the number "
        "of cores of the host, and stop what else computes there.";
    const struct runlog_start *s = runlog_latest(&run->log);
    const struct rank_means *r = &run->by_rank;

    if (!s || !(s->threads >= 1))
        return;
    /* the only thread of a rank on a card may wait for the card */
    const bool is_cpu = s->device && strncmp(s->device, "cpu", 3) == 0;
    for (size_t i = 0; i < r->n && !f->evidence.len; i++) {
        const struct rank_mean *m = &r->of[i];
        const double wanted = s->threads * (m->t_compute + m->t_update) / m->t_step;
        if ((s->threads > 1 || is_cpu) && m->cores < 0.6 * wanted)
            health_found(
                f, advice,
                "Rank %s on %s has %s and computes %s of the time, but was given "
                "%s cores.",
                fmt_count(m->rank).s, m->host ? m->host : "a host not named",
                counted(s->threads, "thread").s,
                fmt_percent((m->t_compute + m->t_update) / m->t_step).s,
                fmt_number(m->cores, 3).s);
        else if (s->threads * ranks_on(r, m->host) > s->processors)
            health_found(f, advice, "%s runs %s of %s on %s.",
                         m->host ? m->host : "A host not named",
                         counted(ranks_on(r, m->host), "rank").s,
                         counted(s->threads, "thread").s,
                         counted(s->processors, "processor").s);
    }
    if (!r->n && s->ranks == 1 && s->threads > s->processors)
        health_found(f, advice, "%s run on %s.", counted(s->threads, "thread").s,
                     counted(s->processors, "processor").s);
}

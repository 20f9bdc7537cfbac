#include "report/judge/known_runs.h"

#include <math.h>
#include <string.h>

#include "report/judge/answers.h"
#include "report/judge/run.h"

/* Of Transformer-base with 32,768 pieces. */
static const double PARAMETERS = 60880896;

/* Pairs of a step over all ranks, and validation losses. */
static const struct point {
    double pairs, step, loss;
} points[] = {
    {1024, 4001, 2.4410},   {1024, 8002, 2.0132},   {1024, 12003, 1.8367},
    {1024, 16004, 1.7575},  {1024, 20005, 1.7108},  {1024, 24006, 1.6785},
    {1024, 28007, 1.6490},  {1024, 32008, 1.6403},  {1024, 36009, 1.6206},
    {1024, 40010, 1.6183},  {1024, 44011, 1.6059},  {1024, 48012, 1.5905},
    {1024, 52013, 1.5896},  {1024, 56014, 1.5825},  {1024, 60015, 1.5816},
    {1024, 64016, 1.5734},  {1024, 68017, 1.5694},  {1024, 72018, 1.5717},
    {1024, 76019, 1.5597},  {1024, 80020, 1.5638},  {1024, 84021, 1.5575},
    {1024, 88022, 1.5506},  {1024, 92023, 1.5587},  {1024, 96024, 1.5517},
    {1024, 100025, 1.5429}, {1024, 104026, 1.5469}, {1024, 4001, 2.4003},
    {1024, 8002, 2.0124},   {1024, 12003, 1.8661},  {1024, 16004, 1.7754},
    {1024, 4001, 2.3882},   {1024, 50000, 1.5937},  {512, 50000, 1.66},
    {512, 50000, 1.6923},   {512, 50000, 1.70},     {512, 100000, 1.63},
    {512, 300000, 1.56},
};

/* Seconds a step of two hosts with two cards each. */
static const struct pace {
    double pairs;
    const char *card;
    double fastest, slowest;
    int n;
} paces[] = {
    {512, "P100", 1.715, 1.9, 2},
    {512, "V100", 0.818, 0.818, 1},
    {1024, "V100", 0.76, 1.941, 6},
};

static bool is_comparable(const struct run *run)
{
    return run->log.foreign.origin && run_parameters(run) == PARAMETERS;
}

/* Lowest and highest known loss about a step, of this many pairs a step. */
static size_t range_at(double *low, double *high, double pairs, double step)
{
    size_t n = 0;

    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        if (points[i].pairs == pairs && fabs(points[i].step / step - 1) < 0.03) {
            *low = fmin(*low, points[i].loss);
            *high = fmax(*high, points[i].loss);
            n++;
        }
    return n;
}

/* Runs of one kind differ by about so much at the same step. */
static double spread_at(double step)
{
    return 0.02 + 200 / step;
}

static void row_at(struct answer *a, double pairs, double step, double loss)
{
    double low, high;
    const size_t n = range_at(&low, &high, pairs, step);

    if (!n || !isfinite(loss))
        return;
    answers_row(a, fmt_printf("known runs about step %s", fmt_count(step).s).s,
                n > 1 ? "%s to %s, same model and %s pairs per step; %s is %s"
                      : "%s%.0s, same model and %s pairs per step; %s is %s",
                fmt_number(low, 4).s, fmt_number(high, 4).s, fmt_count(pairs).s,
                fmt_number(loss, 4).s,
                loss > high + spread_at(step)  ? "higher than theirs"
                : loss < low - spread_at(step) ? "lower than theirs"
                                               : "normal");
}

/* At the first evaluation that is known of others, and at the last. */
void known_runs_loss(struct answer *a, const struct run *run)
{
    const struct series *s = &run->learning.loss;
    size_t first = s->n, last = s->n;
    double low, high;

    for (size_t i = 0; is_comparable(run) && i < s->n; i++)
        if (isfinite(s->y[i]) && range_at(&low, &high, run_pairs(run), s->x[i])) {
            first = first == s->n ? i : first;
            last = i;
        }
    if (first < s->n)
        row_at(a, run_pairs(run), s->x[first], s->y[first]);
    if (last < s->n && last != first)
        row_at(a, run_pairs(run), s->x[last], s->y[last]);
}

void known_runs_pace(struct answer *a, const struct run *run)
{
    const struct runlog_start *s = runlog_latest(&run->log);

    for (size_t i = 0; is_comparable(run) && i < sizeof paces / sizeof *paces; i++) {
        const struct pace *p = &paces[i];
        if (!s || !s->device || !strstr(s->device, p->card) || p->pairs != run_pairs(run))
            continue;
        answers_row(a, fmt_printf("known runs on 2 x 2 %s", p->card).s,
                    p->n > 1
                        ? "%s to %s s per step in %s of them, %s pairs per step; they "
                          "followed the network"
                        : "%s%.0s s per step in %s of them, %s pairs per step",
                    fmt_number(p->fastest, 3).s, fmt_number(p->slowest, 4).s,
                    fmt_count(p->n).s, fmt_count(p->pairs).s);
    }
}

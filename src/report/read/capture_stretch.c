#include "report/read/capture_stretch.h"

#include <math.h>

enum { AN_OCTAVE = 4, LOWEST = -20, PAUSE = 10 };

/* Level 0 is of nothing, level 1 begins at 2^LOWEST. */
static int level_of(double x)
{
    if (!(x > 0))
        return 0;
    const double level = 1 + floor(AN_OCTAVE * (log2(x) - LOWEST));
    return (int)fmin(fmax(level, 1), CAPTURE_STRETCH_LEVELS - 1);
}

static double begin_of(int level)
{
    return level ? exp2(LOWEST + (double)(level - 1) / AN_OCTAVE) : 0;
}

void capture_stretch_level(struct capture_stretch *s, double x)
{
    s->n++;
    if (isnan(x))
        return;
    s->n_known++;
    s->carried[level_of(x)] += x;
}

void capture_stretch_cut(struct capture_stretch *s, double part)
{
    double all = 0, above = 0;
    int level = CAPTURE_STRETCH_LEVELS;

    for (int i = 0; i < CAPTURE_STRETCH_LEVELS; i++)
        all += s->carried[i];
    while (level > 0 && 2 * above <= all)
        above += s->carried[--level];
    s->least = part * begin_of(level);
}

static bool goes_on(const struct capture_stretch_part *p, uint64_t i)
{
    const uint64_t pause = i - p->last - 1, length = p->last - p->first + 1;

    return p->is_there && (pause <= PAUSE || pause <= length / 10);
}

void capture_stretch_look(struct capture_stretch *s, double x)
{
    const uint64_t i = s->n_looked++;

    if (!(x >= s->least))
        return;
    if (!goes_on(&s->open, i))
        s->open = (struct capture_stretch_part){.first = i, .is_there = true};
    s->open.last = i;
    s->open.sum += x;
    if (!s->best.is_there || s->open.first == s->best.first || s->open.sum > s->best.sum)
        s->best = s->open;
}

bool capture_stretch_holds(const struct capture_stretch *s, uint64_t i)
{
    if (!s->n_known)
        return true;
    return s->best.is_there && i >= s->best.first && i <= s->best.last;
}

double capture_stretch_length(const struct capture_stretch *s)
{
    if (!s->n_known)
        return (double)s->n;
    return s->best.is_there ? (double)(s->best.last - s->best.first + 1) : 0;
}

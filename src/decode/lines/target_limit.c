#include "decode/lines/target_limit.h"

/* The sums over a line's segments that their limits depend on. */
struct line_sums {
    size_t extra, n_pieces;
    size_t missing, given; /* what short ones lack to the floor, and get of it */
    size_t spare, taken;   /* what long ones could give, and do */
};

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t beyond(size_t a, size_t b)
{
    return a > b ? a - b : 0;
}

/* What a segment may have when it is a line of its own. */
static size_t alone(const struct line_sums *l, size_t n)
{
    return n + 2 + l->extra;
}

/* Three tokens a piece: S, and one each for the end that it may miss and for the blank
 * before it, are among them. */
static size_t share(const struct line_sums *l, size_t n)
{
    return min(3 * n + l->extra * n / l->n_pieces, alone(l, n));
}

static size_t missing(const struct line_sums *l, size_t n)
{
    return beyond(min(TARGET_LIMIT_FLOOR, alone(l, n)), share(l, n));
}

/* Two tokens a piece stay; hardly a translation has more. */
static size_t spare(const struct line_sums *l, size_t n)
{
    return beyond(share(l, n), 2 * n > TARGET_LIMIT_FLOOR ? 2 * n : TARGET_LIMIT_FLOOR);
}

/* Its share, or that with what it gets or gives. */
static size_t settled(const struct line_sums *l, size_t n)
{
    const size_t lacks = missing(l, n), gives = spare(l, n);

    if (lacks)
        return share(l, n) + lacks * l->given / l->missing;
    return share(l, n) - (gives ? (gives * l->taken + l->spare - 1) / l->spare : 0);
}

void target_limit_share(size_t *n, size_t n_segments, size_t extra)
{
    struct line_sums l = {.extra = extra};
    size_t used = 0, lacking = 0;

    for (size_t i = 0; i < n_segments; i++)
        l.n_pieces += n[i];
    const size_t most = 3 * l.n_pieces + extra;
    for (size_t i = 0; i < n_segments; i++)
        if (n[i]) {
            used += share(&l, n[i]);
            l.missing += missing(&l, n[i]);
            l.spare += spare(&l, n[i]);
        }
    l.given = min(l.missing, most - used + l.spare);
    l.taken = beyond(l.given, most - used);

    used = 0;
    for (size_t i = 0; i < n_segments; i++)
        if (n[i]) {
            used += settled(&l, n[i]);
            lacking += alone(&l, n[i]) - settled(&l, n[i]);
        }
    const size_t left = min(most - used, lacking);
    for (size_t i = 0; i < n_segments; i++)
        if (n[i]) {
            const size_t lacks = alone(&l, n[i]) - settled(&l, n[i]);
            n[i] = settled(&l, n[i]) + (lacks ? lacks * left / lacking : 0);
        }
}

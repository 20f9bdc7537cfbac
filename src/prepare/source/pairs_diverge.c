/*
 * Let the longer file have d lines too many, all in one place k. Then its line i belongs
 * to line i of the other one before k and to line i - d behind it. With
 *
 *   c(i, j) = |log length of line i of the shorter - log length of line j of the longer|
 *
 * the place is where the sum over i < k of c(i, i) - c(i, i + d) is least: one walk
 * through both files, remembering d lengths.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "prepare/source/pairs.h"

enum { SHIFT_MAX = 1 << 22, SOFTEN = 8, EXCERPT = 60 };

static double cost(double a, double b)
{
    const double c = fabs(a - b);

    return c < 2 ? c : 2; /* one odd line decides nothing */
}

struct walk {
    struct source side[2]; /* the shorter and the longer one */
    double *ring;          /* [d] log lengths of the longer one, line i at i % d */
    uint64_t d, n;         /* n lines of the shorter one */
};

static status next_length(struct source *s, double *length, bool *has, struct err *err)
{
    TRY(source_next(s, has, err));
    *length = *has ? log((double)s->seg[0].n_bytes + SOFTEN) : 0;
    return OK;
}

/* Lines before the place k. */
static status find_place(struct walk *w, uint64_t *place, struct err *err)
{
    double sum = 0, least = 0, a, b;
    uint64_t best = 0;
    bool has;

    for (uint64_t i = 0; i < w->d; i++)
        TRY(next_length(&w->side[1], &w->ring[i], &has, err));
    for (uint64_t i = 0; i < w->n; i++) {
        TRY(next_length(&w->side[0], &a, &has, err));
        TRY(next_length(&w->side[1], &b, &has, err));
        sum += cost(a, w->ring[i % w->d]) - cost(a, b);
        w->ring[i % w->d] = b;
        if (sum <= least) {
            least = sum;
            best = i + 1;
        }
    }
    *place = best;
    return OK;
}

static status open_walk(struct walk *w, const struct pairs *p, const struct pairs_file *f,
                        int shorter, struct err *err)
{
    TRY(mem_alloc(&w->ring, w->d, sizeof *w->ring, err));
    TRY(pairs_open_side(p, f, shorter, &w->side[0], err));
    return pairs_open_side(p, f, !shorter, &w->side[1], err);
}

static void close_walk(struct walk *w)
{
    source_close(&w->side[0]);
    source_close(&w->side[1]);
    free(w->ring);
}

/* The beginning of line `n` (from 1) of a side, for the message. */
static void excerpt(char out[EXCERPT + 4], const struct pairs *p,
                    const struct pairs_file *f, int s, uint64_t n)
{
    RELEASED_BY(source_close) struct source source = {0};
    struct err ignored;
    bool has = true;
    size_t shown;

    out[0] = '\0';
    if (pairs_open_side(p, f, s, &source, &ignored) != OK)
        return;
    for (uint64_t i = 0; i < n && has; i++)
        if (source_next(&source, &has, &ignored) != OK)
            has = false;
    const struct line line = has ? source.seg[0] : (struct line){"", 0};
    const size_t len = utf8_fit(line.text, line.n_bytes, EXCERPT, EXCERPT, &shown);
    snprintf(out, EXCERPT + 4, "%.*s%s", (int)len, line.text,
             len < line.n_bytes ? "..." : "");
}

status pairs_diverge(const struct pairs *p, size_t at, uint64_t n_source,
                     uint64_t n_target, struct err *err)
{
    const struct pairs_file *f = &p->file[at];
    const int shorter = n_source < n_target ? PAIRS_SOURCE : PAIRS_TARGET;
    const uint64_t less = n_source < n_target ? n_source : n_target;
    RELEASED_BY(close_walk)
    struct walk w = {.d = n_source + n_target - 2 * less, .n = less};
    char text[PAIRS_SIDES][EXCERPT + 4];
    uint64_t place = less; /* without a better idea: where the shorter one ends */
    struct err ignored;

    if (w.d > 0 && w.d <= SHIFT_MAX && open_walk(&w, p, f, shorter, &ignored) == OK)
        (void)(find_place(&w, &place, &ignored) == OK);
    for (int s = 0; s < PAIRS_SIDES; s++)
        excerpt(text[s], p, f, s, place + 1);
    return err_set(err, ERR_FORMAT,
                   "%.300s has %" PRIu64 " lines and %.300s has %" PRIu64
                   "; parallel files need the same number; they seem to diverge at line "
                   "%" PRIu64 ": '%s' beside '%s'",
                   f->path[0], n_source, f->path[1], n_target, place + 1, text[0],
                   text[1]);
}

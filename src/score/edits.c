#include "score/edits.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/mem.h"

enum { SHIFT_WORDS = 10, SHIFT_DISTANCE = 50, BEAM = 25, ATTEMPTS = 1000 };

/*
 * A cell is 4 * cost + the edit that ends there, so that the least of three is the
 * cheapest and, of equally cheap ones, that which Tercom prefers. Cells that no path
 * within the band reaches are at least UNREACHED.
 */
typedef uint32_t cell;
enum edit { SAME, REPLACED, DELETED, INSERTED };

static const cell UNREACHED = (cell)1 << 30;
static const cell ONE = 4; /* edit */

static cell cost_of(cell c)
{
    return c >> 2;
}

/* Row i, of the first i words of the hypothesis, has the columns [from, to). */
struct band {
    size_t from, to;
};

struct matrix {
    struct ngram_words ref;
    uint32_t *hyp; /* as shifted so far */
    size_t n_hyp;
    double slope;   /* columns a row */
    size_t beam;    /* columns on either side */
    size_t n_width; /* cells that are kept of a row */
    cell *row;      /* those of rows 1 to n_hyp; row 0 is i insertions */
    cell *trial[2]; /* the last row and this one of an attempt */
    uint32_t *moved;
    int64_t *aligned; /* by word of the reference: the hypothesis' word, -1 before */
    bool *hyp_err, *ref_err; /* by word: whether an edit concerns it */
};

static void matrix_release(struct matrix *m)
{
    free(m->hyp);
    free(m->row);
    free(m->trial[0]);
    free(m->trial[1]);
    free(m->moved);
    free(m->aligned);
    free(m->hyp_err);
    free(m->ref_err);
}

static status matrix_init(struct matrix *m, struct ngram_words hyp, struct err *err)
{
    size_t n_cells;

    m->n_hyp = hyp.n;
    m->slope = hyp.n ? (double)m->ref.n / (double)hyp.n : 1;
    m->beam = BEAM < m->slope / 2 ? (size_t)ceil(m->slope / 2 + BEAM) : BEAM;
    m->n_width = 2 * m->beam + 2;
    TRY(mem_mul(&n_cells, hyp.n, m->n_width, err));
    TRY(mem_alloc(&m->row, n_cells, sizeof *m->row, err));
    for (size_t i = 0; i < 2; i++)
        TRY(mem_alloc(&m->trial[i], m->n_width, sizeof *m->trial[i], err));
    TRY(mem_alloc(&m->hyp, hyp.n, sizeof *m->hyp, err));
    TRY(mem_alloc(&m->moved, hyp.n, sizeof *m->moved, err));
    TRY(mem_alloc(&m->aligned, m->ref.n, sizeof *m->aligned, err));
    TRY(mem_alloc(&m->hyp_err, hyp.n, sizeof *m->hyp_err, err));
    TRY(mem_alloc(&m->ref_err, m->ref.n, sizeof *m->ref_err, err));
    if (hyp.n)
        memcpy(m->hyp, hyp.word, hyp.n * sizeof *m->hyp);
    return OK;
}

/* ---- the distance ---- */

static struct band band_of(const struct matrix *m, size_t i)
{
    const size_t middle = (size_t)floor((double)i * m->slope);
    const size_t to = i == m->n_hyp ? SIZE_MAX : middle + m->beam;

    if (i == 0)
        return (struct band){0, m->ref.n + 1};
    return (struct band){middle > m->beam ? middle - m->beam : 0, MIN(to, m->ref.n + 1)};
}

static cell *row_at(const struct matrix *m, size_t i)
{
    return m->row + (i - 1) * m->n_width;
}

/* Cell j of a row with that band; row 0 is not kept. */
static cell cell_at(const cell *row, struct band b, size_t i, size_t j)
{
    if (i == 0)
        return (cell)j * ONE + INSERTED;
    return j >= b.from && j < b.to ? row[j - b.from] : UNREACHED;
}

/* Fill row i, whose word is `word`, from the row before it. */
static void fill_row(const struct matrix *m, cell *row, const cell *before, size_t i,
                     uint32_t word)
{
    const struct band b = band_of(m, i), above = band_of(m, i - 1);
    cell left = UNREACHED;
    cell corner = b.from ? cell_at(before, above, i - 1, b.from - 1) : UNREACHED;

    for (size_t j = b.from; j < b.to; j++) {
        const cell up = cell_at(before, above, i - 1, j);
        const bool is_same = j && word == m->ref.word[j - 1];
        const cell replaced = is_same ? corner & ~3U : (corner & ~3U) + ONE + REPLACED;
        const cell deleted = (up & ~3U) + ONE + DELETED;
        const cell inserted = (left & ~3U) + ONE + INSERTED;
        const cell best = MIN(replaced, MIN(deleted, inserted));
        row[j - b.from] = left = MIN(best, UNREACHED);
        corner = up;
    }
}

static void fill_from(struct matrix *m, size_t i)
{
    for (; i <= m->n_hyp; i++)
        fill_row(m, row_at(m, i), i > 1 ? row_at(m, i - 1) : NULL, i, m->hyp[i - 1]);
}

static cell last_cell(const struct matrix *m, const cell *row)
{
    return cell_at(row, band_of(m, m->n_hyp), m->n_hyp, m->ref.n);
}

static size_t distance(const struct matrix *m)
{
    return cost_of(last_cell(m, m->n_hyp ? row_at(m, m->n_hyp) : NULL));
}

/* Which word became which, and where the edits are. */
static void align(struct matrix *m)
{
    size_t i = m->n_hyp, j = m->ref.n;

    while (i > 0 || j > 0) {
        const cell *row = i ? row_at(m, i) : NULL;
        const enum edit edit = cell_at(row, band_of(m, i), i, j) & 3;
        if (edit != INSERTED)
            m->hyp_err[--i] = edit != SAME;
        if (edit == DELETED)
            continue;
        m->ref_err[--j] = edit != SAME;
        m->aligned[j] = (int64_t)i - (edit == INSERTED);
    }
}

/* ---- a shift ---- */

/* The words [start, start + n) go before word `target`: words [from, to) change. */
struct shift {
    size_t start, n, target;
    size_t from, to;
};

static struct shift shift_to(const struct matrix *m, size_t start, size_t n,
                             size_t target)
{
    if (target < start)
        return (struct shift){start, n, target, target, start + n};
    /* Into itself: by as many words as the target is behind its beginning. */
    const size_t to = target > start + n ? target : MIN(target + n, m->n_hyp);
    return (struct shift){start, n, target, start, to};
}

/* Words [from, to) as the shift leaves them. */
static void shift_words(const struct shift *s, uint32_t *out, const uint32_t *hyp)
{
    const size_t before = s->target < s->start ? 0 : s->to - s->start - s->n;
    const size_t after = s->target < s->start ? s->start - s->target : 0;

    memcpy(out, hyp + s->start + s->n, before * sizeof *out);
    memcpy(out + before, hyp + s->start, s->n * sizeof *out);
    memcpy(out + before + s->n, hyp + s->from, after * sizeof *out);
}

/* Whether row i is that of the words before the shift but for a number added to all
 * cells: then so are all rows after it. */
static bool is_parallel(const struct matrix *m, const cell *row, size_t i, int64_t *added)
{
    const struct band b = band_of(m, i);
    const cell *old = row_at(m, i);

    *added = (int64_t)cost_of(row[0]) - (int64_t)cost_of(old[0]);
    for (size_t k = 0; k < b.to - b.from; k++)
        if (row[k] >= UNREACHED || old[k] >= UNREACHED ||
            (int64_t)cost_of(row[k]) - (int64_t)cost_of(old[k]) != *added)
            return false;
    return true;
}

/* By how much the shift makes the distance smaller. */
static int64_t gain_of(struct matrix *m, const struct shift *s)
{
    const int64_t now = (int64_t)distance(m);
    const cell *before = s->from ? row_at(m, s->from) : NULL;
    int64_t added;

    if (s->from == s->to)
        return 0;
    shift_words(s, m->moved, m->hyp);
    for (size_t i = s->from + 1; i <= m->n_hyp; i++) {
        cell *row = m->trial[i & 1];
        const bool is_moved = i <= s->to;
        fill_row(m, row, before, i, is_moved ? m->moved[i - 1 - s->from] : m->hyp[i - 1]);
        if (!is_moved && is_parallel(m, row, i, &added))
            return -added;
        before = row;
    }
    return now - (int64_t)cost_of(last_cell(m, before));
}

static void apply(struct matrix *m, const struct shift *s)
{
    shift_words(s, m->moved, m->hyp);
    memcpy(m->hyp + s->from, m->moved, (s->to - s->from) * sizeof *m->hyp);
    fill_from(m, s->from + 1);
}

/* ---- the search for shifts ---- */

struct search {
    struct shift best;
    int64_t gain;
    bool has_best;
    size_t n_attempts; /* of all searches of the segment */
};

/* Higher gain, then the longer block, then the earlier one, then the earlier target. */
static bool is_better(const struct search *a, const struct shift *s, int64_t gain)
{
    const struct shift *best = &a->best;

    if (!a->has_best || gain != a->gain)
        return !a->has_best || gain > a->gain;
    if (s->n != best->n)
        return s->n > best->n;
    if (s->start != best->start)
        return s->start < best->start;
    return s->target < best->target;
}

static bool any(const bool *flag, size_t n)
{
    return memchr(flag, true, n) != NULL;
}

/* Every place in the hypothesis that corresponds to one of words [ref, ref + n) of the
 * reference, or to that before them. */
static void try_targets(struct matrix *m, struct search *a, size_t start, size_t ref,
                        size_t n)
{
    size_t tried = SIZE_MAX;

    for (size_t k = 0; k <= n; k++) {
        const size_t target = ref + k ? (size_t)(m->aligned[ref + k - 1] + 1) : 0;
        if (target == tried)
            continue;
        tried = target;
        const struct shift s = shift_to(m, start, n, target);
        const int64_t gain = gain_of(m, &s);
        a->n_attempts++;
        if (is_better(a, &s, gain)) {
            a->best = s;
            a->gain = gain;
            a->has_best = true;
        }
    }
}

/* A block that stands right, or whose place in the reference is taken by what is right,
 * or that is there already, stays. */
static bool is_worth_a_try(const struct matrix *m, size_t start, size_t ref, size_t n)
{
    const int64_t at = m->aligned[ref];

    return any(m->hyp_err + start, n) && any(m->ref_err + ref, n) &&
           !(at >= (int64_t)start && at < (int64_t)(start + n));
}

/* The blocks that begin at `start` and stand at `ref` in the reference. */
static bool try_blocks(struct matrix *m, struct search *a, size_t start, size_t ref)
{
    for (size_t n = 1; n <= SHIFT_WORDS; n++) {
        if (start + n > m->n_hyp || ref + n > m->ref.n ||
            m->hyp[start + n - 1] != m->ref.word[ref + n - 1])
            return true;
        if (!is_worth_a_try(m, start, ref, n))
            continue;
        try_targets(m, a, start, ref, n);
        if (a->n_attempts >= ATTEMPTS)
            return false;
    }
    return true;
}

static void find_shift(struct matrix *m, struct search *a)
{
    a->has_best = false;
    align(m);
    for (size_t i = 0; i < m->n_hyp; i++) {
        const size_t end = MIN(i + SHIFT_DISTANCE + 1, m->ref.n);
        for (size_t j = i > SHIFT_DISTANCE ? i - SHIFT_DISTANCE : 0; j < end; j++)
            if (!try_blocks(m, a, i, j))
                return;
    }
}

status edits_count(uint64_t *n_edits, struct ngram_words hyp, struct ngram_words ref,
                   struct err *err)
{
    RELEASED_BY(matrix_release) struct matrix m = {.ref = ref};
    struct search a = {0};
    uint64_t n_shifts = 0;

    *n_edits = hyp.n;
    if (ref.n == 0)
        return OK;
    TRY(matrix_init(&m, hyp, err));
    for (fill_from(&m, 1);; n_shifts++) {
        find_shift(&m, &a);
        if (a.n_attempts >= ATTEMPTS || !a.has_best || a.gain <= 0)
            break; /* the last attempt of too many is not made use of */
        apply(&m, &a.best);
    }
    *n_edits = n_shifts + distance(&m);
    return OK;
}

#include "decode/beam/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

status sampler_open(struct sampler *s, struct sampler_options options,
                    const struct infer_kernels *k, size_t n_max, struct err *err)
{
    const size_t n_round = linear_round(n_max, LINEAR_PANEL);

    *s = (struct sampler){.options = options, .k = k, .n_max = n_max};
    status result = mem_alloc(&s->z, n_round, sizeof *s->z, err);
    THEN(result, mem_alloc(&s->weight, n_round, sizeof *s->weight, err));
    THEN(result, mem_alloc(&s->kept, n_max, sizeof *s->kept, err));
    if (result != OK)
        sampler_close(s);
    return result;
}

void sampler_close(struct sampler *s)
{
    free(s->z);
    free(s->weight);
    free(s->kept);
    *s = (struct sampler){0};
}

/* Logits divided by less would be beyond all numbers. */
static bool is_cold(const struct sampler *s)
{
    return s->options.temperature < 1e-30;
}

void sampler_begin(struct sampler *s, const float *logit, size_t n)
{
    const float by = is_cold(s) ? 1 : (float)s->options.temperature;

    BUG_ON(n > s->n_max);
    s->n = n;
    for (size_t i = 0; i < n; i++)
        s->z[i] = logit[i] / by;
}

void sampler_refuse(struct sampler *s, int32_t id)
{
    if ((size_t)id < s->n)
        s->z[id] = -INFINITY;
}

/* ---- which tokens may be drawn ---- */

static bool is_before(struct sampler_weight a, struct sampler_weight b)
{
    return a.w > b.w || (a.w == b.w && a.id < b.id);
}

static void swap(struct sampler_weight *a, struct sampler_weight *b)
{
    const struct sampler_weight keep = *a;

    *a = *b;
    *b = keep;
}

/* Of three the one in the middle becomes the first. */
static void choose_pivot(struct sampler_weight *e, size_t n)
{
    struct sampler_weight *a = e, *b = e + n / 2, *c = e + n - 1;

    if (is_before(*b, *a) == is_before(*a, *c))
        return;
    swap(a, is_before(*a, *b) == is_before(*b, *c) ? b : c);
}

/* Those up to the first one, which is the pivot, come to the front; how many, the pivot
 * being the last of them. */
static size_t partition(struct sampler_weight *e, size_t n)
{
    size_t m = 0;

    choose_pivot(e, n);
    for (size_t i = 1; i < n; i++)
        if (is_before(e[i], e[0]))
            swap(&e[++m], &e[i]);
    swap(&e[0], &e[m]);
    return m + 1;
}

static double sum_of(const struct sampler_weight *e, size_t n, bool counts)
{
    double sum = 0;

    for (size_t i = 0; i < n && !counts; i++)
        sum += (double)e[i].w;
    return counts ? (double)n : sum;
}

/*
 * The fewest of the first whose sum is `target` come to the front, as quicksort would
 * bring them there, but only the side where the sum is reached is sorted further.
 */
static size_t keep_first(struct sampler_weight *e, size_t n, double target, bool counts)
{
    size_t from = 0, end = n;

    while (end - from > 1) {
        const size_t m = partition(e + from, end - from);
        const double sum = sum_of(e + from, m, counts);
        if (sum < target) {
            target -= sum;
            from += m;
        } else if (m == 1 || sum_of(e + from, m - 1, counts) < target) {
            return from + m;
        } else {
            end = from + m - 1;
        }
    }
    return end;
}

static void keep(struct sampler *s)
{
    const size_t k = is_cold(s) ? 1 : s->options.top_k;

    s->n_kept = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->weight[i] > 0)
            s->kept[s->n_kept++] = (struct sampler_weight){s->weight[i], (int32_t)i};
    if (k && k < s->n_kept)
        s->n_kept = keep_first(s->kept, s->n_kept, (double)k, true);
    if (s->options.top_p < 1 && s->n_kept)
        s->n_kept =
            keep_first(s->kept, s->n_kept,
                       s->options.top_p * sum_of(s->kept, s->n_kept, false), false);
    s->total = sum_of(s->kept, s->n_kept, false);
}

int32_t sampler_draw(struct sampler *s, double uniform, bool *is_number)
{
    struct kernels_mass mass;
    double sum = 0;

    memcpy(s->weight, s->z, s->n * sizeof *s->z);
    s->k->pick(NULL, &mass, s->weight, s->n, NULL, 0);
    *is_number = true;
    for (size_t i = 0; i < s->n; i++) {
        if (s->z[i] == -INFINITY) /* exponentials of the kernels never are zero */
            s->weight[i] = 0;
        *is_number &= !isnan(s->z[i]);
    }
    keep(s);
    for (size_t i = 0; i < s->n_kept; i++) {
        sum += (double)s->kept[i].w;
        if (uniform * s->total < sum)
            return s->kept[i].id;
    }
    return s->n_kept ? s->kept[s->n_kept - 1].id : -1;
}

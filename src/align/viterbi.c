#include "align/viterbi.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "align/diagonal.h"
#include "align/ttable.h"

void viterbi_align(int32_t *a, const struct ttable *t, const uint16_t *source, size_t S,
                   const uint16_t *target, size_t T)
{
    for (size_t j = 0; j < T; j++) {
        double best = 0, Z = 0;
        a[j] = VITERBI_NULL;
        for (size_t i = 0; i < S; i++) {
            const double w = exp(-t->lambda * diagonal_distance(i, S, j, T));
            const double p = w * (double)ttable_prob(t, source[i], target[j]);
            Z += w;
            if (p > best) {
                best = p;
                a[j] = (int32_t)i;
            }
        }
        const double null = t->p_null * (double)ttable_prob(t, t->vocab, target[j]);
        if (S && null > (1 - t->p_null) * best / Z)
            a[j] = VITERBI_NULL;
    }
}

void viterbi_intersect(unsigned char *link, const int32_t *forward,
                       const int32_t *backward, size_t S, size_t T)
{
    memset(link, 0, S * T);
    for (size_t j = 0; j < T; j++)
        if (forward[j] != VITERBI_NULL && backward[forward[j]] == (int32_t)j)
            link[j * S + (size_t)forward[j]] = 1;
}

struct grid {
    unsigned char *link; /* [T,S] */
    const int32_t *forward, *backward;
    size_t S, T;
};

static bool is_proposed(const struct grid *g, size_t j, size_t i)
{
    return g->forward[j] == (int32_t)i || g->backward[i] == (int32_t)j;
}

static bool has_target(const struct grid *g, size_t i)
{
    for (size_t j = 0; j < g->T; j++)
        if (g->link[j * g->S + i])
            return true;
    return false;
}

static bool has_source(const struct grid *g, size_t j)
{
    return memchr(g->link + j * g->S, 1, g->S);
}

/* Add the neighbours of link (j, i) that belong to it. */
static bool grow_around(const struct grid *g, size_t j, size_t i)
{
    bool has_grown = false;

    for (size_t y = j ? j - 1 : 0; y <= j + 1 && y < g->T; y++)
        for (size_t x = i ? i - 1 : 0; x <= i + 1 && x < g->S; x++) {
            unsigned char *link = &g->link[y * g->S + x];
            if (*link || !is_proposed(g, y, x) || (has_source(g, y) && has_target(g, x)))
                continue;
            *link = 1;
            has_grown = true;
        }
    return has_grown;
}

static bool grow_once(const struct grid *g)
{
    bool has_grown = false;

    for (size_t j = 0; j < g->T; j++)
        for (size_t i = 0; i < g->S; i++)
            if (g->link[j * g->S + i])
                has_grown |= grow_around(g, j, i);
    return has_grown;
}

void viterbi_grow(unsigned char *link, const int32_t *forward, const int32_t *backward,
                  size_t S, size_t T)
{
    const struct grid g = {link, forward, backward, S, T};

    viterbi_intersect(link, forward, backward, S, T);
    while (grow_once(&g))
        ;
    for (size_t j = 0; j < T; j++)
        if (forward[j] != VITERBI_NULL && !has_source(&g, j) &&
            !has_target(&g, (size_t)forward[j]))
            link[j * S + (size_t)forward[j]] = 1;
    for (size_t i = 0; i < S; i++)
        if (backward[i] != VITERBI_NULL && !has_target(&g, i) &&
            !has_source(&g, (size_t)backward[i]))
            link[(size_t)backward[i] * S + i] = 1;
}

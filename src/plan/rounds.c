#include "plan/rounds.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "recipe/grid.h"

status rounds_open(struct rounds *x, struct err *err)
{
    x->n_ranks = 0;
    x->card_bytes = 0;
    x->leader = x->scratch = NULL;
    x->queue = NULL;
    for (size_t i = 0; i < x->n_nodes; i++)
        x->n_ranks += (size_t)x->per_node[i];
    if (mem_alloc(&x->leader, x->n_ranks, sizeof *x->leader, err) != OK ||
        mem_alloc(&x->scratch, 4 * x->n_ranks, sizeof *x->scratch, err) != OK ||
        mem_alloc(&x->queue, 2 * x->n_ranks, sizeof *x->queue, err) != OK) {
        rounds_close(x);
        return err->code;
    }
    return OK;
}

void rounds_close(struct rounds *x)
{
    free(x->leader);
    free(x->scratch);
    free(x->queue);
    x->leader = x->scratch = NULL;
    x->queue = NULL;
}

static bool all_equal(const double *t, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (t[i] != t[0])
            return false;
    return true;
}

static void add_all(double *t, size_t n, double seconds)
{
    for (size_t i = 0; i < n; i++)
        t[i] += seconds;
}

/* What one pass around the ring works with; index q stands for rank q mod p. */
struct ring {
    size_t p;
    double across, inside;
    const double *t; /* [p] when each rank is ready */
    double *cost;    /* [2p] sum of what the receptions of ranks 0..q cost */
    double *key;     /* [2p] see below */
    size_t *queue;   /* [2p] window maxima of key, greatest first */
};

/*
 * p-1 rounds of a ring. In a round rank r receives from r-1, so
 *
 *     t_s[r] = max(t_{s-1}[r], t_{s-1}[r-1]) + cost[r]
 *
 * whose solution is the longest path: begin at some rank i, move on to r in j = r-i of
 * the S = p-1 rounds, and stay in the others where staying costs most. That is the link
 * into a node as soon as the path touches a node's first rank, and a link inside
 * otherwise:
 *
 *     t_S[r] = max over i of  t[i] + cost(i+1..r) + (S - j) across
 *
 * which is a maximum over a sliding window, and for the few i behind the node's first
 * rank the same with `inside`. So a ring of thousands costs no more than its ranks.
 */
static double longest_path(struct ring *g, size_t q, size_t pos, size_t *head,
                           size_t *tail, size_t *next)
{
    const double rounds = (double)(g->p - 1);
    double best;

    for (; *next + pos <= q; (*next)++) {
        while (*tail > *head && g->key[g->queue[*tail - 1]] <= g->key[*next])
            (*tail)--;
        g->queue[(*tail)++] = *next;
    }
    while (g->queue[*head] + g->p <= q)
        (*head)++;
    best = g->key[g->queue[*head]] + g->cost[q] + (rounds - (double)q) * g->across;
    for (size_t i = q + 1 - pos; i <= q; i++)
        best = fmax(best, g->t[i % g->p] + g->cost[q] - g->cost[i] +
                              (rounds - (double)(q - i)) * g->inside);
    return best;
}

static void ring_rounds(struct rounds *x, double *t, double across, double inside)
{
    const size_t p = x->n_ranks;
    struct ring g = {.p = p,
                     .across = x->n_nodes > 1 ? across : inside,
                     .inside = inside,
                     .t = t,
                     .cost = x->scratch,
                     .key = x->scratch + 2 * p,
                     .queue = x->queue};
    double *done = x->leader, sum = 0;
    size_t head = 0, tail = 0, next = 0, q = 0;

    for (int turn = 0; turn < 2; turn++)
        for (size_t node = 0; node < x->n_nodes; node++)
            for (int i = 0; i < x->per_node[node]; i++, q++) {
                sum += i == 0 ? g.across : inside;
                g.cost[q] = sum;
                g.key[q] = t[q % p] - sum + (double)q * g.across;
            }
    q = p;
    for (size_t node = 0; node < x->n_nodes; node++)
        for (int i = 0; i < x->per_node[node]; i++, q++)
            done[q - p] = longest_path(&g, q, (size_t)i, &head, &tail, &next);
    memcpy(t, done, p * sizeof *t);
}

static void run_flat(struct rounds *x, struct rounds_load load, double *t)
{
    const double p = (double)x->n_ranks;
    const double across = x->latency + load.wire_bytes / p / x->rate;
    const double inside = x->inside_latency + load.wire_bytes / p / x->inside_rate;
    const double sum = load.fp32_bytes / p / x->sum_rate;

    if (x->n_ranks < 2)
        return;
    if (x->n_nodes > 1)
        x->card_bytes += 2 * (p - 1) * (load.wire_bytes / p);
    ring_rounds(x, t, across + sum, inside + sum);
    ring_rounds(x, t, across, inside);
}

/* Pairwise exchange of n nodes: in round s node i sends to i+s and receives from i-s. */
static void pair_rounds(struct rounds *x, double *t, size_t n, double cost)
{
    double *before = x->scratch;

    for (size_t s = 1; s < n; s++) {
        memcpy(before, t, n * sizeof *t);
        for (size_t i = 0; i < n; i++)
            t[i] = fmax(before[i], before[i >= s ? i - s : n + i - s]) + cost;
        if (all_equal(t, n)) { /* all meet: every later round is the same for each */
            add_all(t, n, cost * (double)(n - 1 - s));
            return;
        }
    }
}

/* The nodes of each row; nodes of the same place in every row. Cost: per byte of the
 * bucket, each node handling 1/n of it. */
static void row_rounds(struct rounds *x, const struct grid *g, double cost)
{
    for (size_t row = 0; row < g->n_rows; row++) {
        const struct grid_range r = grid_row(g, row);
        const size_t n = r.end - r.begin;
        pair_rounds(x, x->leader + r.begin, n, x->message + cost / (double)n);
    }
    add_all(x->leader, x->n_nodes, x->latency);
}

static void column_rounds(struct rounds *x, const struct grid *g, double cost)
{
    double *column = x->scratch + 2 * x->n_ranks;
    const size_t longest = (x->n_nodes + g->n_rows - 1) / g->n_rows;

    for (size_t place = 0; place < longest; place++) {
        size_t n = 0;
        for (int is_back = 0; is_back < 2; is_back++) {
            n = 0;
            for (size_t row = 0; row < g->n_rows; row++) {
                const struct grid_range r = grid_row(g, row);
                if (place >= r.end - r.begin)
                    continue;
                double *t = &x->leader[r.begin + place];
                *(is_back ? t : &column[n]) = is_back ? column[n] : *t;
                n++;
            }
            if (!is_back)
                pair_rounds(x, column, n, x->message + cost / (double)x->n_nodes);
        }
    }
    add_all(x->leader, x->n_nodes, x->latency);
}

/* All-to-all of shards and sums, then all-gather. */
static void run_grid(struct rounds *x, struct rounds_load load)
{
    const struct grid g = {.n_nodes = x->n_nodes, .n_rows = x->n_rows ? x->n_rows : 1};
    const double there = load.wire_bytes / x->rate + load.fp32_bytes / x->sum_rate;
    const double back = load.wire_bytes / x->rate;

    row_rounds(x, &g, there);
    if (g.n_rows > 1) {
        column_rounds(x, &g, there);
        column_rounds(x, &g, back);
    }
    row_rounds(x, &g, back);
}

/*
 * Two trees with half of the data each keep every card as busy as the other: on each of
 * the two ways all n cards together send (n-1) times the bytes. The pipeline has as many
 * chunks as make it shortest.
 */
static void run_trees(const struct rounds *x, struct rounds_load load, double *t)
{
    const double n = (double)x->n_nodes, hops = ceil(log2(n));
    const double body = (n - 1) / n * load.wire_bytes / x->rate;
    const double sum = (n - 1) / n * load.fp32_bytes / x->sum_rate;
    double last = t[0];

    for (size_t i = 1; i < x->n_nodes; i++)
        last = fmax(last, t[i]);
    double chunks = 1;
    if (hops > 1 && x->latency > 0)
        chunks = fmax(1, nearbyint(sqrt((hops - 1) * body / x->latency)));
    else if (hops > 1)
        chunks = 1e6;
    const double way = (chunks + hops - 1) * (x->latency + body / chunks);
    for (size_t i = 0; i < x->n_nodes; i++)
        t[i] = last + 2 * way + sum;
}

/* Ring reduce-scatter (or all-gather) among the k ranks of one node. */
static double inside_seconds(const struct rounds *x, double k, double bytes)
{
    return (k - 1) * x->inside_latency + (k - 1) / k * bytes / x->inside_rate;
}

/* When the ranks of each node have summed what they hold. */
static void gather_nodes(struct rounds *x, struct rounds_load load, const double *t)
{
    for (size_t node = 0, r = 0; node < x->n_nodes; node++) {
        const double k = x->per_node[node];
        double last = t[r];
        for (int i = 0; i < x->per_node[node]; i++, r++)
            last = fmax(last, t[r]);
        x->leader[node] = last + inside_seconds(x, k, load.fp32_bytes) +
                          (k - 1) / k * load.fp32_bytes / x->sum_rate;
    }
}

static void run_nodes(struct rounds *x, struct rounds_load load, double *t)
{
    const double n = (double)x->n_nodes;

    gather_nodes(x, load, t);
    x->card_bytes += 2 * (n - 1) * (load.wire_bytes / n);
    if (x->n_nodes > 1 && x->kind == ROUNDS_TREE) {
        run_trees(x, load, x->leader);
    } else if (x->n_nodes > 1) {
        run_grid(x, load);
    }
    for (size_t node = 0, r = 0; node < x->n_nodes; node++) {
        const double end =
            x->leader[node] + inside_seconds(x, x->per_node[node], load.fp32_bytes);
        for (int i = 0; i < x->per_node[node]; i++, r++)
            t[r] = end;
    }
}

void rounds_run(struct rounds *x, struct rounds_load load, double *t)
{
    if (x->kind == ROUNDS_FLAT)
        run_flat(x, load, t);
    else
        run_nodes(x, load, t);
}

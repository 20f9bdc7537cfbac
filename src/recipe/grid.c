#include "recipe/grid.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

/* Of n things, those that belong to the i-th of n_parts; and whose the i-th is. */
static struct grid_range part(size_t n, size_t i, size_t n_parts)
{
    return (struct grid_range){i * n / n_parts, (i + 1) * n / n_parts};
}

static size_t part_with(size_t n, size_t i, size_t n_parts)
{
    return ((i + 1) * n_parts - 1) / n;
}

struct grid_range grid_row(const struct grid *g, size_t row)
{
    return part(g->n_nodes, row, g->n_rows);
}

size_t grid_row_of(const struct grid *g, size_t node)
{
    return part_with(g->n_nodes, node, g->n_rows);
}

struct grid_range grid_collected(const struct grid *g, size_t node)
{
    const struct grid_range row = grid_row(g, grid_row_of(g, node));

    return part(g->n_nodes, node - row.begin, row.end - row.begin);
}

size_t grid_collector(const struct grid *g, size_t row, size_t shard)
{
    const struct grid_range r = grid_row(g, row);

    return r.begin + part_with(g->n_nodes, shard, r.end - r.begin);
}

/* next[row]: the first node of each row that owns nothing yet. */
static size_t most_urgent(const struct grid *g, const size_t *next, size_t shard)
{
    size_t best = g->n_nodes, least = g->n_nodes + 1;

    for (size_t row = 0; row < g->n_rows; row++) {
        if (next[row] == grid_row(g, row).end)
            continue;
        const struct grid_range r = grid_collected(g, next[row]);
        if (r.begin <= shard && r.end < least) {
            least = r.end;
            best = next[row];
        }
    }
    BUG_ON(shard >= least || best == g->n_nodes);
    return best;
}

status grid_open(struct grid *g, size_t n_nodes, size_t n_rows, struct err *err)
{
    size_t *next RELEASED_BY(mem_release) = NULL;

    *g = (struct grid){.n_nodes = n_nodes, .n_rows = n_rows};
    if (mem_alloc(&next, n_rows, sizeof *next, err) != OK ||
        mem_alloc(&g->shard, n_nodes, sizeof *g->shard, err) != OK ||
        mem_alloc(&g->owner, n_nodes, sizeof *g->owner, err) != OK) {
        grid_close(g);
        return err->code;
    }
    for (size_t row = 0; row < n_rows; row++)
        next[row] = grid_row(g, row).begin;
    for (size_t shard = 0; shard < n_nodes; shard++) {
        const size_t node = most_urgent(g, next, shard);
        next[grid_row_of(g, node)]++;
        g->owner[shard] = node;
        g->shard[node] = shard;
    }
    return OK;
}

void grid_close(struct grid *g)
{
    free(g->shard);
    free(g->owner);
    *g = (struct grid){0};
}

/* ------------------------------------------------------------ cost */

double grid_seconds(size_t n_nodes, size_t n_rows, double bytes, struct grid_link l)
{
    const double n = (double)n_nodes, rows = (double)n_rows;
    const double messages = ceil(n / rows) + rows - 2, legs = n_rows > 1 ? 2 : 1;

    return 2 * (messages * l.message + legs * l.latency + (n - 1) / n * bytes / l.rate);
}

size_t grid_square(size_t n_nodes)
{
    return (size_t)fmax(1, nearbyint(sqrt((double)n_nodes)));
}

size_t grid_choose(size_t n_nodes, double bytes, struct grid_link l)
{
    static const double WORTH = 0.9;
    const size_t rows = grid_square(n_nodes);

    return n_nodes >= GRID_NODES && grid_seconds(n_nodes, rows, bytes, l) <
                                        WORTH * grid_seconds(n_nodes, 1, bytes, l)
               ? rows
               : 1;
}

double grid_tree_seconds(size_t n_ranks, double bytes, struct grid_link l)
{
    const double levels = ceil(log2((double)n_ranks));

    return 2 * levels * (l.latency + l.message + bytes / l.rate);
}

/*
 * Both buckets cost the same messages and one latency, so they differ by their bytes
 * alone. One hop of the tree is a latency and a message, a bucket a latency and n - 1
 * messages.
 */
struct grid_link grid_solve(size_t n_nodes, struct grid_times t)
{
    const double n = (double)n_nodes, each_way = (n - 1) / n;
    const double hop = t.tree / 2 / ceil(log2(n));
    double rate = 2 * each_way * (t.large_bytes - t.small_bytes) / (t.large - t.small);

    if (!(t.large > t.small)) /* too noisy to tell them apart */
        rate = 2 * each_way * t.large_bytes / t.large;
    const double all = t.small / 2 - each_way * t.small_bytes / rate;
    const double message = n > 2 ? fmin(fmax(0, (all - hop) / (n - 2)), hop) : 0;
    return (struct grid_link){hop - message, message, rate};
}

#include "infer/session_output.h"

#include <math.h>
#include <string.h>

#include "recipe/special_ids.h"

/* The list of row r, which wants n_max tokens, that one thread keeps. */
static struct kernels_best list_of(const struct session_crew *c, size_t part, size_t r,
                                   size_t n_max)
{
    const size_t at = part * c->s->shape.n_rows + r, n_top = c->s->shape.n_top;

    return (struct kernels_best){.top = c->s->top + at * n_top,
                                 .id = c->s->top_id + at * n_top,
                                 .n = c->s->n_found[at],
                                 .n_max = n_max};
}

/* The output layer of some rows: the whole of it, or the columns of their sentence. */
struct layer {
    const struct linear *w;
    const uint16_t *id; /* of its columns; NULL: 0, 1, 2... */
};

static struct layer layer_of(const struct session *s, const struct session_columns *c)
{
    return c ? (struct layer){&c->w, c->id}
             : (struct layer){network_output(s->net), NULL};
}

/* Columns of a block. */
static size_t columns_of(const struct linear *w, size_t block)
{
    const size_t left = w->n_out - block * SESSION_OUTPUT_BLOCK;

    return left < SESSION_OUTPUT_BLOCK ? left : SESSION_OUTPUT_BLOCK;
}

/* A block of the logits of rows [first, first + n), in this thread's scratch. */
static float *block_of(const struct session_crew *c, const struct linear *w, size_t block,
                       size_t first, size_t n)
{
    struct session *s = c->s;
    const size_t p0 = block * (SESSION_OUTPUT_BLOCK / LINEAR_PANEL);
    float *z = session_scratch(c);

    s->k->multiply(z, SESSION_OUTPUT_BLOCK, &s->y, w, false, first, n, p0,
                   p0 + (columns_of(w, block) + LINEAR_PANEL - 1) / LINEAR_PANEL);
    return z;
}

static struct kernels_mass *mass_of(const struct session *s, size_t row, size_t block)
{
    return &s->mass[row * session_output_blocks(s->V) + block];
}

/* What a row wishes of the columns [col, col + n_cols). */
static void tell(struct session_wish *w, const float *z, size_t col, size_t n_cols)
{
    if (w->logit)
        memcpy(w->logit + col, z, n_cols * sizeof *z);
    for (size_t i = 0; i < w->n; i++)
        if ((size_t)w->id[i] - col < n_cols)
            w->log_prob[i] = (double)z[(size_t)w->id[i] - col];
}

/* Where <unk> stands in a block; n_cols: nowhere. */
static size_t find_unknown(const uint16_t *id, size_t col, size_t n_cols)
{
    for (size_t i = 0; id && i < n_cols; i++)
        if (id[i] == ID_UNK)
            return i;
    return !id && col <= ID_UNK && ID_UNK - col < n_cols ? ID_UNK - col : n_cols;
}

/* The best of a row's block, and what it adds to the softmax. A token that is never said
 * takes its share of the probability all the same. */
static void pick(const struct session *s, struct kernels_best *best,
                 struct kernels_mass *mass, float *z, size_t n_cols, const uint16_t *id,
                 size_t col)
{
    const size_t unknown =
        s->net->config.arch.has_no_unknown ? find_unknown(id, col, n_cols) : n_cols;

    if (unknown == n_cols) {
        s->k->pick(best, mass, z, n_cols, id, (int32_t)col);
        return;
    }
    const float logit = z[unknown];
    z[unknown] = -INFINITY;
    s->k->pick(best, NULL, z, n_cols, id, (int32_t)col);
    z[unknown] = logit;
    if (mass)
        s->k->pick(NULL, mass, z, n_cols, id, (int32_t)col);
}

/* Rows [first, first + n), which share their layer, and one block of its columns. */
static void one_block(const struct session_crew *c, const struct session_row *row,
                      struct layer layer, size_t block, size_t first, size_t n)
{
    struct session *s = c->s;
    const size_t col = block * SESSION_OUTPUT_BLOCK, n_cols = columns_of(layer.w, block);
    float *z = block_of(c, layer.w, block, first, n);

    for (size_t r = 0; r < n; r++, z += SESSION_OUTPUT_BLOCK) {
        const struct session_row *one = &row[first + r];
        struct kernels_best best = list_of(c, c->part, first + r, one->best.n);
        if (one->wish)
            tell(one->wish, z, col, n_cols);
        pick(s, &best, one->best.wants_prob ? mass_of(s, first + r, block) : NULL, z,
             n_cols, layer.id ? layer.id + col : NULL, col);
        s->n_found[c->part * s->shape.n_rows + first + r] = best.n;
    }
}

/* This thread's blocks of the layer that rows [first, first + n) share. */
static void one_layer(const struct session_crew *c, const struct session_row *row,
                      size_t first, size_t n)
{
    const struct layer layer = layer_of(c->s, row[first].columns);
    const struct session_share blocks =
        session_share(c, session_output_blocks(layer.w->n_out));

    for (size_t b = blocks.begin; b < blocks.end; b++)
        for (size_t r = 0; r < n; r += SESSION_OUTPUT_ROWS)
            one_block(c, row, layer, b, first + r,
                      n - r < SESSION_OUTPUT_ROWS ? n - r : SESSION_OUTPUT_ROWS);
}

/* log sum exp of a row's logits, n blocks in order. */
static double log_sum(const struct session *s, size_t row, size_t n)
{
    const struct kernels_mass *m = mass_of(s, row, 0);
    double top = -INFINITY, sum = 0;

    for (size_t i = 0; i < n; i++)
        top = (double)m[i].max > top ? (double)m[i].max : top;
    for (size_t i = 0; i < n; i++)
        sum += (double)m[i].sum * exp((double)m[i].max - top);
    return top + log(sum);
}

/* The lists of all threads in one. Their columns rise from thread to thread, so that of
 * equal logits the lower id stays first. */
static void merge(const struct session_crew *c, size_t r, const struct session_row *row)
{
    struct session *s = c->s;
    const struct session_best *to = &row->best;
    struct kernels_best all = list_of(c, 0, r, to->n);
    struct session_wish *wish = row->wish;
    const size_t n_blocks = session_output_blocks(layer_of(s, row->columns).w->n_out);
    const double less = to->wants_prob ? log_sum(s, r, n_blocks) : 0;

    for (size_t part = 1; part < c->n_parts; part++) {
        const struct kernels_best more = list_of(c, part, r, to->n);
        for (size_t i = 0; i < more.n; i++) {
            float z = more.top[i];
            s->k->pick(&all, NULL, &z, 1, NULL, more.id[i]);
        }
    }
    for (size_t i = 0; i < to->n; i++) {
        to->log_prob[i] = i < all.n ? (double)all.top[i] - less : -INFINITY;
        to->id[i] = i < all.n ? all.id[i] : -1;
    }
    if (wish && wish->logit && s->net->config.arch.has_no_unknown)
        wish->logit[ID_UNK] = -INFINITY;
    if (wish)
        wish->log_sum = less;
    for (size_t i = 0; wish && i < wish->n; i++)
        wish->log_prob[i] -= less;
}

void session_output(const struct session_crew *c, const struct session_row *row, size_t n)
{
    struct session *s = c->s;
    const struct session_share rows = session_share(c, n);

    for (size_t r = 0; r < n; r++)
        s->n_found[c->part * s->shape.n_rows + r] = 0;
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && row[end].columns == row[first].columns;)
            end++;
        one_layer(c, row, first, end - first);
    }
    session_wait(c);
    for (size_t r = rows.begin; r < rows.end; r++)
        merge(c, r, &row[r]);
}

static void score_block(const struct session_crew *c, size_t block, size_t first,
                        size_t n, const int32_t *label, double *log_prob)
{
    struct session *s = c->s;
    const struct linear *w = network_output(s->net);
    const size_t col = block * SESSION_OUTPUT_BLOCK, n_cols = columns_of(w, block);
    float *z = block_of(c, w, block, first, n);

    for (size_t r = first; r < first + n; r++, z += SESSION_OUTPUT_BLOCK) {
        if ((size_t)label[r] >= col && (size_t)label[r] < col + n_cols)
            log_prob[r] = (double)z[(size_t)label[r] - col];
        s->k->pick(NULL, mass_of(s, r, block), z, n_cols, NULL, 0);
    }
}

void session_output_score(const struct session_crew *c, size_t n, const int32_t *label,
                          double *log_prob)
{
    struct session *s = c->s;
    const struct session_share blocks = session_share(c, session_output_blocks(s->V));
    const struct session_share rows = session_share(c, n);

    for (size_t b = blocks.begin; b < blocks.end; b++)
        for (size_t row = 0; row < n; row += SESSION_OUTPUT_ROWS)
            score_block(c, b, row,
                        n - row < SESSION_OUTPUT_ROWS ? n - row : SESSION_OUTPUT_ROWS,
                        label, log_prob);
    session_wait(c);
    for (size_t row = rows.begin; row < rows.end; row++)
        log_prob[row] -= log_sum(s, row, session_output_blocks(s->V));
}

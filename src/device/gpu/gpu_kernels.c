/*
 * KERNEL_LIST by the kernels of program.h: shapes become groups, tensors become a buffer
 * and a place in it. Numbers that the CPU computes in double once a call are computed so
 * here too.
 */
#include <math.h>

#include "device/gpu/gpu.h"

#define CALL(which, kind, x, y, z, n_items, a, ...)                                      \
    &(struct gpu_call)                                                                   \
    {                                                                                    \
        .kernel = (which), .type = (kind), .group = {(x), (y), (z)}, .items = (n_items), \
        .buffer = (void *[]){__VA_ARGS__},                                               \
        .n_buffers = sizeof(void *[]){__VA_ARGS__} / sizeof(void *), .args = &(a),       \
        .args_bytes = sizeof(a)                                                          \
    }

#define RUN(d, ...) run((d)->gpu, CALL(__VA_ARGS__))

static void run(struct gpu *g, const struct gpu_call *call)
{
    if (call->group[0] && call->group[1] && call->group[2] && g->failure.code == OK)
        g->api->launch(g, call);
}

static size_t groups(size_t n, size_t each)
{
    return (n + each - 1) / each;
}

static struct gmat gmat(struct mat m)
{
    BUG_ON(m.rows > UINT32_MAX || m.cols > UINT32_MAX || m.stride > UINT32_MAX);
    return (struct gmat){m.at, (u32)m.rows, (u32)m.cols, (u32)m.stride, 0};
}

static struct gdrop gdrop(struct drop drop)
{
    return (struct gdrop){.pair = drop.pair.at,
                          .pos = drop.pos.at,
                          .key_lo = (u32)drop.key,
                          .key_hi = (u32)(drop.key >> 32),
                          .limit = (u32)(drop.rate * 4294967296.0),
                          .keep = (float)(1 / (1 - drop.rate))};
}

static void gpu_gemm(struct device *d, struct mat c, struct mat a, struct mat b, bool ta,
                     bool tb, double alpha, double beta)
{
    struct gpu *g = d->gpu;
    const u32 inner = (u32)(ta ? a.rows : a.cols);
    struct gemm_args args = {gmat(c), gmat(a),      gmat(b),     inner, ta,
                             tb,      (float)alpha, (float)beta, 0};

    if (!c.rows || !c.cols || g->failure.code != OK ||
        g->api->gemm(g, c, a, b, ta, tb, args.alpha, args.beta))
        return;
    RUN(d, c.type == a.type ? GPU_gemm : GPU_gemm_wide, a.type, groups(c.cols, GEMM_TILE),
        groups(c.rows, GEMM_TILE), 1, GEMM_ITEMS, args, c.mem, a.mem, b.mem);
}

static void gpu_embed_forward(struct device *d, struct mat y, struct mat table,
                              struct mat signal, struct ids id, double scale,
                              struct drop drop)
{
    struct embed_args a = {
        gmat(y), gmat(table), gmat(signal), gdrop(drop), id.at, (float)scale, 0};

    RUN(d, GPU_embed_forward, y.type, y.rows, 1, 1, ROW_ITEMS, a, y.mem, table.mem,
        signal.mem, id.mem, drop.pair.mem, drop.pos.mem);
}

static void gpu_embed_backward(struct device *d, struct mat dtable, struct mat dy,
                               struct ids id, double scale, struct drop drop)
{
    struct embed_args a = {gmat(dy), gmat(dtable), {0}, gdrop(drop),
                           id.at,    (float)scale, 0};

    RUN(d, GPU_embed_backward, dy.type, dy.rows, 1, 1, ROW_ITEMS, a, dtable.mem, dy.mem,
        id.mem, drop.pair.mem, drop.pos.mem);
}

static void gpu_norm_forward(struct device *d, struct mat x, struct mat y,
                             struct mat stats, struct mat base, struct mat f,
                             struct mat f_bias, struct mat gain, struct mat bias,
                             double epsilon, struct drop drop)
{
    struct norm_args a = {.x = gmat(x),
                          .y = gmat(y),
                          .stats = gmat(stats),
                          .base = gmat(base),
                          .f = gmat(f),
                          .drop = gdrop(drop),
                          .f_bias = f_bias.at,
                          .gain = gain.at,
                          .bias = bias.at,
                          .epsilon = (float)epsilon};

    RUN(d, GPU_norm_forward, x.type, x.rows, 1, 1, ROW_ITEMS, a, x.mem, y.mem, stats.mem,
        base.mem, f.mem, f_bias.mem, gain.mem, bias.mem, drop.pair.mem, drop.pos.mem);
}

/* How many shares the rows are cut into, and how many rows each has. */
static void cut_shares(const struct gpu *g, struct columns_args *a, size_t rows,
                       size_t cols)
{
    const size_t fit = g->columns_bytes / (3 * sizeof(float) * (cols ? cols : 1));
    size_t n = groups(rows, 64);

    n = n > GPU_SHARES ? GPU_SHARES : n;
    n = n > fit ? fit : n;
    BUG_ON(n == 0 && rows > 0);
    a->share = (u32)(n ? groups(rows, n) : 0);
    a->n_shares = (u32)(a->share ? groups(rows, a->share) : 0);
}

static void add_columns(struct device *d, struct columns_args a, struct mat out,
                        u32 which)
{
    const struct gpu *g = d->gpu;

    a.out = out.at;
    a.which = which;
    if (out.mem)
        RUN(d, GPU_columns_add, MAT_REAL, groups(a.x.cols, COLUMN_ITEMS), 1, 1,
            COLUMN_ITEMS, a, out.mem, g->columns);
}

static void gpu_norm_backward(struct device *d, struct mat dx, struct mat df,
                              struct mat dgain, struct mat dbias, struct mat df_bias,
                              struct mat dy, struct mat dx_later, struct mat x,
                              struct mat stats, struct mat gain, struct drop drop)
{
    const struct gpu *g = d->gpu;
    struct norm_args a = {.x = gmat(x),
                          .y = gmat(dx),
                          .stats = gmat(stats),
                          .base = gmat(dx_later),
                          .f = gmat(df),
                          .dy = gmat(dy),
                          .drop = gdrop(drop),
                          .gain = gain.at};
    struct columns_args s = {
        .x = gmat(x), .dy = gmat(dy), .df = gmat(df), .stats = gmat(stats)};
    void *const sum_of = df_bias.mem ? df.mem : NULL;

    cut_shares(g, &s, x.rows, x.cols);
    RUN(d, GPU_norm_backward, x.type, x.rows, 1, 1, ROW_ITEMS, a, dx.mem, df.mem, dy.mem,
        dx_later.mem, x.mem, stats.mem, gain.mem, drop.pair.mem, drop.pos.mem);
    RUN(d, GPU_norm_columns, x.type, groups(x.cols, COLUMN_WIDTH), s.n_shares, 1,
        COLUMN_ITEMS, s, g->columns, x.mem, dy.mem, sum_of, stats.mem);
    add_columns(d, s, dgain, 0);
    add_columns(d, s, dbias, 1);
    add_columns(d, s, df_bias, 2);
}

static void gpu_relu_forward(struct device *d, struct mat h, struct mat bias,
                             struct drop drop)
{
    struct relu_args a = {.h = gmat(h), .drop = gdrop(drop), .bias = bias.at};

    RUN(d, GPU_relu_forward, h.type, h.rows, 1, 1, ROW_ITEMS, a, h.mem, bias.mem,
        drop.pair.mem, drop.pos.mem);
}

static void gpu_gemm_relu(struct device *d, struct mat h, struct mat a, struct mat b,
                          struct mat bias)
{
    struct gpu *g = d->gpu;
    const bool is_one = g->api->gemm_relu && h.rows && h.cols && g->failure.code == OK;

    if (is_one && g->api->gemm_relu(g, h, a, b, bias))
        return;
    gpu_gemm(d, h, a, b, false, false, 1, 0);
    gpu_relu_forward(d, h, bias, (struct drop){0});
}

static void gpu_relu_backward(struct device *d, struct mat dh, struct mat dbias,
                              struct mat h, double rate)
{
    const struct gpu *g = d->gpu;
    struct columns_args a = {
        .x = gmat(h), .dy = gmat(dh), .keep = (float)(1 / (1 - rate))};

    cut_shares(g, &a, h.rows, h.cols);
    RUN(d, GPU_relu_backward, h.type, groups(h.cols, COLUMN_WIDTH), a.n_shares, 1,
        COLUMN_ITEMS, a, g->columns, dh.mem, h.mem);
    add_columns(d, a, dbias, 0);
}

static void gpu_activate_forward(struct device *d, struct mat h, struct mat z,
                                 struct mat bias, enum activation act, struct drop drop)
{
    struct activate_args a = {.h = gmat(h),
                              .z = gmat(z),
                              .drop = gdrop(drop),
                              .bias = bias.at,
                              .act = (u32)act,
                              .has_gate = z.cols > h.cols};

    RUN(d, GPU_activate_forward, h.type, h.rows, 1, 1, ROW_ITEMS, a, h.mem, z.mem,
        bias.mem, drop.pair.mem, drop.pos.mem);
}

static void gpu_activate_backward(struct device *d, struct mat dz, struct mat dbias,
                                  struct mat dh, struct mat z, enum activation act,
                                  struct drop drop)
{
    const struct gpu *g = d->gpu;
    struct activate_args a = {.h = gmat(dh),
                              .z = gmat(z),
                              .dz = gmat(dz),
                              .sum = {.x = gmat(dh)},
                              .drop = gdrop(drop),
                              .act = (u32)act,
                              .has_gate = z.cols > dh.cols};

    cut_shares(g, &a.sum, dh.rows, dh.cols);
    RUN(d, GPU_activate_backward, dh.type, groups(dh.cols, COLUMN_WIDTH), a.sum.n_shares,
        1, COLUMN_ITEMS, a, g->columns, dz.mem, dh.mem, z.mem, drop.pair.mem,
        drop.pos.mem);
    add_columns(d, a.sum, mat_cols(dbias, 0, dh.cols), 0);
    if (a.has_gate)
        add_columns(d, a.sum, mat_cols(dbias, dh.cols, dh.cols), 1);
}

static void gpu_bias_forward(struct device *d, struct mat y, struct mat bias)
{
    struct relu_args a = {.h = gmat(y), .bias = bias.at};

    RUN(d, GPU_bias_forward, y.type, y.rows, 1, 1, ROW_ITEMS, a, y.mem, bias.mem);
}

static void gpu_bias_backward(struct device *d, struct mat dbias, struct mat dy)
{
    const struct gpu *g = d->gpu;
    struct columns_args a = {.x = gmat(dy)};

    cut_shares(g, &a, dy.rows, dy.cols);
    RUN(d, GPU_bias_columns, dy.type, groups(dy.cols, COLUMN_WIDTH), a.n_shares, 1,
        COLUMN_ITEMS, a, g->columns, dy.mem);
    add_columns(d, a, dbias, 0);
}

/* Kernels of attention follow each other by the width of a head: 16, 32, 64, 128. */
static enum gpu_kernel headed(enum gpu_kernel first, size_t head_width)
{
    const unsigned step = head_width <= 16   ? 0
                          : head_width <= 32 ? 1
                          : head_width <= 64 ? 2
                                             : 3;

    return (enum gpu_kernel)((unsigned)first + step);
}

static struct attention_args attention_args(struct mat q, struct mat k, struct mat v,
                                            struct mat lse, const struct attend *a)
{
    const size_t width = q.cols / a->heads;

    BUG_ON(width > HEAD_MAX);
    return (struct attention_args){.lse = gmat(lse),
                                   .q = gmat(q),
                                   .k = gmat(k),
                                   .v = gmat(v),
                                   .drop = gdrop(a->drop),
                                   .q_at = a->q_at.at,
                                   .k_at = a->k_at.at,
                                   .d = (u32)width,
                                   .heads = (u32)a->heads,
                                   .causal = a->causal,
                                   .scale = (float)(1 / sqrt((double)width))};
}

/* Launch an attention kernel over all sentences, as many at once as a grid may have. */
static void over_sentences(struct gpu *g, struct gpu_call *call, struct attention_args *a,
                           const struct attend *at)
{
    const size_t most = g->grid_max ? g->grid_max : GPU_GRID_MAX;

    for (size_t first = 0; first < at->n_sents; first += most) {
        const size_t left = at->n_sents - first;
        a->q_at = at->q_at.at + first;
        a->k_at = at->k_at.at + first;
        call->group[2] = left < most ? left : most;
        run(g, call);
    }
}

#define OVER_SENTENCES(d, which, kind, longest, a, at, ...)                   \
    over_sentences((d)->gpu,                                                  \
                   CALL(which, kind, groups(longest, ATTENTION_BLOCK((a).d)), \
                        (at).heads, 1, ATTENTION_ITEMS, a, __VA_ARGS__),      \
                   &(a), &(at))

static void gpu_attention_forward(struct device *d, struct mat out, struct mat lse,
                                  struct mat q, struct mat k, struct mat v,
                                  struct attend at)
{
    struct attention_args a = attention_args(q, k, v, lse, &at);

    a.out = gmat(out);
    OVER_SENTENCES(d, headed(GPU_attention_forward_16, a.d), q.type, at.max_q, a, at,
                   out.mem, lse.mem, q.mem, k.mem, v.mem, at.q_at.mem, at.k_at.mem,
                   at.drop.pair.mem, at.drop.pos.mem);
}

static void gpu_attention_backward(struct device *d, struct mat dq, struct mat dk,
                                   struct mat dv, struct mat dout, struct mat out,
                                   struct mat lse, struct mat q, struct mat k,
                                   struct mat v, struct attend at)
{
    struct attention_args a = attention_args(q, k, v, lse, &at);

    a.out = gmat(out);
    a.dq = gmat(dq);
    a.dk = gmat(dk);
    a.dv = gmat(dv);
    a.dout = gmat(dout);
    OVER_SENTENCES(d, headed(GPU_attention_backward_q_16, a.d), q.type, at.max_q, a, at,
                   dq.mem, dout.mem, out.mem, lse.mem, q.mem, k.mem, v.mem, at.q_at.mem,
                   at.k_at.mem, at.drop.pair.mem, at.drop.pos.mem);
    OVER_SENTENCES(d, headed(GPU_attention_backward_k_16, a.d), q.type, at.max_k, a, at,
                   dk.mem, dv.mem, dout.mem, out.mem, lse.mem, q.mem, k.mem, v.mem,
                   at.q_at.mem, at.k_at.mem, at.drop.pair.mem, at.drop.pos.mem);
}

static double xlogx(double x)
{
    return x > 0 ? x * log(x) : 0;
}

static struct gsmoothing gsmoothing(struct smoothing s, size_t V)
{
    const double low = s.rate / (double)(V - 1);
    double entropy = 0;

    if (s.prior.mem)
        entropy = s.rate * s.entropy - xlogx(s.rate);
    else if (s.rate > 0)
        entropy = -((1 - s.rate) * log(1 - s.rate) + s.rate * log(low + 1e-20));
    return (struct gsmoothing){s.prior.at, (float)s.rate, (float)low, (float)entropy, 0};
}

static void gpu_xent(struct device *d, struct mat loss, struct ids best,
                     struct mat logits, struct ids label, struct smoothing smooth,
                     double grad)
{
    struct xent_args a = {.loss = gmat(loss),
                          .logits = gmat(logits),
                          .smooth = gsmoothing(smooth, logits.cols),
                          .best = best.at,
                          .label = label.at,
                          .grad = (float)grad};

    RUN(d, GPU_xent, logits.type, logits.rows, 1, 1, EACH_ITEMS, a, loss.mem, best.mem,
        logits.mem, label.mem, smooth.prior.mem);
}

static void gpu_xent_views(struct device *d, struct mat loss, struct mat gap,
                           struct mat logits, struct mat other, struct ids label,
                           struct smoothing smooth, struct views views, double grad)
{
    struct xent_views_args a = {.loss = gmat(loss),
                                .gap = gmat(gap),
                                .logits = gmat(logits),
                                .other = gmat(other),
                                .smooth = gsmoothing(smooth, logits.cols),
                                .label = label.at,
                                .xent = {(float)views.xent[0], (float)views.xent[1]},
                                .kl = {(float)views.kl[0], (float)views.kl[1]},
                                .grad = (float)grad};

    RUN(d, GPU_xent_views, logits.type, logits.rows, 1, 1, EACH_ITEMS, a, loss.mem,
        gap.mem, logits.mem, other.mem, label.mem, smooth.prior.mem);
}

/* Groups that share a row of an element-wise pass. */
static size_t chunks(struct mat m)
{
    return m.cols ? groups(m.cols, (size_t)4 * EACH_ITEMS) : 1;
}

/* y from x; x NULL: in place. */
static void each(struct gpu *g, enum gpu_kernel which, enum mat_type type, struct mat y,
                 const struct mat *x, double by)
{
    struct each_args a = {gmat(y), gmat(x ? *x : y), (float)by, (u32)chunks(y)};
    struct gpu_call *call = CALL(which, type, y.rows * a.chunks, 1, 1, EACH_ITEMS, a,
                                 y.mem, x ? x->mem : NULL);

    call->n_buffers = x ? 2 : 1;
    run(g, call);
}

static void gpu_fill(struct device *d, struct mat x, double value)
{
    each(d->gpu, GPU_fill, x.type, x, NULL, value);
}

static void gpu_scale(struct device *d, struct mat x, double by)
{
    each(d->gpu, GPU_scale, x.type, x, NULL, by);
}

static void gpu_average(struct device *d, struct mat y, struct mat x, double decay)
{
    each(d->gpu, GPU_average, MAT_REAL, y, &x, 1 - decay);
}

static void gpu_cast(struct device *d, struct mat y, struct mat x)
{
    each(d->gpu, GPU_cast, y.type, y, &x, 0);
}

void gpu_convert(struct gpu *g, struct mat y, struct mat x)
{
    each(g, y.type == MAT_HALF ? GPU_cast : GPU_widen, MAT_HALF, y, &x, 1);
}

static void gpu_adam(struct device *d, struct mat w, struct mat m, struct mat v,
                     struct mat g, struct adam how)
{
    struct adam_args a = {.w = gmat(w),
                          .m = gmat(m),
                          .v = gmat(v),
                          .g = gmat(g),
                          .rate = (float)how.rate,
                          .rest1 = (float)(1 - how.beta1),
                          .rest2 = (float)(1 - how.beta2),
                          .epsilon = (float)how.epsilon,
                          .decay = (float)how.decay,
                          .scale = (float)how.scale,
                          .chunks = (u32)chunks(w)};

    RUN(d, GPU_adam, MAT_REAL, w.rows * a.chunks, 1, 1, EACH_ITEMS, a, w.mem, m.mem,
        v.mem, g.mem);
}

static void gpu_novograd(struct device *d, struct mat w, struct mat m, struct mat g,
                         struct novograd how)
{
    const float decay = (float)(how.average * how.decay);
    const float scale = (float)(how.average * how.scale);
    struct novograd_args a = {gmat(w),         gmat(m),          gmat(g),
                              (float)how.rate, (float)how.beta1, decay,
                              scale,           (u32)chunks(w),   0};

    RUN(d, GPU_novograd, MAT_REAL, w.rows * a.chunks, 1, 1, EACH_ITEMS, a, w.mem, m.mem,
        g.mem);
}

/* Partial results by `first`, one result by `second`, which gpu_deliver brings. */
static void reduce(struct device *d, double *result, struct mat x, enum gpu_kernel first,
                   enum gpu_kernel second)
{
    struct gpu *g = d->gpu;
    struct reduce_args a = {.x = gmat(x), .rows = 1};

    if (g->n_numbers == GPU_NUMBERS)
        gpu_deliver(g);
    a.chunks = (u32)groups(x.cols ? x.cols : 1, (size_t)16 * EACH_ITEMS);
    a.chunks = a.chunks > GPU_PARTS ? GPU_PARTS : a.chunks;
    a.rows = (u32)groups(x.rows * a.chunks, GPU_PARTS);
    a.rows = a.rows ? a.rows : 1;
    const size_t n_groups = groups(x.rows, a.rows) * a.chunks;
    a.n = n_groups;
    a.to = GPU_PARTS + g->n_numbers;
    RUN(d, first, MAT_REAL, n_groups, 1, 1, EACH_ITEMS, a, g->parts, x.mem);
    RUN(d, second, MAT_REAL, 1, 1, 1, EACH_ITEMS, a, g->parts, g->parts);
    g->number[g->n_numbers++] = result;
}

static void gpu_sumsq(struct device *d, double *sum, struct mat x)
{
    reduce(d, sum, x, GPU_squares, GPU_reduce_sum);
}

static void gpu_maxabs(struct device *d, double *max, struct mat x)
{
    reduce(d, max, x, GPU_largest, GPU_reduce_max);
}

static struct attend_args attend_args(struct mat out, struct mat q, struct mat k,
                                      struct mat v, struct ids first, struct ids last,
                                      size_t heads)
{
    const size_t width = q.cols / heads;

    return (struct attend_args){.out = gmat(out),
                                .q = gmat(q),
                                .k = gmat(k),
                                .v = gmat(v),
                                .first = first.at,
                                .last = last.at,
                                .d = (u32)width,
                                .heads = (u32)heads,
                                .scale = (float)(1 / sqrt((double)width))};
}

static void gpu_attend_cache(struct device *d, struct mat out, struct mat q,
                             struct cache cache)
{
    const struct ids list = cache.physical;
    struct attend_args a = attend_args(out, q, cache.k, cache.v, list, list, cache.heads);

    a.rows = (u32)cache.rows;
    a.len = (u32)cache.len;
    RUN(d, GPU_attend_cache, q.type, q.rows, cache.heads, 1, ATTEND_ITEMS, a, out.mem,
        q.mem, cache.k.mem, cache.v.mem, list.mem);
}

static void gpu_attend_memory(struct device *d, struct mat out, struct mat q,
                              struct mat k, struct mat v, struct ids first,
                              struct ids last, size_t heads)
{
    struct attend_args a = attend_args(out, q, k, v, first, last, heads);

    RUN(d, GPU_attend_memory, q.type, q.rows, heads, 1, ATTEND_ITEMS, a, out.mem, q.mem,
        k.mem, v.mem, first.mem, last.mem);
}

static void gpu_topk(struct device *d, struct mat top, struct ids id, struct mat logits)
{
    struct topk_args a = {.top = gmat(top), .logits = gmat(logits), .id = id.at};

    RUN(d, GPU_topk, logits.type, logits.rows, 1, 1, EACH_ITEMS, a, top.mem, id.mem,
        logits.mem);
}

#define MEMBER(name, args) .name = gpu_##name,
const struct kernels gpu_kernels = {KERNEL_LIST(MEMBER)};

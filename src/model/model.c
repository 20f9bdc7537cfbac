#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/activations.h"
#include "recipe/positions.h"

static status open_parts(struct model *m, bool want_grad, struct err *err)
{
    struct device *d = m->device;

    TRY(params_open(&m->params, &m->config, err));
    const size_t n = m->params.n_flat;
    TRY(device_alloc_row(d, &m->flat, n, err));
    /* the weights as products read them: the same array, or a copy in 16 bits */
    if (d->precision != PRECISION_FP32) {
        m->half = (struct mat){NULL, 0, 1, n, n, MAT_HALF};
        TRY(device_alloc(d, &m->half.mem, n * d->half_bytes, err));
    }
    const struct weights_flat values = {m->flat, m->half.mem ? m->half : m->flat};
    TRY(weights_open(&m->w, &m->params, &m->config, values, err));
    if (want_grad) {
        TRY(device_alloc_row(d, &m->grad, n, err));
        const struct weights_flat gradients = {m->grad, m->grad};
        TRY(weights_open(&m->g, &m->params, &m->config, gradients, err));
    }
    return activations_open(&m->act, &m->config, d, err);
}

status model_open(struct model *m, struct device *d, const struct model_config *c,
                  bool want_grad, struct err *err)
{
    *m = (struct model){.device = d, .config = *c};
    TRY(model_config_check(c, err));
    m->embed_scale = c->arch.is_unscaled ? 1 : sqrt((double)c->d_model);
    if (open_parts(m, want_grad, err) != OK) {
        model_close(m);
        return err->code;
    }
    return OK;
}

void model_close(struct model *m)
{
    if (!m->device)
        return;
    activations_close(m->act);
    weights_close(&m->w);
    weights_close(&m->g);
    params_close(&m->params);
    device_free(m->device, m->flat.mem);
    device_free(m->device, m->half.mem);
    device_free(m->device, m->grad.mem);
    device_free(m->device, m->waves.mem);
    device_free(m->device, m->prior.mem);
    *m = (struct model){0};
}

size_t model_measure(struct model *m, struct model_shape shape)
{
    struct activations *a = m->act;
    const struct device_arena keep = a->arena;

    activations_choose(a, &m->config, (const uint64_t[N_STACKS]){0});
    a->arena = (struct device_arena){.device = m->device};
    activations_place(a, &m->config, shape.n_sents, shape.n_src, shape.n_tgt,
                      shape.want_grad, activations_shared(m, shape.want_grad));
    const size_t n_bytes = a->arena.peak;
    a->arena = keep;
    return n_bytes;
}

/* One host real in the width of the device. */
static void put_real(const struct device *d, void *host, size_t i, double value)
{
    const float narrow = (float)value;

    if (d->real_bytes == sizeof(double))
        memcpy((char *)host + i * sizeof value, &value, sizeof value);
    else
        memcpy((char *)host + i * sizeof narrow, &narrow, sizeof narrow);
}

status model_set_prior(struct model *m, const double *prior, struct err *err)
{
    const size_t V = (size_t)m->config.vocab_size;
    RELEASED_BY(mem_release) void *host = NULL;

    TRY(mem_alloc(&host, V, m->device->real_bytes, err));
    m->prior_entropy = 0;
    for (size_t v = 0; v < V; v++) {
        put_real(m->device, host, v, prior[v]);
        m->prior_entropy -= prior[v] > 0 ? prior[v] * log(prior[v]) : 0;
    }
    if (!m->prior.mem)
        TRY(device_alloc_row(m->device, &m->prior, V, err));
    device_upload(m->device, m->prior, host);
    return OK;
}

static status make_waves(struct model *m, size_t max_len, struct err *err)
{
    const size_t D = (size_t)m->config.d_model,
                 bytes = max_len * D * m->device->real_bytes;
    void *host;

    if (max_len <= m->waves.rows)
        return OK;
    TRY(mem_alloc(&host, max_len * D, m->device->real_bytes, err));
    for (size_t p = 0; p < max_len; p++)
        for (size_t c = 0; c < D; c++)
            put_real(m->device, host, p * D + c,
                     positions_signal(m->config.arch.positions, p, c, D));
    device_free(m->device, m->waves.mem);
    m->waves = (struct mat){0};
    const status result = device_alloc(m->device, &m->waves.mem, bytes, err);
    if (result == OK) {
        m->waves = (struct mat){m->waves.mem, 0, max_len, D, D};
        device_upload(m->device, m->waves, host);
    }
    free(host);
    return result;
}

static status reserve_signal(struct model *m, size_t max_len, struct err *err)
{
    const struct architecture *a = &m->config.arch;
    const bool is_learned = a->positions == POSITIONS_LEARNED;

    if (!is_learned)
        TRY(make_waves(m, max_len, err));
    else if (max_len > architecture_longest(a))
        return err_set(err, ERR_USAGE,
                       "a sentence of %zu tokens, where the model has learned %lld "
                       "positions; lower max_length or raise max_positions",
                       max_len, (long long)a->max_positions);
    for (enum stack s = 0; s < N_STACKS; s++)
        m->signal[s] = is_learned ? m->w.stack[s].positions : m->waves;
    return OK;
}

status model_reserve(struct model *m, struct model_shape shape, struct err *err)
{
    struct device_arena *arena = &m->act->arena;
    const size_t d_head = (size_t)(m->config.d_model / m->config.heads);
    const size_t n_bytes = model_measure(m, shape);

    TRY(reserve_signal(m, shape.max_len, err));
    TRY(device_reserve_attention(m->device, d_head, shape.max_len, err));
    if (n_bytes <= arena->bytes) /* laid out anew for each batch: only the size counts */
        return OK;
    device_free(m->device, arena->mem);
    *arena = (struct device_arena){.device = m->device};
    TRY(device_alloc(m->device, &arena->mem, n_bytes, err));
    arena->bytes = n_bytes;
    return OK;
}

status model_set_weights(struct model *m, const float *flat, struct err *err)
{
    const size_t n = m->params.n_flat;
    void *host;

    if (m->device->real_bytes == sizeof *flat) {
        device_upload(m->device, m->flat, flat);
        return OK;
    }
    TRY(mem_alloc(&host, n, m->device->real_bytes, err));
    for (size_t i = 0; i < n; i++)
        put_real(m->device, host, i, (double)flat[i]);
    device_upload(m->device, m->flat, host);
    free(host);
    return OK;
}

void model_get_weights(struct model *m, float *flat)
{
    BUG_ON(m->device->real_bytes != sizeof *flat);
    device_download(m->device, flat, m->flat);
}

void model_losses(struct model *m, void *loss)
{
    device_download(m->device, loss, m->act->loss);
}

void model_best(struct model *m, int32_t *best)
{
    device_download_ids(m->device, best, m->act->best);
}

static void clear_grads(struct model *m, size_t from, size_t to)
{
    if (from < to)
        m->device->k->fill(m->device, mat_cols(m->grad, from, to - from), 0);
}

/* Is the tensor's gradient a product? Tables that are only looked up have none. */
static bool is_product(const struct model *m, const struct param *p)
{
    return p->n_dims == 2 && (p->block != BLOCK_EMBED || p->at == m->w.output.at);
}

/* All that lies between products: vectors, tables, and the gaps that align them. */
void model_zero_grads(struct model *m)
{
    size_t from = 0;

    for (size_t i = 0; i < m->params.n_list; i++) {
        const struct param *p = &m->params.list[i];
        const size_t end = p->at + (p->rows - 1) * p->stride + p->cols;
        if (!is_product(m, p))
            continue;
        clear_grads(m, from, p->at);
        from = end > from ? end : from; /* q, k and v lie beside each other */
    }
    clear_grads(m, from, m->params.n_flat);
    m->is_fresh = true;
}

void model_write_zero_grads(struct model *m)
{
    m->device->k->fill(m->device, m->grad, 0);
    m->is_fresh = false;
}

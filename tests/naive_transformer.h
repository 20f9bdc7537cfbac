/*
 * naive_transformer - the forward pass of any architecture (recipe/architecture.h) as its
 * definition says it, one number after the other in double: what inference is held to.
 */
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recipe/model_config.h"
#include "recipe/params.h"
#include "recipe/special_ids.h"
#include "test.h"

enum { NAIVE_WIDTH = 64, NAIVE_LENGTH = 32 };

struct naive {
    const struct model_config *c;
    const struct params *p;
    const float *flat;
};

/* The states of a sentence. */
struct naive_states {
    double x[NAIVE_LENGTH][NAIVE_WIDTH];
    size_t n;
};

static inline double naive_weight(const struct naive *m, int id, int layer, size_t row,
                                  size_t col)
{
    const struct param *t = params_get(m->p, (enum param_id)id, layer);

    return (double)m->flat[t->at + row * t->stride + col];
}

/* y = x W + b; bias N_PARAM_IDS: none. */
static inline void naive_product(const struct naive *m, double *y, const double *x,
                                 int id, int bias, int layer)
{
    const struct param *t = params_get(m->p, (enum param_id)id, layer);

    for (size_t c = 0; c < t->cols; c++) {
        y[c] = bias == N_PARAM_IDS ? 0 : naive_weight(m, bias, layer, 0, c);
        for (size_t r = 0; r < t->rows; r++)
            y[c] += x[r] * naive_weight(m, id, layer, r, c);
    }
}

static inline void naive_norm(const struct naive *m, double *y, const double *x, int gain,
                              int layer)
{
    const size_t D = (size_t)m->c->d_model;
    double mean = 0, variance = 0;

    for (size_t i = 0; i < D; i++)
        mean += x[i] / (double)D;
    for (size_t i = 0; i < D; i++)
        variance += (x[i] - mean) * (x[i] - mean) / (double)D;
    for (size_t i = 0; i < D; i++)
        y[i] = (x[i] - mean) / sqrt(variance + m->c->norm_epsilon) *
                   naive_weight(m, gain, layer, 0, i) +
               naive_weight(m, gain + 1, layer, 0, i);
}

static inline double naive_activate(enum activation kind, double x)
{
    switch (kind) {
    case ACTIVATION_RELU:
        return x > 0 ? x : 0;
    case ACTIVATION_SWISH:
        return x / (1 + exp(-x));
    case ACTIVATION_GELU:
        return x * (1 + erf(x / sqrt(2))) / 2;
    case ACTIVATION_GELU_TANH:
        return x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) / 2;
    case ACTIVATION_GELU_SIGMOID:
        return x / (1 + exp(-1.702 * x));
    }
    return 0;
}

/* A sublayer: from the states as it sees them to what it adds. */
struct naive_sublayer {
    int norm;     /* its gain */
    int q, out;   /* attention; k, v behind q, biases behind them */
    int up, down; /* the gate, then biases of both behind up */
    int layer;
    const struct naive_states *memory; /* cross-attention; NULL: of itself */
    bool is_causal;
};

static inline int naive_bias(const struct naive *m, int id, int is_there)
{
    (void)m;
    return is_there ? id : N_PARAM_IDS;
}

static inline void naive_attend(const struct naive *m, struct naive_states *y,
                                const struct naive_states *x, struct naive_sublayer s)
{
    const struct naive_states *from = s.memory ? s.memory : x;
    const size_t D = (size_t)m->c->d_model, d = D / (size_t)m->c->heads;
    const bool has = m->c->arch.has_attention_bias;
    static double q[NAIVE_WIDTH], k[NAIVE_LENGTH][NAIVE_WIDTH],
        v[NAIVE_LENGTH][NAIVE_WIDTH];

    for (size_t j = 0; j < from->n; j++) {
        naive_product(m, k[j], from->x[j], s.q + 1, naive_bias(m, s.q + 4, has), s.layer);
        naive_product(m, v[j], from->x[j], s.q + 2, naive_bias(m, s.q + 5, has), s.layer);
    }
    y->n = x->n;
    for (size_t i = 0; i < x->n; i++) {
        const size_t n = s.is_causal ? i + 1 : from->n;
        double all[NAIVE_WIDTH] = {0};
        naive_product(m, q, x->x[i], s.q, naive_bias(m, s.q + 3, has), s.layer);
        for (size_t h = 0; h < D; h += d) {
            double p[NAIVE_LENGTH], top = -INFINITY, sum = 0;
            for (size_t j = 0; j < n; j++) {
                p[j] = 0;
                for (size_t e = h; e < h + d; e++)
                    p[j] += q[e] * k[j][e] / sqrt((double)d);
                top = fmax(top, p[j]);
            }
            for (size_t j = 0; j < n; j++)
                sum += p[j] = exp(p[j] - top);
            for (size_t j = 0; j < n; j++)
                for (size_t e = h; e < h + d; e++)
                    all[e] += p[j] / sum * v[j][e];
        }
        naive_product(m, y->x[i], all, s.out, naive_bias(m, s.out + 1, has), s.layer);
    }
}

static inline void naive_feed(const struct naive *m, struct naive_states *y,
                              const struct naive_states *x, struct naive_sublayer s)
{
    double f[4 * NAIVE_WIDTH], gate[4 * NAIVE_WIDTH];
    const int gate_id = s.up + 1, bias = s.up + 2, gate_bias = s.up + 3;

    y->n = x->n;
    for (size_t i = 0; i < x->n; i++) {
        naive_product(m, f, x->x[i], s.up, bias, s.layer);
        if (m->c->arch.is_gated)
            naive_product(m, gate, x->x[i], gate_id, gate_bias, s.layer);
        for (size_t k = 0; k < (size_t)m->c->d_ff; k++)
            f[k] = naive_activate(m->c->arch.activation, f[k]) *
                   (m->c->arch.is_gated ? gate[k] : 1);
        naive_product(m, y->x[i], f, s.down, s.down + 1, s.layer);
    }
}

/* x + f(norm(x)), or norm(x + f(x)) */
static inline void naive_sublayer(const struct naive *m, struct naive_states *x,
                                  struct naive_sublayer s)
{
    static struct naive_states in, out;
    const bool is_pre = m->c->arch.norm == NORM_PRE;

    in = *x;
    for (size_t i = 0; is_pre && i < x->n; i++)
        naive_norm(m, in.x[i], x->x[i], s.norm, s.layer);
    if (s.up)
        naive_feed(m, &out, &in, s);
    else
        naive_attend(m, &out, &in, s);
    for (size_t i = 0; i < x->n; i++) {
        double sum[NAIVE_WIDTH] = {0};
        for (size_t c = 0; c < (size_t)m->c->d_model; c++)
            sum[c] = x->x[i][c] + out.x[i][c];
        if (is_pre)
            memcpy(x->x[i], sum, sizeof sum);
        else
            naive_norm(m, x->x[i], sum, s.norm, s.layer);
    }
}

/* id < 0: a zero vector, as the first position of targets may have */
static inline void naive_embed(const struct naive *m, double *x, int table, int learned,
                               int32_t id, size_t position)
{
    const enum positions kind = m->c->arch.positions;
    const size_t D = (size_t)m->c->d_model;
    const double scale = m->c->arch.is_unscaled ? 1 : sqrt((double)D);

    for (size_t c = 0; c < D; c++)
        x[c] = (kind == POSITIONS_LEARNED ? naive_weight(m, learned, 0, position, c)
                                          : positions_signal(kind, position, c, D)) +
               (id < 0 ? 0 : scale * naive_weight(m, table, 0, (size_t)id, c));
}

static inline void naive_end(const struct naive *m, struct naive_states *x, int gain)
{
    for (size_t i = 0; m->c->arch.norm == NORM_PRE && i < x->n; i++) {
        double y[NAIVE_WIDTH] = {0};
        naive_norm(m, y, x->x[i], gain, 0);
        memcpy(x->x[i], y, sizeof y);
    }
}

/* id: S, pieces, EOS */
static inline void naive_encode(const struct naive *m, struct naive_states *x,
                                const int32_t *id, size_t n)
{
    const size_t first = m->c->arch.has_no_begin;

    x->n = n - first;
    for (size_t i = 0; i < x->n; i++)
        naive_embed(m, x->x[i], PARAM_embed, PARAM_enc_positions, id[first + i], i);
    for (int l = 0; l < (int)m->c->encoder_layers; l++) {
        naive_sublayer(m, x,
                       (struct naive_sublayer){.norm = PARAM_enc_att_norm_gain,
                                               .q = PARAM_enc_q,
                                               .out = PARAM_enc_out,
                                               .layer = l});
        naive_sublayer(m, x,
                       (struct naive_sublayer){.norm = PARAM_enc_ff_norm_gain,
                                               .up = PARAM_enc_ff1,
                                               .down = PARAM_enc_ff2,
                                               .layer = l});
    }
    naive_end(m, x, PARAM_enc_end_gain);
}

static inline double naive_log_prob(const struct naive *m, const double *y, int table,
                                    int32_t id)
{
    const size_t V = (size_t)m->c->vocab_size;
    double top = -INFINITY, sum = 0, *z = malloc(V * sizeof *z);

    CHECK(z);
    for (size_t v = 0; v < V; v++) {
        z[v] =
            m->c->arch.has_output_bias ? naive_weight(m, PARAM_output_bias, 0, 0, v) : 0;
        for (size_t c = 0; c < (size_t)m->c->d_model; c++)
            z[v] += y[c] * naive_weight(m, table, 0, v, c);
        top = fmax(top, z[v]);
    }
    for (size_t v = 0; v < V; v++)
        sum += exp(z[v] - top);
    const double result = z[id] - top - log(sum);
    free(z);
    return result;
}

/* The log-probability of each of n labels, S, pieces, EOS, after those before it. */
static inline void naive_score(const struct naive *m, const struct naive_states *memory,
                               const int32_t *label, size_t n, double *log_prob)
{
    const struct architecture *a = &m->c->arch;
    const size_t first = a->has_no_begin;
    const int table = architecture_has_target_table(a) ? PARAM_target_embed : PARAM_embed;
    const int output = architecture_has_output_table(a) ? PARAM_output : table;
    static struct naive_states x;

    x.n = n - first;
    for (size_t i = 0; i < x.n; i++)
        naive_embed(m, x.x[i], table, PARAM_dec_positions,
                    i ? label[first + i - 1] : a->start - 1, i);
    for (int l = 0; l < (int)m->c->decoder_layers; l++) {
        naive_sublayer(m, &x,
                       (struct naive_sublayer){.norm = PARAM_dec_att_norm_gain,
                                               .q = PARAM_dec_q,
                                               .out = PARAM_dec_out,
                                               .layer = l,
                                               .is_causal = true});
        naive_sublayer(m, &x,
                       (struct naive_sublayer){.norm = PARAM_dec_cross_norm_gain,
                                               .q = PARAM_cross_q,
                                               .out = PARAM_cross_out,
                                               .layer = l,
                                               .memory = memory});
        naive_sublayer(m, &x,
                       (struct naive_sublayer){.norm = PARAM_dec_ff_norm_gain,
                                               .up = PARAM_dec_ff1,
                                               .down = PARAM_dec_ff2,
                                               .layer = l});
    }
    naive_end(m, &x, PARAM_dec_end_gain);
    for (size_t i = 0; i < n; i++)
        log_prob[i] = i < first ? 0 : naive_log_prob(m, x.x[i - first], output, label[i]);
}

/*
 * golden_model - the tiny model of tools/golden_torch.py, rebuilt: its values from a file
 * of tests/data, its weights from the tensor names by the same formula.
 */
#pragma once

#include <jansson.h>
#include <stdlib.h>

#include "base/rng.h"
#include "device/device.h"
#include "model/model.h"
#include "packed.h"
#include "test.h"

extern const struct kernels cpu_f64_kernels;

static inline const json_t *golden_part(const char *part)
{
    static json_t *root;

    if (!root)
        root = json_load_file(test_data("golden_model.json"), 0, NULL);
    CHECK(root);
    return json_object_get(root, part);
}

static inline double golden_number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static inline struct model_config golden_config(const json_t *part)
{
    const json_t *c = json_object_get(part, "config");

    return (struct model_config){
        .vocab_size = (int64_t)golden_number(c, "vocab_size"),
        .d_model = (int64_t)golden_number(c, "d_model"),
        .d_ff = (int64_t)golden_number(c, "d_ff"),
        .heads = (int64_t)golden_number(c, "heads"),
        .encoder_layers = (int64_t)golden_number(c, "encoder_layers"),
        .decoder_layers = (int64_t)golden_number(c, "decoder_layers"),
        .norm_epsilon = golden_number(c, "norm_epsilon")};
}

static inline size_t golden_ids(const json_t *list, int32_t *out)
{
    const size_t n = json_array_size(list);

    for (size_t i = 0; i < n; i++)
        out[i] = (int32_t)json_integer_value(json_array_get(list, i));
    return n;
}

static inline void golden_pack(struct packed *p, const json_t *pairs)
{
    packed_begin(p);
    for (size_t i = 0; i < json_array_size(pairs); i++) {
        const json_t *pair = json_array_get(pairs, i);
        int32_t src[64], tgt[64];
        const size_t n_src = golden_ids(json_object_get(pair, "source"), src);
        const size_t n_tgt = golden_ids(json_object_get(pair, "target"), tgt);
        packed_add(p, (int32_t)i, src, n_src, tgt, n_tgt);
    }
}

/* (u - 1/2) * 1.2 for matrices, (u - 1/2) * 0.2 for vectors, 1 more for gains. */
static inline void golden_weights(struct model *m, uint64_t seed)
{
    const size_t bytes = m->device->real_bytes;

    for (size_t i = 0; i < m->params.n_list; i++) {
        const struct param *t = &m->params.list[i];
        struct rng r = rng_open(rng_key(seed, t->name));
        void *host = calloc(t->rows * t->cols, bytes);
        for (size_t k = 0; k < t->rows * t->cols; k++) {
            const double x = (rng_unit(&r) - 0.5) * (t->n_dims == 2 ? 1.2 : 0.2) +
                             (t->init == INIT_ONE);
            if (bytes == sizeof(double))
                ((double *)host)[k] = x;
            else
                ((float *)host)[k] = (float)x;
        }
        device_upload(m->device,
                      (struct mat){.mem = m->flat.mem,
                                   .at = t->at,
                                   .rows = t->rows,
                                   .cols = t->cols,
                                   .stride = t->stride},
                      host);
        free(host);
    }
}

static inline void golden_open_double(struct device *d)
{
    struct err err;

    CHECK_OK(device_open_cpu(d, &cpu_f64_kernels, "double", sizeof(double),
                             (struct device_options){.threads = 2}, &err),
             &err);
}

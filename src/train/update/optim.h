/*
 * optim - from the summed gradient to the next weights.
 *
 * The one place where the gradient is divided by the number of target tokens (each
 * counted as often as its pair counts, corpus/corpus.h), so that
 * accumulation, ranks with unequal loads and short batches are exact. Adam behaves as
 * the reference's LazyAdam does on dense gradients, AdamW adds decoupled weight decay,
 * NovoGrad keeps one second moment a tensor. In front of each: global-norm clipping, or
 * LARC, which limits the step of each tensor by its own norms.
 *
 * Owns: moments on the device, norms on the host. Borrows: device and parameter table,
 * which outlive it. What a checkpoint must hold: m and v, or m and norms for NovoGrad.
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"
#include "device/device.h"

struct params;
struct reducer_shards;

/* kind, field, default, help, limits */
/* clang-format off */
#define OPTIM_OPTIONS(X)                                                               \
    X(CHOICE, optimizer, "adam", "update rule", ONE_OF("adam|adamw|novograd"))         \
    X(REAL, beta1, "0.9", "decay of the first moment", RANGE(0, 0.999999))             \
    X(REAL, beta2, "0.997", "decay of the second moment", RANGE(0, 0.999999))          \
    X(REAL, epsilon, "1e-9", "added to the divisor of an update, against division by 0", RANGE(1e-30, 1)) \
    X(REAL, weight_decay, "0", "adamw and novograd: decay of the weights", RANGE(0, 1)) \
    X(BOOL, grad_averaging, "false", "novograd: scale the gradient by 1 - beta1", ANY) \
    X(REAL, max_grad_norm, "0", "clip the gradient's norm to this; 0: do not clip", RANGE(0, 1e30)) \
    X(CHOICE, larc, "none", "layer-wise adaptive rates", ONE_OF("none|clip|scale"))    \
    X(REAL, larc_eta, "0.001", "trust coefficient of LARC", RANGE(0, 1e6))             \
    X(REAL, larc_min_update, "1e-7", "smallest factor of LARC", RANGE(0, 1))           \
    X(REAL, larc_epsilon, "1e-7", "LARC: added to the gradient's norm", RANGE(1e-30, 1)) \
    X(STR, freeze, "", "extended regex: matching tensors stay as they are", ANY)
/* clang-format on */

struct optim_config {
    OPTIM_OPTIONS(OPT_FIELD)
};

extern const struct opt_table optim_config_table;

/* What the options say together: ERR_USAGE for a contradiction or a bad pattern. */
status optim_check(const struct optim_config *c, struct err *err);

struct optim {
    struct optim_config config;
    struct device *device;
    const struct params *params;
    const struct reducer_shards *shards; /* that this rank updates; NULL: everything */
    struct mat m, v; /* [1, n_flat] or [1, n_owned], zero at first; no v in NovoGrad */
    double *norms;   /* [n_list], NovoGrad: average squared norm; NULL otherwise */
    bool *frozen;    /* [n_list] */
    size_t n_frozen;
    double *grad_sq, *weight_sq; /* [n_list] of the update at hand */
};

/* ERR_USAGE when the freeze pattern matches no tensor, or all of them. shards: NULL, or
 * this rank's (borrowed) with Adam and nothing that goes by tensor. */
status optim_open(struct optim *o, struct device *d, const struct params *p,
                  const struct optim_config *c, const struct reducer_shards *shards,
                  struct err *err);
void optim_close(struct optim *o);

struct optim_update {
    int64_t t;     /* updates made before this one */
    double rate;   /* learning rate */
    double tokens; /* target tokens in the summed gradient, each as its pair counts */
    double scale;  /* the factor of the loss; 0: 1 */
};

/*
 * One update of weights and moments, all [1, n_flat] on the device. *grad_norm is the
 * norm of the mean gradient of all tensors that are not frozen, before clipping. When it
 * is not finite: ERR_NUMERIC, and nothing has changed. With shards it is
 * collective, and weights outside them are as they were.
 */
status optim_step(struct optim *o, struct mat weights, struct mat gradient,
                  struct optim_update u, double *grad_norm, struct err *err);

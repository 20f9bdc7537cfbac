/*
 * config - the options of a training run, one a line.
 *
 * The lists of the rooms below (model, learning rate, optimizer) are part of it, so
 * that one YAML file and one command line set them all. The resolved config is written to
 * the run directory and reproduces the run.
 */
#pragma once

#include <string.h>

#include "base/opt.h"
#include "device/device.h"
#include "recipe/model_config.h"
#include "recipe/schedule.h"
#include "train/run/score_options.h"
#include "train/run/variation.h"
#include "train/update/optim.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define TRAIN_OPTIONS(X)                                                                        \
    X(STR, data, "", "directory made by `ferry prepare`", ANY)                                  \
    X(STR, also_data, "", "more data directories to train on, commas between", ANY) \
    X(STR, mix, "", "shares of them in an epoch, as in a:0.6,b:0.4; empty: all whole", ANY) \
    X(STR, run, "", "run directory; one with a checkpoint resumes", ANY)                        \
    X(STR, source_lang, "", "language of the source; empty: as the data says", ANY)             \
    X(STR, target_lang, "", "language of the target; empty: as the data says", ANY)             \
    X(INT, seed, "1", "seed of all random numbers", RANGE(0, 1e15))                             \
    X(STR, init_from, "", "start from the weights of this model or checkpoint", ANY)            \
    X(INT, max_steps, "300000", "updates of the whole run", RANGE(0, 1e12))                     \
    X(INT, max_epochs, "0", "passes over the corpus; 0: no limit", RANGE(0, 1e9))               \
    X(INT, batch_tokens, "4096", "target tokens per update, over all ranks; 0: batch_sentences", RANGE(0, 1e9)) \
    X(INT, batch_sentences, "0", "sentence pairs per update, if batch_tokens is 0", RANGE(0, 1e9)) \
    X(INT, max_length, "256", "longest sentence in tokens, start and end included", RANGE(3, 65536)) \
    X(CHOICE, overlong, "truncate", "what happens to longer sentences", ONE_OF("truncate|drop")) \
    X(REAL, label_smoothing, "0.1", "probability spread over all pieces; more: less certain", RANGE(0, 0.999)) \
    X(CHOICE, smoothing, "uniform", "over all pieces alike, or by how frequent they are", ONE_OF("uniform|unigram")) \
    X(REAL, attention_dropout, "0.1", "dropout of attention weights", RANGE(0, 0.99))           \
    X(REAL, relu_dropout, "0.1", "dropout inside feed-forward layers", RANGE(0, 0.99))          \
    X(REAL, residual_dropout, "0.1", "dropout of sub-layer outputs, embeddings; more: less overfitting", RANGE(0, 0.99)) \
    X(REAL, simcut, "0", "weight of agreement with a view whose tokens are cut; 0: none", RANGE(0, 1000)) \
    X(REAL, simcut_rate, "0.05", "simcut: share of the tokens that are cut", RANGE(0, 0.99))     \
    X(REAL, rdrop, "0", "weight of agreement between two dropout masks; 0: none", RANGE(0, 1000)) \
    X(REAL, word_dropout, "0", "share of input tokens, of both sides, that are hidden", RANGE(0, 0.99)) \
    X(REAL, layer_drop, "0", "share of the layers that an update goes without", RANGE(0, 0.9))   \
    X(REAL, moving_average, "0", "decay of averaged weights; nearer 1: smoother; 0: none", RANGE(0, 0.999999)) \
    X(INT, skip_limit, "20", "non-finite updates in a row that end the run", RANGE(1, 1e9))     \
    X(CHOICE, device, "auto", "where to compute", ONE_OF(DEVICE_KINDS))                 \
    X(CHOICE, precision, "fp32", "format of the computation; weights are kept in fp32", ONE_OF("fp32|fp16|bf16")) \
    X(CHOICE, loss_scaling, "none", "how the loss is scaled, so that 16 bits hold its gradient", ONE_OF("none|static|backoff|logmax")) \
    X(REAL, loss_scale, "1", "factor of the loss with loss_scaling = static", RANGE(1e-6, 1e9)) \
    X(INT, threads, "0", "threads per rank; 0: one per core it has", RANGE(0, 1024))            \
    X(BOOL, verify_data, "true", "compare the data's checksums during the first steps", ANY)    \
    X(BOOL, pin, "true", "keep each thread on one core", ANY)                                   \
    X(INT, memory_mib, "0", "memory of a step, in MiB; 0: 3/4 of what is free", RANGE(0, 1e9))  \
    X(BOOL, recompute, "false", "recompute activations in backward to save memory", ANY)        \
    X(INT, micro_tokens, "0", "tokens of a micro-batch; 0: what fits, 4096 on a CPU", RANGE(0, 1e9)) \
    X(INT, eval_every, "1000", "updates between evaluations; 0: only at the end", RANGE(0, 1e12)) \
    X(INT, eval_tokens, "4096", "target tokens per batch in evaluation", RANGE(1, 1e9))         \
    X(INT, eval_group, "16", "sentences per batch of eval_loss", RANGE(1, 1e6))                 \
    X(BOOL, eval_bleu, "true", "translate the validation set for BLEU", ANY)                    \
    X(INT, eval_bleu_pairs, "0", "translate only this many sentences; 0: all", RANGE(0, 1e9))   \
    X(INT, eval_beam, "4", "beam of these translations; wider is slower", RANGE(1, 64))         \
    X(INT, eval_samples, "3", "translations shown at an evaluation", RANGE(0, 100))             \
    X(STR, also_valid, "", "data directories whose validation sets are measured too, by commas", ANY) \
    X(CHOICE, best_metric, "loss", "measure of patience and of the best model", ONE_OF(MEASURE_NAMES)) \
    X(STR, best_set, "", "the set of also_valid that it is taken of; empty: that of data", ANY) \
    X(INT, patience, "10", "evaluations without a new best that end a run; 0: none", RANGE(0, 1e6)) \
    X(INT, save_every, "1000", "updates between checkpoints; 0: only at the end", RANGE(0, 1e12)) \
    X(INT, keep_last, "5", "newest checkpoints kept", RANGE(1, 1e6))                            \
    X(INT, keep_best, "5", "best checkpoints kept; 0: none", RANGE(0, 1e6))                     \
    X(INT, log_every, "100", "updates between log lines", RANGE(1, 1e9))                        \
    X(INT, summary_every, "100", "updates between TensorBoard points", RANGE(1, 1e9))           \
    X(INT, log_gradients, "0", "updates between norms and histograms of layers' gradients; 0: none", RANGE(0, 1e9)) \
    X(CHOICE, log_format, "ferry", "console lines", ONE_OF("ferry|reference"))                  \
    X(CHOICE, comm, "auto", "how ranks were started; auto: detect mpirun and srun", ONE_OF("auto|self|mpi")) \
    X(INT, comm_poll_us, "50", "longest sleep while waiting for a message, in microseconds", RANGE(0, 1e6)) \
    X(CHOICE, wire, "bf16", "format of gradients between nodes; fewer bits: faster, coarser", ONE_OF("fp32|bf16|fp16|int8")) \
    X(BOOL, wire_check, "false", "checksum every message of gradients", ANY)                    \
    X(REAL, bucket_mib, "25", "largest part of the gradient sent at once, in MiB of fp32", RANGE(0.001, 4096)) \
    X(CHOICE, exchange, "auto", "between many nodes; grid: fewer messages; auto: as measured", ONE_OF("auto|direct|grid")) \
    X(BOOL, shard_optimizer, "false", "each rank keeps and updates a part of the moments", ANY) \
    X(INT, local_steps, "1", "local SGD: updates between averagings; more: less traffic", RANGE(1, 1e6)) \
    X(REAL, outer_rate, "0.7", "local SGD: step towards the average", RANGE(0.001, 10))         \
    X(REAL, outer_momentum, "0.5", "local SGD: Nesterov momentum of that step", RANGE(0, 0.999)) \
    X(REAL, clock_limit, "60", "largest clock difference between hosts, in seconds; 0: any", RANGE(0, 1e9)) \
    X(INT, replica_check_every, "100", "updates between comparisons of ranks; 0: never", RANGE(0, 1e12))
/* clang-format on */

struct train_config {
    struct model_config model;
    struct schedule_config schedule;
    struct optim_config optim;
    struct variation_config variation;
    struct score_options score;
    struct architecture_options arch; /* model.arch follows, with the vocabulary */
    TRAIN_OPTIONS(OPT_FIELD)
};

extern const struct opt_table train_config_table;

/* Is label smoothing spread by a prior? */
static inline bool train_config_has_prior(const struct train_config *c)
{
    return c->label_smoothing > 0 && strcmp(c->smoothing, "unigram") == 0;
}

/* Is every pair trained on twice at once, in two views that shall agree? */
static inline bool train_config_has_views(const struct train_config *c)
{
    return c->simcut > 0 || c->rdrop > 0;
}

/* The options that are written: without those of the architecture where it is the
 * reference's and no layers are tied, as every configuration was before there were
 * others; without those of tied layers where none are. */
struct opt_table train_config_written(const struct train_config *c);

/* The default of every option. */
status train_config_defaults(struct train_config *c, struct err *err);

/* What no single row can say: constraints between options. */
status train_config_check(const struct train_config *c, struct err *err);

/* The options that the run in directory `run` has, after their checksum was found right;
 * *c is NULL, to free, where there is no such file. */
status train_config_read(struct train_config **c, const char *run, struct err *err);

/*
 * A run goes on as it began: ERR_USAGE names the first option that differs between the
 * run's config and the one given. Free to change: where things are (data, run), what
 * computes (device, threads, memory), how long (max_steps, max_epochs, patience), and the
 * cadence of logging, evaluation and saving.
 */
status train_config_same(const struct train_config *old, const struct train_config *now,
                         struct err *err);

/*
 * bench - what `ferry bench` measures: the machine's memory and matrix products, every
 * kernel, the products of inference, the exchange of gradients, a training step,
 * translation, and subwords.
 *
 * A part prints a line per measurement, for people or as JSON. Adding one: a row of
 * `parts` in bench.c. Threads: one at a time.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "base/opt.h"
#include "base/progress.h"
#include "device/device.h"
#include "recipe/model_config.h"
#include "train/run/config.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define BENCH_OPTIONS(X)                                                               \
    X(CHOICE, size, "base", "model of the step or translation", ONE_OF("base|small|tiny|student")) \
    X(INT, tokens, "2048", "target tokens per step", RANGE(16, 1e6))                   \
    X(INT, mean, "28", "mean sentence length", RANGE(4, 2000))                         \
    X(INT, steps, "7", "timed steps; translate: times that all is translated", RANGE(1, 1000)) \
    X(REAL, dropout, "0.1", "dropout of the step", RANGE(0, 0.9))                      \
    X(CHOICE, device, "auto", "where to compute", ONE_OF(DEVICE_KINDS))                \
    X(INT, threads, "0", "threads; 0: one per core", RANGE(0, 1024))                   \
    X(INT, against, "0", "step: time every other step with this many threads", RANGE(0, 1024)) \
    X(CHOICE, wire, "all", "wire: number format of the gradients", ONE_OF("all|fp32|bf16|fp16|int8")) \
    X(INT, bucket_mib, "25", "wire: largest gradient bucket, in MiB of fp32", RANGE(1, 4096)) \
    X(INT, comm_poll_us, "50", "wire: longest sleep while waiting, in microseconds", RANGE(0, 1e6)) \
    X(INT, beam, "4", "translate: hypotheses; 1: greedy", RANGE(1, 64))                \
    X(INT, batch, "32", "translate: sentences at once, of each worker", RANGE(1, 1024)) \
    X(INT, length, "28", "translate: tokens of every source and target", RANGE(3, 1024)) \
    X(INT, sentences, "0", "translate: so many; 0: twice the batch, 64 or more; 16 one by one", RANGE(0, 1e6)) \
    X(INT, workers, "0", "translate: batches side by side; 0: whatever is faster", RANGE(0, 1024)) \
    X(CHOICE, mode, "int8", "translate: weights", ONE_OF("fp32|int8"))                 \
    X(STR, text, "", "text: file to learn subwords from and to encode", ANY)           \
    X(STR, out, "", "text: PREFIX of the tokenizer that is learned", ANY)              \
    X(INT, vocab_size, "32768", "text: pieces to learn", RANGE(5, 65536))              \
    X(STR, tokenizer, "", "text: encode with this FILE.model, learn nothing", ANY)     \
    X(BOOL, learn_only, "false", "text: do not encode", ANY)                           \
    X(BOOL, json, "false", "JSON lines instead of tables", ANY)
/* clang-format on */

struct bench_config {
    BENCH_OPTIONS(OPT_FIELD)
};

extern const struct opt_table bench_options;

/* The part of that name, or every part that has its input when `part` is NULL. */
status bench_run(const struct bench_config *c, const char *part, FILE *out,
                 struct err *err);

/* Tokens of both sides per second of the training that `c` describes, on its own data
 * and this machine; nothing is written. */
status bench_rate(const struct train_config *c, double seconds, struct progress *progress,
                  double *tokens_per_s, struct err *err);

/* ---- for the parts ---- */

/* The options with names resolved, and where results go. */
struct bench {
    const struct bench_config *config;
    struct model_config model;
    size_t threads, tokens, mean, steps, against;
    FILE *out;
};

/* Products of inference in int8 and in float, every variant that runs here. */
status bench_int8(const struct bench *b, struct err *err);
/* The loops of every wire format; under mpirun also the exchange of a whole gradient,
 * with nothing computing beside it. The first rank reports. */
status bench_wire(const struct bench *b, struct err *err);
/* train_step() as training runs it, on sentences of random ids whose lengths are spread
 * like those of a news corpus in subwords. */
status bench_step(const struct bench *b, struct err *err);
/* Random sentences through random weights, every target of the same length, so that
 * nothing but speed is measured. */
status bench_translate(const struct bench *b, struct err *err);
/* Learning and encoding subwords, beside SentencePiece's encoder, on one thread and on
 * all. ERR_NUMERIC when an id differs. */
status bench_text(const struct bench *b, struct err *err);

/* c[M,N] = a[M,K] b[K,N]; ta, tb: the operand is stored transposed. */
struct bench_shape {
    size_t M, N, K;
    int ta, tb;
};

/* GFLOP/s of our product on `threads` threads, the best of repeated ones. */
status bench_product_rate(double *gflops, const char *device, size_t threads,
                          struct bench_shape shape, double t_budget, struct err *err);

/* A line of JSON; releases it. */
void bench_json(const struct bench *b, json_t *line);
/* Sorts x[n]. */
double bench_median(double *x, size_t n);
double bench_peak_mib(void);

/*
 * bench_step - a training step on random text, as training itself runs it.
 *
 * Real prefetcher, real update, real memory plan; only the corpus is made up: sentences
 * of random ids whose lengths are spread like those of a news corpus in subwords. What is
 * timed is train_step(), data to update.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "recipe/model_config.h"

struct bench_step_options {
    struct model_config model;
    const char *device;
    size_t threads;     /* 0: one a core */
    size_t tokens;      /* target tokens of a step */
    size_t mean_length; /* of a sentence, specials included */
    size_t steps;       /* timed, after two that are not */
    size_t against;     /* threads of one more step after each timed one; 0: none */
    double dropout;
};

struct bench_step_result {
    size_t threads;
    double tokens_per_s; /* source and target, of the median step */
    double best_tokens_per_s;
    double gflops;      /* of projections and output layer, of the median step */
    double roof_gflops; /* of the BLAS, times threads: median of those after each step;
                           0 on a GPU */
    double best_roof_gflops;
    double against_tokens_per_s; /* of the median step with the other threads */
    double times_against; /* a step's rate over its neighbour's: median of the ratios */
    double t_step, t_data, t_forward, t_backward, t_update; /* seconds, means */
    double loss;                                            /* of the last step */
    double peak_mib;
};

status bench_step(const struct bench_step_options *o, struct bench_step_result *r,
                  struct err *err) MUST_CHECK;

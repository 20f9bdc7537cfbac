/*
 * flops - how much arithmetic a batch asks for, and how many bytes a model takes.
 *
 * Counts what the mathematics needs, not what an implementation spends: real tokens
 * only, the visible half of causal attention, and nothing for masks, norms, softmax or
 * work that backward repeats. So rates measured with it can be compared between
 * programs, and their quotient with the machine's roof is an honest share.
 */
#pragma once

#include <stddef.h>

struct model_config;

/* The sums over sentence pairs that fix the work of a batch. Starts zeroed. */
struct flops_batch {
    double source, target; /* tokens */
    double source_pairs;   /* query-key pairs of encoder attention: sum of S^2 */
    double target_pairs;   /* of causal attention: sum of T(T+1)/2 */
    double cross_pairs;    /* of attention to the source: sum of S*T */
};

/* One more sentence pair of S source and T target tokens, specials included. */
void flops_add(struct flops_batch *b, size_t S, size_t T);

/* Floating-point operations, two for a multiply-add. */
struct flops {
    double linear;    /* projections and feed-forward layers */
    double output;    /* logits */
    double attention; /* queries with keys, weights with values */
};

struct flops flops_forward(const struct model_config *c, const struct flops_batch *b);

/* Forward and backward: each product of forward becomes two in backward. */
struct flops flops_training(const struct model_config *c, const struct flops_batch *b);

double flops_total(struct flops f);

/* Bytes that n_params trainable elements take in float. */
struct flops_bytes {
    double weights, gradient;
    double moments;    /* Adam's two */
    double checkpoint; /* its .data file: weights, moments, step and two beta powers */
};

struct flops_bytes flops_bytes(size_t n_params);

/*
 * lengths - how long the sentences of a batch are, when only their mean is known.
 *
 * Lengths follow an Erlang distribution of three phases, cut at max_length as training
 * cuts them; its scale is chosen so that the mean after the cut is the given one. That
 * is enough for the three things that the work depends on: tokens, pairs of tokens
 * within a sentence, and the longest of a batch, to which the reference pads.
 */
#pragma once

struct lengths {
    double mean, cap;
    double scale; /* of the distribution; 0 when every sentence has the same length */
};

/* 0 < mean <= cap. */
struct lengths lengths_of(double mean, double cap);

double lengths_mean_square(const struct lengths *l);

/* The expected longest of n sentences, n >= 1. */
double lengths_longest(const struct lengths *l, double n);

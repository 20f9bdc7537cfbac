/*
 * activation - what stands between the two products of a feed-forward layer; a(x) and,
 * for backward, a'(x):
 *
 *   relu          max(0, x)                       1 where x > 0, else 0
 *   swish         x s(x)                          s + x s (1 - s)
 *   gelu          x P(x)                          P(x) + x p(x)
 *   gelu-tanh     x s(b (x + c x^3))              s + x s (1 - s) b (1 + 3 c x^2)
 *   gelu-sigmoid  x s(1.702 x)                    s + x s (1 - s) 1.702
 *
 * with s(y) = 1 / (1 + exp(-y)), b = 2 sqrt(2/pi), c = 0.044715, the normal distribution
 * P(x) = (1 + erf(x / sqrt(2))) / 2 and its density p. In float erf is Abramowitz and
 * Stegun's 7.1.26, whose error is below 1.5e-7, on every device and in inference:
 *
 *   erf(z) = 1 - (a1 t + ... + a5 t^5) exp(-z^2),  t = 1 / (1 + p z),  z >= 0
 */
#pragma once

#define ACTIVATION_NAMES "relu|swish|gelu|gelu-tanh|gelu-sigmoid"
enum activation {
    ACTIVATION_RELU,
    ACTIVATION_SWISH,
    ACTIVATION_GELU,
    ACTIVATION_GELU_TANH,
    ACTIVATION_GELU_SIGMOID
};

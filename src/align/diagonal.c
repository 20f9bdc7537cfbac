#include "align/diagonal.h"

/*
 * To either side of the diagonal the weights are a geometric series with the ratio
 * exp(-lambda/S): three exponentials a target word, whatever S is.
 */
double diagonal_weights(double *w, size_t S, size_t T, size_t j, double lambda)
{
    const size_t n_below = (j + 1) * S / T; /* 1 <= i <= n_below: i/S <= j/T */
    const double ratio = exp(-lambda / (double)S);
    double sum = 0;

    if (n_below > 0)
        w[n_below - 1] = exp(-lambda * diagonal_distance(n_below - 1, S, j, T));
    if (n_below < S)
        w[n_below] = exp(-lambda * diagonal_distance(n_below, S, j, T));
    for (size_t i = n_below; i-- > 1;)
        w[i - 1] = w[i] * ratio;
    for (size_t i = n_below + 1; i < S; i++)
        w[i] = w[i - 1] * ratio;
    for (size_t i = 0; i < S; i++)
        sum += w[i];
    return sum;
}

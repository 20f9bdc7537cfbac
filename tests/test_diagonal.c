#include "align/diagonal.h"
#include "test.h"

TEST(weights_of_the_diagonal_are_what_their_formula_says)
{
    for (size_t S = 1; S <= 12; S++)
        for (size_t T = 1; T <= 12; T++)
            for (size_t j = 0; j < T; j++) {
                double w[12], sum = 0;
                const double Z = diagonal_weights(w, S, T, j, 7.5);
                for (size_t i = 0; i < S; i++) {
                    CHECK_NEAR(w[i], exp(-7.5 * diagonal_distance(i, S, j, T)), 1e-14);
                    sum += w[i];
                }
                CHECK_NEAR(Z, sum, 1e-14);
            }
}

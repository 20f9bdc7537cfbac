/*
 * numbers - the kind of numbers that a score is computed in.
 *
 * sacreBLEU computes a score with Python's numbers, but those of its resampled corpora
 * with whatever NumPy's rules make of them, and a test that counts how many of them pass
 * a difference sees the last digit. The kinds are those of NumPy 2.
 */
#pragma once

enum numbers {
    NUMBERS_PYTHON, /* integers and doubles */
    NUMBERS_SINGLE, /* sums are float, and what is computed with them */
    NUMBERS_WHOLE   /* sums are 64-bit integers and remain it when something is added */
};

/* What such a number keeps of x, the exact result of one operation or its double. */
static inline double numbers_kept(enum numbers kind, double x)
{
    return kind == NUMBERS_SINGLE ? (double)(float)x : x;
}

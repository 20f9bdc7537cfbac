/*
 * learning - how the model came along: curves without what a resume threw away, where
 * they are going, and where validation turned.
 *
 * Owns: its series. Threads: immutable once filled.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "page/series.h"
#include "report/judge/fit.h"

struct runlog;

/* code, shown as the answer */
#define LEARNING_TREND_LIST(T)      \
    T(EARLY, "too early to tell")   \
    T(IMPROVING, "still improving") \
    T(SLOWING, "improving slowly")  \
    T(CONVERGED, "converged")       \
    T(UNCLEAR, "cannot tell yet")   \
    T(PAST_BEST, "past its best")   \
    T(DIVERGED, "diverged")

#define LEARNING_OVERFIT_LIST(T) \
    T(EARLY, "too early to tell") T(NO, "no") T(UNCLEAR, "no clear sign") T(YES, "yes")

enum learning_trend {
#define T(code, text) LEARNING_##code,
    LEARNING_TREND_LIST(T)
#undef T
};

enum learning_overfit {
#define T(code, text) OVERFIT_##code,
    LEARNING_OVERFIT_LIST(T)
#undef T
};

struct learning {
    struct series loss;  /* validation */
    struct series bleu;  /* of translated text, 0 to 100; else teacher-forced */
    bool bleu_is_forced; /* every bleu is the teacher-forced one */
    struct series train; /* training loss by log entry */
    struct series gap;   /* validation minus training at the same step */
    struct fit fit_loss, fit_bleu;

    enum learning_trend trend;
    struct fit_range gain; /* of the loss by half as many steps again; NAN if unknown */

    enum learning_overfit overfit;
    double noise;     /* scatter of a validation loss from its neighbours */
    size_t best;      /* index of the lowest validation loss; loss.n when none */
    double turned_at; /* step after which validation rose; NAN unless overfit is YES */
    double rise;      /* from there to the end, as a part of the loss */

    double first_loss, low_loss, last_loss; /* training, averages of a few entries */
};

status learning_open(struct learning *l, const struct runlog *log, struct err *err);
void learning_close(struct learning *l);

/* What a fitted loss says by itself: EARLY, IMPROVING, SLOWING, CONVERGED or UNCLEAR.
 * `gain` is that of half as many steps again. */
enum learning_trend learning_trend_of(const struct fit *fit, const struct series *loss,
                                      struct fit_range *gain);

/* Of each enum: the code for programs, and in words. */
struct learning_name {
    const char *code, *text;
};
extern const struct learning_name learning_trends[], learning_overfits[];

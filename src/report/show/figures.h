/* figures - the curves of a run, as plots. */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct run;

/* Every plot of the run, one after the other. */
status figures_write(struct str *out, const struct run *run, struct err *err) MUST_CHECK;

/* The arithmetic rate against the measured roof, for the answer about busy processors. */
status figures_arithmetic(struct str *out, const struct run *run,
                          struct err *err) MUST_CHECK;
/* The logged learning rate against its formula, warm-up marked. */
status figures_rate(struct str *out, const struct run *run, struct err *err) MUST_CHECK;
/* Validation loss with the fitted curve and its interval, on to twice the steps. */
status figures_forecast(struct str *out, const struct run *run,
                        struct err *err) MUST_CHECK;
/* Validation minus training loss, with the step where validation turned. */
status figures_gap(struct str *out, const struct run *run, struct err *err) MUST_CHECK;
/* A typical step of each rank as a row of its phases. */
void figures_timeline(struct str *out, const struct run *run);

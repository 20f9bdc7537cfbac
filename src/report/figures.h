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

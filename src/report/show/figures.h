/* figures - the curves of a run, as plots. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "report/judge/answers.h"

struct run;

/* Every plot of the run, one after the other. */
status figures_write(struct str *out, const struct run *run, struct err *err);

/* The picture that an answer names, or nothing. */
status figures_answer(struct str *out, enum answer_figure figure, const struct run *run,
                      struct err *err);

/* For the files of figures. */
status figures_forecast(struct str *out, const struct run *run, struct err *err);
status figures_gap(struct str *out, const struct run *run, struct err *err);
status figures_rate(struct str *out, const struct run *run, struct err *err);
/* Nothing where no step was timed. */
void figures_timeline(struct str *out, const struct run *run);

/* report_page - one run as an HTML page, and the parts that other pages share. */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct answers;
struct health;
struct run;

status report_page_write(struct str *out, const struct run *run,
                         const struct answers *answers, const struct health *health,
                         struct err *err) MUST_CHECK;

/* A sentence on how the run stands, and its numbers in boxes. */
void report_page_state(struct str *out, const struct run *run);
/* The findings, or that there are none. */
void report_page_health(struct str *out, const struct health *h);
void report_page_footer(struct str *out, const struct run *run);

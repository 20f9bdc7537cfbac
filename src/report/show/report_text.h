/* report_text - the report for readers without a browser: Markdown for people, JSON for
 * programs (docs/report.md lists its keys). Both hold what the page holds, without the
 * pictures. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct judgement;

status report_text_markdown(struct str *out, const struct judgement *runs, size_t n,
                            struct err *err) MUST_CHECK;
status report_text_json(struct str *out, const struct judgement *runs, size_t n,
                        struct err *err) MUST_CHECK;

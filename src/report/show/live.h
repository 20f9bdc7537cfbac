/*
 * live - a run as it stands now: a screen of text, and a page.
 *
 * Both are made of the same judgement (judgement.h) as the report, so the three never
 * disagree. Text of others (names of hosts, messages) loses its control characters: a
 * hostile name cannot move the cursor.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct judgement;

struct live_screen {
    size_t columns, rows; /* 80 x 24 is enough */
    bool has_color, has_utf8;
};

/* At most `rows` lines, each at most `columns` wide and ended by "\n"; colours are
 * switched on and off within a line. */
status live_text(struct str *out, const struct judgement *t,
                 const struct live_screen *screen, struct err *err) MUST_CHECK;

/* The same for a browser; `every` is said, not enforced. */
status live_page(struct str *out, const struct judgement *t, double every,
                 struct err *err) MUST_CHECK;

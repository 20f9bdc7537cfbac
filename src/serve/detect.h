/*
 * detect - the language of a text, among those that the models translate from.
 *
 * Threads: any; nothing is kept.
 */
#pragma once

#include "base/lines.h"
#include "serve/models.h"

struct detect_guess {
    char language[CODE_MAX];
    double confidence; /* 0 to 100; 0: there was nothing to tell it by */
};

/* Without a better guess the only language that the models translate from, else English.
 */
struct detect_guess detect_text(const struct models *m, struct line text);

/*
 * result - a score with its signature, printed as sacreBLEU prints it.
 *
 * Owns: its strings; result_release() frees them.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* The release of sacreBLEU whose behaviour this is; the version in a signature. */
#define SCORE_VERSION "2.6.0"

struct result {
    double score;
    struct str name;      /* "BLEU" */
    struct str signature; /* "nrefs:1|...|version:2.6.0" */
    struct str details;   /* what follows the score; may be empty */
};

struct result result_new(double score);
void result_release(struct result *r);

/* The decimal that `width` digits show, as Python's round() gives it. */
double result_rounded(double x, int width);

/* "BLEU|SIGNATURE = SCORE DETAILS", the score with `width` decimals. */
void result_line(struct str *out, const struct result *r, int width);

/* The same as sacreBLEU's JSON, on one line or on one for each key. */
void result_json(struct str *out, const struct result *r, int width, bool is_one_line);

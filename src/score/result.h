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
    bool has_interval;
    double mean, half; /* of resampled files; half of what holds 95 % of them */
};

struct result result_new(double score);
void result_release(struct result *r);

/* The signature with sacreBLEU's abbreviations: "#:1|...|v:2.6.0". */
void result_shorten(struct result *r);

/* The decimal that `width` digits show, as Python's round() gives it. */
double result_rounded(double x, int width);

/* Put "key:value|" of what the samples are into the signature, behind the references. */
void result_note(struct result *r, const char *pairs);

/* "SCORE" or "SCORE (μ = MEAN ± HALF)", with `width` decimals. */
void result_number(struct str *out, const struct result *r, int width);

/* "BLEU|SIGNATURE = NUMBER DETAILS" */
void result_line(struct str *out, const struct result *r, int width);

/* The same as sacreBLEU's JSON, on one line or on one for each key. */
void result_json(struct str *out, const struct result *r, int width, bool is_one_line);

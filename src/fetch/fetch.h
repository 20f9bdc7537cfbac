/*
 * fetch - corpora from the network, whole and checked, in a directory of their own.
 *
 *   debian-de-en   package descriptions, through apt (fetch/debian.h)
 *   any other      a catalogue of archives (fetch/catalog.h)
 *
 * An interrupted run continues where it stopped when it is started again. Files never
 * have their name before they are whole, and they must agree with what fetch.json
 * recorded of the first download. One run at a time works in a directory.
 */
#pragma once

#include "base/err.h"
#include "base/opt.h"
#include "base/progress.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define FETCH_OPTIONS(X)                                                                    \
    X(STR, mirror, "", "addresses tried first, like https://host/data; a,b for more", ANY)  \
    X(INT, retries, "5", "retries without progress before giving up", RANGE(0, 1000))         \
    X(REAL, backoff, "1", "seconds before the first retry; doubles", RANGE(0, 3600))         \
    X(REAL, stall, "30", "seconds without data that end a connection", RANGE(1, 3600))               \
    X(STR, ca, "", "certificates to trust, a PEM file; default: the system's", ANY)         \
    X(BOOL, keep, "true", "keep the archives once they are unpacked", ANY)                  \
    X(STR, english, "", "debian-de-en: a Translation-en to use, not apt's", ANY)      \
    X(STR, german, "", "debian-de-en: a Translation-de to use", ANY)
/* clang-format on */

struct fetch_config {
    FETCH_OPTIONS(OPT_FIELD)
};

extern const struct opt_table fetch_config_table;

enum fetch_set { FETCH_TRAIN, FETCH_VALID, FETCH_TEST, N_FETCH_SETS };
enum fetch_side { FETCH_EN, FETCH_DE, N_FETCH_SIDES };

/* What there is now. */
struct fetch_result {
    struct str summary;                            /* lines "       123  what" */
    struct str files[N_FETCH_SETS][N_FETCH_SIDES]; /* with commas, for ferry prepare */
};

extern const char *const fetch_set_names[N_FETCH_SETS];
extern const char *const fetch_side_names[N_FETCH_SIDES];

/* Bring the corpus `name` to `dir`. *r is released by the caller, also after a failure.
 */
status fetch_run(const struct fetch_config *c, const char *name, const char *dir,
                 struct progress *progress, struct fetch_result *r, struct err *err);
void fetch_result_release(struct fetch_result *r);

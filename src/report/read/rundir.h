/*
 * rundir - what lies in a run directory beside its log, and beside the data it used.
 *
 * Owns: its strings and arrays. An absent file is not an error: the page calls it
 * missing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "report/read/tensors.h"

struct rundir_file {
    char *name; /* relative to the run directory */
    const char *purpose;
    double bytes;
    bool is_newest; /* part of the newest checkpoint */
};

struct rundir_fact {
    char *key, *value; /* nested keys joined by ": " */
};

struct rundir {
    struct rundir_file *file; /* sorted by name */
    size_t n_files, cap_files;
    double newest_step; /* of the newest whole checkpoint, NAN when there is none */
    size_t n_checkpoints, n_best;
    double checkpoint_bytes, best_bytes;
    struct tensors tensors; /* of the newest checkpoint */

    char *data_path;          /* the prepare.json that was looked for, or NULL */
    bool has_data;            /* and found */
    struct rundir_fact *fact; /* of prepare.json, in its order */
    size_t n_facts, cap_facts;
};

/* List `dir`; `data` is the corpus directory named by the run's config, or NULL. */
status rundir_open(struct rundir *d, const char *dir, const char *data, struct err *err);
void rundir_close(struct rundir *d);

/* What a file of this name is for, in words. */
const char *rundir_purpose(const char *name);
/* The file of the newest checkpoint whose name ends so, or NULL. */
const struct rundir_file *rundir_newest(const struct rundir *d, const char *suffix);
/* Sum of the numbers whose keys begin and end so; NAN when there is none. */
double rundir_sum(const struct rundir *d, const char *prefix, const char *suffix);
/* The number under `key` in prepare.json, or NAN. */
double rundir_number(const struct rundir *d, const char *key);
/* What stands there, a string or the text of a number; NULL: nothing. */
const char *rundir_text(const struct rundir *d, const char *key);

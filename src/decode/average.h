/*
 * average - the mean of several checkpoints' weights, as a model directory of its own.
 *
 * The mean is taken in double, one row of one tensor at a time, so that memory
 * does not grow with the model. The result holds weights and the step
 * (the largest), and no moments: training cannot resume from it.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/file.h"
#include "decode/model_dir.h"

/* Which checkpoints, their files open. Zeroed = none. */
struct average {
    char (*prefix)[FILE_PATH_MAX];
    struct tensor_bundle *bundle;
    size_t n, cap, bundle_cap;
    char note[512]; /* why not those that the pointer file names; "" if it is those */
};

void average_release(struct average *a);

/* One checkpoint, as model_dir_prefix() finds it. */
status average_add(struct average *a, const char *run, const char *name, struct err *err);
/* The newest n that run/checkpoint names, or as many as there are; where that file does
 * not tell, of those that are there. */
status average_add_newest(struct average *a, const char *run, size_t n, struct err *err);
/* run/model.ckpt-N for each N of "100,200,300". */
status average_add_steps(struct average *a, const char *run, const char *steps,
                         struct err *err);

/*
 * Write the directory `out`: the mean as model.ckpt-N, config.yaml and vocab.model of
 * the model, and the file `checkpoint`, last. ERR_USAGE when `out` holds a model.
 */
status average_write(const struct average *a, const struct model_dir *model,
                     const char *out, struct err *err);

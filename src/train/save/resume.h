/*
 * resume - where a run begins: fresh, or from the newest checkpoint that is whole on any
 * rank.
 *
 * Writers (run/run_dir.h) know what their directories hold. Beginning with the newest,
 * the rank that has a checkpoint reads it and tells whether it is whole. Then its tensors
 * and state are broadcast, so that nothing depends on which disk a rank sees, nor on how
 * many ranks there were before. One rank alone does the same with itself.
 *
 * Threads: one at a time; both are collective.
 */
#pragma once

#include "train/save/saving.h"

struct dataset;
struct moving_average;

/* s->is_resumed: any rank's directory holds a checkpoint of this run, whose options are
 * those of s->config. Needs config and peers alone. */
status resume_find(struct saving *s, struct err *err) MUST_CHECK;

/* Weights, moments and state, from a checkpoint or fresh, the same on all ranks. */
status resume_begin(struct saving *s, const struct dataset *data,
                    struct moving_average *average, struct err *err) MUST_CHECK;

/*
 * donor - a model that is no run: a packed file, or a model of another program, whose
 * weights a training begins with.
 *
 * Owns nothing. Threads: one at a time.
 */
#pragma once

#include "corpus/dataset.h"
#include "model/model.h"

bool donor_is(const char *path);

/* Whether its shape is this one; ERR_USAGE names the options that make it so. */
status donor_check(const struct model_config *has, const char *path, struct err *err);

/*
 * Its weights into m. ERR_USAGE names the options of a training that fits it, where this
 * one does not, and refuses data that was cut by another tokenizer. *note: what the user
 * should know; "" when there is nothing.
 */
status donor_take(struct model *m, const char *path, const struct dataset *data,
                  const char **note, struct err *err);

/*
 * meta_graph - a checkpoint's .meta: the smallest graph that TensorFlow's
 * import_meta_graph() accepts and whose saver restores the checkpoint. It holds the
 * variables (initialised to zero), the operations that save and restore them, and
 * nothing of a model.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "format/tf/tensor_index.h"

/*
 * Append the message to out. Of each variable the name, type and shape are used; those
 * whose names start with `trainable_prefix` (NULL: none) are marked trainable.
 */
status meta_graph_build(struct str *out, const struct tensor_entry *variable, size_t n,
                        const char *trainable_prefix, struct err *err);

/* PREFIX.meta for the tensors of PREFIX.index. */
status meta_graph_write(const char *prefix, const char *trainable_prefix,
                        struct err *err);

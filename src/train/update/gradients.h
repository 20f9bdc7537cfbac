/*
 * gradients - what backward finishes, on its way to the sum over all ranks.
 *
 * With several ranks a slice of the gradient goes to the reducer as soon as backward has
 * finished it. Before that its own sum of squares is taken, which shows a rank that
 * computes nonsense. A GPU's gradient that its own library cannot sum
 * comes to the host, slice by slice. With one rank all of this does nothing.
 *
 * Owns: the reducer and its arrays. Borrows: device, model and comm, which outlive it.
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>

#include "dist/exchange/reducer.h"
#include "model/model.h"

struct gradients {
    struct model *model;
    struct reducer *reducer; /* NULL: one rank */
    float *mirror;           /* [n_flat] of a GPU's gradient on the host, or NULL */
    double *slice_sq;        /* [most_slices] sums of squares of this rank's slices */
    size_t n_slices, most_slices;
    double early_sq; /* of the embedding's rows that backward does not write */
};

/* Collective over `comm`. Without a card to sum on, options.device is NULL. */
status gradients_open(struct gradients *g, struct comm *comm, struct model *m,
                      struct reducer_options options, struct err *err);
void gradients_close(struct gradients *g);

/* An update begins: of each node alone, or of all ranks; is_flush as reducer_begin. */
void gradients_begin(struct gradients *g, bool is_node_alone, bool is_flush);
/* What the last backward of the update reports to, or NULL with one rank. b: its batch,
 * after the forward pass. */
const struct model_hook *gradients_hook(struct gradients *g, struct model_hook *hook,
                                        const struct model_batch *b);
/* After the last backward: *square of this rank's own gradient. */
status gradients_measure(struct gradients *g, double *square, struct err *err);
/* The sum of all ranks is in the model's gradient; facts may be NULL. */
status gradients_finish(struct gradients *g, const struct reducer_facts *facts,
                        struct reducer_times *times, struct err *err);

/* Instead of begin and backward: sum what is in the model's gradient over all ranks. */
void gradients_send(struct gradients *g, bool is_flush);

/*
 * fill - the weights of our parameters, taken from tensors of another program.
 *
 * A program's names are a table of rows, one a parameter of ours: under which name its
 * tensor stands, as what, and which part of it where several of ours are one of theirs.
 *
 * Threads: any; nothing is kept.
 */
#pragma once

#include "foreign/vocabulary.h"
#include "format/foreign/tensors.h"
#include "recipe/params.h"

enum fill_kind {
    FILL_PLAIN,      /* [inputs,outputs], or numbers in a row */
    FILL_TRANSPOSED, /* [outputs,inputs] */
    FILL_SOURCES,    /* [tokens,D] by the numbers of their source vocabulary */
    FILL_TARGETS,    /* the same of the target vocabulary; of a bias [tokens] */
    FILL_COLUMNS     /* [D,tokens] of the target vocabulary */
};

struct fill_row {
    enum param_id id;
    const char *name; /* %d: the layer */
    enum fill_kind kind;
    size_t which, n_beside; /* of outputs that are one tensor of theirs; 0, 0: alone */
};

struct fill {
    const struct tensors *tensors;
    const struct fill_row *row;
    size_t n_rows;
    int first_layer; /* their number of the first layer */
    const struct vocabulary *source, *target;
    /* What a name is behind the row's; "": nothing. Of pre-norm's norms in Marian. */
    const char *norm_suffix;
};

/* Is there a tensor of the right shape for every parameter of p? To be asked before
 * memory is taken for them: then the file has at least a byte of each number. */
status fill_check(const struct fill *f, const struct params *p, struct err *err);

/* Every parameter of p. ERR_FORMAT names a tensor that is missing or of another shape. */
status fill_all(const struct fill *f, const struct params *p, float *flat,
                struct err *err);

/* The name of a row's tensor in a layer. */
enum { FILL_NAME = 160 };
void fill_name(char out[FILL_NAME], const struct fill *f, const struct fill_row *row,
               int layer);
const struct fill_row *fill_find(const struct fill *f, enum param_id id);

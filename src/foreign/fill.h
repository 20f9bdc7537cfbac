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

/* Weights take at most so many bytes of memory for each of the file: four for a number in
 * eight bits, and more where tensors share their bytes, as layers may. */
enum { FILL_MEMORY = 64 };
status fill_check_size(const struct params *p, const struct tensors *t, struct err *err);

/* Is there a tensor of the right shape for every parameter of p, and may they take what
 * they need? To be asked before memory is taken for them. */
status fill_check(const struct fill *f, const struct params *p, struct err *err);

/* Every parameter of p. ERR_FORMAT names a tensor that is missing or of another shape. */
status fill_all(const struct fill *f, const struct params *p, float *flat,
                struct err *err);

/* The name of a row's tensor in a layer. */
enum { FILL_NAME = 160 };
void fill_name(char out[FILL_NAME], const struct fill *f, const struct fill_row *row,
               int layer);
const struct fill_row *fill_find(const struct fill *f, enum param_id id);

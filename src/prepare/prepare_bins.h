/* prepare_bins - what the encode stage leaves to the pack stage; internal to prepare.
 */
#pragma once

#include <stdint.h>

#include "prepare/source/pairs.h"

#define PREPARE_BINS "bin" /* of prepare/shuffle.h */

/* Head of a record: the ids of both sides follow in 16 bits, then the bytes of both. */
struct prepare_record {
    uint32_t n_ids[PAIRS_SIDES], n_bytes[PAIRS_SIDES];
};

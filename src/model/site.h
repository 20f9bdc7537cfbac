/*
 * site - the places where dropout falls, each with a stream of its own.
 *
 * A site is numbered by stack, layer and kind, so that a layer's masks do not change
 * when layers are added elsewhere. Forward and backward ask here, so that they agree.
 */
#pragma once

#include "model/activations.h"

enum site_stack { SITE_ENCODER, SITE_DECODER };
enum site_kind {
    SITE_EMBED,
    SITE_SELF_WEIGHTS,
    SITE_SELF_OUT,
    SITE_CROSS_WEIGHTS,
    SITE_CROSS_OUT,
    SITE_RELU,
    SITE_FF_OUT,
    N_SITE_KINDS
};

/* Dropout of the batch at hand at one site. */
struct drop site_drop(const struct activations *a, enum site_stack stack, int layer,
                      enum site_kind kind, double rate);

/* Self-attention of a stack, or the decoder's attention to the memory. */
struct attend site_attend(const struct model *m, enum site_stack stack, int layer,
                          bool cross);

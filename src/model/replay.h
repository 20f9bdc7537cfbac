/*
 * replay - a layer's activations a second time, from its residual inputs.
 *
 * With model.recompute only those inputs are kept for each layer; what backward needs
 * besides is in buffers that all layers of a stack share, and is computed again before
 * the layer's backward: two projections of four and one attention more for about a
 * third of the memory. The arithmetic is the same, bit for bit.
 */
#pragma once

struct model;

void model_replay_encoder(struct model *m, int layer);
void model_replay_decoder(struct model *m, int layer);

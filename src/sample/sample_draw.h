/*
 * sample_draw - random sentence trees: which verb, who does it to what, when and where.
 *
 * The same key gives the same tree. The tree lives in *p until the next call.
 */
#pragma once

#include "sample/sample_pick.h"

void sample_draw_sentence(struct sample_pick *p, uint64_t key, struct sample_sentence *s);

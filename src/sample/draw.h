/*
 * draw - random sentence trees: which verb, who does it to what, when and where.
 *
 * The same key gives the same tree. The tree lives in *p until the next call.
 */
#pragma once

#include "sample/pick.h"

void draw_sentence(struct pick *p, uint64_t key, struct sentence *s);

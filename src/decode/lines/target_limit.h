/*
 * target_limit - how many tokens the translations of a line's segments may have.
 *
 * A line has at most three times its pieces and `extra` tokens, so that a model that does
 * not find the end cannot fill the disk; a segment has at most `extra` tokens more than
 * its source. The segments share the line's tokens by their pieces, but so that a short
 * one is not cut: it has TARGET_LIMIT_FLOOR of them if the others can spare some, and
 * what nobody needs goes to those that have less than they would have alone.
 *
 * Threads: any; nothing is kept.
 */
#pragma once

#include <stddef.h>

enum { TARGET_LIMIT_FLOOR = 12 };

/* In: the pieces of each segment of a line, 0 for one that is not searched. Out: the
 * tokens that its translation may have, S and EOS counted, 0 for those of 0. */
void target_limit_share(size_t *n, size_t n_segments, size_t extra);

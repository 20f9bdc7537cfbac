/*
 * The K likeliest ids of each row of logits, one group a row.
 *
 * Each round finds the best pair (logit, id) that comes after the last one found, in the
 * order of larger logits first and lower ids first among equals. So nothing is marked or
 * overwritten; a row stays in the cache for the few rounds of a beam search.
 */
#pragma once

#include "device/gpu/xent.h"

struct choice {
    float z;
    i32 id; /* -1: none */
};

FN u32 choice_before(struct choice a, struct choice b)
{
    if (b.id < 0 || a.id < 0)
        return a.id >= 0 && b.id < 0;
    return a.z > b.z || (a.z == b.z && a.id < b.id);
}

#define CHOICE_FIRST(a, b) (choice_before(b, a) ? (b) : (a))
GROUP_FOLD(struct choice, group_choice, CHOICE_FIRST)

KERNEL(EACH_ITEMS)
void topk(GLOBAL float *top, GLOBAL i32 *id, GLOBAL const stored *logits,
          struct topk_args a)
{
    SHARED(float, tmp, EACH_ITEMS);
    SHARED(struct choice, best, EACH_ITEMS);
    const u32 r = GROUP(0), V = a.logits.cols, K = a.top.cols;
    const u64 at = AT(a.logits, r, 0);
    const float most = row_max(logits, at, V, tmp);
    const float lse = most + LOG(row_exp_sum(logits, at, V, most, tmp));
    struct choice last;

    last.z = INFINITE;
    last.id = -1;
    for (u32 k = 0; k < K; k++) {
        struct choice mine;
        mine.z = -INFINITE;
        mine.id = -1;
        for (u32 v = ITEM; v < V; v += ITEMS) {
            struct choice one;
            one.z = LOAD(logits, at + v);
            one.id = (i32)v;
            if ((last.id < 0 || choice_before(last, one)) && choice_before(one, mine))
                mine = one;
        }
        mine = group_choice(mine, best);
        if (ITEM == 0) {
            top[AT(a.top, r, k)] = mine.id < 0 ? -INFINITE : mine.z - lse;
            id[a.id + (u64)r * K + k] = mine.id;
        }
        if (mine.id < 0) {
            last.id = (i32)V; /* nothing comes after it */
            last.z = -INFINITE;
        } else {
            last = mine;
        }
    }
}

/*
 * Embedding with position signal, one group a token; formulas: device/cpu/embed.c.
 *
 * Backward adds without atomics: the group of the first token with an id adds the rows of
 * all tokens with that id, in order. The list of ids is read ROW_ITEMS at a time; items
 * that find the id set a bit, and then all items visit the bits.
 */
#pragma once

#include "device/gpu/group.h"

KERNEL(ROW_ITEMS)
void embed_forward(GLOBAL stored *y, GLOBAL const stored *table,
                   GLOBAL const float *signal, GLOBAL const i32 *id,
                   GLOBAL const i32 *pair, GLOBAL const i32 *pos, struct embed_args a)
{
    const u32 r = GROUP(0), p = (u32)pos[a.drop.pos + r];
    const i32 token = id[a.id + r];
    const u32 row = hash_of_row(a.drop, pair, pos, r);

    for (u32 c = ITEM; c < a.y.cols; c += ITEMS) {
        const float e = token < 0 ? 0.0f : a.scale * LOAD(table, AT(a.table, token, c));
        STORE(y, AT(a.y, r, c), dropped(a.drop, row, c, signal[AT(a.signal, p, c)] + e));
    }
}

/* Which of tokens [at, at + ROW_ITEMS) below `end` are `token`, as bits. */
FN void embed_find(LOCAL u32 *bits, GLOBAL const i32 *id, u32 at, u32 end, i32 token)
{
    BARRIER;
    if (ITEM < ROW_ITEMS / 32)
        bits[ITEM] = 0;
    BARRIER;
    if (at + ITEM < end && id[at + ITEM] == token)
        LOCAL_OR(bits + ITEM / 32, 1u << ITEM % 32);
    BARRIER;
}

FN u32 embed_any(LOCAL const u32 *bits)
{
    u32 any = 0;

    for (u32 i = 0; i < ROW_ITEMS / 32; i++)
        any |= bits[i];
    return any;
}

/* a.y is dy, a.table dtable. */
KERNEL(ROW_ITEMS)
void embed_backward(GLOBAL float *dtable, GLOBAL const stored *dy, GLOBAL const i32 *ids,
                    GLOBAL const i32 *pair, GLOBAL const i32 *pos, struct embed_args a)
{
    SHARED(u32, bits, ROW_ITEMS / 32);
    const u32 r = GROUP(0), N = a.y.rows;
    GLOBAL const i32 *id = ids + a.id;
    const i32 token = id[r];
    u32 earlier = token < 0;

    for (u32 at = 0; at < r && !earlier; at += ROW_ITEMS) {
        embed_find(bits, id, at, r, token);
        earlier = embed_any(bits);
    }
    for (u32 at = r; at < N && !earlier; at += ROW_ITEMS) {
        embed_find(bits, id, at, N, token);
        for (u32 i = 0; i < ROW_ITEMS && embed_any(bits); i++) {
            if (!(bits[i / 32] >> i % 32 & 1u))
                continue;
            const u32 row = hash_of_row(a.drop, pair, pos, at + i);
            for (u32 c = ITEM; c < a.y.cols; c += ITEMS)
                dtable[AT(a.table, token, c)] +=
                    a.scale * dropped(a.drop, row, c, LOAD(dy, AT(a.y, at + i, c)));
        }
    }
}

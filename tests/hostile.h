/*
 * hostile - lines that break tokenizers: emoji, combining marks, right-to-left text,
 * unassigned code points, surrogates, NUL, overlong and broken UTF-8, space marks and
 * names of specials inside text, runs of blanks, and now and then a very long line.
 *
 * A line draws from a few kinds at a time, so that neighbours meet often. No LF inside.
 */
#pragma once

#include <stddef.h>

#include "base/rng.h"
#include "base/str.h"
#include "base/utf8.h"

/* A code point in [low, high], surrogates included, in the bytes it would have. */
static inline void hostile_code(struct str *out, struct rng *r, uint32_t low,
                                uint32_t high)
{
    const uint32_t c = low + (uint32_t)rng_below(r, high - low + 1);

    if (c >= 0xD800 && c < 0xE000) {
        const char bytes[] = {(char)0xED, (char)(0x80 | (c >> 6 & 0x3F)),
                              (char)(0x80 | (c & 0x3F))};
        str_add(out, bytes, sizeof bytes);
        return;
    }
    char bytes[4];
    str_add(out, bytes, utf8_encode(bytes, c == '\n' ? ' ' : c));
}

/* The ranges of code points that a line may draw from. */
static const struct {
    uint32_t low, high;
} hostile_ranges[] = {
    {'!', '~'},         {'a', 'z'},          {'a', 'e'},       {0x300, 0x36F},
    {0x1F300, 0x1FAFF}, {0x590, 0x7FF},      {0, 0x10FFFF},    {0x3000, 0x30FF},
    {0xFB00, 0xFDFF},   {0xFF00, 0xFFEF},    {0x2000, 0x206F}, {0, 31},
    {0xAC00, 0xD7A3},   {0x1100, 0x11FF},    {0xA0, 0x17F},    {0xD7F0, 0xE010},
    {0x900, 0xDFF},     {0x4E00, 0x4E40},    {0xFE00, 0xFE0F}, {0x2570, 0x2590},
    {0xE0000, 0xE01EF}, {0x10FFF0, 0x10FFFF}};

static const char *const hostile_strings[] = {" ",
                                              " ",
                                              "   ",
                                              "the",
                                              "Die",
                                              "F\xC3\xA4hre",
                                              "river",
                                              "<s>",
                                              "</s>",
                                              "<pad>",
                                              "<unk>",
                                              "\xE2\x96\x81",
                                              "\t",
                                              "\xC0\x80",
                                              "\xC0\xA0",
                                              "\xE0\x80\xA0",
                                              "\x80",
                                              "\xFF",
                                              "\xE2",
                                              "\xE2\x96",
                                              "\xF0\x9F",
                                              "\xF4\x90\x80",
                                              "\xC2\xA0",
                                              "a\xCC\x88",
                                              " \xCC\x88",
                                              "\xE3\x80\x80",
                                              "\xE2\x80\x8D\xEF\xB8\x8F",
                                              "\xEF\xBB\xBF"};

enum {
    HOSTILE_RANGES = sizeof hostile_ranges / sizeof *hostile_ranges,
    HOSTILE_STRINGS = sizeof hostile_strings / sizeof *hostile_strings,
    HOSTILE_KINDS = HOSTILE_RANGES + HOSTILE_STRINGS + 2
};

static inline void hostile_item(struct str *out, struct rng *r, size_t kind)
{
    if (kind < HOSTILE_RANGES) {
        hostile_code(out, r, hostile_ranges[kind].low, hostile_ranges[kind].high);
    } else if (kind < HOSTILE_RANGES + HOSTILE_STRINGS) {
        str_puts(out, hostile_strings[kind - HOSTILE_RANGES]);
    } else if (kind < HOSTILE_KINDS - 1) {
        str_putc(out, '\0');
    } else {
        const char byte = (char)rng_below(r, 256);
        str_putc(out, (char)(byte == '\n' ? 'x' : byte));
    }
}

/* Replace *out by line i of the stream `key`; one in a thousand has thousands of items.
 */
static inline void hostile_line(struct str *out, uint64_t key, uint64_t i)
{
    struct rng r = rng_open(rng_hash(key, i));
    size_t kind[6];
    const size_t n_kinds = 1 + (size_t)rng_below(&r, 6);
    size_t n = (size_t)rng_below(&r, 31);

    str_reset(out);
    if (rng_below(&r, 1000) == 0)
        n = 1000 + (size_t)rng_below(&r, 5000);
    for (size_t k = 0; k < n_kinds; k++)
        kind[k] = (size_t)rng_below(&r, HOSTILE_KINDS);
    for (size_t k = 0; k < n; k++)
        hostile_item(out, &r, kind[rng_below(&r, n_kinds)]);
}

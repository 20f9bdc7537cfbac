/*
 * pack_layout - the places of numbers in the head of a pack and in an entry of its table,
 * which reader and writer agree on (docs/formats/pack.md). All are little-endian.
 */
#pragma once

#define PACK_ORDER_MARK   0x01020304U
#define PACK_ORDER_TURNED 0x04030201U /* as a machine of the other order wrote it */

/* Offsets in the head; what is between the last two is zero. */
enum {
    PACK_HEAD_VERSION = 8,
    PACK_HEAD_ORDER = 12,
    PACK_HEAD_FILE_BYTES = 16,
    PACK_HEAD_TABLE_AT = 24,
    PACK_HEAD_N_SECTIONS = 32,
    PACK_HEAD_TABLE_CRC = 36,
    PACK_HEAD_ZEROS = 40,
    PACK_HEAD_CRC = 60 /* of the bytes before it */
};

/* Offsets in an entry, which begins with the name; the rest is zero. */
enum {
    PACK_ENTRY_AT = 32,
    PACK_ENTRY_BYTES = 40,
    PACK_ENTRY_CRC = 48,
    PACK_ENTRY_FLAGS = 52,
    PACK_ENTRY_ZEROS = 56
};

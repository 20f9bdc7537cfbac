/*
 * mended_pack - any bytes as a pack whose size and checksums fit, so that a fuzzer, which
 * cannot guess those, comes to what is behind them. False: too short for a head.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/crc32c.h"
#include "format/le.h"
#include "format/pack.h"
#include "format/pack_layout.h"

static inline bool mended_pack(unsigned char *bytes, size_t n)
{
    if (n < PACK_HEAD)
        return false;
    const uint64_t table_at = le_get64(bytes + PACK_HEAD_TABLE_AT);
    const size_t n_table = table_at < n ? n - (size_t)table_at : 0;

    for (size_t i = 0; i + PACK_ENTRY <= n_table; i += PACK_ENTRY) {
        unsigned char *entry = bytes + table_at + i;
        const uint64_t at = le_get64(entry + PACK_ENTRY_AT);
        const uint64_t n_bytes = le_get64(entry + PACK_ENTRY_BYTES);
        if (at <= table_at && n_bytes <= table_at - at)
            le_put32(entry + PACK_ENTRY_CRC, crc32c(0, bytes + at, (size_t)n_bytes));
    }
    le_put64(bytes + PACK_HEAD_FILE_BYTES, n);
    le_put32(bytes + PACK_HEAD_TABLE_CRC, crc32c(0, bytes + n - n_table, n_table));
    le_put32(bytes + PACK_HEAD_CRC, crc32c(0, bytes, PACK_HEAD_CRC));
    return true;
}

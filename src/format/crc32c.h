/*
 * crc32c - the checksum of TensorFlow's and LevelDB's files: CRC-32 with Castagnoli's
 * polynomial, which x86 has an instruction for.
 *
 * Incremental: crc32c(crc32c(0, a), b) is the checksum of a followed by b.
 * Threads: any number at once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The checksum of everything so far (0 at the start) followed by these n bytes. */
uint32_t crc32c(uint32_t crc, const void *data, size_t n);

/* The same without special instructions. */
uint32_t crc32c_plain(uint32_t crc, const void *data, size_t n);

/*
 * What is stored in files. The checksum of bytes that hold their own checksum is a
 * constant, so a stored one is rotated and shifted out of that relation.
 */
uint32_t crc32c_mask(uint32_t crc);

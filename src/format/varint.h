/*
 * varint - unsigned integers in groups of seven bits, least significant group first,
 * the high bit of a byte saying that another one follows.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum { VARINT_MAX_BYTES = 10 };

/* Bytes written to out: at most VARINT_MAX_BYTES, at most 5 for 32 bits. */
size_t varint_put(unsigned char *out, uint64_t value);
/* The same appended to a string. */
void varint_add(struct str *out, uint64_t value);

/*
 * The number at p[0..n) in *value; returns its length, or 0 when it does not end
 * within n bytes, does not fit (in 64 or in 32 bits), or is longer than it need be,
 * which no writer makes it.
 */
size_t varint_get64(const unsigned char *p, size_t n, uint64_t *value);
size_t varint_get32(const unsigned char *p, size_t n, uint32_t *value);

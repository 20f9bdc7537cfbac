/*
 * reference - character references of HTML: "&uuml;", "&#252;", "&#xFC;".
 *
 * Threads: any; nothing is kept.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* It is a reference, but to what is not known here, or to nothing that text may hold. */
#define REFERENCE_ODD UINT32_MAX

/*
 * Bytes of the reference that s[0..n) begins with, and in *code what it stands for; 0
 * when the "&" stands for itself. The names are those of HTML 4 and "apos"; any other
 * name with its semicolon is odd. The semicolon may be missing where the whole word is
 * one of the names of Latin-1 or a number.
 */
size_t reference_read(const char *s, size_t n, uint32_t *code);

/*
 * stream - the bytes of a file in order, unpacked when it is compressed.
 *
 * gzip, xz and zstd are recognised by their first bytes, whatever the file is called;
 * members that follow each other are one stream, as zcat, xzcat and zstdcat read them.
 * Memory does not depend on the data: nothing is unpacked before it is asked for, and
 * windows beyond STREAM_WINDOW_MAX are refused. Input that ends inside a member, or
 * whose own checksum does not hold, is an error that names the file.
 *
 * Owns: the open file and the unpacker's state. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define STREAM_WINDOW_MAX ((size_t)128 << 20)

enum stream_kind { STREAM_PLAIN, STREAM_GZ, STREAM_XZ, STREAM_ZST };

struct stream {
    char *name;
    int fd;
    enum stream_kind kind;
    unsigned char *buf;
    const unsigned char *next; /* n_left bytes that were read and not used */
    size_t n_left;
    uint64_t n_in, n_out; /* bytes taken from the file, handed out */
    void *codec;
    bool is_open, at_end, in_member;
};

/* Bytes of a file's name of n bytes without .gz, .xz or .zst; n when it does not end so,
 * in capitals or not, or is nothing else. */
size_t stream_stem(const char *name, size_t n);

/* Whether a file that begins with these bytes is gzip, xz or zstd. */
bool stream_is_packed(const void *bytes, size_t n);

/* Open a file or a pipe, which messages call `name`. On failure *s is closed. */
status stream_open(struct stream *s, const char *path, const char *name, struct err *err);

/* The same of what is left of an open file, which stays the caller's to close. */
status stream_open_fd(struct stream *s, int fd, const char *name, struct err *err);

/* Up to n > 0 bytes into buf; *got is 0 only at the end. */
status stream_read(struct stream *s, void *buf, size_t n, size_t *got, struct err *err);

/* Whether no byte of the file is at hand and none arrives for so many milliseconds. A
 * file on disk never stalls. */
enum { STREAM_FOR_EVER = -1 };
bool stream_stalls(const struct stream *s, int milliseconds);

/* Safe on a zeroed or closed stream. */
void stream_close(struct stream *s);

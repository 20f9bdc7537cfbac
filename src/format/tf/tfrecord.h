/*
 * tfrecord - TensorFlow's framing of records in a file: length (u64), masked checksum
 * of the length, payload, masked checksum of the payload.
 *
 * The writer appends to a file that others read while it grows; records are buffered
 * until tfrecord_flush(). What a full disk refused stays in the buffer, so that a later
 * flush goes on at the same byte and the file never holds a torn record in its middle.
 *
 * The reader walks bytes at hand, which must outlive it. A file whose last record is
 * incomplete (its writer was killed, or is writing) is not an error: that is told apart
 * from damage.
 *
 * Threads: one at a time.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct tfrecord_writer {
    int fd; /* valid while path is set */
    char *path;
    struct str buffer;
};

/* Create the file; ERR_IO when it exists. */
status tfrecord_create(struct tfrecord_writer *w, const char *path, struct err *err);
/* Buffers; writes when the buffer is large. ERR_MEMORY once a refusing disk has filled
 * the buffer to its limit: the record is then lost, and only it. */
status tfrecord_add(struct tfrecord_writer *w, const void *payload, size_t n,
                    struct err *err);
status tfrecord_flush(struct tfrecord_writer *w, struct err *err);
/* Flush and close; *w is closed even on failure. Fine on a zeroed writer. */
status tfrecord_close(struct tfrecord_writer *w, struct err *err);

enum tfrecord_state {
    TFRECORD_READ, /* here is a record */
    TFRECORD_END,  /* the file ends after a whole record */
    TFRECORD_CUT   /* the file ends inside a record */
};

struct tfrecord_reader {
    const unsigned char *data;
    size_t n_bytes, at; /* at: of the next record */
};

/* The next payload, borrowed. A checksum that does not hold is ERR_FORMAT with the
 * place of the record. */
status tfrecord_next(struct tfrecord_reader *r, enum tfrecord_state *state,
                     const unsigned char **payload, size_t *n, struct err *err);

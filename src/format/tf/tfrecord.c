#include "format/tf/tfrecord.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/crc32c.h"
#include "format/le.h"

enum {
    HEAD_BYTES = 12, /* length and its checksum */
    TAIL_BYTES = 4,  /* the payload's checksum */
    FLUSH_BYTES = 64 << 10,
    BUFFER_MAX = 16 << 20
};

status tfrecord_create(struct tfrecord_writer *w, const char *path, struct err *err)
{
    *w = (struct tfrecord_writer){.path = strdup(path), .buffer = str_new(BUFFER_MAX)};
    if (!w->path)
        return err_set(err, ERR_MEMORY, "%s: no memory to write it", path);
    w->fd =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (w->fd < 0) {
        (void)err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        free(w->path);
        *w = (struct tfrecord_writer){0};
        return err->code;
    }
    return OK;
}

status tfrecord_add(struct tfrecord_writer *w, const void *payload, size_t n,
                    struct err *err)
{
    unsigned char head[HEAD_BYTES], tail[TAIL_BYTES];
    struct str *b = &w->buffer;
    const size_t before = b->len;

    le_put64(head, n);
    le_put32(head + 8, crc32c_mask(crc32c(0, head, 8)));
    le_put32(tail, crc32c_mask(crc32c(0, payload, n)));
    str_add(b, head, sizeof head);
    str_add(b, payload, n);
    str_add(b, tail, sizeof tail);
    if (b->bad) {
        b->bad = false;
        b->len = before;
        return err_set(err, ERR_MEMORY,
                       "%s: a record of %zu bytes is dropped, for %zu bytes wait to be "
                       "written already",
                       w->path, n, before);
    }
    return b->len >= FLUSH_BYTES ? tfrecord_flush(w, err) : OK;
}

status tfrecord_flush(struct tfrecord_writer *w, struct err *err)
{
    struct str *b = &w->buffer;
    size_t done = 0;
    status result = OK;

    while (done < b->len && result == OK) {
        const ssize_t n = write(w->fd, b->data + done, b->len - done);
        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            result = err_set(err, ERR_IO, "%s: %s", w->path, strerror(errno));
    }
    if (done) {
        memmove(b->data, b->data + done, b->len - done);
        b->len -= done;
    }
    return result;
}

status tfrecord_close(struct tfrecord_writer *w, struct err *err)
{
    if (!w->path)
        return OK;
    status result = tfrecord_flush(w, err);
    if (close(w->fd) != 0 && result == OK)
        result = err_set(err, ERR_IO, "%s: %s", w->path, strerror(errno));
    str_release(&w->buffer);
    free(w->path);
    *w = (struct tfrecord_writer){0};
    return result;
}

status tfrecord_next(struct tfrecord_reader *r, enum tfrecord_state *state,
                     const unsigned char **payload, size_t *n, struct err *err)
{
    const size_t left = r->n_bytes - r->at;

    *state = left ? TFRECORD_CUT : TFRECORD_END;
    if (left < HEAD_BYTES)
        return OK;
    const unsigned char *p = r->data + r->at;
    const uint64_t length = le_get64(p);
    if (crc32c_mask(crc32c(0, p, 8)) != le_get32(p + 8))
        return err_set(err, ERR_FORMAT,
                       "the record at byte %zu is damaged: its length fails its checksum",
                       r->at);
    if (length > left - HEAD_BYTES || left - HEAD_BYTES - length < TAIL_BYTES)
        return OK;
    *payload = p + HEAD_BYTES;
    *n = (size_t)length;
    if (crc32c_mask(crc32c(0, *payload, *n)) != le_get32(*payload + *n))
        return err_set(err, ERR_FORMAT,
                       "the record at byte %zu is damaged: its %zu bytes fail their "
                       "checksum",
                       r->at, *n);
    r->at += HEAD_BYTES + *n + TAIL_BYTES;
    *state = TFRECORD_READ;
    return OK;
}

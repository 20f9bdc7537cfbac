/*
 * Blocks of 32 bytes are four little-endian words, one for each lane:
 *
 *   lane = fold((lane ^ word) * M)      fold(x) = x ^ x >> 32
 *
 * M is odd and fold is its own inverse, so each step is a bijection of the lane for a
 * given word and of the word for a given lane: a change inside one word always changes
 * the lane, and then the value. Four lanes keep four multiplications in flight.
 */
#include "corpus/checksum.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define M 0xd6e8feb86659fd93u

enum { BLOCK = 32, FILE_BLOCK = 1 << 20 };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "packed corpora are read in place and are little-endian");

static uint64_t step(uint64_t lane, uint64_t word)
{
    const uint64_t x = (lane ^ word) * M;

    return x ^ x >> 32;
}

struct checksum checksum_start(void)
{
    return (struct checksum){.lane = {1, 2, 3, 4}};
}

static void add_blocks(struct checksum *c, const unsigned char *p, size_t n_blocks)
{
    uint64_t a = c->lane[0], b = c->lane[1], d = c->lane[2], e = c->lane[3], w[4];

    for (; n_blocks; n_blocks--, p += BLOCK) {
        memcpy(w, p, BLOCK);
        a = step(a, w[0]);
        b = step(b, w[1]);
        d = step(d, w[2]);
        e = step(e, w[3]);
    }
    c->lane[0] = a;
    c->lane[1] = b;
    c->lane[2] = d;
    c->lane[3] = e;
}

void checksum_add(struct checksum *c, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;

    c->n_bytes += n;
    if (c->n_tail) {
        const size_t room = BLOCK - c->n_tail, take = n < room ? n : room;
        if (take)
            memcpy(c->tail + c->n_tail, p, take);
        c->n_tail += take;
        p += take;
        n -= take;
        if (c->n_tail < BLOCK)
            return;
        add_blocks(c, c->tail, 1);
        c->n_tail = 0;
    }
    add_blocks(c, p, n / BLOCK);
    c->n_tail = n % BLOCK;
    if (c->n_tail)
        memcpy(c->tail, p + (n - c->n_tail), c->n_tail);
}

uint64_t checksum_value(const struct checksum *c)
{
    struct checksum end = *c;
    uint64_t h = c->n_bytes;

    /* Zeros fill the last block; the length, mixed in first, tells them from text. */
    memset(end.tail + end.n_tail, 0, BLOCK - end.n_tail);
    add_blocks(&end, end.tail, 1);
    for (int i = 0; i < 4; i++)
        h = step(h, end.lane[i]);
    return step(h, 0);
}

uint64_t checksum_of(const void *bytes, size_t n)
{
    struct checksum c = checksum_start();

    checksum_add(&c, bytes, n);
    return checksum_value(&c);
}

status checksum_of_part(uint64_t *value, const char *path, uint64_t n_bytes,
                        struct err *err)
{
    struct checksum c = checksum_start();
    unsigned char *block = NULL;
    ssize_t n = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    status result = mem_alloc(&block, FILE_BLOCK, 1, err);
    while (result == OK && c.n_bytes < n_bytes) {
        const uint64_t left = n_bytes - c.n_bytes;
        n = read(fd, block, left < FILE_BLOCK ? (size_t)left : FILE_BLOCK);
        if (n == 0)
            break;
        if (n > 0)
            checksum_add(&c, block, (size_t)n);
        else if (errno != EINTR)
            result = err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    }
    close(fd);
    free(block);
    *value = checksum_value(&c);
    return result;
}

status checksum_of_file(uint64_t *value, const char *path, struct err *err)
{
    return checksum_of_part(value, path, UINT64_MAX, err);
}

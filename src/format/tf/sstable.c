/* Writing, and what writer and reader share; sstable_read.c reads. */
#include "format/tf/sstable.h"

#include <string.h>

#include "format/crc32c.h"
#include "format/le.h"
#include "format/varint.h"

enum { DATA_RESTART_INTERVAL = 16, INDEX_RESTART_INTERVAL = 1 };

int sstable_compare(const void *a, size_t n_a, const void *b, size_t n_b)
{
    const size_t n = n_a < n_b ? n_a : n_b;
    const int order = n ? memcmp(a, b, n) : 0;

    return order ? order : (n_a > n_b) - (n_a < n_b);
}

static void put_varint(struct str *s, uint64_t value)
{
    unsigned char bytes[VARINT_MAX_BYTES];

    str_add(s, bytes, varint_put(bytes, value));
}

static void put_u32(struct str *s, uint32_t value)
{
    unsigned char bytes[4];

    le_put32(bytes, value);
    str_add(s, bytes, sizeof bytes);
}

static size_t shared_prefix(const struct str *a, const char *b, size_t n_b)
{
    size_t n = 0;

    while (n < a->len && n < n_b && a->data[n] == b[n])
        n++;
    return n;
}

/*
 * An entry stores only what differs from the key before it, except at a restart point,
 * where the whole key stands so that a reader can search the block.
 */
static void block_add(struct sstable_block *b, const void *key, size_t n_key,
                      const void *value, size_t n_value)
{
    size_t shared = 0;

    if (b->n_since_restart == b->restart_interval || b->bytes.len == 0) {
        put_u32(&b->restarts, (uint32_t)b->bytes.len);
        b->n_since_restart = 0;
    } else {
        shared = shared_prefix(&b->last_key, key, n_key);
    }
    put_varint(&b->bytes, shared);
    put_varint(&b->bytes, n_key - shared);
    put_varint(&b->bytes, n_value);
    str_add(&b->bytes, (const char *)key + shared, n_key - shared);
    str_add(&b->bytes, value, n_value);
    str_reset(&b->last_key);
    str_add(&b->last_key, key, n_key);
    b->n_since_restart++;
}

static size_t block_bytes(const struct sstable_block *b)
{
    return b->bytes.len + b->restarts.len + 4;
}

/* Append the block with its trailer to the file and empty it; its place goes to
 * *at and *n_bytes. A block without entries still has one restart point. */
static void block_write(struct sstable_writer *w, struct sstable_block *b, uint64_t *at,
                        uint64_t *n_bytes)
{
    const char plain = SSTABLE_PLAIN;

    if (b->bytes.len == 0)
        put_u32(&b->restarts, 0);
    put_u32(&b->restarts, (uint32_t)(b->restarts.len / 4));
    *at = w->out.len;
    *n_bytes = b->bytes.len + b->restarts.len;
    str_add(&w->out, str_text(&b->bytes), b->bytes.len);
    str_add(&w->out, str_text(&b->restarts), b->restarts.len);
    str_add(&w->out, &plain, 1);
    if (!w->out.bad)
        put_u32(&w->out, crc32c_mask(crc32c(0, w->out.data + *at, *n_bytes + 1)));
    str_reset(&b->bytes);
    str_reset(&b->restarts);
}

/* The shortest key k with last <= k < next, if a shorter one than last exists. */
static void shorten_between(struct str *last, const char *next, size_t n_next)
{
    const size_t n = shared_prefix(last, next, n_next);

    if (n == last->len || n == n_next)
        return; /* one is a prefix of the other */
    const unsigned char c = (unsigned char)last->data[n];
    if (c < 0xff && c + 1 < (unsigned char)next[n]) {
        last->data[n] = (char)(c + 1);
        last->len = n + 1;
    }
}

/* A short key k >= last, for the last block. */
static void shorten_after(struct str *last)
{
    for (size_t i = 0; i < last->len; i++)
        if ((unsigned char)last->data[i] != 0xff) {
            last->data[i] = (char)(last->data[i] + 1);
            last->len = i + 1;
            return;
        }
}

/* The index entry of a closed block, under the key that w->data.last_key became. */
static void index_add(struct sstable_writer *w)
{
    unsigned char place[2 * VARINT_MAX_BYTES];
    size_t n = varint_put(place, w->pending_at);

    n += varint_put(place + n, w->pending_bytes);
    block_add(&w->index, str_text(&w->data.last_key), w->data.last_key.len, place, n);
    w->pending_bytes = 0;
}

void sstable_writer_init(struct sstable_writer *w, size_t block_bytes_max)
{
    *w = (struct sstable_writer){.data.restart_interval = DATA_RESTART_INTERVAL,
                                 .index.restart_interval = INDEX_RESTART_INTERVAL,
                                 .block_bytes = block_bytes_max ? block_bytes_max
                                                                : SSTABLE_BLOCK_BYTES};
}

status sstable_writer_add(struct sstable_writer *w, const void *key, size_t n_key,
                          const void *value, size_t n_value, struct err *err)
{
    const struct str *last = &w->data.last_key;
    const bool is_first = w->out.len == 0 && w->data.bytes.len == 0;

    if (n_key > SSTABLE_KEY_MAX)
        return err_set(err, ERR_USAGE, "key of %zu bytes is longer than %d", n_key,
                       (int)SSTABLE_KEY_MAX);
    if (!is_first && sstable_compare(key, n_key, last->data, last->len) <= 0)
        return err_set(err, ERR_USAGE, "key '%.*s' must come after '%s'", (int)n_key,
                       (const char *)key, last->data);
    if (w->pending_bytes) {
        shorten_between(&w->data.last_key, key, n_key);
        index_add(w);
    }
    block_add(&w->data, key, n_key, value, n_value);
    if (block_bytes(&w->data) >= w->block_bytes)
        block_write(w, &w->data, &w->pending_at, &w->pending_bytes);
    return OK;
}

status sstable_writer_finish(struct sstable_writer *w, struct err *err)
{
    struct sstable_block meta = {0};
    unsigned char footer[SSTABLE_FOOTER_BYTES] = {0};
    uint64_t at, n_bytes;
    size_t n;

    if (w->data.bytes.len)
        block_write(w, &w->data, &w->pending_at, &w->pending_bytes);
    block_write(w, &meta, &at, &n_bytes);
    n = varint_put(footer, at);
    n += varint_put(footer + n, n_bytes);
    if (w->pending_bytes) {
        shorten_after(&w->data.last_key);
        index_add(w);
    }
    block_write(w, &w->index, &at, &n_bytes);
    n += varint_put(footer + n, at);
    varint_put(footer + n, n_bytes);
    le_put64(footer + SSTABLE_FOOTER_BYTES - 8, SSTABLE_MAGIC);
    str_add(&w->out, footer, sizeof footer);

    str_release(&meta.restarts);
    if (w->data.bytes.bad || w->index.bytes.bad || w->data.last_key.bad)
        w->out.bad = true;
    return str_check(&w->out, "the table", err);
}

static void block_release(struct sstable_block *b)
{
    str_release(&b->bytes);
    str_release(&b->restarts);
    str_release(&b->last_key);
}

void sstable_writer_release(struct sstable_writer *w)
{
    block_release(&w->data);
    block_release(&w->index);
    str_release(&w->out);
}

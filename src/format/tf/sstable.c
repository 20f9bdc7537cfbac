#include "format/tf/sstable.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "format/crc32c.h"
#include "format/le.h"
#include "format/varint.h"

enum { DATA_RESTART_INTERVAL = 16, INDEX_RESTART_INTERVAL = 1 };

/* Prefix compression lets a small hostile file claim very many bytes of keys. */
#define ALL_KEYS_MAX ((size_t)64 << 20)

/* Byte-wise order of two keys, as memcmp() says it; a prefix comes first. */
static int compare(const void *a, size_t n_a, const void *b, size_t n_b)
{
    const size_t n = n_a < n_b ? n_a : n_b;
    const int order = n ? memcmp(a, b, n) : 0;

    return order ? order : (n_a > n_b) - (n_a < n_b);
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
    varint_add(&b->bytes, shared);
    varint_add(&b->bytes, n_key - shared);
    varint_add(&b->bytes, n_value);
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
    if (!is_first && compare(key, n_key, last->data, last->len) <= 0)
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

struct place {
    uint64_t at, n_bytes;
};

/* A walk over the entries of one block. */
struct walk {
    const unsigned char *block; /* entries, then restart points, then their count */
    size_t at, end;             /* of the entries */
    uint64_t block_at;          /* in the file, for messages */
    uint32_t next_restart, n_restarts;
    struct str key;
    const unsigned char *value;
    size_t n_value;
};

static size_t get_place(const unsigned char *p, size_t n, struct place *place)
{
    const size_t a = varint_get64(p, n, &place->at);
    const size_t b = a ? varint_get64(p + a, n - a, &place->n_bytes) : 0;

    return b ? a + b : 0;
}

static status read_footer(const unsigned char *bytes, size_t n_bytes, struct place *meta,
                          struct place *index, struct err *err)
{
    const size_t end = SSTABLE_FOOTER_BYTES - 8;
    size_t a, b;

    if (n_bytes < SSTABLE_FOOTER_BYTES)
        return err_set(err, ERR_FORMAT, "%zu bytes are too few for an index", n_bytes);
    const unsigned char *p = bytes + n_bytes - SSTABLE_FOOTER_BYTES;
    if (le_get64(p + end) != SSTABLE_MAGIC)
        return err_set(err, ERR_FORMAT,
                       "the last bytes are not those of an index; the file is "
                       "truncated or something else");
    a = get_place(p, end, meta);
    b = a ? get_place(p + a, end - a, index) : 0;
    if (!b)
        return err_set(err, ERR_FORMAT, "the footer is damaged");
    for (size_t i = a + b; i < end; i++)
        if (p[i])
            return err_set(err, ERR_FORMAT, "the footer is damaged");
    return OK;
}

/* Check one block's place, type and checksum and start at its first entry. */
static status walk_open(struct walk *w, const unsigned char *bytes, size_t n_bytes,
                        struct place place, struct err *err)
{
    const size_t room = n_bytes - SSTABLE_FOOTER_BYTES;

    if (place.at > room || place.n_bytes > room - place.at ||
        room - place.at - place.n_bytes < SSTABLE_TRAILER_BYTES || place.n_bytes < 4)
        return err_set(err, ERR_FORMAT, "a block of %llu bytes at %llu is out of bounds",
                       (unsigned long long)place.n_bytes, (unsigned long long)place.at);
    const unsigned char *p = bytes + place.at, *trailer = p + place.n_bytes;
    if (crc32c_mask(crc32c(0, p, (size_t)place.n_bytes + 1)) != le_get32(trailer + 1))
        return err_set(err, ERR_FORMAT, "the block at byte %llu fails its checksum",
                       (unsigned long long)place.at);
    if (*trailer != SSTABLE_PLAIN)
        return err_set(err, ERR_FORMAT,
                       "the block at byte %llu is compressed%s, which is not supported; "
                       "save it again without compression",
                       (unsigned long long)place.at,
                       *trailer == SSTABLE_SNAPPY ? " by snappy" : "");

    w->block = p;
    w->block_at = place.at;
    w->at = 0;
    w->next_restart = 0;
    w->n_restarts = le_get32(trailer - 4);
    str_reset(&w->key);
    if (w->n_restarts == 0 || w->n_restarts > (place.n_bytes - 4) / 4)
        return err_set(err, ERR_FORMAT, "the block at byte %llu counts %u restart points",
                       (unsigned long long)place.at, w->n_restarts);
    w->end = (size_t)place.n_bytes - 4 - (size_t)w->n_restarts * 4;
    return OK;
}

static status bad_entry(const struct walk *w, struct err *err)
{
    const unsigned long long at = w->block_at + w->at;

    return err_set(err, ERR_FORMAT, "the entry at byte %llu is malformed", at);
}

/* Whether entry `at` must be a restart point; each one is met once, in order. */
static bool at_restart(struct walk *w, size_t at)
{
    if (w->next_restart == w->n_restarts ||
        le_get32(w->block + w->end + (size_t)w->next_restart * 4) != at)
        return false;
    w->next_restart++;
    return true;
}

/* *more is false at the end of the block. */
static status walk_next(struct walk *w, bool *more, struct err *err)
{
    uint32_t shared, n_rest, n_value;
    size_t at = w->at;

    *more = w->at < w->end;
    if (!*more) { /* a block without entries still has the restart point 0 */
        if (w->end == 0 && !at_restart(w, 0))
            return bad_entry(w, err);
        return w->next_restart == w->n_restarts ? OK : bad_entry(w, err);
    }
    uint32_t *const field[] = {&shared, &n_rest, &n_value};
    for (int i = 0; i < 3; i++) {
        const size_t used = varint_get32(w->block + at, w->end - at, field[i]);
        if (!used)
            return bad_entry(w, err);
        at += used;
    }
    if (n_rest > w->end - at || n_value > w->end - at - n_rest || shared > w->key.len ||
        (at_restart(w, w->at) && shared) || (size_t)shared + n_rest > SSTABLE_KEY_MAX)
        return bad_entry(w, err);
    w->key.len = shared;
    str_add(&w->key, w->block + at, n_rest);
    w->value = w->block + at + n_rest;
    w->n_value = n_value;
    w->at = at + n_rest + n_value;
    return str_check(&w->key, "a key", err);
}

/* Keys are found by their offset until the last one is in: the string moves. */
static status add_entry(struct sstable *t, const struct walk *w, struct err *err)
{
    TRY(mem_grow(&t->entry, &t->cap, t->n + 1, sizeof *t->entry, err));
    t->entry[t->n++] = (struct sstable_entry){
        .n_key = w->key.len, .value = w->value, .n_value = w->n_value};
    str_add(&t->keys, str_text(&w->key), w->key.len);
    str_putc(&t->keys, '\0');
    return str_check(&t->keys, "the table's keys", err);
}

/* A table that is being read. */
struct reader {
    struct sstable *table;
    const unsigned char *bytes;
    size_t n_bytes;
    struct walk index, data;
    size_t n_blocks; /* bytes of the blocks so far */
    struct str low;  /* no key below this one, or equal to it, may follow, */
    bool has_low;    /* once there is one */
};

static void reader_release(struct reader *r)
{
    str_release(&r->data.key);
    str_release(&r->index.key);
    str_release(&r->low);
}

static status open_block(struct reader *r, struct walk *w, struct place place,
                         struct err *err)
{
    TRY(walk_open(w, r->bytes, r->n_bytes, place, err));
    r->n_blocks += (size_t)place.n_bytes + SSTABLE_TRAILER_BYTES;
    return OK;
}

static status set_low(struct reader *r, const struct str *key, struct err *err)
{
    str_reset(&r->low);
    str_add(&r->low, str_text(key), key->len);
    r->has_low = true;
    return str_check(&r->low, "a key", err);
}

/* Entries of one data block, all above the last key so far. */
static status read_data(struct reader *r, struct err *err)
{
    const struct str *key = &r->data.key;

    for (bool more;;) {
        TRY(walk_next(&r->data, &more, err));
        if (!more)
            return OK;
        if (r->has_low && compare(key->data, key->len, r->low.data, r->low.len) <= 0)
            return err_set(err, ERR_FORMAT, "key '%s' is out of order", str_text(key));
        TRY(add_entry(r->table, &r->data, err));
        TRY(set_low(r, key, err));
    }
}

/* The blocks that the index lists. A separator is at or above every key of its block
 * and below every key of the next. */
static status read_blocks(struct reader *r, struct err *err)
{
    const struct str *separator = &r->index.key;

    for (bool more;;) {
        struct place place = {0};

        TRY(walk_next(&r->index, &more, err));
        if (!more)
            return OK;
        if (get_place(r->index.value, r->index.n_value, &place) != r->index.n_value)
            return bad_entry(&r->index, err);
        TRY(open_block(r, &r->data, place, err));
        TRY(read_data(r, err));
        if (r->has_low &&
            compare(separator->data, separator->len, r->low.data, r->low.len) < 0)
            return err_set(err, ERR_FORMAT, "the index of blocks is out of order");
        TRY(set_low(r, separator, err));
    }
}

static void resolve_keys(struct sstable *t)
{
    const char *key = str_text(&t->keys);

    for (size_t i = 0; i < t->n; i++) {
        t->entry[i].key = key;
        key += t->entry[i].n_key + 1;
    }
}

static status read_all(struct reader *r, struct err *err)
{
    struct place meta = {0}, index = {0};

    TRY(read_footer(r->bytes, r->n_bytes, &meta, &index, err));
    TRY(open_block(r, &r->data, meta, err));
    for (bool more = true; more;)
        TRY(walk_next(&r->data, &more, err));
    TRY(open_block(r, &r->index, index, err));
    return read_blocks(r, err);
}

status sstable_read(struct sstable *t, const unsigned char *bytes, size_t n_bytes,
                    struct err *err)
{
    RELEASED_BY(reader_release)
    struct reader r = {.table = t, .bytes = bytes, .n_bytes = n_bytes};

    *t = (struct sstable){.keys = str_new(ALL_KEYS_MAX)};
    if (read_all(&r, err) != OK) {
        sstable_release(t);
        return err->code;
    }
    resolve_keys(t);
    t->n_spare = n_bytes - SSTABLE_FOOTER_BYTES - r.n_blocks;
    return OK;
}

void sstable_release(struct sstable *t)
{
    free(t->entry);
    str_release(&t->keys);
    *t = (struct sstable){0};
}

const struct sstable_entry *sstable_find(const struct sstable *t, const void *key,
                                         size_t n_key)
{
    size_t lo = 0, hi = t->n;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        const struct sstable_entry *e = &t->entry[mid];
        const int order = compare(key, n_key, e->key, e->n_key);
        if (order == 0)
            return e;
        if (order < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

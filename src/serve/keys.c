#include "serve/keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "base/mem.h"
#include "base/table.h"

enum { KEY_MAX = 128, ADDRESSES = 4096, NEIGHBOURS = 8 };

/* What is left of a minute's worth. */
struct bucket {
    double left, t_last;
};

struct key {
    char text[KEY_MAX];
    int64_t requests, chars; /* a minute; 0: any */
    struct bucket of_requests, of_chars;
};

/* By the hash of an address: two that share one share a bucket. */
struct caller {
    uint64_t hash;
    struct bucket bucket;
};

struct keys {
    struct key *key;
    size_t n, cap;
    bool has_file, has_anonymous;
    int64_t per_minute;
    struct caller caller[ADDRESSES];
};

/* ---- the file ---- */

static struct line next_word(struct line *rest)
{
    size_t at = 0, n;

    while (at < rest->n_bytes && strchr(" \t", rest->text[at]))
        at++;
    for (n = 0; at + n < rest->n_bytes && !strchr(" \t", rest->text[at + n]);)
        n++;
    const struct line word = {rest->text + at, n};
    rest->text += at + n;
    rest->n_bytes -= at + n;
    return word;
}

static bool read_number(struct line word, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < word.n_bytes; i++) {
        if (word.text[i] < '0' || word.text[i] > '9' || i > 15)
            return false;
        *out = *out * 10 + (word.text[i] - '0');
    }
    return true;
}

static status add_key(struct keys *k, const char *path, uint64_t number, struct line line,
                      struct err *err)
{
    const struct line word = next_word(&line);
    struct key key = {.requests = 0};

    if (!word.n_bytes || word.text[0] == '#')
        return OK;
    const bool has_numbers = read_number(next_word(&line), &key.requests) &&
                             read_number(next_word(&line), &key.chars);
    if (word.n_bytes >= KEY_MAX || !has_numbers || next_word(&line).n_bytes)
        return err_set(err, ERR_FORMAT,
                       "%s: line %llu is not KEY [REQUESTS_A_MINUTE "
                       "[CHARACTERS_A_MINUTE]], with a key of less than %d bytes",
                       path, (unsigned long long)number, KEY_MAX);
    memcpy(key.text, word.text, word.n_bytes);
    key.of_requests.left = (double)key.requests;
    key.of_chars.left = (double)key.chars;
    TRY(mem_grow(&k->key, &k->cap, k->n + 1, sizeof *k->key, err));
    k->key[k->n++] = key;
    return OK;
}

static status read_file(struct keys *k, const char *path, struct err *err)
{
    RELEASED_BY(lines_close) struct lines l = {0};
    struct line line;

    TRY(lines_open(&l, path, err));
    while (lines_next(&l, &line))
        TRY(add_key(k, path, l.n_read, line, err));
    if (!k->n)
        return err_set(err, ERR_FORMAT, "%s holds no key; put one on a line", path);
    return OK;
}

status keys_open(struct keys **out, const struct keys_options *o, struct err *err)
{
    struct keys *k;

    *out = NULL;
    TRY(mem_alloc(&k, 1, sizeof *k, err));
    k->has_file = o->path[0];
    k->has_anonymous = !k->has_file || o->has_anonymous;
    k->per_minute = o->per_minute;
    const status result = k->has_file ? read_file(k, o->path, err) : OK;
    if (result != OK) {
        keys_close(k);
        return result;
    }
    *out = k;
    return OK;
}

void keys_close(struct keys *k)
{
    if (!k)
        return;
    free(k->key);
    free(k);
}

bool keys_exist(const struct keys *k)
{
    return k->has_file;
}

bool keys_are_needed(const struct keys *k)
{
    return !k->has_anonymous;
}

/* ---- asking ---- */

/* All of a key is compared, so that time does not tell how much of it was right. */
static bool is_equal(const char key[KEY_MAX], const char *given)
{
    const size_t n = strlen(given);
    unsigned char different = n >= KEY_MAX;

    for (size_t i = 0; i < KEY_MAX; i++)
        different |= (unsigned char)(key[i] ^ (i < n ? given[i] : '\0'));
    return !different;
}

static struct key *find_key(struct keys *k, const char *given)
{
    struct key *found = NULL;

    for (size_t i = 0; i < k->n; i++)
        if (is_equal(k->key[i].text, given))
            found = &k->key[i];
    return found;
}

static void refill(struct bucket *b, int64_t per_minute, double now)
{
    const double most = (double)per_minute;

    if (now > b->t_last)
        b->left += (now - b->t_last) * most / 60;
    b->left = b->left > most ? most : b->left;
    b->t_last = now;
}

/* Whether so much is there; a request that is larger than a whole minute's worth waits
 * for that. */
static bool has(struct bucket *b, int64_t per_minute, double want, double now,
                double *wait)
{
    if (!per_minute)
        return true;
    refill(b, per_minute, now);
    const double most = (double)per_minute, need = want > most ? most : want;
    if (b->left >= need)
        return true;
    *wait = (need - b->left) * 60 / most;
    return false;
}

/* An address has one of some places that its hash tells. When all are taken it gets that
 * of the caller who has most left, and loses least by it. */
static struct bucket *bucket_of(struct keys *k, const char *address, double now)
{
    const uint64_t hash = table_hash(address, strlen(address)) | 1;
    struct caller *first =
        &k->caller[(hash >> 8) % (ADDRESSES / NEIGHBOURS) * NEIGHBOURS];
    struct caller *c = first;

    for (size_t i = 0; i < NEIGHBOURS && c->hash != hash; i++) {
        struct caller *other = first + i;
        refill(&other->bucket, k->per_minute, now);
        if (other->hash == hash ||
            (c->hash && (!other->hash || other->bucket.left > c->bucket.left)))
            c = other;
    }
    if (c->hash != hash)
        *c = (struct caller){hash, {.left = (double)k->per_minute}};
    return &c->bucket;
}

static enum keys_verdict ask_anonymous(struct keys *k, const char *address, double now,
                                       int64_t *per_minute, double *wait)
{
    struct bucket *b = bucket_of(k, address, now);

    if (!k->has_anonymous)
        return KEYS_MISSING;
    *per_minute = k->per_minute;
    if (!has(b, k->per_minute, 1, now, wait))
        return KEYS_SLOW;
    b->left -= 1;
    return KEYS_GOOD;
}

enum keys_verdict keys_ask(struct keys *k, const char *given, const char *address,
                           size_t n_chars, double now, int64_t *per_minute, double *wait)
{
    if (!k->has_file || !given || !given[0])
        return ask_anonymous(k, address, now, per_minute, wait);
    struct key *key = find_key(k, given);
    if (!key)
        return KEYS_WRONG;
    *per_minute = key->requests;
    if (!has(&key->of_requests, key->requests, 1, now, wait))
        return KEYS_SLOW;
    *per_minute = key->chars;
    if (!has(&key->of_chars, key->chars, (double)n_chars, now, wait))
        return KEYS_SLOW;
    key->of_requests.left -= 1;
    key->of_chars.left -= (double)n_chars;
    return KEYS_GOOD;
}

/*
 * keys - who may ask, and how often.
 *
 * A file has a key a line, and behind it, if they are limited, the requests and the
 * characters it has a minute; "#" begins a comment. Callers without a key are counted by
 * their address. What a caller has a minute comes back evenly: a bucket that holds a
 * minute's worth.
 *
 * Owns: keys and buckets. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct keys_options {
    const char *path; /* "": no keys */
    bool has_anonymous;
    int64_t per_minute; /* requests of callers without a key; 0: any */
};

struct keys;

status keys_open(struct keys **k, const struct keys_options *o, struct err *err);
void keys_close(struct keys *k);

/* Whether there are keys, and whether one is needed. */
bool keys_exist(const struct keys *k);
bool keys_are_needed(const struct keys *k);

enum keys_verdict { KEYS_GOOD, KEYS_MISSING, KEYS_WRONG, KEYS_SLOW };

/* A request of so many characters at time `now`, in seconds. What it takes is taken. With
 * KEYS_SLOW, *per_minute becomes the limit that it met and *wait the seconds until it
 * would not. */
enum keys_verdict keys_ask(struct keys *k, const char *key, const char *address,
                           size_t n_chars, double now, int64_t *per_minute, double *wait);

#include "text/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/unicode.h"

#define MAGIC "FERRYPRF"
enum { VERSION = 1, HEAD_BYTES = 16, MOST_PROFILES = 1024, NEVER = 255 };

/* Runs overlap, so each counts for less than a whole observation. */
#define WEIGHT 0.12
/* A language has seen so much of the runs of a text in it; of a text in another, less. */
#define LEAST_SEEN 0.45
#define SURE_SEEN  0.75

/* Runs that end with the newest character of a word. */
struct window {
    uint32_t code[PROFILE_ORDERS]; /* the newest first */
    size_t n;
};

/* Part of the format of profiles. */
static uint32_t bucket_of(const struct window *w, size_t order)
{
    uint32_t h = 0x9E3779B1u * (uint32_t)(order + 1);

    for (size_t i = 0; i <= order; i++) {
        h = (h ^ w->code[i]) * 0x85EBCA6Bu;
        h ^= h >> 15;
    }
    h *= 0xC2B2AE35u;
    return h >> 17;
}

static void push(struct window *w, uint32_t code)
{
    memmove(w->code + 1, w->code, (PROFILE_ORDERS - 1) * sizeof *w->code);
    w->code[0] = code;
    w->n += w->n < PROFILE_ORDERS;
}

typedef void take_fn(void *ctx, uint32_t bucket, size_t order);

/* Hand out the runs of all words; a blank stands for a word's border. */
static void each_run(struct line text, take_fn *take, void *ctx)
{
    struct window w = {.n = 0};
    size_t len;

    for (size_t i = 0; i <= text.n_bytes; i += len) {
        len = 1;
        const uint32_t raw =
            i < text.n_bytes ? utf8_decode(text.text + i, text.n_bytes - i, &len) : ' ';
        const bool is_in =
            raw != UTF8_BAD && (unicode_is_letter(raw) || (w.n && unicode_is_mark(raw)));
        if (!is_in && !w.n)
            continue;
        if (!w.n)
            push(&w, ' ');
        push(&w, is_in ? unicode_lower(raw) : ' ');
        for (size_t order = is_in ? 0 : 1; order < w.n; order++)
            take(ctx, bucket_of(&w, order), order);
        if (!is_in)
            w.n = 0;
    }
}

static void count_run(void *ctx, uint32_t bucket, size_t order)
{
    struct profile_counts *c = ctx;

    c->count[bucket] += c->count[bucket] < UINT32_MAX;
    c->n_letters += order == 0;
}

void profile_count(struct profile_counts *c, struct line text)
{
    each_run(text, count_run, c);
}

void profile_release(struct profiles *p)
{
    free(p->item);
    *p = (struct profiles){0};
}

static uint8_t cost_of(double share)
{
    const double bits = share > 0 ? -8 * log2(share) : NEVER;

    return (uint8_t)(bits < 0 ? 0 : bits < NEVER - 1 ? bits + 0.5 : NEVER - 1);
}

status profile_add(struct profiles *p, const char *name, const struct profile_counts *c,
                   struct err *err)
{
    if (c->n_letters == 0 || !*name)
        return OK;
    TRY(mem_grow(&p->item, &p->cap, p->n + 1, sizeof *p->item, err));
    struct profile *a = &p->item[p->n++];
    *a = (struct profile){.n_merged = 1};
    strncpy(a->name, name, sizeof a->name - 1);
    for (size_t i = 0; i < PROFILE_BUCKETS; i++)
        a->cost[i] =
            c->count[i] ? cost_of((double)c->count[i] / (double)c->n_letters) : NEVER;
    return OK;
}

static void put32(struct str *out, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        str_putc(out, (char)(value >> 8 * i));
}

static uint32_t get32(const char *bytes)
{
    uint32_t value = 0;

    for (int i = 0; i < 4; i++)
        value |= (uint32_t)(unsigned char)bytes[i] << 8 * i;
    return value;
}

status profile_write(struct str *out, const struct profiles *p, struct err *err)
{
    str_puts(out, MAGIC);
    put32(out, VERSION);
    put32(out, (uint32_t)p->n);
    for (size_t i = 0; i < p->n; i++) {
        str_add(out, p->item[i].name, PROFILE_NAME);
        str_add(out, p->item[i].cost, PROFILE_BUCKETS);
    }
    return str_check(out, "the profiles of languages", err);
}

/* The mean of the shares of all that were merged. */
static void merge(struct profile *into, const struct profile *more)
{
    const double n = into->n_merged, n_more = more->n_merged;

    for (size_t i = 0; i < PROFILE_BUCKETS; i++) {
        const double a = into->cost[i] == NEVER ? 0 : exp2(-into->cost[i] / 8.0);
        const double b = more->cost[i] == NEVER ? 0 : exp2(-more->cost[i] / 8.0);
        const double mean = (a * n + b * n_more) / (n + n_more);
        into->cost[i] = mean > 0 ? cost_of(mean) : NEVER;
    }
    into->n_merged += more->n_merged;
}

static status add_merged(struct profiles *p, const struct profile *more, struct err *err)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->item[i].name, more->name) == 0) {
            merge(&p->item[i], more);
            return OK;
        }
    TRY(mem_grow(&p->item, &p->cap, p->n + 1, sizeof *p->item, err));
    p->item[p->n++] = *more;
    return OK;
}

status profile_read(struct profiles *p, struct line bytes, struct err *err)
{
    const size_t each = PROFILE_NAME + PROFILE_BUCKETS;
    const char *at = bytes.text + HEAD_BYTES;

    if (bytes.n_bytes < HEAD_BYTES || memcmp(bytes.text, MAGIC, 8) != 0)
        return err_set(err, ERR_FORMAT, "these are no profiles of languages");
    const uint32_t version = get32(bytes.text + 8);
    if (version != VERSION)
        return err_set(err, ERR_FORMAT,
                       "the profiles of languages have version %u%s; this program reads "
                       "%d",
                       version, version > VERSION ? ", which is newer" : "", VERSION);
    const size_t n = get32(bytes.text + 12);
    if (n > MOST_PROFILES || bytes.n_bytes != HEAD_BYTES + n * each)
        return err_set(err, ERR_FORMAT,
                       "profiles of languages are %zu bytes for %zu of them",
                       bytes.n_bytes, n);
    for (size_t i = 0; i < n; i++, at += each) {
        struct profile a = {.n_merged = 1};
        memcpy(a.name, at, PROFILE_NAME);
        memcpy(a.cost, at + PROFILE_NAME, PROFILE_BUCKETS);
        if (!a.name[0] || a.name[PROFILE_NAME - 1] || !utf8_valid(a.name, strlen(a.name)))
            return err_set(err, ERR_FORMAT, "a profile of a language has no valid name");
        TRY(add_merged(p, &a, err));
    }
    return OK;
}

status profile_merge(struct profiles *into, const struct profiles *more, struct err *err)
{
    for (size_t i = 0; i < more->n; i++)
        TRY(add_merged(into, &more->item[i], err));
    return OK;
}

struct sum {
    const struct profile *profile;
    double bits;
    size_t n, n_seen; /* runs; those that the profile knows */
};

static void sum_run(void *ctx, uint32_t bucket, size_t order)
{
    struct sum *s = ctx;
    const uint8_t cost = s->profile->cost[bucket];

    s->bits += (cost == NEVER ? 23 : cost / 8.0) * (order == 0 ? 0.5 : 1);
    s->n++;
    s->n_seen += cost != NEVER;
}

static int compare_guesses(const void *a, const void *b)
{
    const double x = ((const struct profile_guess *)a)->confidence;
    const double y = ((const struct profile_guess *)b)->confidence;

    return x > y ? -1 : x < y;
}

void profile_detect(const struct profiles *p, struct line text,
                    struct profile_guess *guess)
{
    double least = INFINITY, all = 0, seen = 0;

    for (size_t i = 0; i < p->n; i++) {
        struct sum s = {.profile = &p->item[i]};
        each_run(text, sum_run, &s);
        const double share = s.n ? (double)s.n_seen / (double)s.n : 0;
        guess[i] = (struct profile_guess){p->item[i].name, s.bits};
        least = s.bits < least ? s.bits : least;
        seen = share > seen ? share : seen;
    }
    for (size_t i = 0; i < p->n; i++) {
        guess[i].confidence = exp2(-WEIGHT * (guess[i].confidence - least));
        all += guess[i].confidence;
    }
    const double known = (seen - LEAST_SEEN) / (SURE_SEEN - LEAST_SEEN);
    for (size_t i = 0; i < p->n; i++)
        guess[i].confidence *= 100 / all * (known < 0 ? 0 : known > 1 ? 1 : known);
    if (p->n)
        qsort(guess, p->n, sizeof *guess, compare_guesses);
}

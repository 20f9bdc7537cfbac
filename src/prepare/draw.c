#include "prepare/draw.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"

/* Candidates for each pair wanted, so that those which share a side can be passed over
 * and one round is enough for most texts. */
enum { SPARE = 4, SPARE_LEAST = 1024 };

bool draw_is_wanted(const struct draw *d)
{
    return d->wanted[PREPARE_VALID] || d->wanted[PREPARE_TEST];
}

status draw_open(struct draw *d, const struct prepare_config *c, struct err *err)
{
    *d = (struct draw){
        .wanted =
            {[PREPARE_VALID] = (uint64_t)c->valid, [PREPARE_TEST] = (uint64_t)c->test},
        .key = rng_key((uint64_t)c->seed, "held out"),
        .limit = UINT64_MAX,
        .text = str_new(0)};
    const size_t n = (size_t)(c->valid + c->test);
    if (!n)
        return OK;
    d->n_keep = SPARE * n + SPARE_LEAST;
    TRY(mem_alloc(&d->candidate, 2 * d->n_keep, sizeof *d->candidate, err));
    return mem_alloc(&d->drawn, n, sizeof *d->drawn, err);
}

void draw_release(struct draw *d)
{
    free(d->candidate);
    free(d->drawn);
    str_release(&d->text);
}

static int by_key(const void *a, const void *b)
{
    const struct draw_candidate *x = a, *y = b;

    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->pair > y->pair) - (x->pair < y->pair);
}

/* Sort, drop what repeats an earlier pair, and keep the lowest. */
static void cut(struct draw *d)
{
    size_t n = 0;

    if (d->n)
        qsort(d->candidate, d->n, sizeof *d->candidate, by_key);
    for (size_t i = 0; i < d->n; i++)
        if (!n || d->candidate[i].key != d->candidate[n - 1].key)
            d->candidate[n++] = d->candidate[i];
    d->n = n;
    if (n >= d->n_keep) {
        d->n = d->n_keep;
        d->limit = d->candidate[d->n - 1].key;
    }
}

void draw_offer(struct draw *d, uint64_t pair, struct overlap_key key)
{
    const uint64_t random = rng_hash(d->key, key.hash[OVERLAP_PAIR]);

    if (random < d->from || random > d->limit)
        return;
    d->candidate[d->n++] = (struct draw_candidate){random, pair, key};
    if (d->n == 2 * d->n_keep)
        cut(d);
}

static int by_pair(const void *a, const void *b)
{
    const struct draw_pair *x = a, *y = b;

    return (x->pair > y->pair) - (x->pair < y->pair);
}

static status check_share(const struct draw *d, uint64_t n_left, struct err *err)
{
    const uint64_t n = d->wanted[PREPARE_VALID] + d->wanted[PREPARE_TEST];

    if (n <= n_left / 3)
        return OK;
    return err_set(err, ERR_USAGE,
                   "valid + test = %" PRIu64 " is more than a third of the %" PRIu64
                   " pairs that are left after cleaning; ask for fewer",
                   n, n_left);
}

/* The set that the next pair is for: the test set until it is full. */
static enum prepare_set filling(const struct draw *d)
{
    return d->n_drawn < d->wanted[PREPARE_TEST] ? PREPARE_TEST : PREPARE_VALID;
}

static status choose_round(struct draw *d, struct overlap set[N_PREPARE_SETS],
                           const unsigned char *left_out, uint64_t n_wanted,
                           struct err *err)
{
    cut(d);
    for (size_t i = 0; i < d->n && d->n_drawn < n_wanted; i++) {
        const struct draw_candidate *c = &d->candidate[i];
        const enum prepare_set to = filling(d);
        if ((left_out[c->pair / 8] >> c->pair % 8 & 1) ||
            overlap_find(&set[PREPARE_TEST], c->overlap) ||
            overlap_find(&set[PREPARE_VALID], c->overlap))
            continue;
        TRY(overlap_add(&set[to], c->overlap, err));
        d->drawn[d->n_drawn] =
            (struct draw_pair){.pair = c->pair, .rank = d->n_drawn, .set = to};
        d->n_drawn++;
    }
    return OK;
}

static status too_few(const struct draw *d, struct err *err)
{
    const enum prepare_set set = filling(d);
    const uint64_t before = set == PREPARE_TEST ? 0 : d->wanted[PREPARE_TEST];

    return err_set(err, ERR_USAGE,
                   "%s = %" PRIu64 ": only %" PRIu64
                   " pairs could be drawn that share no sentence with each other",
                   prepare_stats_set_names[set], d->wanted[set], d->n_drawn - before);
}

status draw_choose(struct draw *d, struct overlap set[N_PREPARE_SETS],
                   const unsigned char *left_out, uint64_t n_left, bool *is_done,
                   struct err *err)
{
    const uint64_t n_wanted = d->wanted[PREPARE_VALID] + d->wanted[PREPARE_TEST];

    TRY(check_share(d, n_left, err));
    TRY(choose_round(d, set, left_out, n_wanted, err));
    *is_done = d->n_drawn == n_wanted;
    if (!*is_done && d->limit == UINT64_MAX)
        return too_few(d, err); /* all were offered */
    d->from = d->limit + 1;
    d->limit = UINT64_MAX;
    d->n = 0;
    if (*is_done && d->n_drawn)
        qsort(d->drawn, d->n_drawn, sizeof *d->drawn, by_pair);
    return OK;
}

bool draw_take(struct draw *d, uint64_t pair, const struct line side[PAIRS_SIDES])
{
    if (d->next == d->n_drawn || d->drawn[d->next].pair != pair)
        return false;
    struct draw_pair *p = &d->drawn[d->next++];
    for (int s = 0; s < PAIRS_SIDES; s++) {
        p->at[s] = d->text.len;
        p->n_bytes[s] = side[s].n_bytes;
        str_add(&d->text, side[s].text, side[s].n_bytes);
    }
    return true;
}

static int by_set(const void *a, const void *b)
{
    const struct draw_pair *x = a, *y = b;

    return x->set != y->set ? (x->set > y->set) - (x->set < y->set)
                            : (x->rank > y->rank) - (x->rank < y->rank);
}

status draw_finish(struct draw *d, struct err *err)
{
    BUG_ON(d->next != d->n_drawn);
    if (d->n_drawn)
        qsort(d->drawn, d->n_drawn, sizeof *d->drawn, by_set);
    return str_check(&d->text, "the held-out text", err);
}

struct line draw_line(const struct draw *d, const struct draw_pair *p, int side)
{
    return (struct line){str_text(&d->text) + p->at[side], p->n_bytes[side]};
}

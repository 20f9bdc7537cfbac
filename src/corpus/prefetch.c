/*
 * The ring has one writer and one reader. n_made and n_done only grow; slot i % RING
 * belongs to the reader while n_done <= i < n_made, and otherwise to the writer. The
 * lock guards the two counters, the failure and the wish to stop; the slots themselves
 * are handed over by them and are touched without it. n_done grows when the reader asks
 * for the next item, so the one it holds stays its own.
 */
#include "corpus/prefetch.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/os.h"

enum { RING = 3 }; /* one being trained, one ready, one being made */

struct slot {
    struct batch batch;
    struct prefetch_item item;
};

struct prefetch {
    struct order order;
    struct shard shard;
    struct batch_limit limit;
    struct vary vary;
    struct varied varied;       /* the part at hand */
    struct order_cursor cursor; /* the writer's: behind the last update made */
    struct slot slot[RING];
    bool is_held; /* the reader holds slot n_done */

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t made, done;
    uint64_t n_made, n_done;
    bool is_stopping;
    struct err failure; /* OK until the writer gave up */
};

/* Wait for a free slot; NULL when the prefetcher is being closed. */
static struct slot *writer_slot(struct prefetch *f)
{
    struct slot *slot = NULL;

    pthread_mutex_lock(&f->lock);
    while (!f->is_stopping && f->n_made - f->n_done == RING)
        pthread_cond_wait(&f->done, &f->lock);
    if (!f->is_stopping)
        slot = &f->slot[f->n_made % RING];
    pthread_mutex_unlock(&f->lock);
    return slot;
}

static void writer_publish(struct prefetch *f)
{
    pthread_mutex_lock(&f->lock);
    f->n_made++;
    pthread_cond_signal(&f->made);
    pthread_mutex_unlock(&f->lock);
}

/* False: it is time to end. */
static bool writer_fail(struct prefetch *f, const struct err *why)
{
    pthread_mutex_lock(&f->lock);
    f->failure = *why;
    pthread_cond_signal(&f->made);
    pthread_mutex_unlock(&f->lock);
    return false;
}

/* Put other words in the place of the part's, for this epoch. */
static status vary_part(struct prefetch *f, struct shard_part *part, uint64_t epoch,
                        const struct corpus **corpus, struct err *err)
{
    const bool is_for_node = f->vary.is_for_node;

    if (!f->vary.make)
        return OK;
    TRY(varied_make(&f->varied, *corpus, part->pair,
                    is_for_node ? part->n_node_pairs : part->n_pairs, epoch, f->vary,
                    err));
    part->node_tgt = is_for_node ? varied_tgt(&f->varied, f->order.rule.max_length) : 0;
    part->pair = f->varied.pair;
    *corpus = &f->varied.corpus;
    return OK;
}

/* Target tokens of a node's pairs, each as often as its pair counts. */
static double weight_of(const struct prefetch *f, const struct shard_part *part,
                        const struct corpus *corpus)
{
    const size_t max_length = f->order.rule.max_length;
    double sum = 0;

    if (!part->node_tgt || !corpus_has_weights(corpus))
        return (double)part->node_tgt;
    for (size_t i = 0; i < part->n_node_pairs; i++) {
        const size_t len = corpus_target(corpus, part->pair[i]).len;
        sum += (double)corpus_weight(corpus, part->pair[i]) *
               (double)corpus_rows(corpus, len, max_length);
    }
    return sum;
}

/* The micro-batches of this rank's part of one update, at least one, which is empty when
 * the part is; false when it is time to end. */
static bool make_update(struct prefetch *f)
{
    const uint64_t epoch = f->cursor.epoch;
    const struct order_update u = order_next(&f->order, &f->cursor);
    const size_t max_length = f->order.rule.max_length;
    const struct corpus *corpus = f->order.corpus;
    struct shard_part part;
    struct err err;

    if (shard_take(&f->shard, &part, &u, corpus, max_length, &err) != OK ||
        vary_part(f, &part, epoch, &corpus, &err) != OK)
        return writer_fail(f, &err);
    const double node_weight = weight_of(f, &part, corpus);
    size_t at = 0;
    do {
        struct slot *slot = writer_slot(f);
        if (!slot)
            return false;
        const size_t n =
            batch_cut(corpus, part.pair + at, part.n_pairs - at, max_length, f->limit);
        if (batch_gather(&slot->batch, corpus, part.pair + at, n, max_length, &err) != OK)
            return writer_fail(f, &err);
        slot->item = (struct prefetch_item){
            .batch = &slot->batch,
            .update_pairs = u.n_pairs,
            .node_tgt = part.node_tgt,
            .node_weight = node_weight,
            .is_first = at == 0,
            .is_last = at + n == part.n_pairs,
            .ends_epoch = u.ends_epoch,
            .after = f->cursor,
        };
        writer_publish(f);
        at += n;
    } while (at < part.n_pairs);
    return true;
}

static void *writer_main(void *arg)
{
    while (make_update(arg))
        continue;
    return NULL;
}

static void release(struct prefetch *f)
{
    for (int i = 0; i < RING; i++)
        batch_release(&f->slot[i].batch);
    varied_release(&f->varied);
    order_close(&f->order);
    shard_close(&f->shard);
    pthread_cond_destroy(&f->done);
    pthread_cond_destroy(&f->made);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

status prefetch_open(struct prefetch **out, const struct corpus *corpus,
                     struct prefetch_rule rule, struct order_cursor from, struct err *err)
{
    struct prefetch *f;

    *out = NULL;
    TRY(mem_alloc(&f, 1, sizeof *f, err));
    f->limit = rule.limit;
    f->vary = rule.vary;
    f->cursor = from;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->made, NULL);
    pthread_cond_init(&f->done, NULL);
    if (order_open(&f->order, corpus, rule.order, err) != OK ||
        order_check(&f->order, from, err) != OK ||
        shard_open(&f->shard, rule.shard, err) != OK ||
        os_thread(&f->thread, writer_main, f, err) != OK) {
        release(f);
        return err->code;
    }
    *out = f;
    return OK;
}

void prefetch_close(struct prefetch *f)
{
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    f->is_stopping = true;
    pthread_cond_signal(&f->done);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->thread, NULL);
    release(f);
}

status prefetch_next(struct prefetch *f, struct prefetch_item *item, struct err *err)
{
    pthread_mutex_lock(&f->lock);
    if (f->is_held) {
        f->n_done++;
        f->is_held = false;
        pthread_cond_signal(&f->done);
    }
    while (f->n_made == f->n_done && f->failure.code == OK)
        pthread_cond_wait(&f->made, &f->lock);
    if (f->n_made > f->n_done) {
        f->is_held = true;
        *item = f->slot[f->n_done % RING].item;
    }
    const bool is_there = f->is_held;
    pthread_mutex_unlock(&f->lock);
    if (is_there)
        return OK;
    *err = f->failure;
    return err->code;
}

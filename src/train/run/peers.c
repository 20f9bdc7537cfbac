#include "train/run/peers.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "corpus/checksum.h"
#include "dist/exchange/reducer.h"
#include "train/run/pulse_writer.h"

status peers_open(struct peers *p, struct comm *comm, struct control *control,
                  struct err *err)
{
    const size_t n = (size_t)comm->size;

    *p = (struct peers){.comm = comm,
                        .control = control,
                        .dir = {.lock = -1},
                        .compared_at = -1,
                        .named_at = -1};
    TRY(mem_alloc(&p->node, n, sizeof *p->node, err));
    for (size_t r = 0; r < n; r++)
        p->node[r] = comm->peer[r].node;
    return OK;
}

void peers_close(struct peers *p)
{
    free(p->node);
    pulse_writer_close(p->pulse);
    p->pulse = NULL;
    if (p->comm)
        run_dir_close(&p->dir);
}

status peers_note_result(struct peers *p, status result)
{
    p->is_agreed = result != OK && result != ERR_COMM;
    return result;
}

status peers_agree(struct peers *p, status mine, struct err *err)
{
    return peers_note_result(p, comm_agree(p->comm, mine, err));
}

void peers_phase(struct peers *p, int64_t step, enum phase_id phase)
{
    if (p->control)
        phase_set(&p->control->phase, (uint64_t)step, phase);
}

status peers_broadcast(struct peers *p, struct device *d, struct mat flat, int from,
                       struct err *err)
{
    enum { PIECE = 4 << 20 };
    const size_t n = flat.cols;
    status result = OK;
    float *x;

    TRY(mem_alloc(&x, n < PIECE ? n : PIECE, sizeof *x, err));
    for (size_t at = 0; result == OK && at < n; at += PIECE) {
        const size_t k = n - at < PIECE ? n - at : PIECE;
        device_download(d, x, mat_cols(flat, at, k));
        result = comm_bcast(p->comm, x, k * sizeof *x, from, err);
        if (result == OK)
            device_upload(d, mat_cols(flat, at, k), x);
    }
    free(x);
    return result;
}

/* Weights of a GPU come to the host for it. */
static status checksum_of_weights(struct device *d, struct mat flat, uint64_t *checksum,
                                  struct err *err)
{
    const size_t n_bytes = flat.cols * sizeof(float);
    float *copy = NULL;

    if (d->gpu) {
        TRY(mem_alloc(&copy, n_bytes, 1, err));
        device_download(d, copy, flat);
    }
    *checksum = checksum_of(copy ? copy : flat.mem, n_bytes);
    free(copy);
    return OK;
}

/* Ranks that hold different weights train different models and would never know. */
status peers_compare(struct peers *p, struct device *d, struct mat flat, int64_t step,
                     struct err *err)
{
    char name[COMM_NAME_MAX], other[COMM_NAME_MAX];
    struct reducer_odd odd;
    uint64_t checksum;

    if (p->comm->size == 1 || p->compared_at == step)
        return OK;
    TRY(checksum_of_weights(d, flat, &checksum, err));
    TRY(reducer_compare(p->comm, checksum, &odd, err));
    p->compared_at = step;
    if (odd.rank < 0)
        return OK;
    p->is_agreed = true;
    p->comm->fault = odd.is_clear ? 1 + odd.rank : 0;
    (void)comm_name(p->comm, odd.rank, name);
    if (!odd.is_clear)
        return err_set(
            err, ERR_DEVICE,
            "step %lld: the weights of %s and %s differ, and it cannot be told "
            "whose are wrong; the memory, processor or network of one of them "
            "may be faulty",
            (long long)step, comm_name(p->comm, odd.other, other), name);
    return err_set(err, ERR_DEVICE,
                   "step %lld: the weights of %s differ from those of the other ranks; "
                   "its memory, processor or network may be faulty, leave that host out",
                   (long long)step, name);
}

status peers_find_odd(struct peers *p, char who[PEERS_TEXT_MAX], struct err *err)
{
    struct str all = str_new(0);

    memset(who, 0, PEERS_TEXT_MAX);
    if (p->comm->size == 1 || !ranks_may_be_odd(&p->most))
        return OK;
    status result = comm_gather(p->comm, &all, &p->own, sizeof p->own, err);
    if (result == OK && p->comm->rank == 0)
        (void)ranks_find_odd(p->comm, (const struct ranks_own *)(const void *)all.data,
                             who, PEERS_TEXT_MAX);
    str_release(&all);
    THEN(result, comm_bcast(p->comm, who, PEERS_TEXT_MAX, 0, err));
    return result;
}

status peers_watch_odd(struct peers *p, int64_t step, char who[PEERS_TEXT_MAX],
                       struct err *err)
{
    enum { AGAIN_AFTER = 100 };

    who[0] = '\0';
    if (p->named_at >= 0 && step < p->named_at + AGAIN_AFTER)
        return OK;
    TRY(peers_find_odd(p, who, err));
    if (who[0])
        p->named_at = step;
    return OK;
}

#include "train/save/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

size_t snapshot_bytes(const struct checkpoint *c)
{
    size_t n = c->optim->norms ? c->model->params.n_list * sizeof(double) : 0;

    for (int i = 0; i < CHECKPOINT_N_PARTS; i++)
        if (checkpoint_part(c, (enum checkpoint_part)i).mem)
            n += c->model->params.n_flat * sizeof(float);
    return n;
}

static status allocate(struct snapshot *s, const struct checkpoint *c, struct err *err)
{
    const struct params *p = &c->model->params;

    for (int i = 0; i < CHECKPOINT_N_PARTS; i++)
        if (checkpoint_part(c, (enum checkpoint_part)i).mem)
            TRY(mem_alloc(&s->part[i], p->n_flat, sizeof *s->part[i], err));
    return c->optim->norms ? mem_alloc(&s->norms, p->n_list, sizeof *s->norms, err) : OK;
}

status snapshot_open(struct snapshot *s, const struct checkpoint *c, struct err *err)
{
    *s = (struct snapshot){0};
    const status result = allocate(s, c, err);
    if (result != OK)
        snapshot_close(s);
    return result;
}

void snapshot_close(struct snapshot *s)
{
    for (int i = 0; i < CHECKPOINT_N_PARTS; i++)
        free(s->part[i]);
    free(s->norms);
    *s = (struct snapshot){0};
}

void snapshot_take(struct snapshot *s, const struct checkpoint *c,
                   const struct state *state)
{
    for (int i = 0; i < CHECKPOINT_N_PARTS; i++)
        if (s->part[i] && !(c->is_sharded && (i == CHECKPOINT_M || i == CHECKPOINT_V)))
            device_download(c->model->device, s->part[i],
                            checkpoint_part(c, (enum checkpoint_part)i));
    if (s->norms)
        memcpy(s->norms, c->optim->norms, c->model->params.n_list * sizeof *s->norms);
    s->state = *state;
}

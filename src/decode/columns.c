#include "decode/columns.h"

#include <stdlib.h>

#include "base/mem.h"

enum { ALIGN = 64 };

status columns_open(struct columns *c, const struct network *net,
                    const struct shortlist *list, size_t max_src, struct err *err)
{
    const size_t V = (size_t)net->config.vocab_size, most = shortlist_most(list, max_src);

    *c = (struct columns){
        .net = net, .list = list, .cap = most < V ? most : V, .max_src = max_src};
    if (mem_alloc(&c->id, c->cap, sizeof *c->id, err) != OK) {
        *c = (struct columns){0};
        return err->code;
    }
    c->memory = aligned_alloc(
        ALIGN, linear_round(linear_gather_bytes(network_output(net), c->cap), ALIGN));
    if (!c->memory) {
        columns_close(c);
        return err_set(err, ERR_MEMORY, "cannot allocate memory for a shortlist");
    }
    return OK;
}

void columns_close(struct columns *c)
{
    free(c->id);
    free(c->memory);
    *c = (struct columns){0};
}

const struct session_columns *columns_take(struct columns *c, const int32_t *source,
                                           size_t n)
{
    const size_t n_ids = shortlist_collect(c->list, source, n, c->id, c->cap);

    if (n_ids > c->cap || 2 * n_ids > (size_t)c->net->config.vocab_size)
        return NULL;
    c->of = (struct session_columns){
        .w = linear_gather(c->memory, network_output(c->net), c->id, n_ids), .id = c->id};
    return &c->of;
}

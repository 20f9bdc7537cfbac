#include "decode/steer/phrases.h"

#include <stdlib.h>

#include "base/mem.h"

void phrases_release(struct phrases *p)
{
    free(p->node);
    table_release(&p->child);
    *p = (struct phrases){0};
}

static uint64_t hash_of(uint32_t parent, uint32_t code)
{
    return table_mix((uint64_t)parent << 32 | code, 0x9e3779b97f4a7c15u);
}

/* The node for one letter more; 0: no phrase goes on so. */
static uint32_t child_of(const struct phrases *p, uint32_t parent, uint32_t code)
{
    struct table_search s = table_search(&p->child, hash_of(parent, code));

    for (uint32_t i; (i = table_next(&s)) != TABLE_NONE;)
        if (p->node[i].parent == parent && p->node[i].code == code)
            return i;
    return 0;
}

static status add_node(struct phrases *p, struct phrases_node node, struct err *err)
{
    TRY(mem_grow(&p->node, &p->cap, p->n + 1, sizeof *p->node, err));
    p->node[p->n++] = node;
    return OK;
}

status phrases_add(struct phrases *p, struct letters_text phrase, uint32_t *number,
                   struct err *err)
{
    uint32_t at = 0;

    if (!p->n)
        TRY(add_node(p, (struct phrases_node){0}, err));
    for (size_t i = 0; i < phrase.n; i++) {
        uint32_t next = child_of(p, at, phrase.code[i]);
        if (!next) {
            const struct phrases_node node = {
                .code = phrase.code[i], .parent = at, .depth = (uint32_t)i + 1};
            next = (uint32_t)p->n;
            TRY(add_node(p, node, err));
            TRY(table_add(&p->child, hash_of(at, phrase.code[i]), next, err));
        }
        at = next;
    }
    if (!p->node[at].phrase)
        p->node[at].phrase = ++p->n_phrases;
    *number = p->node[at].phrase;
    return OK;
}

/* Behind the beginning `node` and the letter before, one letter more: the longest
 * beginning that these end with. A word must begin where it does. */
static uint32_t go_on(const struct phrases *p, uint32_t node, uint32_t last,
                      uint32_t code)
{
    for (;; node = p->node[node].fail) {
        const bool may_follow = node || letters_is_border(last, code);
        const uint32_t next = may_follow ? child_of(p, node, code) : 0;
        if (next || !node)
            return next;
    }
}

struct order {
    uint32_t depth, node;
};

static int by_depth(const void *a, const void *b)
{
    const struct order *x = a, *y = b;

    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* `fail` and `ends` of a node, those of all shorter beginnings being known. */
static void link_node(struct phrases *p, uint32_t i)
{
    struct phrases_node *node = &p->node[i];

    if (node->depth > 1)
        node->fail =
            go_on(p, p->node[node->parent].fail, p->node[node->parent].code, node->code);
    node->ends = node->phrase ? i : p->node[node->fail].ends;
}

status phrases_build(struct phrases *p, struct err *err)
{
    RELEASED_BY(mem_release) struct order *order = NULL;

    TRY(mem_alloc(&order, p->n, sizeof *order, err));
    for (size_t i = 0; i < p->n; i++)
        order[i] = (struct order){p->node[i].depth, (uint32_t)i};
    if (p->n)
        qsort(order, p->n, sizeof *order, by_depth);
    for (size_t i = 1; i < p->n; i++)
        link_node(p, order[i].node);
    return OK;
}

void phrases_read(const struct phrases *p, struct phrases_state *s, uint32_t code)
{
    if (p->n)
        s->node = go_on(p, s->node, s->last, code);
    s->last = code;
}

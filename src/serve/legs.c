#include "serve/legs.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static status list_phrases(struct legs *l, const struct translators *t,
                           const struct line *lines, size_t n, struct err *err)
{
    l->phrases = str_new(0);
    TRY(mem_alloc(&l->phrases_at, n + 1, sizeof *l->phrases_at, err));
    for (size_t i = 0; i < n; i++) {
        TRY(translators_phrases(t, lines[i], &l->phrases, err));
        l->phrases_at[i + 1] = l->phrases.len;
    }
    return OK;
}

static status run_leg(struct legs *l, const struct legs_call *c, size_t leg,
                      const struct line *lines, struct err *err)
{
    const bool is_last = leg + 1 == c->route.n_legs;
    struct models_lent *lent = models_lend(c->models, c->route.leg[leg]);
    const struct translators_call call = {.seat = c->seat->number,
                                          .is_cancelled = &c->seat->is_cancelled,
                                          .lines = lines,
                                          .n = c->n,
                                          .has_alternatives =
                                              is_last && c->has_alternatives,
                                          .has_links = c->has_links,
                                          .beginning = is_last ? c->beginning : NULL,
                                          .n_best = c->n_best};

    struct translators *t = models_lent_translators(lent);
    status result = translators_run(t, &call, is_last ? &l->last : &l->first, err);
    if (result == OK && is_last)
        result = list_phrases(l, t, lines, c->n, err);
    models_give_back(c->models, lent);
    return result;
}

status legs_run(struct legs *l, const struct legs_call *c, struct err *err)
{
    if (!c->n)
        return OK;
    if (c->route.n_legs == 1)
        return run_leg(l, c, 0, c->lines, err);
    TRY(run_leg(l, c, 0, c->lines, err));
    TRY(mem_alloc(&l->middle, c->n, sizeof *l->middle, err));
    for (size_t i = 0; i < c->n; i++) {
        const char *text = translate_get(&l->first, i, 0);
        l->middle[i] = (struct line){text, strlen(text)};
    }
    return run_leg(l, c, 1, l->middle, err);
}

void legs_release(struct legs *l)
{
    translate_release(&l->first);
    translate_release(&l->last);
    free(l->middle);
    free(l->link);
    free(l->phrases_at);
    str_release(&l->phrases);
    *l = (struct legs){0};
}

/* ---- links ---- */

static const struct alignments_link *links_of(const struct translations *t, size_t line,
                                              size_t rank, size_t *n)
{
    const struct translation *item = &t->item[line * t->n_best + rank];

    *n = item->n_links;
    return t->link + item->first_link;
}

static status add_link(struct legs *l, size_t *n, struct words_range source,
                       struct words_range target, struct err *err)
{
    TRY(mem_grow(&l->link, &l->cap, *n + 1, sizeof *l->link, err));
    l->link[(*n)++] = (struct markup_link){.src_at = source.begin,
                                           .src_n = source.end - source.begin,
                                           .dst_at = target.begin,
                                           .dst_n = target.end - target.begin};
    return OK;
}

/* A word of the source belongs to one of the target when a word between them belongs to
 * both. Of a text with very many words nothing is said. */
static status join_links(struct legs *l, size_t line, size_t rank, size_t *n,
                         struct err *err)
{
    enum { PAIRS_MAX = 1 << 20 };
    size_t n_first, n_last;
    const struct alignments_link *first = links_of(&l->first, line, 0, &n_first);
    const struct alignments_link *last = links_of(&l->last, line, rank, &n_last);

    if (n_last && n_first > PAIRS_MAX / n_last)
        return OK;
    for (size_t i = 0; i < n_last; i++)
        for (size_t k = 0; k < n_first; k++)
            if (first[k].target.begin < last[i].source.end &&
                last[i].source.begin < first[k].target.end)
                TRY(add_link(l, n, first[k].source, last[i].target, err));
    return OK;
}

status legs_get(struct legs *l, size_t line, size_t rank, struct markup_translation *t,
                struct err *err)
{
    const size_t n_found = l->last.n_found[line];
    size_t n = 0, n_links;

    rank = rank < n_found ? rank : n_found - 1;
    const char *text = translate_get(&l->last, line, rank);
    if (l->middle) {
        TRY(join_links(l, line, rank, &n, err));
    } else {
        const struct alignments_link *link = links_of(&l->last, line, rank, &n_links);
        for (size_t i = 0; i < n_links; i++)
            TRY(add_link(l, &n, link[i].source, link[i].target, err));
    }
    const size_t from = l->phrases_at[line], to = l->phrases_at[line + 1];
    *t =
        (struct markup_translation){.text = {text, strlen(text)},
                                    .link = l->link,
                                    .n_links = n,
                                    .phrases = {str_text(&l->phrases) + from, to - from}};
    return OK;
}

#include "markup/weave.h"

struct task {
    struct weave *w;
    const struct items *items;
    const struct item_input *in;
};

static bool is_tag(const struct markup_mark *m)
{
    return m->kind == MARKUP_OPEN || m->kind == MARKUP_CLOSE || m->kind == MARKUP_POINT;
}

static void add_event(struct weave *w, size_t at, size_t mark)
{
    w->event[w->n_events++] = (struct weave_event){at, mark};
}

/* Marks [first, end) at one place. */
static void put_all(const struct task *t, size_t first, size_t end, size_t at)
{
    for (size_t i = first; i < end; i++)
        if (is_tag(&t->in->mark[i]))
            add_event(t->w, at, i);
}

/* All in the order of the source, each as near to its words as that allows. */
static void put_in_order(const struct task *t)
{
    size_t at = 0;

    for (size_t i = 0; i < t->in->segment->n_marks; i++) {
        const struct markup_mark *m = &t->in->mark[i];
        if (!is_tag(m))
            continue;
        const size_t want = item_anchor(t->items, t->in, 0, t->items->n, m->at, 0);
        at = want > at ? want : at;
        add_event(t->w, at, i);
    }
}

/* Behind the mark, or behind the element that it opens. */
static size_t next_of(const struct task *t, size_t mark)
{
    const struct markup_mark *m = &t->in->mark[mark];

    return (m->kind == MARKUP_OPEN ? m->pair : mark) + 1;
}

/* The run of items in [first, end) that has most of the element's words and fewest of
 * others. Items of unknown source count for nothing. */
static struct weave_run best_run(const struct task *t, size_t mark, size_t first,
                                 size_t end)
{
    const struct markup_mark *open = &t->in->mark[mark];
    const size_t until = t->in->mark[open->pair].at;
    struct weave_run best = {first, first, 0}, run = best;

    for (size_t i = first; i < end; i++) {
        const size_t source = t->items->item[i].source;
        if (source == ITEM_NONE)
            continue;
        if (source < open->at || source >= until) {
            run.score -= run.score > 0;
            continue;
        }
        if (run.score == 0)
            run.at = i;
        run.score++;
        run.end = i + 1;
        if (run.score > best.score)
            best = run;
    }
    return best;
}

/* Runs of the children in marks [first, end), the best first; one that overlaps a better
 * one is none. */
static void choose_runs(const struct task *t, size_t first, size_t end, size_t from,
                        size_t to)
{
    size_t child[MARKUP_MARKS], n = 0;
    struct weave_run *run = t->w->run;

    for (size_t i = first; i < end; i = next_of(t, i))
        if (t->in->mark[i].kind == MARKUP_OPEN) {
            run[i] = best_run(t, i, from, to);
            child[n++] = i;
        }
    for (size_t i = 0; i < n; i++) {
        size_t best = i;
        for (size_t k = i + 1; k < n; k++)
            if (run[child[k]].score > run[child[best]].score)
                best = k;
        const size_t chosen = child[best];
        child[best] = child[i];
        child[i] = chosen;
        for (size_t k = 0; k < i; k++)
            if (run[child[k]].score && run[chosen].at < run[child[k]].end &&
                run[child[k]].at < run[chosen].end)
                run[chosen].score = 0;
    }
}

/* The place of something without words among the items [from, to), not inside of a
 * sibling. */
static size_t place_of(const struct task *t, size_t mark, size_t first, size_t end,
                       size_t from, size_t to)
{
    size_t at = item_anchor(t->items, t->in, from, to, t->in->mark[mark].at, 0);

    for (size_t i = first; i < end; i = next_of(t, i)) {
        const struct weave_run *run = &t->w->run[i];
        if (t->in->mark[i].kind == MARKUP_OPEN && run->score && run->at < at &&
            at < run->end)
            at = i < mark ? run->end : run->at;
    }
    return at;
}

/* The siblings of marks [first, end) in the order of their places. */
static size_t sort(const struct task *t, size_t first, size_t end, size_t from, size_t to,
                   size_t child[MARKUP_MARKS])
{
    struct weave_run *run = t->w->run;
    size_t n = 0;

    for (size_t i = first; i < end; i = next_of(t, i)) {
        if (!is_tag(&t->in->mark[i]))
            continue;
        if (t->in->mark[i].kind != MARKUP_OPEN || !run[i].score) {
            const size_t at = place_of(t, i, first, end, from, to);
            run[i] = (struct weave_run){at, at, 0};
        }
        size_t k = n++;
        for (; k > 0; k--) {
            const struct weave_run *other = &run[child[k - 1]];
            if (other->at < run[i].at || (other->at == run[i].at && !other->score))
                break;
            child[k] = child[k - 1];
        }
        child[k] = i;
    }
    return n;
}

/* Marks [first, end), which are whole elements and points, among items [from, to). */
static void put_nested(const struct task *t, size_t first, size_t end, size_t from,
                       size_t to)
{
    size_t child[MARKUP_MARKS];

    choose_runs(t, first, end, from, to);
    const size_t n = sort(t, first, end, from, to, child);
    for (size_t i = 0; i < n; i++) {
        const size_t mark = child[i];
        const struct weave_run run = t->w->run[mark];
        if (!run.score) {
            put_all(t, mark, next_of(t, mark), run.at);
            continue;
        }
        add_event(t->w, run.at, mark);
        put_nested(t, mark + 1, t->in->mark[mark].pair, run.at, run.end);
        add_event(t->w, run.end, t->in->mark[mark].pair);
    }
}

void weave_tags(struct weave *w, const struct items *items, const struct item_input *in)
{
    const struct task t = {w, items, in};

    w->n_events = 0;
    if (in->segment->is_nested)
        put_nested(&t, 0, in->segment->n_marks, 0, items->n);
    else
        put_in_order(&t);
}

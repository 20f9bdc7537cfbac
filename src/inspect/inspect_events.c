#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "format/tf/tb_event.h"
#include "inspect/inspect.h"
#include "page/fmt.h"

enum { TAGS_MAX = 4096 }; /* each point looks its tag up in a list */

struct curve {
    char *tag;
    uint64_t n;
    int64_t first, last;
    double value; /* at the last step */
};

struct curves {
    struct curve *list; /* in the order of their first points */
    size_t n, cap;
    double t_first, t_last;
};

static status curve_of(struct curves *all, const char *tag, struct curve **found,
                       struct err *err)
{
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->list[i].tag, tag) == 0) {
            *found = &all->list[i];
            return OK;
        }
    if (all->n == TAGS_MAX)
        return err_set(err, ERR_FORMAT, "more than %d tags: not a file of curves",
                       TAGS_MAX);
    TRY(mem_grow(&all->list, &all->cap, all->n + 1, sizeof *all->list, err));
    all->list[all->n] = (struct curve){.tag = strdup(tag)};
    if (!all->list[all->n].tag)
        return err_set(err, ERR_MEMORY, "no memory for a tag");
    *found = &all->list[all->n++];
    return OK;
}

/* points: where those of tag go */
static status walk(struct curves *all, struct tb_event_reader *r, const char *tag,
                   json_t *points, struct err *err)
{
    struct tb_event_point p;
    struct curve *curve = NULL;

    for (bool more = true;;) {
        TRY(tb_event_next(r, &p, &more, err));
        if (!more)
            return OK;
        TRY(curve_of(all, p.tag, &curve, err));
        if (!curve->n++)
            curve->first = p.step;
        curve->last = p.step;
        curve->value = (double)p.value;
        all->t_first = all->t_first > 0 ? all->t_first : p.wall_time;
        all->t_last = p.wall_time;
        if (strcmp(p.tag, tag) != 0)
            continue;
        json_t *row = inspect_page_row(points);
        json_object_set_new(row, "step", json_integer((json_int_t)p.step));
        inspect_page_real(row, "value", (double)p.value);
        inspect_page_text(row, "time", fmt_time(p.wall_time).s);
    }
}

static void add_curves(json_t *page, const struct curves *all)
{
    json_t *table = inspect_page_table(page, "tags");

    for (size_t i = 0; i < all->n; i++) {
        const struct curve *c = &all->list[i];
        json_t *row = inspect_page_row(table);
        inspect_page_text(row, "tag", c->tag);
        inspect_page_int(row, "points", c->n);
        json_object_set_new(row, "first_step", json_integer((json_int_t)c->first));
        json_object_set_new(row, "last_step", json_integer((json_int_t)c->last));
        inspect_page_real(row, "last_value", c->value);
    }
}

static status no_such_tag(const struct curves *all, const char *path, const char *tag,
                          struct err *err)
{
    const char *nearest = NULL;

    for (size_t i = 0; i < all->n; i++)
        str_nearest(&nearest, all->list[i].tag, tag);
    if (nearest)
        return err_set(err, ERR_USAGE, "%s has no tag '%s'; did you mean '%s'?", path,
                       tag, nearest);
    return err_set(err, ERR_USAGE, "%s has no tag '%s'; without tag= all are listed",
                   path, tag);
}

static status describe(json_t *page, const char *path, struct tb_event_reader *r,
                       struct curves *all, const char *tag, struct err *err)
{
    json_t *points = json_array();

    inspect_page_text(page, "event_file", path);
    const status result = walk(all, r, tag, points, err);
    if (result == OK && *tag)
        json_object_set(page, "points", points);
    const bool found = json_array_size(points) > 0;
    json_decref(points);
    if (result != OK)
        return result;
    if (r->is_cut && !r->n_events)
        return err_set(err, ERR_FORMAT, "%s: truncated: it has no whole event", path);
    if (*tag)
        return found ? OK : no_such_tag(all, path, tag, err);
    inspect_page_int(page, "events", r->n_events);
    if (r->is_cut)
        inspect_page_text(page, "end",
                          "inside an event: its writer was killed or still runs");
    if (all->n) {
        inspect_page_text(page, "first", fmt_time(all->t_first).s);
        inspect_page_text(page, "last", fmt_time(all->t_last).s);
    }
    add_curves(page, all);
    return OK;
}

status inspect_events(json_t *page, const char *path, const struct inspect_config *c,
                      struct err *err)
{
    struct tb_event_reader r;
    struct curves all = {0};

    TRY(tb_event_read(&r, path, err));
    status result = describe(page, path, &r, &all, c->tag, err);
    if (result == ERR_FORMAT && !strstr(err->msg, path))
        result = err_wrap(err, "%s", path);
    tb_event_read_close(&r);
    for (size_t i = 0; i < all.n; i++)
        free(all.list[i].tag);
    free(all.list);
    return result;
}

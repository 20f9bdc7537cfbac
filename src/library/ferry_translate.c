/*
 * Texts to translations. A text may have many lines; each is translated by itself, and
 * their translations stand in its place, with the line ends that were there.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "library/result.h"

/* Its lines, those of all texts behind each other. */
struct split {
    struct line *line;
    size_t n, cap;
};

/* The next line of a text from `s` on; what stands between it and the next is white
 * space. */
static struct line line_at(const char *s, const char *end)
{
    const char *stop = memchr(s, '\n', (size_t)(end - s));

    stop = stop ? stop : end;
    if (stop > s && stop < end && stop[-1] == '\r')
        stop--;
    return (struct line){s, (size_t)(stop - s)};
}

static const char *behind(struct line l, const char *end)
{
    const char *s = l.text + l.n_bytes;

    s += s < end && *s == '\r';
    return s + (s < end && *s == '\n');
}

static status split_text(struct split *all, struct result_text *t, const char *text,
                         struct err *err)
{
    const char *s = text, *end = text + strlen(text);

    t->first = all->n;
    t->text = (struct line){text, (size_t)(end - text)};
    do {
        TRY(mem_grow(&all->line, &all->cap, all->n + 1, sizeof *all->line, err));
        all->line[all->n] = line_at(s, end);
        s = behind(all->line[all->n++], end);
        t->n++;
    } while (s < end);
    return OK;
}

static status copy_path(char *to, size_t n, const char *from, const char *name,
                        struct err *err)
{
    if (!from)
        return OK;
    if (strlen(from) >= n)
        return err_set(err, ERR_USAGE, "%s: a path of more than %zu bytes", name, n - 1);
    memcpy(to, from, strlen(from) + 1);
    return OK;
}

static status check_range(const char *name, double value, double least, double most,
                          struct err *err)
{
    if (value >= least && value <= most)
        return OK;
    return err_set(err, ERR_USAGE, "%s = %g: it is %g to %g", name, value, least, most);
}

static status take_options(struct ferry_translate_options *o,
                           const struct ferry_translate_options *given, struct err *err)
{
    *o = (struct ferry_translate_options)FERRY_TRANSLATE_OPTIONS;
    if (!given)
        return OK;
    if (given->size < sizeof given->size)
        return err_set(err, ERR_USAGE,
                       "options of %zu bytes: begin with FERRY_TRANSLATE_OPTIONS",
                       given->size);
    memcpy(o, given, given->size < sizeof *o ? given->size : sizeof *o);
    TRY(check_range("beam", o->beam, 1, 64, err));
    TRY(check_range("nbest", o->nbest, 1, 64, err));
    TRY(check_range("alpha", o->alpha, 0, 10, err));
    return check_range("max_length", o->max_length, 3, 1024, err);
}

static status configure(struct translate_config *c,
                        const struct ferry_translate_options *o, struct err *err)
{
    TRY(opt_defaults(translate_config_table, c, err));
    c->beam = o->beam;
    c->nbest = o->nbest;
    c->greedy = o->greedy != 0;
    c->scores = true;
    c->alpha = o->alpha;
    c->max_length = o->max_length;
    c->alignments = o->alignments != 0;
    TRY(copy_path(c->forbid, sizeof c->forbid, o->forbid, "forbid", err));
    return copy_path(c->require, sizeof c->require, o->require, "require", err);
}

static status translate(struct ferry *m, const struct split *all,
                        const struct ferry_translate_options *o, struct translations *out,
                        struct err *err)
{
    struct translate_config c;
    struct translator t = {0};

    TRY(configure(&c, o, err));
    status result = loaded_translator(
        &m->loaded, &t, &c,
        o->cancel ? (const atomic_bool *)&o->cancel->is_cancelled : NULL, err);
    THEN(result, translate_lines(&t, all->line, all->n, out, err));
    translate_close(&t);
    return result;
}

/* ---- lines to texts ---- */

static status add_links(struct ferry_result *r, struct result_item *item,
                        const struct translations *in, const struct translation *line,
                        size_t source_at, size_t target_at, struct err *err)
{
    TRY(mem_grow(&r->link, &r->cap_links, r->n_links + line->n_links, sizeof *r->link,
                 err));
    for (size_t k = 0; k < line->n_links; k++) {
        const struct alignments_link *l = &in->link[line->first_link + k];
        r->link[r->n_links++] =
            (struct ferry_link){.source_begin = source_at + l->source.begin,
                                .source_end = source_at + l->source.end,
                                .target_begin = target_at + l->target.begin,
                                .target_end = target_at + l->target.end};
    }
    item->n_links += line->n_links;
    return OK;
}

/* Rank `rank` of every line, or its last, with what stands between the lines. */
static status add_item(struct ferry_result *r, const struct result_text *t,
                       const struct split *all, const struct translations *in,
                       size_t rank, struct err *err)
{
    struct result_item *item = &r->item[r->n_items++];
    const char *next = t->text.text;

    *item = (struct result_item){.at = r->text.len, .first_link = r->n_links};
    for (size_t i = t->first; i < t->first + t->n; i++) {
        const struct line line = all->line[i];
        const size_t n = in->n_found[i], k = rank < n ? rank : n - 1;
        const struct translation *found = &in->item[i * in->n_best + k];
        str_add(&r->text, next, (size_t)(line.text - next));
        TRY(add_links(r, item, in, found, (size_t)(line.text - t->text.text),
                      r->text.len - item->at, err));
        str_add(&r->text, translate_get(in, i, k), found->n_bytes);
        item->score += found->score;
        next = line.text + line.n_bytes;
    }
    str_add(&r->text, next, (size_t)(t->text.text + t->text.n_bytes - next));
    str_putc(&r->text, '\0');
    return str_check(&r->text, "the translations", err);
}

static status join(struct ferry_result *r, const struct split *all,
                   const struct translations *in, struct err *err)
{
    TRY(mem_alloc(&r->item, r->n * in->n_best, sizeof *r->item, err));
    for (size_t i = 0; i < r->n; i++) {
        struct result_text *t = &r->of[i];
        for (size_t k = t->first; k < t->first + t->n; k++)
            t->n_found = in->n_found[k] > t->n_found ? in->n_found[k] : t->n_found;
        t->first_item = r->n_items;
        for (size_t rank = 0; rank < t->n_found; rank++)
            TRY(add_item(r, t, all, in, rank, err));
    }
    return OK;
}

static status run(struct ferry *m, const char *const *texts, size_t n,
                  const struct ferry_translate_options *given, struct ferry_result *r,
                  struct err *err)
{
    struct ferry_translate_options o;
    struct translations found = {0};
    struct split all = {0};

    TRY(take_options(&o, given, err));
    r->n = n;
    r->text = str_new(SIZE_MAX / 2);
    status result = mem_alloc(&r->of, n, sizeof *r->of, err);
    for (size_t i = 0; i < n; i++)
        THEN(result, split_text(&all, &r->of[i], texts[i], err));
    THEN(result, translate(m, &all, &o, &found, err));
    THEN(result, join(r, &all, &found, err));
    translate_release(&found);
    free(all.line);
    return result;
}

int ferry_translate_many(struct ferry *m, const char *const *texts, size_t n,
                         const struct ferry_translate_options *options,
                         struct ferry_result **result, struct ferry_error *error)
{
    struct ferry_result *r;
    struct err err;

    *result = NULL;
    if (mem_alloc(&r, 1, sizeof *r, &err) != OK)
        return model_tell(&err, error);
    if (run(m, texts, n, options, r, &err) != OK) {
        ferry_result_free(r);
        return model_tell(&err, error);
    }
    *result = r;
    return FERRY_OK;
}

int ferry_translate(struct ferry *m, const char *text,
                    const struct ferry_translate_options *options,
                    struct ferry_result **result, struct ferry_error *error)
{
    return ferry_translate_many(m, &text, 1, options, result, error);
}

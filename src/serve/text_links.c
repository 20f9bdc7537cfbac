#include "serve/text_links.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void text_links_release(struct text_links *l)
{
    free(l->item);
    *l = (struct text_links){0};
}

static bool is_same(struct line a, const char *b, size_t n)
{
    return a.n_bytes == n && memcmp(a.text, b, n) == 0;
}

status text_links_add(struct text_links *l, const struct markup *line, size_t text_at,
                      const struct markup_translation *t, const struct str *all,
                      size_t all_at, struct err *err)
{
    const struct markup_segment *s = line->segment;

    if (line->n_segments != 1 || !all->data)
        return OK;
    const size_t n_around = line->source.n_bytes - s->raw_n;
    const bool is_mended =
        !is_same(markup_text(line, 0), line->source.text + s->raw_at, s->raw_n) ||
        all->len - all_at < n_around ||
        !is_same(t->text, all->data + all_at + s->raw_at, all->len - all_at - n_around);
    for (size_t i = 0; i < t->n_links && !is_mended; i++) {
        struct markup_link link = t->link[i];
        link.src_at += text_at + s->raw_at;
        link.dst_at += all_at + s->raw_at;
        TRY(mem_grow(&l->item, &l->cap, l->n + 1, sizeof *l->item, err));
        l->item[l->n++] = link;
    }
    return OK;
}

/* How many characters stand before each byte of a text, and before its end. */
static status count_characters(size_t **out, struct line text, struct err *err)
{
    size_t n = 0;

    TRY(mem_alloc(out, text.n_bytes + 1, sizeof **out, err));
    for (size_t i = 0; i < text.n_bytes; i++) {
        (*out)[i] = n;
        /* the last byte of a character is followed by no continuation */
        n += i + 1 == text.n_bytes || ((unsigned char)text.text[i + 1] >> 6) != 2;
    }
    (*out)[text.n_bytes] = n;
    return OK;
}

json_t *text_links_json(const struct text_links *l, struct line text,
                        struct line translation)
{
    RELEASED_BY(mem_release) size_t *from = NULL;
    RELEASED_BY(mem_release) size_t *to = NULL;
    struct err ignored;

    if (count_characters(&from, text, &ignored) != OK ||
        count_characters(&to, translation, &ignored) != OK)
        return NULL;
    json_t *list = json_array();
    for (size_t i = 0; i < l->n; i++) {
        const struct markup_link *k = &l->item[i];
        json_array_append_new(list, json_pack("[I, I, I, I]", (json_int_t)from[k->src_at],
                                              (json_int_t)from[k->src_at + k->src_n],
                                              (json_int_t)to[k->dst_at],
                                              (json_int_t)to[k->dst_at + k->dst_n]));
    }
    return list;
}

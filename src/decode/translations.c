#include "decode/translations.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"

status translations_begin(struct translations *t, size_t n_lines, size_t n_best,
                          struct err *err)
{
    size_t n_items;

    translations_release(t);
    t->text = str_new(SIZE_MAX / 2);
    TRY(mem_mul(&n_items, n_lines, n_best, err));
    TRY(mem_alloc(&t->item, n_items, sizeof *t->item, err));
    TRY(mem_alloc(&t->n_found, n_lines, sizeof *t->n_found, err));
    t->n_lines = n_lines;
    t->n_best = n_best;
    return OK;
}

void translations_release(struct translations *t)
{
    str_release(&t->text);
    free(t->item);
    free(t->n_found);
    *t = (struct translations){0};
}

status translations_add(struct translations *t, size_t line, size_t at, double score,
                        struct err *err)
{
    struct str *text = &t->text;

    BUG_ON(line >= t->n_lines || t->n_found[line] >= t->n_best);
    for (size_t i = at; i < text->len; i++)
        if (text->data[i] == '\n' || text->data[i] == '\r')
            text->data[i] = ' ';
    t->item[line * t->n_best + t->n_found[line]++] =
        (struct translation){at, text->len - at, score};
    str_putc(text, '\0');
    return str_check(text, "the translations", err);
}

const char *translations_text(const struct translations *t, size_t line, size_t rank)
{
    BUG_ON(line >= t->n_lines || rank >= t->n_found[line]);
    return t->text.data + t->item[line * t->n_best + rank].at;
}

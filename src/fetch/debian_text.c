/*
 * A Translation file of a Debian archive:
 *
 *     Package: 0ad
 *     Description-md5: d943033bedada21853d2ae54a2578a7b
 *     Description-de: Echtzeit-Strategiespiel über antike Kriegsführung
 *      0 A.D. ist ein freies, quelloffenes, plattformübergreifendes
 *      .
 *      Dieses Paket ...
 *
 * The md5 is of the English text and so the same in every language. A stanza that lacks a
 * field, or whose md5 is none, is counted and left out.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "base/mem.h"
#include "fetch/debian.h"

/* The value of `line` when it is the field `name`. */
static bool field(struct line line, const char *name, struct line *value)
{
    const size_t n = strlen(name);

    if (line.n_bytes <= n || strncmp(line.text, name, n) != 0 || line.text[n] != ':')
        return false;
    const char *at = line.text + n + 1, *end = line.text + line.n_bytes;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *value = (struct line){at, (size_t)(end - at)};
    return true;
}

static bool is_md5(struct line s)
{
    size_t n = 0;

    while (n < s.n_bytes && s.text[n] && strchr("0123456789abcdef", s.text[n]))
        n++;
    return n == s.n_bytes && n == DEBIAN_MD5;
}

/* Lines that begin with a blank continue a field. */
static void extend(struct lines *l, struct line *text)
{
    struct line line;

    while (l->next < l->end && (*l->next == ' ' || *l->next == '\t') &&
           lines_next(l, &line))
        text->n_bytes = (size_t)(line.text + line.n_bytes - text->text);
}

/* One stanza; false at the end of the file. */
static bool next_stanza(struct lines *l, const char *key, struct debian_text_item *item,
                        bool *is_good)
{
    struct line line, package = {0}, md5 = {0}, text = {0};
    bool has = false;

    while (lines_next(l, &line)) {
        if (line.n_bytes == 0) {
            if (has)
                break;
            continue;
        }
        has = true;
        if (field(line, key, &text))
            extend(l, &text);
        else if (!field(line, "Package", &package))
            (void)field(line, "Description-md5", &md5);
    }
    *is_good = package.n_bytes && text.n_bytes && package.n_bytes < 512 &&
               text.n_bytes < UINT32_MAX && is_md5(md5);
    *item = (struct debian_text_item){md5.text, package.text, text.text,
                                      (uint32_t)package.n_bytes, (uint32_t)text.n_bytes};
    return has;
}

status debian_text_add(struct debian_text *t, const char *bytes, size_t n,
                       const char *lang, struct err *err)
{
    struct lines l = lines_over(bytes, n);
    struct debian_text_item item;
    char key[64];
    bool is_good;

    snprintf(key, sizeof key, "Description-%.16s", lang);
    while (next_stanza(&l, key, &item, &is_good)) {
        if (!is_good) {
            t->n_bad++;
            continue;
        }
        TRY(mem_grow(&t->item, &t->cap, t->n + 1, sizeof *t->item, err));
        t->item[t->n++] = item;
    }
    return OK;
}

/* Equal ones in the order of their files: pointers into different maps have none that
 * lasts, so by name and then by length and bytes. */
static int compare(const void *a, const void *b)
{
    const struct debian_text_item *x = a, *y = b;
    int order = memcmp(x->md5, y->md5, DEBIAN_MD5);

    if (order == 0) {
        const size_t n = x->n_package < y->n_package ? x->n_package : y->n_package;
        order = memcmp(x->package, y->package, n);
    }
    if (order == 0)
        order = (x->n_package > y->n_package) - (x->n_package < y->n_package);
    if (order == 0)
        order = (x->n_text > y->n_text) - (x->n_text < y->n_text);
    return order ? order : memcmp(x->text, y->text, x->n_text);
}

void debian_text_sort(struct debian_text *t)
{
    size_t n = 0;

    if (t->n)
        qsort(t->item, t->n, sizeof *t->item, compare);
    for (size_t i = 0; i < t->n; i++)
        if (n == 0 || memcmp(t->item[n - 1].md5, t->item[i].md5, DEBIAN_MD5) != 0)
            t->item[n++] = t->item[i];
    t->n_again += t->n - n;
    t->n = n;
}

static int compare_md5(const void *key, const void *item)
{
    return memcmp(key, ((const struct debian_text_item *)item)->md5, DEBIAN_MD5);
}

const struct debian_text_item *debian_text_find(const struct debian_text *t,
                                                const char md5[DEBIAN_MD5])
{
    return t->n ? bsearch(md5, t->item, t->n, sizeof *t->item, compare_md5) : NULL;
}

void debian_text_release(struct debian_text *t)
{
    free(t->item);
    *t = (struct debian_text){0};
}

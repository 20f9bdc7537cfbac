#include "fetch/debian_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The rest of the file, line by line. */
struct cursor {
    const char *at, *end;
};

struct slice {
    const char *at;
    size_t n;
};

static bool next_line(struct cursor *c, struct slice *line)
{
    if (c->at == c->end)
        return false;
    const char *stop = memchr(c->at, '\n', (size_t)(c->end - c->at));
    *line = (struct slice){c->at, (size_t)((stop ? stop : c->end) - c->at)};
    c->at = stop ? stop + 1 : c->end;
    if (line->n && line->at[line->n - 1] == '\r')
        line->n--;
    return true;
}

/* The value of `line` when it is the field `name`. */
static bool field(struct slice line, const char *name, struct slice *value)
{
    const size_t n = strlen(name);

    if (line.n <= n || memcmp(line.at, name, n) != 0 || line.at[n] != ':')
        return false;
    const char *at = line.at + n + 1, *end = line.at + line.n;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *value = (struct slice){at, (size_t)(end - at)};
    return true;
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_md5(struct slice s, unsigned char out[DEBIAN_MD5])
{
    if (s.n != 2 * DEBIAN_MD5)
        return false;
    for (size_t i = 0; i < DEBIAN_MD5; i++) {
        const int hi = digit(s.at[2 * i]), lo = digit(s.at[2 * i + 1]);
        if (hi < 0 || lo < 0)
            return false;
        out[i] = (unsigned char)(hi << 4 | lo);
    }
    return true;
}

/* Lines of a field go on while they begin with a blank. */
static void extend(struct cursor *c, struct slice *text)
{
    struct slice line;

    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t') && next_line(c, &line))
        text->n = (size_t)(line.at + line.n - text->at);
}

/* One stanza; false at the end of the file. */
static bool next_stanza(struct cursor *c, const char *key, struct debian_text_item *item,
                        bool *is_good)
{
    struct slice line, package = {0}, md5 = {0}, text = {0};
    bool has = false;

    while (next_line(c, &line)) {
        if (line.n == 0) {
            if (has)
                break;
            continue;
        }
        has = true;
        if (field(line, key, &text))
            extend(c, &text);
        else if (!field(line, "Package", &package))
            (void)field(line, "Description-md5", &md5);
    }
    *is_good = package.n && text.n && package.n < 512 && text.n < UINT32_MAX &&
               read_md5(md5, item->md5);
    item->package = package.at;
    item->n_package = (uint32_t)package.n;
    item->text = text.at;
    item->n_text = (uint32_t)text.n;
    return has;
}

status debian_text_add(struct debian_text *t, const char *bytes, size_t n,
                       const char *lang, struct err *err)
{
    struct cursor c = {bytes, bytes + n};
    struct debian_text_item item;
    char key[64];
    bool is_good;

    snprintf(key, sizeof key, "Description-%.16s", lang);
    while (n && next_stanza(&c, key, &item, &is_good)) {
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
                                                const unsigned char md5[DEBIAN_MD5])
{
    return t->n ? bsearch(md5, t->item, t->n, sizeof *t->item, compare_md5) : NULL;
}

void debian_text_release(struct debian_text *t)
{
    free(t->item);
    *t = (struct debian_text){0};
}

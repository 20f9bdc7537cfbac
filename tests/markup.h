/* markup - is a page well-formed? Every tag closed in order, every attribute quoted. */
#pragma once

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { MARKUP_DEPTH = 64, MARKUP_NAME = 16 };

static inline bool markup_is_void(const char *name)
{
    return strcmp(name, "meta") == 0 || strcmp(name, "br") == 0;
}

/* After the tag's name: attributes, each name="value" or alone; NULL if malformed. */
static inline const char *markup_attributes(const char *p, bool *closes_itself)
{
    *closes_itself = false;
    while (*p && *p != '>') {
        while (isspace((unsigned char)*p))
            p++;
        if (*p == '/' && p[1] == '>') {
            *closes_itself = true;
            p++;
            continue;
        }
        if (*p == '>')
            break;
        const size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789-:");
        if (n == 0)
            return NULL;
        p += n;
        if (*p == '=') {
            if (p[1] != '"')
                return NULL;
            p += 2;
            p += strcspn(p, "\"<");
            if (*p != '"')
                return NULL;
            p++;
        }
    }
    return *p == '>' ? p + 1 : NULL;
}

/* NULL when the page is well-formed, else the place where it is not. */
static inline const char *markup_error(const char *page)
{
    char open[MARKUP_DEPTH][MARKUP_NAME];
    int depth = 0;
    const char *p = page;

    if (strncmp(p, "<!DOCTYPE html>", 15) == 0)
        p += 15;
    while ((p = strchr(p, '<'))) {
        const char *tag = p++;
        const bool is_end = *p == '/';
        char name[MARKUP_NAME] = "";
        bool closes_itself;
        p += is_end;
        const size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789");
        if (n == 0 || n >= sizeof name)
            return tag;
        memcpy(name, p, n);
        p = markup_attributes(p + n, &closes_itself);
        if (!p)
            return tag;
        if (is_end && (depth == 0 || strcmp(open[--depth], name) != 0))
            return tag;
        if (!is_end && !closes_itself && !markup_is_void(name)) {
            if (depth == MARKUP_DEPTH)
                return tag;
            memcpy(open[depth++], name, sizeof name);
        }
        if (!is_end && strcmp(name, "style") == 0)
            p = strstr(p, "</style>");
        if (!p)
            return tag;
    }
    return depth == 0 ? NULL : page + strlen(page);
}

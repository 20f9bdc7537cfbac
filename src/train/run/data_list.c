#include "train/run/data_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

status data_list_name(char name[DATA_LIST_NAME], const char *option, const char *path,
                      struct err *err)
{
    char full[FILE_PATH_MAX];
    size_t n;

    TRY(file_absolute(full, path, err));
    for (n = strlen(full); n > 0 && full[n - 1] == '/';)
        full[--n] = '\0';
    const char *slash = strrchr(full, '/'), *last = slash ? slash + 1 : full;
    if (!*last || strlen(last) >= DATA_LIST_NAME)
        return err_set(err, ERR_USAGE,
                       "%s: %.200s has no name of 1 to %d bytes at its end; rename it or "
                       "link it",
                       option, path, DATA_LIST_NAME - 1);
    memcpy(name, last, strlen(last) + 1);
    return OK;
}

static status add(struct data_list *l, const char *option, const char *path, size_t n,
                  struct err *err)
{
    struct data_list_item *item = &l->item[l->n];

    if (l->n == DATA_LIST_MAX)
        return err_set(err, ERR_USAGE, "%s names more than %d directories", option,
                       DATA_LIST_MAX);
    if (!n)
        return err_set(err, ERR_USAGE, "%s: a comma has no directory at its side",
                       option);
    TRY(file_path(item->path, err, "%.*s", (int)n, path));
    TRY(data_list_name(item->name, option, item->path, err));
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->item[i].name, item->name) == 0)
            return err_set(err, ERR_USAGE,
                           "%s: %.200s and %.200s are both called %s, which their log "
                           "could not tell apart; rename one or link it",
                           option, l->item[i].path, item->path, item->name);
    l->n++;
    return OK;
}

status data_list_read(struct data_list *l, const char *option, const char *text,
                      struct err *err)
{
    l->n = 0;
    while (*text) {
        const size_t n = strcspn(text, ",");
        TRY(add(l, option, text, n, err));
        text += n;
        if (*text == ',' && !*++text)
            return add(l, option, text, 0, err);
    }
    return OK;
}

status data_list_absolute(char text[OPT_TEXT_MAX], const char *option, struct err *err)
{
    RELEASED_BY(mem_release) struct data_list *l = NULL;
    char full[FILE_PATH_MAX];
    size_t at = 0;

    TRY(mem_alloc(&l, 1, sizeof *l, err));
    TRY(data_list_read(l, option, text, err));
    for (size_t i = 0; i < l->n; i++) {
        TRY(file_absolute(full, l->item[i].path, err));
        const size_t n = strlen(full);
        if (at + n + 2 > OPT_TEXT_MAX)
            return err_set(err, ERR_USAGE,
                           "%s: the paths from the root are longer than %d bytes", option,
                           OPT_TEXT_MAX - 1);
        if (i)
            text[at++] = ',';
        memcpy(text + at, full, n + 1);
        at += n;
    }
    return OK;
}

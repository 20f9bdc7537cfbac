/*
 * data_list - the data directories that an option names, commas between them: also_data,
 * also_valid.
 *
 * A directory is called by the last part of its path; the names of a list differ. A path
 * with a comma in it cannot be given.
 */
#pragma once

#include "base/err.h"
#include "base/file.h"
#include "base/opt.h"

enum { DATA_LIST_NAME = 64, DATA_LIST_MAX = 16 };

struct data_list {
    size_t n;
    struct data_list_item {
        char path[FILE_PATH_MAX], name[DATA_LIST_NAME];
    } item[DATA_LIST_MAX];
};

/* `option` and `text` as given, for messages. ERR_USAGE for names that are equal. */
status data_list_read(struct data_list *l, const char *option, const char *text,
                      struct err *err);

/* The name of one directory. ERR_USAGE when there is none or it is too long. */
status data_list_name(char name[DATA_LIST_NAME], const char *option, const char *path,
                      struct err *err);

/* The same list with every path from the root. ERR_USAGE when it becomes too long. */
status data_list_absolute(char text[OPT_TEXT_MAX], const char *option, struct err *err);

/* find_param - a tensor of the model by its checkpoint name; NULL when there is none. */
#pragma once

#include <string.h>

#include "recipe/params.h"

static inline const struct param *find_param(const struct params *p, const char *name)
{
    for (size_t i = 0; i < p->n_list; i++)
        if (strcmp(p->list[i].name, name) == 0)
            return &p->list[i];
    return NULL;
}

#include "report/read/tensors.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "format/tf/tensor_index.h"

#define T(id, color, name) {color, name},
const struct tensors_look tensors_looks[] = {TENSORS_LIST(T)};
#undef T

/* Names are the reference's; Ferry writes the same. */
static enum tensors_kind kind_of(const struct tensor_entry *e)
{
    if (str_ends(e->name, "/Adam") || str_ends(e->name, "/Adam_1") ||
        str_ends(e->name, "/Momentum"))
        return TENSORS_MOMENTS;
    if (str_ends(e->name, "/ExponentialMovingAverage"))
        return TENSORS_AVERAGE;
    if (e->n_dims == 0)
        return TENSORS_COUNTERS;
    if (strstr(e->name, "FP32-master-copy/"))
        return TENSORS_MASTERS;
    return str_begins(e->name, "ForwardPass/") ? TENSORS_WEIGHTS : TENSORS_OTHER;
}

static void name_counter(struct tensors *t, const struct tensor_entry *e)
{
    const char *slash = strrchr(e->name, '/');
    const size_t at = strlen(t->counters);

    snprintf(t->counters + at, sizeof t->counters - at, "%s%s %llu", at ? ", " : "",
             slash ? slash + 1 : e->name, (unsigned long long)e->n_bytes);
}

static void sort(struct tensors *t, const struct tensor_index *index)
{
    for (size_t i = 0; i < index->n; i++) {
        const struct tensor_entry *e = &index->entry[i];
        const enum tensors_kind kind = kind_of(e);
        t->bytes[kind] += (double)e->n_bytes;
        t->total += (double)e->n_bytes;
        t->n[kind]++;
        if (kind == TENSORS_WEIGHTS)
            t->parameters += (double)tensor_index_elements(e);
        if (kind == TENSORS_COUNTERS)
            name_counter(t, e);
    }
    t->is_known = index->n > 0;
}

void tensors_read(struct tensors *t, const char *index_path)
{
    struct tensor_index index;
    struct file_map map;
    struct err err;

    *t = (struct tensors){0};
    status result = file_map_open(&map, index_path, &err);
    if (result == OK) {
        result = tensor_index_read(&index, map.data, map.n_bytes, &err);
        if (result == OK)
            sort(t, &index);
        file_map_close(&map);
    }
    if (result == OK)
        tensor_index_release(&index);
    else
        snprintf(t->why, sizeof t->why, "%.250s", err.msg);
}

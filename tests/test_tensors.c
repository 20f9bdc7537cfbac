#include "test.h"

#include <stdlib.h>

#include "base/file.h"
#include "format/tf/tensor_index.h"
#include "report/read/tensors.h"

enum { LAYERS = 6, MOST = 1200 };

#define SLOTS   "Loss_Optimization/"
#define MASTERS SLOTS "FP32-master-copy/"

static struct err err;

struct list {
    struct tensor_entry entry[MOST];
    char name[MOST][256];
    size_t n;
};

static void add(struct list *list, int dtype, const struct tensor_entry *like,
                const char *before, const char *name, const char *after)
{
    struct tensor_entry *e = &list->entry[list->n];

    CHECK(list->n < MOST);
    *e = *like;
    e->name = list->name[list->n];
    e->dtype = dtype;
    snprintf(list->name[list->n++], sizeof list->name[0], "%s%s%s", before, name, after);
    CHECK_OK(tensor_index_size(e->name, dtype, e->dims, e->n_dims, &e->n_bytes, &err),
             &err);
}

/* A weight with its moments; in mixed precision all but norms have 16 bits and a master.
 */
static void add_weight(struct list *list, bool is_mixed, const struct tensor_entry *like,
                       const char *name)
{
    const bool has_master = is_mixed && !strstr(name, "layer_norm");
    const char *slots = has_master ? SLOTS MASTERS : SLOTS;

    add(list, has_master ? TENSOR_HALF : TENSOR_FLOAT, like, "", name, "");
    if (has_master)
        add(list, TENSOR_FLOAT, like, MASTERS, name, "");
    add(list, TENSOR_FLOAT, like, slots, name, "/Adam");
    add(list, TENSOR_FLOAT, like, slots, name, "/Adam_1");
    add(list, TENSOR_FLOAT, like, "", name, "/ExponentialMovingAverage");
}

/* The reference's base model; '*' stands for the layer. */
static void add_base(struct list *list, bool is_mixed)
{
    FILE *f = fopen(test_data("base_tensors.txt"), "re");
    const struct tensor_entry scalar = {0};
    char line[200], pattern[160];

    CHECK(f);
    while (fgets(line, sizeof line, f)) {
        unsigned long d[2] = {0, 0};
        const int n = sscanf(line, "%159s %lu %lu", pattern, &d[0], &d[1]);
        char *hole = strchr(pattern, '*');
        const struct tensor_entry like = {.n_dims = (size_t)n - 1, .dims = {d[0], d[1]}};
        for (int layer = 0; layer < (hole ? LAYERS : 1); layer++) {
            if (hole)
                *hole = (char)('0' + layer);
            add_weight(list, is_mixed, &like, pattern);
        }
    }
    fclose(f);
    add(list, TENSOR_FLOAT, &scalar, SLOTS, "beta1_power", "");
    add(list, TENSOR_INT64, &scalar, SLOTS, "Variable", "");
    add(list, TENSOR_INT64, &scalar, "", "global_step", "");
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct tensor_entry *)a)->name,
                  ((const struct tensor_entry *)b)->name);
}

static struct tensors read_back(struct list *list)
{
    struct tensor_index_writer w;
    struct tensors t;

    qsort(list->entry, list->n, sizeof *list->entry, by_name);
    CHECK_OK(tensor_index_writer_init(&w, &err), &err);
    for (size_t i = 0; i < list->n; i++)
        CHECK_OK(tensor_index_writer_add(&w, &list->entry[i], &err), &err);
    CHECK_OK(tensor_index_writer_finish(&w, &err), &err);
    CHECK_OK(file_write(test_path("x.index"), w.table.out.data, w.table.out.len, &err),
             &err);
    tensor_index_writer_release(&w);
    tensors_read(&t, test_path("x.index"));
    return t;
}

TEST(each_weight_counts_once_in_either_precision)
{
    for (int is_mixed = 0; is_mixed < 2; is_mixed++) {
        struct list *list = calloc(1, sizeof *list);
        CHECK(list);
        add_base(list, is_mixed);
        const struct tensors t = read_back(list);
        CHECK(t.is_known);
        CHECK_NEAR(t.parameters, 60880896, 0);
        CHECK_NEAR(t.bytes[TENSORS_MOMENTS], 2 * 4 * 60880896.0, 0);
        CHECK_NEAR(t.bytes[TENSORS_MASTERS], is_mixed ? 4 * 60848128.0 : 0, 0);
        free(list);
    }
}

TEST(a_checkpoint_without_weights_has_no_parameters)
{
    struct list *list = calloc(1, sizeof *list);
    const struct tensor_entry like = {.n_dims = 1, .dims = {7}}, scalar = {0};
    struct tensors t;

    CHECK(list);
    add(list, TENSOR_INT64, &scalar, "", "global_step", "");
    add(list, TENSOR_FLOAT, &like, "", "other", "");
    t = read_back(list);
    CHECK(t.is_known && t.parameters == 0);
    tensors_read(&t, test_path("none.index"));
    CHECK(!t.is_known && t.parameters == 0 && t.why[0]);
    free(list);
}

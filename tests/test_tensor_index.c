#include "format/tf/tensor_index.h"

#include <stdlib.h>

#include "base/file.h"
#include "format/crc32c.h"
#include "test.h"

enum { MOST = 700, LAYERS = 6 };

static struct err err;

struct list {
    struct tensor_entry entry[MOST];
    char name[MOST][200];
    size_t n;
};

static void add(struct list *list, int dtype, const struct tensor_entry *shape,
                const char *prefix, const char *name, const char *suffix)
{
    struct tensor_entry *e = &list->entry[list->n];

    CHECK(list->n < MOST);
    *e = *shape;
    e->name = list->name[list->n];
    e->dtype = dtype;
    e->masked_crc = 0x01020304;
    snprintf(list->name[list->n++], sizeof list->name[0], "%s%s%s", prefix, name, suffix);
}

/* The trainable tensors of the reference's base model; '*' stands for the layer. */
static void add_trainable(struct list *list)
{
    FILE *f = fopen(test_data("base_tensors.txt"), "r");
    char pattern[160], line[200];
    struct tensor_entry shape;

    CHECK(f);
    while (fgets(line, sizeof line, f)) {
        unsigned long d[2];
        const int n = sscanf(line, "%159s %lu %lu", pattern, &d[0], &d[1]);
        char *hole = strchr(pattern, '*');
        CHECK(n >= 2);
        shape = (struct tensor_entry){.n_dims = (size_t)n - 1, .dims = {d[0], d[1]}};
        if (n == 2)
            shape.dims[1] = 0;
        for (int layer = 0; layer < (hole ? LAYERS : 1); layer++) {
            if (hole)
                *hole = (char)('0' + layer);
            add(list, TENSOR_FLOAT, &shape, "", pattern, "");
        }
    }
    fclose(f);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct tensor_entry *)a)->name,
                  ((const struct tensor_entry *)b)->name);
}

static void layout(struct list *list, uint64_t *n_data)
{
    *n_data = 0;
    qsort(list->entry, list->n, sizeof *list->entry, by_name);
    for (size_t i = 0; i < list->n; i++) {
        struct tensor_entry *e = &list->entry[i];
        CHECK_OK(
            tensor_index_size(e->name, e->dtype, e->dims, e->n_dims, &e->n_bytes, &err),
            &err);
        e->at = *n_data;
        *n_data += e->n_bytes;
    }
}

static struct tensor_index_writer written(const struct list *list)
{
    struct tensor_index_writer w;

    CHECK_OK(tensor_index_writer_init(&w, &err), &err);
    for (size_t i = 0; i < list->n; i++)
        CHECK_OK(tensor_index_writer_add(&w, &list->entry[i], &err), &err);
    CHECK_OK(tensor_index_writer_finish(&w, &err), &err);
    return w;
}

static const struct tensor_entry scalar = {0};

TEST(the_reference_checkpoint_in_fp32_has_its_observed_sizes)
{
    static struct list list;
    struct tensor_index index;
    uint64_t n_data;

    list.n = 0;
    add_trainable(&list);
    CHECK(list.n == 185);
    for (size_t i = 0; i < 185; i++) {
        const struct tensor_entry *e = &list.entry[i];
        add(&list, TENSOR_FLOAT, e, "Loss_Optimization/", e->name, "/Adam");
        add(&list, TENSOR_FLOAT, e, "Loss_Optimization/", e->name, "/Adam_1");
    }
    add(&list, TENSOR_FLOAT, &scalar, "Loss_Optimization/", "beta1_power", "");
    add(&list, TENSOR_FLOAT, &scalar, "Loss_Optimization/", "beta2_power", "");
    add(&list, TENSOR_INT64, &scalar, "", "global_step", "");
    layout(&list, &n_data);
    CHECK(list.n == 558 && n_data == 730570768);

    struct tensor_index_writer w = written(&list);
    CHECK(w.table.out.len == 27441);
    CHECK_OK(tensor_index_read(&index, (unsigned char *)w.table.out.data, w.table.out.len,
                               &err),
             &err);
    tensor_index_writer_release(&w);
    CHECK(index.n == 558 && index.n_shards == 1);
    for (size_t i = 0; i < index.n; i++) {
        const struct tensor_entry *a = &list.entry[i], *b = &index.entry[i];
        CHECK_STR(b->name, a->name);
        CHECK(a->dtype == b->dtype && a->n_dims == b->n_dims && a->at == b->at);
        CHECK(memcmp(a->dims, b->dims, sizeof a->dims) == 0);
        CHECK(a->n_bytes == b->n_bytes && a->masked_crc == b->masked_crc);
        CHECK(tensor_index_find(&index, a->name) == b);
    }
    CHECK(!tensor_index_find(&index, "") && !tensor_index_find(&index, "global"));
    tensor_index_release(&index);
}

TEST(the_reference_checkpoint_in_mixed_precision_has_its_observed_sizes)
{
    static struct list list;
    static const char *const master = "Loss_Optimization/FP32-master-copy/",
                             *const slot =
                                 "Loss_Optimization/Loss_Optimization/FP32-master-copy/";
    uint64_t n_data;

    list.n = 0;
    add_trainable(&list);
    for (size_t i = 0; i < 185; i++) {
        struct tensor_entry *e = &list.entry[i];
        const bool is_norm = strstr(e->name, "layer_norm") != NULL;
        const char *of = is_norm ? "Loss_Optimization/" : slot;
        if (!is_norm) {
            e->dtype = TENSOR_HALF;
            add(&list, TENSOR_FLOAT, e, master, e->name, "");
        }
        add(&list, TENSOR_FLOAT, e, of, e->name, "/Adam");
        add(&list, TENSOR_FLOAT, e, of, e->name, "/Adam_1");
    }
    add(&list, TENSOR_INT64, &scalar, "Loss_Optimization/", "Variable", "");
    add(&list, TENSOR_INT64, &scalar, "Loss_Optimization/", "Variable", "_1");
    add(&list, TENSOR_FLOAT, &scalar, "Loss_Optimization/", "Variable", "_2");
    add(&list, TENSOR_FLOAT, &scalar, "Loss_Optimization/cond_1/", "beta1_power", "");
    add(&list, TENSOR_FLOAT, &scalar, "Loss_Optimization/cond_1/", "beta2_power", "");
    add(&list, TENSOR_INT64, &scalar, "", "global_step", "");
    layout(&list, &n_data);
    CHECK(list.n == 682 && n_data == 852267044);

    struct tensor_index_writer w = written(&list);
    CHECK(w.table.out.len == 36131);
    tensor_index_writer_release(&w);
}

/* The size and checksum that make_golden.py printed of TensorFlow's own file. */
TEST(an_index_of_several_blocks_equals_tensorflows_byte_for_byte)
{
    enum { N = 9000 };
    struct tensor_index_writer w;
    struct tensor_index index;

    CHECK_OK(tensor_index_writer_init(&w, &err), &err);
    for (int i = 0; i < N; i++) {
        const float value = (float)i;
        char name[128];
        snprintf(name, sizeof name, "var/%06d/with/a/long/name/%.*s", i, i % 50,
                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
        CHECK_OK(tensor_index_writer_add(
                     &w,
                     &(struct tensor_entry){
                         .name = name,
                         .dtype = TENSOR_FLOAT,
                         .at = 4 * (uint64_t)i,
                         .n_bytes = 4,
                         .masked_crc = crc32c_mask(crc32c(0, &value, sizeof value))},
                     &err),
                 &err);
    }
    CHECK_OK(tensor_index_writer_finish(&w, &err), &err);
    CHECK(w.table.out.len == 557938);
    CHECK(crc32c(0, w.table.out.data, w.table.out.len) == 0xafef0c2b);
    CHECK_OK(tensor_index_read(&index, (unsigned char *)w.table.out.data, w.table.out.len,
                               &err),
             &err);
    CHECK(index.n == N && index.entry[N - 1].at == 4UL * (N - 1));
    tensor_index_release(&index);
    tensor_index_writer_release(&w);
}

static status read_golden(const char *name, struct tensor_index *index)
{
    struct file_map map;
    status result;

    CHECK_OK(file_map_open(&map, test_data(name), &err), &err);
    result = tensor_index_read(index, map.data, map.n_bytes, &err);
    file_map_close(&map);
    return result;
}

TEST(partitioned_variables_are_refused_and_strings_are_listed)
{
    struct tensor_index index;

    CHECK_FAILS(read_golden("golden_slices.index", &index), &err, ERR_FORMAT,
                "partitioned");
    CHECK_OK(read_golden("golden_string.index", &index), &err);
    CHECK(index.n == 1 && index.entry[0].dtype == TENSOR_STRING);
    tensor_index_release(&index);
}

/* A table of one header and one entry "t" with these messages. */
static status of_messages(const void *header, size_t n_header, const void *entry,
                          size_t n_entry)
{
    struct sstable_writer w;
    struct tensor_index index;
    status result;

    sstable_writer_init(&w, 0);
    CHECK_OK(sstable_writer_add(&w, "", 0, header, n_header, &err), &err);
    CHECK_OK(sstable_writer_add(&w, "t", 1, entry, n_entry, &err), &err);
    CHECK_OK(sstable_writer_finish(&w, &err), &err);
    result = tensor_index_read(&index, (unsigned char *)w.out.data, w.out.len, &err);
    tensor_index_release(&index);
    sstable_writer_release(&w);
    return result;
}

#define HEADER(bytes) bytes, sizeof(bytes) - 1
#define GOOD          HEADER("\x08\x01\x1a\x02\x08\x01")

TEST(headers_that_do_not_fit_are_refused)
{
    static const char entry[] = "\x08\x01\x12\x00\x28\x04";
    const size_t n = sizeof entry - 1;

    CHECK_OK(of_messages(GOOD, entry, n), &err);
    CHECK_FAILS(of_messages(HEADER("\x08\x01\x10\x01"), entry, n), &err, ERR_FORMAT,
                "big-endian");
    CHECK_FAILS(of_messages(HEADER("\x08\x01\x1a\x02\x10\x07"), entry, n), &err,
                ERR_FORMAT, "version 7");
    CHECK_FAILS(of_messages(HEADER(""), entry, n), &err, ERR_FORMAT, "0 data files");
    CHECK_FAILS(of_messages(HEADER("\x08\xa0\x8d\x06"), entry, n), &err, ERR_FORMAT,
                "100000 data files");
    CHECK_FAILS(of_messages(HEADER("\x08"), entry, n), &err, ERR_FORMAT, "malformed");
}

TEST(entries_that_do_not_fit_are_refused)
{
    CHECK_FAILS(of_messages(GOOD, HEADER("\x08\x01\x12")), &err, ERR_FORMAT, "'t'");
    CHECK_FAILS(of_messages(GOOD, HEADER("\x08\x01\x12\x00\x28\x05")), &err, ERR_FORMAT,
                "5 bytes where its shape asks for 4");
    CHECK_FAILS(of_messages(GOOD, HEADER("\x08\x01\x12\x00\x18\x01\x28\x04")), &err,
                ERR_FORMAT, "data file 1");
    CHECK_FAILS(
        of_messages(GOOD, HEADER("\x08\x01\x12\x00\x20\xff\xff\xff\xff\xff\xff\xff\xff"
                                 "\x7f\x28\x04")),
        &err, ERR_FORMAT, "at byte 9223372036854775807");
    CHECK_FAILS(of_messages(GOOD, HEADER("\x08\x01\x12\x0d\x12\x0b\x08\xff\xff\xff\xff"
                                         "\xff\xff\xff\xff\xff\x01\x28\x04")),
                &err, ERR_FORMAT, "size -1");
    CHECK_FAILS(of_messages(GOOD, HEADER("\x08\x01\x12\x10\x12\x06\x08\x80\x80\x80\x80"
                                         "\x10\x12\x06\x08\x80\x80\x80\x80\x10")),
                &err, ERR_FORMAT, "impossible shape"); /* 2^32 by 2^32 */
    CHECK_FAILS(of_messages(GOOD, HEADER("\x08\x01\x12\x02\x18\x01")), &err, ERR_FORMAT,
                "dimensions");
    CHECK_FAILS(of_messages(GOOD, HEADER("\x08\x01\x12\x00\x28\x04\x3a\x00")), &err,
                ERR_FORMAT, "partitioned");
}

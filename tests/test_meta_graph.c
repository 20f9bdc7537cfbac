#include "format/tf/meta_graph.h"

#include "base/file.h"
#include "format/varint.h"
#include "test.h"

static struct err err;

static const struct tensor_entry variables[] = {
    {.name = "ForwardPass/a", .dtype = TENSOR_FLOAT, .n_dims = 2, .dims = {2, 3}},
    {.name = "ForwardPass/b", .dtype = TENSOR_HALF, .n_dims = 1, .dims = {5}},
    {.name = "global_step", .dtype = TENSOR_INT64},
};

enum { N_VARIABLES = sizeof variables / sizeof variables[0] };

struct bytes {
    const unsigned char *data;
    size_t n;
};

/* The next field of a message; false at its end. Numbers come as value. */
static bool next_field(struct bytes *message, uint64_t *number, struct bytes *content,
                       uint64_t *value)
{
    uint64_t tag;
    size_t used;

    if (!message->n)
        return false;
    used = varint_get64(message->data, message->n, &tag);
    CHECK(used);
    *number = tag >> 3;
    *content = (struct bytes){.data = message->data + used};
    switch (tag & 7) {
    case 0:
        content->n = varint_get64(content->data, message->n - used, value);
        CHECK(content->n);
        break;
    case 2: {
        const size_t head = varint_get64(content->data, message->n - used, value);
        CHECK(head && *value <= message->n - used - head);
        used += head;
        content->data += head;
        content->n = (size_t)*value;
        break;
    }
    default:
        CHECK((tag & 7) == 5);
        content->n = 4;
    }
    used += content->n;
    message->data += used;
    message->n -= used;
    return true;
}

/* The i-th occurrence of a field; n = 0 and data = NULL when there is none. */
static struct bytes field(struct bytes message, uint64_t want, size_t i)
{
    struct bytes content;
    uint64_t number, value;

    while (next_field(&message, &number, &content, &value))
        if (number == want && i-- == 0)
            return content;
    return (struct bytes){0};
}

static bool is_text(struct bytes b, const char *text)
{
    return b.n == strlen(text) && memcmp(b.data, text, b.n) == 0;
}

/* The node called name[0..n), where ":0" and "^" say how it is used. */
static struct bytes node_of(struct bytes graph, struct bytes name)
{
    const unsigned char *colon = memchr(name.data, ':', name.n);
    struct bytes node;

    if (colon)
        name.n = (size_t)(colon - name.data);
    if (name.n && name.data[0] == '^') {
        name.data++;
        name.n--;
    }
    for (size_t i = 0; (node = field(graph, 1, i)).data; i++) {
        const struct bytes its = field(node, 1, 0);
        if (its.n == name.n && memcmp(its.data, name.data, name.n) == 0)
            return node;
    }
    test_fail(__FILE__, __LINE__, "no node %.*s", (int)name.n, (const char *)name.data);
}

static struct bytes node_called(struct bytes graph, const char *name)
{
    return node_of(graph, (struct bytes){(const unsigned char *)name, strlen(name)});
}

static struct bytes attr(struct bytes node, const char *key)
{
    struct bytes entry;

    for (size_t i = 0; (entry = field(node, 5, i)).data; i++)
        if (is_text(field(entry, 1, 0), key))
            return field(entry, 2, 0);
    test_fail(__FILE__, __LINE__, "no attribute %s", key);
}

static struct bytes built(struct str *out)
{
    *out = str_new(0);
    CHECK_OK(meta_graph_build(out, variables, N_VARIABLES, "ForwardPass/", &err), &err);
    return (struct bytes){(const unsigned char *)out->data, out->len};
}

TEST(every_input_of_the_graph_is_one_of_its_nodes)
{
    struct str out;
    struct bytes graph = field(built(&out), 2, 0), node, input;
    size_t n_nodes = 0;

    for (; (node = field(graph, 1, n_nodes)).data; n_nodes++)
        for (size_t i = 0; (input = field(node, 3, i)).data; i++)
            node_of(graph, input);
    CHECK(n_nodes == 4 * N_VARIABLES + 3 + 3 + N_VARIABLES + 1);
    str_release(&out);
}

TEST(variables_carry_their_type_and_shape)
{
    struct str out;
    const struct bytes graph = field(built(&out), 2, 0);
    const struct bytes a = node_called(graph, "ForwardPass/a");
    const struct bytes step = node_called(graph, "global_step");

    CHECK(is_text(field(a, 2, 0), "VariableV2"));
    CHECK(is_text(attr(a, "dtype"), "\x30\x01"));
    CHECK(is_text(attr(a, "shape"), "\x3a\x08\x12\x02\x08\x02\x12\x02\x08\x03"));
    CHECK(is_text(attr(step, "dtype"), "\x30\x09"));
    CHECK(attr(step, "shape").n == 2 && field(attr(step, "shape"), 7, 0).n == 0);
    str_release(&out);
}

TEST(saving_and_restoring_name_every_variable_in_order)
{
    struct str out;
    const struct bytes meta = built(&out), graph = field(meta, 2, 0);
    const struct bytes saver = field(meta, 3, 0);
    const struct bytes names =
        field(attr(node_called(graph, "save/tensor_names"), "value"), 8, 0);
    const struct bytes save = node_called(graph, "save/SaveV2");

    for (size_t i = 0; i < N_VARIABLES; i++) {
        char text[40];
        CHECK(is_text(field(names, 8, i), variables[i].name));
        CHECK(is_text(field(save, 3, 3 + i), variables[i].name));
        snprintf(text, sizeof text, "save/Assign_%zu", i);
        const struct bytes assign = node_called(graph, text);
        CHECK(is_text(field(assign, 3, 0), variables[i].name));
        snprintf(text, sizeof text, "save/RestoreV2:%zu", i);
        CHECK(is_text(field(assign, 3, 1), text));
        snprintf(text, sizeof text, "^save/Assign_%zu", i);
        CHECK(is_text(field(node_called(graph, "save/restore_all"), 3, i), text));
    }
    CHECK(is_text(field(field(attr(save, "dtypes"), 1, 0), 6, 0), "\x01\x13\x09"));
    for (uint64_t number = 1; number <= 3; number++)
        node_of(graph, field(saver, number, 0));
    str_release(&out);
}

TEST(collections_list_all_variables_and_the_trainable_ones)
{
    static const uint64_t names[] = {1, 2, 3, 6};
    struct str out;
    const struct bytes meta = built(&out), graph = field(meta, 2, 0);
    const size_t want[] = {N_VARIABLES, 2};

    for (size_t c = 0; c < 2; c++) {
        const struct bytes entry = field(meta, 4, c);
        const struct bytes list = field(field(entry, 2, 0), 2, 0);
        struct bytes row;
        size_t n = 0;
        CHECK(is_text(field(entry, 1, 0), c ? "trainable_variables" : "variables"));
        for (; (row = field(list, 1, n)).data; n++)
            for (size_t i = 0; i < 4; i++)
                node_of(graph, field(row, names[i], 0));
        CHECK(n == want[c]);
    }
    str_release(&out);

    out = str_new(0);
    CHECK_OK(meta_graph_build(&out, variables, N_VARIABLES, NULL, &err), &err);
    CHECK(!field((struct bytes){(const unsigned char *)out.data, out.len}, 4, 1).data);
    str_release(&out);
}

TEST(the_file_is_made_from_the_index_beside_it)
{
    struct file_map from, to;

    CHECK_FAILS(meta_graph_write(test_path("none"), NULL, &err), &err, ERR_IO,
                "none.index");
    CHECK_OK(file_map_open(&from, test_data("golden.index"), &err), &err);
    CHECK_OK(file_write(test_path("x.index"), from.data, from.n_bytes, &err), &err);
    CHECK_OK(meta_graph_write(test_path("x"), NULL, &err), &err);
    CHECK_OK(file_map_open(&to, test_path("x.meta"), &err), &err);
    node_called(field((struct bytes){to.data, to.n_bytes}, 2, 0), "w/19/kernel/read");
    CHECK_OK(file_write(test_path("x.index"), from.data, from.n_bytes - 1, &err), &err);
    CHECK_FAILS(meta_graph_write(test_path("x"), NULL, &err), &err, ERR_FORMAT,
                "x.index: ");
    file_map_close(&from);
    file_map_close(&to);
}

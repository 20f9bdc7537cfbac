/*
 * The graph, in the words of TensorFlow 1:
 *
 *   X                    VariableV2
 *   X/Initializer/zeros  Const     a tensor without values is all zeros
 *   X/Assign             Assign    X = X/Initializer/zeros
 *   X/read               Identity  of X
 *   save/Const           Const     the prefix, which the saver feeds
 *   save/SaveV2          SaveV2    and save/control_dependency behind it
 *   save/RestoreV2       RestoreV2
 *   save/Assign_<i>      Assign    variable i = save/RestoreV2:<i>
 *   save/restore_all     NoOp      after all of those
 */
#include "format/tf/meta_graph.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "format/tf/proto.h"
#include "meta_graph.pb-c.h"

enum {
    GRAPH_VERSION = 27,   /* of TensorFlow 1.12 */
    SAVER_VERSION = 2,    /* tensor bundles */
    NODE_FIELD = 1,       /* GraphDef.node */
    VERSIONS_FIELD = 4,   /* GraphDef.versions */
    ROW_FIELD = 1,        /* CollectionDef.BytesList.value */
    COLLECTION_FIELD = 4, /* MetaGraphDef.collection_def */
    ATTRS_MAX = 2         /* of a node */
};

struct builder {
    struct str graph;                    /* a GraphDef, node after node */
    const struct tensor_entry *variable; /* n of them */
    size_t n;
    struct str name, zeros;     /* of the node at hand, and of the initial value */
    char **inputs;              /* n + 3 strings of the node that has many */
    AttrValue__ListValue types; /* of the variables */
    ProtobufCBinaryData *names, *blanks; /* values of two constants */
};

struct attr {
    const char *key; /* NULL: none */
    AttrValue value;
};

#define VALUE(kind, member, x)                                    \
    (AttrValue)                                                   \
    {                                                             \
        .base = PROTOBUF_C_MESSAGE_INIT(&attr_value__descriptor), \
        .value_case = ATTR_VALUE__VALUE_##kind, .member = (x)     \
    }

static char *mutable(const char *text)
{
    return (char *)text; /* protobuf-c packs what it does not change */
}

static const char *join(struct str *s, const char *first, const char *second)
{
    str_reset(s);
    str_printf(s, "%s%s", first, second);
    return str_text(s);
}

static void add_node(struct builder *b, const char *op, const char *name,
                     struct attr attr[ATTRS_MAX], char **inputs, size_t n_inputs)
{
    NodeDef node = NODE_DEF__INIT;
    AttrEntry entry[ATTRS_MAX], *entry_at[ATTRS_MAX];

    for (size_t i = 0; i < ATTRS_MAX && attr[i].key; i++) {
        attr_entry__init(&entry[i]);
        entry[i].key = mutable(attr[i].key);
        entry[i].value = &attr[i].value;
        entry_at[node.n_attr++] = &entry[i];
    }
    node.name = mutable(name);
    node.op = mutable(op);
    node.attr = entry_at;
    node.n_input = n_inputs;
    node.input = inputs;
    proto_pack_field(&b->graph, NODE_FIELD, &node.base);
}

/* One attribute at most, its type, and up to two inputs: NULL for what there is not. */
static void add_small(struct builder *b, const char *op, const char *name,
                      const char *key, int dtype, const char *first, const char *second)
{
    add_node(b, op, name, (struct attr[ATTRS_MAX]){{key, VALUE(TYPE, type, dtype)}},
             (char *[]){mutable(first), mutable(second)},
             second  ? 2
             : first ? 1
                     : 0);
}

/* A constant; without strings it is all zeros. */
static void add_const(struct builder *b, const char *name, int dtype,
                      TensorShapeProto *shape, ProtobufCBinaryData *strings,
                      size_t n_strings)
{
    TensorProto tensor = TENSOR_PROTO__INIT;

    tensor.dtype = dtype;
    tensor.tensor_shape = shape;
    tensor.n_string_val = n_strings;
    tensor.string_val = strings;
    add_node(b, "Const", name,
             (struct attr[ATTRS_MAX]){{"dtype", VALUE(TYPE, type, dtype)},
                                      {"value", VALUE(TENSOR, tensor, &tensor)}},
             NULL, 0);
}

static void add_variable(struct builder *b, const struct tensor_entry *v)
{
    const char *zeros = join(&b->zeros, v->name, "/Initializer/zeros");
    struct proto_shape shape;

    proto_shape_init(&shape, v->dims, v->n_dims);
    add_node(b, "VariableV2", v->name,
             (struct attr[ATTRS_MAX]){{"dtype", VALUE(TYPE, type, v->dtype)},
                                      {"shape", VALUE(SHAPE, shape, &shape.message)}},
             NULL, 0);
    add_const(b, zeros, v->dtype, &shape.message, NULL, 0);
    add_small(b, "Assign", join(&b->name, v->name, "/Assign"), "T", v->dtype, v->name,
              zeros);
    add_small(b, "Identity", join(&b->name, v->name, "/read"), "T", v->dtype, v->name,
              NULL);
}

static ProtobufCBinaryData bytes_of(const char *text)
{
    return (ProtobufCBinaryData){.len = strlen(text), .data = (uint8_t *)mutable(text)};
}

static void add_save(struct builder *b)
{
    ProtobufCBinaryData model = bytes_of("model");
    struct attr types[ATTRS_MAX] = {{"dtypes", VALUE(LIST, list, &b->types)}};
    struct proto_shape shape;

    proto_shape_init(&shape, NULL, 0);
    add_const(b, "save/Const", TENSOR_STRING, &shape.message, &model, 1);
    proto_shape_init(&shape, (uint64_t[]){b->n}, 1);
    add_const(b, "save/tensor_names", TENSOR_STRING, &shape.message, b->names, b->n);
    add_const(b, "save/shape_and_slices", TENSOR_STRING, &shape.message, b->blanks, b->n);

    b->inputs[0] = mutable("save/Const");
    b->inputs[1] = mutable("save/tensor_names");
    b->inputs[2] = mutable("save/shape_and_slices");
    for (size_t i = 0; i < b->n; i++)
        b->inputs[3 + i] = mutable(b->variable[i].name);
    add_node(b, "SaveV2", "save/SaveV2", types, b->inputs, 3 + b->n);
    add_small(b, "Identity", "save/control_dependency", "T", TENSOR_STRING, "save/Const",
              "^save/SaveV2");
    add_node(b, "RestoreV2", "save/RestoreV2", types, b->inputs, 3);
}

/* save/restore_all needs the names of all assignments: they live in one string. */
static status add_restore(struct builder *b, struct err *err)
{
    enum { TEXT = 40 };
    RELEASED_BY(mem_release) char *text = NULL;
    char from[TEXT];

    TRY(mem_alloc(&text, b->n, TEXT, err));
    for (size_t i = 0; i < b->n; i++) {
        b->inputs[i] = text + i * TEXT;
        snprintf(b->inputs[i], TEXT, "^save/Assign_%zu", i);
        snprintf(from, sizeof from, "save/RestoreV2:%zu", i);
        add_small(b, "Assign", b->inputs[i] + 1, "T", b->variable[i].dtype,
                  b->variable[i].name, from);
    }
    add_node(b, "NoOp", "save/restore_all", (struct attr[ATTRS_MAX]){{0}}, b->inputs,
             b->n);
    return OK;
}

static status build_graph(struct builder *b, struct err *err)
{
    GraphVersions versions = GRAPH_VERSIONS__INIT;

    attr_value__list_value__init(&b->types);
    TRY(mem_alloc(&b->inputs, b->n + 3, sizeof *b->inputs, err));
    TRY(mem_alloc(&b->types.type, b->n, sizeof *b->types.type, err));
    TRY(mem_alloc(&b->names, b->n, sizeof *b->names, err));
    TRY(mem_alloc(&b->blanks, b->n, sizeof *b->blanks, err));
    b->types.n_type = b->n;
    for (size_t i = 0; i < b->n; i++) {
        b->types.type[i] = b->variable[i].dtype;
        b->names[i] = bytes_of(b->variable[i].name);
        add_variable(b, &b->variable[i]);
    }
    add_save(b);
    TRY(add_restore(b, err));
    versions.producer = GRAPH_VERSION;
    proto_pack_field(&b->graph, VERSIONS_FIELD, &versions.base);
    b->graph.bad |= b->name.bad || b->zeros.bad;
    return str_check(&b->graph, "the graph of variables", err);
}

static void release(struct builder *b)
{
    str_release(&b->graph);
    str_release(&b->name);
    str_release(&b->zeros);
    free(b->inputs);
    free(b->types.type);
    free(b->names);
    free(b->blanks);
}

/* One variable's row of a collection. */
static void add_row(struct str *list, const char *name, bool is_trainable)
{
    static const char *const suffix[] = {":0", "/Assign", "/read:0",
                                         "/Initializer/zeros:0"};
    VariableDef def = VARIABLE_DEF__INIT;
    char **const field[] = {&def.variable_name, &def.initializer_name, &def.snapshot_name,
                            &def.initial_value_name};
    struct str text[4] = {0};

    for (int i = 0; i < 4; i++) {
        *field[i] = mutable(join(&text[i], name, suffix[i]));
        list->bad |= text[i].bad;
    }
    def.trainable = is_trainable;
    proto_pack_field(list, ROW_FIELD, &def.base);
    for (int i = 0; i < 4; i++)
        str_release(&text[i]);
}

static void add_collection(struct str *out, const char *key, const struct str *list)
{
    CollectionDef value = COLLECTION_DEF__INIT;
    CollectionEntry entry = COLLECTION_ENTRY__INIT;

    value.bytes_list =
        (ProtobufCBinaryData){.len = list->len, .data = (uint8_t *)list->data};
    entry.key = mutable(key);
    entry.value = &value;
    proto_pack_field(out, COLLECTION_FIELD, &entry.base);
}

static status add_collections(struct str *out, const struct builder *b,
                              const char *trainable_prefix, struct err *err)
{
    RELEASED_BY(str_release) struct str all = {0};
    RELEASED_BY(str_release) struct str trainable = {0};

    for (size_t i = 0; i < b->n; i++) {
        const char *name = b->variable[i].name;
        const bool is_trainable = trainable_prefix && str_begins(name, trainable_prefix);
        add_row(&all, name, is_trainable);
        if (is_trainable)
            add_row(&trainable, name, true);
    }
    add_collection(out, "variables", &all);
    if (trainable.len)
        add_collection(out, "trainable_variables", &trainable);
    out->bad |= all.bad || trainable.bad;
    return str_check(out, "the graph of variables", err);
}

static void add_saver(struct str *out, const struct str *graph)
{
    SaverDef saver = SAVER_DEF__INIT;
    MetaGraphDef meta = META_GRAPH_DEF__INIT;

    saver.filename_tensor_name = mutable("save/Const:0");
    saver.save_tensor_name = mutable("save/control_dependency:0");
    saver.restore_op_name = mutable("save/restore_all");
    saver.max_to_keep = 5;
    saver.keep_checkpoint_every_n_hours = 10000;
    saver.version = SAVER_VERSION;
    meta.graph_def =
        (ProtobufCBinaryData){.len = graph->len, .data = (uint8_t *)graph->data};
    meta.saver_def = &saver;
    proto_pack(out, &meta.base);
}

status meta_graph_build(struct str *out, const struct tensor_entry *variable, size_t n,
                        const char *trainable_prefix, struct err *err)
{
    RELEASED_BY(release) struct builder b = {.variable = variable, .n = n};

    TRY(build_graph(&b, err));
    add_saver(out, &b.graph);
    return add_collections(out, &b, trainable_prefix, err);
}

status meta_graph_write(const char *prefix, const char *trainable_prefix, struct err *err)
{
    RELEASED_BY(tensor_index_release) struct tensor_index index = {0};
    RELEASED_BY(str_release) struct str out = str_new(0);
    char path[FILE_PATH_MAX];

    TRY(tensor_index_open(&index, prefix, err));
    TRY(meta_graph_build(&out, index.entry, index.n, trainable_prefix, err));
    TRY(file_path(path, err, "%s.meta", prefix));
    return file_write_str(path, &out, err);
}

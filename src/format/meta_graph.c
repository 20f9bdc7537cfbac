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
#include "format/meta_graph.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "format/proto.h"
#include "meta_graph.pb-c.h"

enum {
    GRAPH_VERSION = 27,   /* of TensorFlow 1.12 */
    SAVER_VERSION = 2,    /* tensor bundles */
    NODE_FIELD = 1,       /* GraphDef.node */
    VERSIONS_FIELD = 4,   /* GraphDef.versions */
    ROW_FIELD = 1,        /* CollectionDef.BytesList.value */
    COLLECTION_FIELD = 4, /* MetaGraphDef.collection_def */
    ATTRS_MAX = 3
};

/* A shape and everything it points to. */
struct shape {
    TensorShapeProto proto;
    TensorShapeProto__Dim dim[TENSOR_INDEX_MAX_DIMS];
    TensorShapeProto__Dim *dim_at[TENSOR_INDEX_MAX_DIMS];
};

/* A node under construction, and the text of its name. */
struct node {
    NodeDef proto;
    struct str name;
    AttrEntry attr[ATTRS_MAX], *attr_at[ATTRS_MAX];
    AttrValue value[ATTRS_MAX];
};

struct builder {
    struct str graph;                    /* a GraphDef, node after node */
    const struct tensor_entry *variable; /* n of them */
    size_t n;
    struct node node;
    char **inputs; /* n + 3 strings of the node that has many */
    int32_t *types;
    ProtobufCBinaryData *names, *blanks; /* n each, for two constants */
};

static char *mutable(const char *text)
{
    return (char *)(uintptr_t)text; /* protobuf-c packs what it does not change */
}

static void shape_init(struct shape *s, const uint64_t *dims, size_t n)
{
    tensor_shape_proto__init(&s->proto);
    for (size_t i = 0; i < n; i++) {
        tensor_shape_proto__dim__init(&s->dim[i]);
        s->dim[i].size = (int64_t)dims[i];
        s->dim_at[i] = &s->dim[i];
    }
    s->proto.n_dim = n;
    s->proto.dim = s->dim_at;
}

static void node_begin(struct node *n, const char *op, const char *scope,
                       const char *name)
{
    str_reset(&n->name);
    str_printf(&n->name, "%s%s", scope, name);
    node_def__init(&n->proto);
    n->proto.name = mutable(str_text(&n->name));
    n->proto.op = mutable(op);
    n->proto.attr = n->attr_at;
}

/* The next attribute of the node, to be filled by the caller. */
static AttrValue *node_attr(struct node *n, const char *key, AttrValue__ValueCase kind)
{
    const size_t i = n->proto.n_attr++;

    attr_entry__init(&n->attr[i]);
    attr_value__init(&n->value[i]);
    n->attr[i].key = mutable(key);
    n->attr[i].value = &n->value[i];
    n->attr_at[i] = &n->attr[i];
    n->value[i].value_case = kind;
    return &n->value[i];
}

static void node_type(struct node *n, const char *key, int dtype)
{
    node_attr(n, key, ATTR_VALUE__VALUE_TYPE)->type = dtype;
}

static void node_types(struct node *n, AttrValue__ListValue *list,
                       const struct builder *b)
{
    attr_value__list_value__init(list);
    list->n_type = b->n;
    list->type = b->types;
    node_attr(n, "dtypes", ATTR_VALUE__VALUE_LIST)->list = list;
}

static void node_end(struct builder *b, const char *const *inputs, size_t n_inputs)
{
    char *input[4];

    for (size_t i = 0; i < n_inputs; i++)
        input[i] = mutable(inputs[i]);
    b->node.proto.n_input = n_inputs;
    b->node.proto.input = input;
    proto_pack_field(&b->graph, NODE_FIELD, &b->node.proto.base);
}

static void node_end_many(struct builder *b, size_t n_inputs)
{
    b->node.proto.n_input = n_inputs;
    b->node.proto.input = b->inputs;
    proto_pack_field(&b->graph, NODE_FIELD, &b->node.proto.base);
}

static void add_const(struct builder *b, TensorProto *tensor)
{
    node_type(&b->node, "dtype", tensor->dtype);
    node_attr(&b->node, "value", ATTR_VALUE__VALUE_TENSOR)->tensor = tensor;
    node_end(b, NULL, 0);
}

static void add_strings(struct builder *b, const char *name, ProtobufCBinaryData *strings)
{
    TensorProto tensor = TENSOR_PROTO__INIT;
    struct shape shape;

    shape_init(&shape, (uint64_t[]){b->n}, 1);
    tensor.dtype = TENSOR_STRING;
    tensor.tensor_shape = &shape.proto;
    tensor.n_string_val = b->n;
    tensor.string_val = strings;
    node_begin(&b->node, "Const", "save/", name);
    add_const(b, &tensor);
}

static void add_prefix(struct builder *b)
{
    unsigned char text[] = "model";
    ProtobufCBinaryData value = {.len = 5, .data = text};
    TensorProto tensor = TENSOR_PROTO__INIT;
    struct shape scalar;

    shape_init(&scalar, NULL, 0);
    tensor.dtype = TENSOR_STRING;
    tensor.tensor_shape = &scalar.proto;
    tensor.n_string_val = 1;
    tensor.string_val = &value;
    node_begin(&b->node, "Const", "save/", "Const");
    add_const(b, &tensor);
}

static void add_variable(struct builder *b, const struct tensor_entry *v)
{
    TensorProto zeros = TENSOR_PROTO__INIT;
    struct str initial = str_new(0);
    struct shape shape;

    shape_init(&shape, v->dims, v->n_dims);
    node_begin(&b->node, "VariableV2", v->name, "");
    node_type(&b->node, "dtype", v->dtype);
    node_attr(&b->node, "shape", ATTR_VALUE__VALUE_SHAPE)->shape = &shape.proto;
    node_end(b, NULL, 0);

    node_begin(&b->node, "Const", v->name, "/Initializer/zeros");
    str_puts(&initial, b->node.proto.name);
    zeros.dtype = v->dtype;
    zeros.tensor_shape = &shape.proto;
    add_const(b, &zeros);

    node_begin(&b->node, "Assign", v->name, "/Assign");
    node_type(&b->node, "T", v->dtype);
    node_end(b, (const char *[]){v->name, str_text(&initial)}, 2);

    node_begin(&b->node, "Identity", v->name, "/read");
    node_type(&b->node, "T", v->dtype);
    node_end(b, (const char *[]){v->name}, 1);
    str_release(&initial);
}

static void add_save(struct builder *b)
{
    AttrValue__ListValue types;

    b->inputs[0] = mutable("save/Const");
    b->inputs[1] = mutable("save/tensor_names");
    b->inputs[2] = mutable("save/shape_and_slices");
    for (size_t i = 0; i < b->n; i++)
        b->inputs[3 + i] = mutable(b->variable[i].name);
    node_begin(&b->node, "SaveV2", "save/", "SaveV2");
    node_types(&b->node, &types, b);
    node_end_many(b, 3 + b->n);

    node_begin(&b->node, "Identity", "save/", "control_dependency");
    node_type(&b->node, "T", TENSOR_STRING);
    node_end(b, (const char *[]){"save/Const", "^save/SaveV2"}, 2);

    node_begin(&b->node, "RestoreV2", "save/", "RestoreV2");
    node_types(&b->node, &types, b);
    node_end_many(b, 3);
}

/* save/restore_all needs the names of all assignments: they live in one string. */
static status add_restore(struct builder *b, struct err *err)
{
    enum { TEXT = 40 };
    char *text, from[TEXT];

    TRY(mem_alloc(&text, b->n, TEXT, err));
    for (size_t i = 0; i < b->n; i++) {
        char *name = text + i * TEXT;
        snprintf(name, TEXT, "^save/Assign_%zu", i);
        snprintf(from, sizeof from, "save/RestoreV2:%zu", i);
        b->inputs[i] = name;
        node_begin(&b->node, "Assign", name + 1, "");
        node_type(&b->node, "T", b->variable[i].dtype);
        node_end(b, (const char *[]){b->variable[i].name, from}, 2);
    }
    node_begin(&b->node, "NoOp", "save/", "restore_all");
    node_end_many(b, b->n);
    free(text);
    return OK;
}

static status build_graph(struct builder *b, struct err *err)
{
    GraphVersions versions = GRAPH_VERSIONS__INIT;

    TRY(mem_alloc(&b->inputs, b->n + 3, sizeof *b->inputs, err));
    TRY(mem_alloc(&b->types, b->n, sizeof *b->types, err));
    TRY(mem_alloc(&b->names, b->n, sizeof *b->names, err));
    TRY(mem_alloc(&b->blanks, b->n, sizeof *b->blanks, err));
    for (size_t i = 0; i < b->n; i++) {
        const struct tensor_entry *v = &b->variable[i];
        b->types[i] = v->dtype;
        b->names[i] = (ProtobufCBinaryData){.len = strlen(v->name),
                                            .data = (uint8_t *)mutable(v->name)};
        add_variable(b, v);
    }
    add_prefix(b);
    add_strings(b, "tensor_names", b->names);
    add_strings(b, "shape_and_slices", b->blanks);
    add_save(b);
    TRY(add_restore(b, err));
    versions.producer = GRAPH_VERSION;
    proto_pack_field(&b->graph, VERSIONS_FIELD, &versions.base);
    return str_check(&b->graph, "the graph of variables", err);
}

static void release(struct builder *b)
{
    str_release(&b->graph);
    str_release(&b->node.name);
    free(b->inputs);
    free(b->types);
    free(b->names);
    free(b->blanks);
}

/* One variable's row of a collection. */
static void add_row(struct str *list, const char *name, bool is_trainable)
{
    static const char *const suffix[] = {":0", "/Assign", "/read:0",
                                         "/Initializer/zeros:0"};
    VariableDef def = VARIABLE_DEF__INIT;
    struct str text[4] = {0};

    for (int i = 0; i < 4; i++) {
        str_printf(&text[i], "%s%s", name, suffix[i]);
        list->bad |= text[i].bad;
    }
    def.variable_name = mutable(str_text(&text[0]));
    def.initializer_name = mutable(str_text(&text[1]));
    def.snapshot_name = mutable(str_text(&text[2]));
    def.initial_value_name = mutable(str_text(&text[3]));
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
    struct str all = {0}, trainable = {0};
    status result;

    for (size_t i = 0; i < b->n; i++) {
        const char *name = b->variable[i].name;
        const bool is_trainable =
            trainable_prefix &&
            strncmp(name, trainable_prefix, strlen(trainable_prefix)) == 0;
        add_row(&all, name, is_trainable);
        if (is_trainable)
            add_row(&trainable, name, true);
    }
    add_collection(out, "variables", &all);
    add_collection(out, "trainable_variables", &trainable);
    out->bad |= all.bad || trainable.bad;
    result = str_check(out, "the graph of variables", err);
    str_release(&all);
    str_release(&trainable);
    return result;
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
    struct builder b = {.variable = variable, .n = n};
    status result = build_graph(&b, err);

    if (result == OK) {
        add_saver(out, &b.graph);
        result = add_collections(out, &b, trainable_prefix, err);
    }
    release(&b);
    return result;
}

status meta_graph_write(const char *prefix, const char *trainable_prefix, struct err *err)
{
    struct str path = str_new(FILE_PATH_MAX), out = str_new(0);
    struct tensor_index index = {0};
    struct file_map map = {0};
    status result;

    str_printf(&path, "%s.index", prefix);
    result = str_check(&path, "the checkpoint's name", err);
    if (result == OK)
        result = file_map_open(&map, path.data, err);
    if (result == OK && tensor_index_read(&index, map.data, map.n_bytes, err) != OK)
        result = err_wrap(err, "%s", path.data);
    if (result == OK)
        result = meta_graph_build(&out, index.entry, index.n, trainable_prefix, err);
    if (result == OK) {
        str_reset(&path);
        str_printf(&path, "%s.meta", prefix);
        result = file_write(path.data, out.data, out.len, err);
    }
    tensor_index_release(&index);
    file_map_close(&map);
    str_release(&path);
    str_release(&out);
    return result;
}

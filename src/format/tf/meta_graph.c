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
    ATTRS_MAX = 2,
    INPUTS_MAX = 2 /* of a node that has few */
};

/* A shape and everything it points to. */
struct shape {
    TensorShapeProto proto;
    TensorShapeProto__Dim dim[TENSOR_INDEX_MAX_DIMS];
    TensorShapeProto__Dim *dim_at[TENSOR_INDEX_MAX_DIMS];
};

/* A node under construction, with room for everything it may point to. */
struct node {
    NodeDef proto;
    struct str name;
    AttrEntry attr[ATTRS_MAX], *attr_at[ATTRS_MAX];
    AttrValue value[ATTRS_MAX];
    AttrValue__ListValue list;
    TensorProto tensor;
    struct shape shape;
    char *input[INPUTS_MAX];
};

struct builder {
    struct str graph;                    /* a GraphDef, node after node */
    const struct tensor_entry *variable; /* n of them */
    size_t n;
    struct node node;
    char **inputs;  /* n + 3 strings of the node that has many */
    int32_t *types; /* of the variables */
    ProtobufCBinaryData *names, *blanks, model; /* values of three constants */
};

static char *mutable(const char *text)
{
    return (char *)text; /* protobuf-c packs what it does not change */
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

static void node_types(struct node *n, const struct builder *b)
{
    attr_value__list_value__init(&n->list);
    n->list.n_type = b->n;
    n->list.type = b->types;
    node_attr(n, "dtypes", ATTR_VALUE__VALUE_LIST)->list = &n->list;
}

static void node_end_many(struct builder *b, char **inputs, size_t n_inputs)
{
    b->node.proto.n_input = n_inputs;
    b->node.proto.input = inputs;
    proto_pack_field(&b->graph, NODE_FIELD, &b->node.proto.base);
}

/* The second input may be NULL, or both. */
static void node_end(struct builder *b, const char *first, const char *second)
{
    b->node.input[0] = mutable(first);
    b->node.input[1] = mutable(second);
    node_end_many(b, b->node.input, second ? 2 : first ? 1 : 0);
}

/* A constant of the shape in b->node.shape; without strings it is all zeros. */
static void add_const(struct builder *b, const char *scope, const char *name, int dtype,
                      ProtobufCBinaryData *strings, size_t n_strings)
{
    TensorProto *t = &b->node.tensor;

    tensor_proto__init(t);
    t->dtype = dtype;
    t->tensor_shape = &b->node.shape.proto;
    t->n_string_val = n_strings;
    t->string_val = strings;
    node_begin(&b->node, "Const", scope, name);
    node_type(&b->node, "dtype", dtype);
    node_attr(&b->node, "value", ATTR_VALUE__VALUE_TENSOR)->tensor = t;
    node_end(b, NULL, NULL);
}

static void add_variable(struct builder *b, const struct tensor_entry *v)
{
    struct node *node = &b->node;
    struct str initial = str_new(0);

    shape_init(&node->shape, v->dims, v->n_dims);
    node_begin(node, "VariableV2", v->name, "");
    node_type(node, "dtype", v->dtype);
    node_attr(node, "shape", ATTR_VALUE__VALUE_SHAPE)->shape = &node->shape.proto;
    node_end(b, NULL, NULL);

    add_const(b, v->name, "/Initializer/zeros", v->dtype, NULL, 0);
    str_puts(&initial, node->proto.name);
    b->graph.bad |= initial.bad;

    node_begin(node, "Assign", v->name, "/Assign");
    node_type(node, "T", v->dtype);
    node_end(b, v->name, str_text(&initial));

    node_begin(node, "Identity", v->name, "/read");
    node_type(node, "T", v->dtype);
    node_end(b, v->name, NULL);
    str_release(&initial);
}

static void add_save(struct builder *b)
{
    shape_init(&b->node.shape, NULL, 0);
    add_const(b, "save/", "Const", TENSOR_STRING, &b->model, 1);
    shape_init(&b->node.shape, (uint64_t[]){b->n}, 1);
    add_const(b, "save/", "tensor_names", TENSOR_STRING, b->names, b->n);
    add_const(b, "save/", "shape_and_slices", TENSOR_STRING, b->blanks, b->n);

    b->inputs[0] = mutable("save/Const");
    b->inputs[1] = mutable("save/tensor_names");
    b->inputs[2] = mutable("save/shape_and_slices");
    for (size_t i = 0; i < b->n; i++)
        b->inputs[3 + i] = mutable(b->variable[i].name);
    node_begin(&b->node, "SaveV2", "save/", "SaveV2");
    node_types(&b->node, b);
    node_end_many(b, b->inputs, 3 + b->n);

    node_begin(&b->node, "Identity", "save/", "control_dependency");
    node_type(&b->node, "T", TENSOR_STRING);
    node_end(b, "save/Const", "^save/SaveV2");

    node_begin(&b->node, "RestoreV2", "save/", "RestoreV2");
    node_types(&b->node, b);
    node_end_many(b, b->inputs, 3);
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
        node_end(b, b->variable[i].name, from);
    }
    node_begin(&b->node, "NoOp", "save/", "restore_all");
    node_end_many(b, b->inputs, b->n);
    free(text);
    return OK;
}

static ProtobufCBinaryData bytes_of(const char *text)
{
    return (ProtobufCBinaryData){.len = strlen(text), .data = (uint8_t *)mutable(text)};
}

static status build_graph(struct builder *b, struct err *err)
{
    GraphVersions versions = GRAPH_VERSIONS__INIT;

    TRY(mem_alloc(&b->inputs, b->n + 3, sizeof *b->inputs, err));
    TRY(mem_alloc(&b->types, b->n, sizeof *b->types, err));
    TRY(mem_alloc(&b->names, b->n, sizeof *b->names, err));
    TRY(mem_alloc(&b->blanks, b->n, sizeof *b->blanks, err));
    b->model = bytes_of("model");
    for (size_t i = 0; i < b->n; i++) {
        b->types[i] = b->variable[i].dtype;
        b->names[i] = bytes_of(b->variable[i].name);
        add_variable(b, &b->variable[i]);
    }
    add_save(b);
    TRY(add_restore(b, err));
    versions.producer = GRAPH_VERSION;
    proto_pack_field(&b->graph, VERSIONS_FIELD, &versions.base);
    b->graph.bad |= b->node.name.bad;
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
    if (trainable.len)
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

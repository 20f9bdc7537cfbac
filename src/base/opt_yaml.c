/*
 * The YAML side of opt: one mapping of scalars, read with libyaml. A list of scalars
 * becomes its items joined by commas, which is how list-valued options are typed on
 * the command line.
 */
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/opt.h"

/* A configuration is some kilobytes, flat but for lists. */
enum { BYTES_MAX = 1 << 20, DEPTH_MAX = 16, ANCHORS_MAX = 1000 };

/* What one file is being applied to. */
struct yaml_target {
    struct opt_table table;
    void *config;
    const char *path;
    enum opt_unknown unknown;
    size_t *first_line; /* [table.n], 0 while the option was not met */
    struct str text;    /* the value at hand */
};

static size_t line_of(const yaml_node_t *node)
{
    return node->start_mark.line + 1;
}

static status refuse(const struct yaml_target *y, const yaml_node_t *node,
                     const char *what, struct err *err)
{
    return err_set(err, ERR_FORMAT, "%s:%zu: %s", y->path, line_of(node), what);
}

static status add_scalar(struct yaml_target *y, const yaml_node_t *node, struct err *err)
{
    const char *value = (const char *)node->data.scalar.value;

    if (strlen(value) != node->data.scalar.length)
        return refuse(y, node, "a NUL byte in a value", err);
    str_puts(&y->text, value);
    if (y->text.bad)
        return refuse(y, node, "a value is too long", err);
    return OK;
}

static status add_list(struct yaml_target *y, yaml_document_t *doc,
                       const yaml_node_t *list, struct err *err)
{
    const yaml_node_item_t *first = list->data.sequence.items.start;

    for (const yaml_node_item_t *i = first; i < list->data.sequence.items.top; i++) {
        const yaml_node_t *item = yaml_document_get_node(doc, *i);
        if (item->type != YAML_SCALAR_NODE)
            return refuse(y, item, "a list may hold plain values only", err);
        if (strchr((const char *)item->data.scalar.value, ','))
            return refuse(y, item, "an item of a list may not hold a comma", err);
        if (i > first)
            str_putc(&y->text, ',');
        TRY(add_scalar(y, item, err));
    }
    return OK;
}

static status check_once(struct yaml_target *y, const struct opt *o, size_t line,
                         struct err *err)
{
    size_t *first = &y->first_line[o - y->table.opt];

    if (*first)
        return err_set(err, ERR_FORMAT, "%s:%zu: %s was already set in line %zu", y->path,
                       line, o->name, *first);
    *first = line;
    return OK;
}

static status apply_pair(struct yaml_target *y, yaml_document_t *doc,
                         const yaml_node_pair_t *pair, struct err *err)
{
    const yaml_node_t *key = yaml_document_get_node(doc, pair->key);
    const yaml_node_t *value = yaml_document_get_node(doc, pair->value);

    if (key->type != YAML_SCALAR_NODE)
        return refuse(y, key, "an option name must be plain text", err);
    const char *name = (const char *)key->data.scalar.value;
    if (strlen(name) != key->data.scalar.length)
        return refuse(y, key, "a NUL byte in an option name", err);
    const struct opt *o = opt_find(y->table, name);
    if (!o && y->unknown == OPT_SKIP_UNKNOWN)
        return OK;
    if (o)
        TRY(check_once(y, o, line_of(key), err));
    str_reset(&y->text);
    if (value->type == YAML_SEQUENCE_NODE)
        TRY(add_list(y, doc, value, err));
    else if (value->type == YAML_SCALAR_NODE)
        TRY(add_scalar(y, value, err));
    else
        return refuse(y, value, "want a value or a list, not a mapping", err);
    if (opt_set(y->table, y->config, name, str_text(&y->text), err) != OK)
        return err_wrap(err, "%s:%zu", y->path, line_of(key));
    return OK;
}

static status apply_document(struct yaml_target *y, yaml_document_t *doc, struct err *err)
{
    const yaml_node_t *root = yaml_document_get_root_node(doc);

    if (!root)
        return OK; /* an empty file sets nothing */
    if (root->type != YAML_MAPPING_NODE)
        return refuse(y, root, "want lines of the form 'option: value'", err);
    const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
    for (; pair < root->data.mapping.pairs.top; pair++)
        TRY(apply_pair(y, doc, pair, err));
    return OK;
}

static status not_yaml(const yaml_parser_t *parser, const char *path, struct err *err)
{
    return err_set(err, ERR_FORMAT, "%s:%zu: not valid YAML: %s", path,
                   parser->problem_mark.line + 1,
                   parser->problem ? parser->problem : "unreadable");
}

/* Structure first: libyaml's document takes time with the square of the depth and of the
 * number of anchors. */
static status check_structure(yaml_parser_t *parser, const char *path, struct err *err)
{
    yaml_event_type_t type = YAML_NO_EVENT;
    int depth = 0, n_anchors = 0;

    while (type != YAML_STREAM_END_EVENT) {
        yaml_event_t e;
        if (!yaml_parser_parse(parser, &e))
            return not_yaml(parser, path, err);
        type = e.type;
        const size_t line = e.start_mark.line + 1;
        const bool is_list = type == YAML_SEQUENCE_START_EVENT;
        if (is_list || type == YAML_MAPPING_START_EVENT)
            depth++;
        if (type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT)
            depth--;
        n_anchors += (type == YAML_SCALAR_EVENT && e.data.scalar.anchor) ||
                     (is_list && e.data.sequence_start.anchor) ||
                     (type == YAML_MAPPING_START_EVENT && e.data.mapping_start.anchor);
        yaml_event_delete(&e);
        if (depth > DEPTH_MAX)
            return err_set(err, ERR_FORMAT, "%s:%zu: nested more than %d deep", path,
                           line, DEPTH_MAX);
        if (n_anchors > ANCHORS_MAX)
            return err_set(err, ERR_FORMAT, "%s:%zu: more than %d anchors", path, line,
                           ANCHORS_MAX);
    }
    return OK;
}

static status load(yaml_parser_t *parser, yaml_document_t *doc, const char *path,
                   struct err *err)
{
    return yaml_parser_load(parser, doc) ? OK : not_yaml(parser, path, err);
}

/* The first document, and the proof that no other follows. */
static status apply_stream(struct yaml_target *y, yaml_parser_t *parser, struct err *err)
{
    yaml_document_t doc;

    TRY(load(parser, &doc, y->path, err));
    const bool is_empty = !yaml_document_get_root_node(&doc);
    status result = apply_document(y, &doc, err);
    yaml_document_delete(&doc);
    if (result != OK || is_empty)
        return result;
    TRY(load(parser, &doc, y->path, err));
    const yaml_node_t *second = yaml_document_get_root_node(&doc);
    if (second)
        result = refuse(y, second, "a second document; one mapping is wanted", err);
    yaml_document_delete(&doc);
    return result;
}

/* One pass over the bytes: a look at their structure, or the real thing. */
static status parse(struct yaml_target *y, const void *bytes, size_t n, bool is_look,
                    struct err *err)
{
    yaml_parser_t parser;

    if (!yaml_parser_initialize(&parser))
        return err_set(err, ERR_MEMORY, "%s: no memory to parse it", y->path);
    yaml_parser_set_input_string(&parser, n ? bytes : "", n);
    const status result =
        is_look ? check_structure(&parser, y->path, err) : apply_stream(y, &parser, err);
    yaml_parser_delete(&parser);
    return result;
}

status opt_yaml(struct opt_table t, void *config, const void *bytes, size_t n,
                const char *path, enum opt_unknown unknown, struct err *err)
{
    struct yaml_target y = {t, config, path, unknown, NULL, str_new(1 << 16)};

    if (n > BYTES_MAX)
        return err_set(err, ERR_FORMAT, "%s: %zu bytes; a configuration has at most %d",
                       path, n, BYTES_MAX);
    TRY(mem_alloc(&y.first_line, t.n, sizeof *y.first_line, err));
    status result = parse(&y, bytes, n, true, err);
    THEN(result, parse(&y, bytes, n, false, err));
    str_release(&y.text);
    free(y.first_line);
    return result;
}

status opt_file(struct opt_table t, void *config, const char *path,
                enum opt_unknown unknown, struct err *err)
{
    struct file_map m;

    TRY(file_map_open(&m, path, err));
    const status result = opt_yaml(t, config, m.data, m.n_bytes, path, unknown, err);
    file_map_close(&m);
    return result;
}

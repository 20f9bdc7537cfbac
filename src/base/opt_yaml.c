/*
 * The YAML side of opt: one mapping of scalars, read with libyaml. A list of scalars
 * becomes its items joined by commas, which is how list-valued options are typed on
 * the command line.
 */
#include <errno.h>
#include <string.h>
#include <yaml.h>

#include "base/opt.h"

static status yaml_error(const yaml_parser_t *p, const char *path, struct err *err)
{
    return err_set(err, ERR_FORMAT, "%s:%zu: not valid YAML: %s", path,
                   p->problem_mark.line + 1, p->problem ? p->problem : "unreadable");
}

static status value_text(yaml_document_t *doc, const yaml_node_t *node, const char *path,
                         struct str *out, struct err *err)
{
    str_reset(out);
    if (node->type == YAML_SCALAR_NODE) {
        str_add(out, node->data.scalar.value, node->data.scalar.length);
        return str_check(out, path, err);
    }
    if (node->type != YAML_SEQUENCE_NODE)
        return err_set(err, ERR_FORMAT, "%s:%zu: want a value or a list, not a mapping",
                       path, node->start_mark.line + 1);
    const yaml_node_item_t *item = node->data.sequence.items.start;
    for (; item < node->data.sequence.items.top; item++) {
        const yaml_node_t *n = yaml_document_get_node(doc, *item);
        if (n->type != YAML_SCALAR_NODE)
            return err_set(err, ERR_FORMAT, "%s:%zu: a list may hold plain values only",
                           path, n->start_mark.line + 1);
        if (out->len)
            str_putc(out, ',');
        str_add(out, n->data.scalar.value, n->data.scalar.length);
    }
    return str_check(out, path, err);
}

static status apply_pair(struct opt_table t, void *config, yaml_document_t *doc,
                         const yaml_node_pair_t *pair, const char *path,
                         enum opt_unknown unknown, struct str *text, struct err *err)
{
    const yaml_node_t *key = yaml_document_get_node(doc, pair->key);
    const yaml_node_t *value = yaml_document_get_node(doc, pair->value);

    if (key->type != YAML_SCALAR_NODE)
        return err_set(err, ERR_FORMAT, "%s:%zu: an option name must be plain text", path,
                       key->start_mark.line + 1);
    const char *name = (const char *)key->data.scalar.value;
    if (unknown == OPT_SKIP_UNKNOWN && !opt_find(t, name))
        return OK;
    TRY(value_text(doc, value, path, text, err));
    if (strlen(str_text(text)) != text->len)
        return err_set(err, ERR_FORMAT, "%s:%zu: a NUL byte in a value", path,
                       key->start_mark.line + 1);
    if (opt_set(t, config, name, str_text(text), err) != OK)
        return err_wrap(err, "%s:%zu", path, key->start_mark.line + 1);
    return OK;
}

static status apply_document(struct opt_table t, void *config, yaml_document_t *doc,
                             const char *path, enum opt_unknown unknown, struct err *err)
{
    const yaml_node_t *root = yaml_document_get_root_node(doc);
    struct str text = str_new(1 << 16);
    status result = OK;

    if (!root)
        return OK; /* an empty file sets nothing */
    if (root->type != YAML_MAPPING_NODE)
        return err_set(err, ERR_FORMAT, "%s: want lines of the form 'option: value'",
                       path);
    const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
    for (; result == OK && pair < root->data.mapping.pairs.top; pair++)
        result = apply_pair(t, config, doc, pair, path, unknown, &text, err);
    str_release(&text);
    return result;
}

status opt_file(struct opt_table t, void *config, const char *path,
                enum opt_unknown unknown, struct err *err)
{
    yaml_parser_t parser;
    yaml_document_t doc;
    FILE *in = fopen(path, "rb");

    if (!in)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    if (!yaml_parser_initialize(&parser)) {
        fclose(in);
        return err_set(err, ERR_MEMORY, "%s: no memory to parse it", path);
    }
    yaml_parser_set_input_file(&parser, in);
    status result = OK;
    if (!yaml_parser_load(&parser, &doc)) {
        result = yaml_error(&parser, path, err);
    } else {
        result = apply_document(t, config, &doc, path, unknown, err);
        yaml_document_delete(&doc);
    }
    yaml_parser_delete(&parser);
    fclose(in);
    return result;
}

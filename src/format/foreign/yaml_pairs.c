#include "format/foreign/yaml_pairs.h"

#include <yaml.h>

#include "base/str.h"

struct reader {
    yaml_parser_t parser;
    yaml_pairs_take *take;
    void *ctx;
    struct str key;
    bool has_key;
    size_t depth, n_mappings; /* what is open, and how many of it are mappings */
};

static status wrong(const struct reader *r, struct err *err)
{
    return err_set(err, ERR_FORMAT, "line %zu: %s", r->parser.problem_mark.line + 1,
                   r->parser.problem ? r->parser.problem : "want a mapping");
}

static status take_scalar(struct reader *r, const yaml_event_t *e, struct err *err)
{
    const struct line text = {(const char *)e->data.scalar.value, e->data.scalar.length};

    if (r->depth == 0)
        return wrong(r, err);
    if (r->depth == 1 && !r->has_key) {
        str_reset(&r->key);
        str_add(&r->key, text.text, text.n_bytes);
        r->has_key = true;
        return str_check(&r->key, "a key", err);
    }
    const bool is_value = r->has_key && r->n_mappings == 1 && r->depth <= 2;
    if (is_value)
        TRY(r->take(r->ctx, (struct line){str_text(&r->key), r->key.len}, text, err));
    if (r->depth == 1)
        r->has_key = false;
    return OK;
}

static status step(struct reader *r, const yaml_event_t *e, struct err *err)
{
    enum { DEEP = 64 };

    switch (e->type) {
    case YAML_SCALAR_EVENT:
        return take_scalar(r, e, err);
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
        if (r->depth == 0 && e->type == YAML_SEQUENCE_START_EVENT)
            return wrong(r, err);
        r->n_mappings += e->type == YAML_MAPPING_START_EVENT;
        return ++r->depth > DEEP ? err_set(err, ERR_FORMAT, "it is nested too deeply")
                                 : OK;
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        r->n_mappings -= e->type == YAML_MAPPING_END_EVENT;
        if (--r->depth == 1)
            r->has_key = false;
        return OK;
    case YAML_ALIAS_EVENT:
        return err_set(err, ERR_FORMAT, "it has an alias, which is not read");
    default:
        return OK;
    }
}

static status read_all(struct reader *r, struct err *err)
{
    for (bool at_end = false; !at_end;) {
        yaml_event_t e;
        if (!yaml_parser_parse(&r->parser, &e))
            return wrong(r, err);
        at_end = e.type == YAML_STREAM_END_EVENT;
        const status result = step(r, &e, err);
        yaml_event_delete(&e);
        TRY(result);
    }
    return OK;
}

status yaml_pairs_read(const void *bytes, size_t n, yaml_pairs_take *take, void *ctx,
                       struct err *err)
{
    struct reader r = {.take = take, .ctx = ctx, .key = str_new(0)};

    if (!yaml_parser_initialize(&r.parser))
        return err_set(err, ERR_MEMORY, "cannot read YAML: out of memory");
    yaml_parser_set_input_string(&r.parser, bytes, n);
    const status result = read_all(&r, err);
    yaml_parser_delete(&r.parser);
    str_release(&r.key);
    return result;
}

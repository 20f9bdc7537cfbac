/* A packed model: its shape, where it comes from, its sections and its tensors. Opening
 * it has checked every byte. */
#include <string.h>

#include "decode/packed_model.h"
#include "inspect/inspect.h"

static void add_config(json_t *page, const struct packed_model *m)
{
    const struct opt_table t = model_config_table;
    json_t *o = json_object();

    for (size_t i = 0; i < t.n; i++) {
        struct str value = str_new(0);
        opt_value(&t.opt[i], &m->config, &value);
        inspect_page_text(o, t.opt[i].name, str_text(&value));
        str_release(&value);
    }
    json_object_set_new(page, "model", o);
    if (*m->options.source_lang || *m->options.target_lang) {
        inspect_page_text(page, "source_language", m->options.source_lang);
        inspect_page_text(page, "target_language", m->options.target_lang);
    }
}

/* What the file says of itself: single facts together, lists and groups by themselves. */
static void add_about(json_t *page, const struct packed_model *m)
{
    const struct line text = packed_model_text(m, PACKED_MODEL_ABOUT);
    json_t *about = json_loadb(text.text, text.n_bytes, 0, NULL), *value;
    json_t *facts = json_object();
    const char *key;

    json_object_foreach(about, key, value)
    {
        if (!json_is_object(value) && !json_is_array(value))
            json_object_set(facts, key, value);
        else if (json_object_size(value) || json_array_size(value))
            json_object_set(page, key, value);
    }
    json_object_set_new(page, "about", facts);
    json_decref(about);
    const struct line licence = packed_model_text(m, PACKED_MODEL_LICENCE);
    if (licence.n_bytes) {
        struct str all = str_new(0);
        str_add(&all, licence.text, licence.n_bytes);
        inspect_page_text(page, "licence", str_text(&all));
        str_release(&all);
    }
}

static void add_sections(json_t *page, const struct packed_model *m)
{
    json_t *table = inspect_page_table(page, "sections");

    for (size_t i = 0; i < m->pack.n_sections; i++) {
        const struct pack_section *s = &m->pack.section[i];
        json_t *row = inspect_page_row(table);
        inspect_page_text(row, "name", s->name);
        inspect_page_int(row, "bytes", s->n_bytes);
    }
}

static void add_tensors(json_t *page, const struct packed_model *m)
{
    static const char *const type[N_PACKED_TYPES] = {
        [PACKED_FLOAT] = "float", [PACKED_INT8] = "int8", [PACKED_HALF] = "half"};
    json_t *table = inspect_page_table(page, "tensors");
    struct packed_model_tensor t;

    for (size_t i = 0; packed_model_tensor(m, i, &t); i++) {
        json_t *row = inspect_page_row(table);
        inspect_page_text(row, "name", t.name);
        inspect_page_text(row, "type", type[t.type]);
        inspect_page_int(row, "inputs", t.n_in);
        inspect_page_int(row, "outputs", t.n_out);
        inspect_page_int(row, "bytes", t.n_bytes);
    }
}

status inspect_packed(json_t *page, const char *path, const struct inspect_config *c,
                      struct err *err)
{
    struct packed_model m;

    TRY(packed_model_open(&m, path, err));
    inspect_page_text(page, "kind", "packed model");
    inspect_page_int(page, "pieces", spm_size(m.spm));
    add_config(page, &m);
    add_about(page, &m);
    add_sections(page, &m);
    if (c->tensors)
        add_tensors(page, &m);
    packed_model_close(&m);
    return OK;
}

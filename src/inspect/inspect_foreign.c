/* A model of another program: what it is here, its tensors as they are called there. A
 * file of tensors alone is shown for itself, with what it lacks to be a model. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "foreign/foreign.h"
#include "foreign/tensor_file.h"
#include "inspect/inspect.h"

static void add_options(json_t *page, const char *key, struct opt_table t,
                        const void *config)
{
    json_t *o = json_object();

    for (size_t i = 0; i < t.n; i++) {
        struct str value = str_new(0);
        opt_value(&t.opt[i], config, &value);
        inspect_page_text(o, t.opt[i].name, str_text(&value));
        str_release(&value);
    }
    json_object_set_new(page, key, o);
}

static void add_model(json_t *page, const struct foreign *f)
{
    struct architecture_options o;

    inspect_page_text(page, "kind", f->kind);
    if (*f->source || *f->target) {
        inspect_page_text(page, "source_language", f->source);
        inspect_page_text(page, "target_language", f->target);
    }
    inspect_page_int(page, "pieces_of_sources", spm_known(f->spm));
    inspect_page_int(page, "pieces_of_targets", spm_known(spm_target(f->spm)));
    add_options(page, "model", model_config_table, &f->config);
    architecture_to_options(&o, &f->config.arch);
    add_options(page, "architecture", architecture_table, &o);
}

static void add_summary(json_t *page, const struct tensor_file *w)
{
    uint64_t n = 0, n_bytes = 0;

    for (size_t i = 0; i < w->tensors.n; i++) {
        n += w->tensors.item[i].n;
        n_bytes += w->tensors.item[i].n * tensors_type_bytes(w->tensors.item[i].type);
    }
    if (w->name[0])
        inspect_page_text(page, "weights", w->name);
    inspect_page_text(page, "format", tensor_file_format_name(w->format));
    inspect_page_int(page, "tensors_of_the_file", w->tensors.n);
    inspect_page_int(page, "numbers", n);
    inspect_page_int(page, "bytes", n_bytes);
}

static void add_tensors(json_t *page, const struct tensor_file *w)
{
    json_t *table = inspect_page_table(page, "tensors");

    for (size_t i = 0; i < w->tensors.n; i++) {
        const struct tensors_item *t = &w->tensors.item[i];
        json_t *row = inspect_page_row(table);
        struct str shape = str_new(0);
        for (size_t k = 0; k < t->n_dims; k++)
            str_printf(&shape, "%s%" PRIu64, k ? "," : "[", t->dim[k]);
        str_puts(&shape, t->n_dims ? "]" : "[]");
        inspect_page_text(row, "name", t->name);
        inspect_page_text(row, "shape", str_text(&shape));
        inspect_page_text(row, "type", tensors_type_name(t->type));
        inspect_page_int(row, "bytes", t->n * tensors_type_bytes(t->type));
        str_release(&shape);
    }
}

status inspect_foreign(json_t *page, const char *path, const struct inspect_config *c,
                       struct err *err)
{
    struct foreign f = {.kind = ""};
    struct tensor_file w;
    struct err why = {0};
    const bool is_model = foreign_is(path) && foreign_open(&f, path, &why) == OK;
    const bool is_alone = !is_model && !file_is_dir(path);

    if (!is_model && !is_alone) {
        *err = why;
        return why.code;
    }
    TRY(tensor_file_open(&w, path, err));
    if (is_model)
        add_model(page, &f);
    else
        inspect_page_text(page, "kind", "tensors");
    add_summary(page, &w);
    if (is_alone && foreign_is(path))
        inspect_page_text(page, "no_model", why.msg);
    if (c->tensors)
        add_tensors(page, &w);
    tensor_file_close(&w);
    foreign_close(&f);
    return OK;
}

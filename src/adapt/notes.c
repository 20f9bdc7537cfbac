#include "adapt/notes.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "format/json_text.h"

static status read_old(struct notes *n, struct err *err)
{
    json_error_t why;

    n->root = json_load_file(n->path, 0, &why);
    if (!json_is_object(n->root))
        return err_set(err, ERR_FORMAT, "%s:%d: %s", n->path, why.line,
                       n->root ? "not an object" : why.text);
    const json_int_t version = json_integer_value(json_object_get(n->root, "version"));
    if (version > NOTES_VERSION)
        return err_set(err, ERR_FORMAT,
                       "%s was written by a newer ferry (version %lld, up to %d can be "
                       "read)",
                       n->path, (long long)version, NOTES_VERSION);
    n->is_old = true;
    return OK;
}

status notes_open(struct notes *n, const char *run, struct err *err)
{
    char config[FILE_PATH_MAX];

    *n = (struct notes){0};
    TRY(file_join(n->path, sizeof n->path, run, "adapt.json", err));
    TRY(file_join(config, sizeof config, run, "config.yaml", err));
    if (file_exists(n->path))
        return read_old(n, err);
    if (file_exists(config))
        return err_set(err, ERR_USAGE,
                       "run = %s is the run of another training, not of an adaptation: "
                       "name another directory",
                       run);
    n->root = json_pack("{s:i, s:s}", "version", NOTES_VERSION, "ferry", FERRY_VERSION);
    return n->root ? OK : err_set(err, ERR_MEMORY, "out of memory");
}

void notes_close(struct notes *n)
{
    json_decref(n->root);
    *n = (struct notes){0};
}

static bool is_among(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(name, *list) == 0)
            return true;
    return false;
}

/* The value that was written, or is written now. */
static status compare(struct notes *n, const char *group, const char *key,
                      const char *now, struct err *err)
{
    const char *was = json_string_value(notes_get(n, group, key));

    if (!n->is_old) {
        notes_set(n, group, key, json_text(now));
        return OK;
    }
    json_t *same = json_text(now); /* as it would have been written */
    const bool is_same = was && same && strcmp(was, json_string_value(same)) == 0;
    json_decref(same);
    if (is_same)
        return OK;
    return err_set(err, ERR_USAGE,
                   "%s was begun with %s = %.200s, not %.200s: keep it, or name another "
                   "run directory",
                   n->path, key, was ? was : "", now);
}

status notes_begin(struct notes *n, struct opt_table table, const void *config,
                   const char *const *others, const char *model, struct err *err)
{
    TRY(compare(n, "begun", "model", model, err));
    for (size_t i = 0; i < table.n; i++) {
        RELEASED_BY(str_release) struct str value = str_new(0);
        if (is_among(table.opt[i].name, others))
            continue;
        opt_value(&table.opt[i], config, &value);
        TRY(compare(n, "options", table.opt[i].name, str_text(&value), err));
    }
    return OK;
}

void notes_set(struct notes *n, const char *group, const char *key, json_t *value)
{
    if (!value)
        return;
    if (!json_object_get(n->root, group))
        json_object_set_new(n->root, group, json_object());
    json_object_set_new(json_object_get(n->root, group), key, value);
}

const json_t *notes_get(const struct notes *n, const char *group, const char *key)
{
    return json_object_get(json_object_get(n->root, group), key);
}

status notes_write(const struct notes *n, struct err *err)
{
    RELEASED_BY(str_release) struct str page = str_new(0);
    RELEASED_BY(mem_release)
    char *dump = json_dumps(n->root, JSON_INDENT(2) | JSON_REAL_PRECISION(6) |
                                         JSON_PRESERVE_ORDER);

    if (!dump)
        return err_set(err, ERR_MEMORY, "%s: no memory to write it", n->path);
    str_puts(&page, dump);
    str_putc(&page, '\n');
    return file_write_str(n->path, &page, err);
}

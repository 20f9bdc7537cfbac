#include "fetch/manifest.h"

#include <string.h>

#include <jansson.h>

#include "base/mem.h"

static status no_memory(const struct manifest *m, struct err *err)
{
    return err_set(err, ERR_MEMORY, "%s: no memory for it", m->path);
}

static status read_file(struct manifest *m, const char *corpus, struct err *err)
{
    json_error_t why;
    struct file_map map;

    TRY(file_map_open(&map, m->path, err));
    m->root = json_loadb(map.n_bytes ? (const char *)map.data : "", map.n_bytes, 0, &why);
    file_map_close(&map);
    json_t *name = json_object_get(m->root, "corpus");
    if (!json_is_object(json_object_get(m->root, "files")) || !json_is_string(name))
        return err_set(
            err, ERR_FORMAT,
            "%s: not a record of ferry fetch; remove it to record the files of "
            "its directory again",
            m->path);
    if (strcmp(json_string_value(name), corpus) != 0)
        return err_set(err, ERR_USAGE,
                       "%s: this directory holds the corpus %.64s, not %.64s; give "
                       "another one",
                       m->path, json_string_value(name), corpus);
    return OK;
}

status manifest_open(struct manifest *m, const char *dir, const char *corpus,
                     struct err *err)
{
    *m = (struct manifest){0};
    TRY(file_join(m->path, sizeof m->path, dir, "fetch.json", err));
    if (!file_exists(m->path)) {
        m->root = json_pack("{s:s, s:{}}", "corpus", corpus, "files");
        return m->root ? OK : no_memory(m, err);
    }
    if (read_file(m, corpus, err) != OK)
        manifest_close(m);
    return m->root ? OK : err->code;
}

void manifest_close(struct manifest *m)
{
    json_decref(m->root);
    m->root = NULL;
}

const char *manifest_find(const struct manifest *m, const char *name, const char **from)
{
    json_t *file = json_object_get(json_object_get(m->root, "files"), name);
    const char *sha256 = json_string_value(json_object_get(file, "sha256"));
    const char *origin = json_string_value(json_object_get(file, "from"));

    if (!sha256 || strlen(sha256) != SHA256_HEX - 1)
        return NULL;
    if (from)
        *from = origin ? origin : "";
    return sha256;
}

status manifest_put(struct manifest *m, const char *name, const char *from,
                    const struct digest *d, const char *unit, uint64_t n, struct err *err)
{
    json_t *file = json_pack("{s:s, s:I, s:s}", "from", from, "bytes",
                             (json_int_t)d->n_bytes, "sha256", d->sha256);

    if (file && unit)
        json_object_set_new(file, unit, json_integer((json_int_t)n));
    if (!file || json_object_set_new(json_object_get(m->root, "files"), name, file) != 0)
        return no_memory(m, err);
    RELEASED_BY(mem_release) char *text = json_dumps(m->root, JSON_INDENT(2));
    return text ? file_write(m->path, text, strlen(text), err) : no_memory(m, err);
}

#include "fetch/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static status no_memory(const struct ledger *l, struct err *err)
{
    return err_set(err, ERR_MEMORY, "%s: no memory for it", l->path);
}

static status read_file(struct ledger *l, const char *corpus, struct err *err)
{
    json_error_t why;
    struct file_map m;

    TRY(file_map_open(&m, l->path, err));
    l->root = json_loadb(m.n_bytes ? (const char *)m.data : "", m.n_bytes, 0, &why);
    file_map_close(&m);
    json_t *name = json_object_get(l->root, "corpus");
    if (!json_is_object(json_object_get(l->root, "files")) || !json_is_string(name))
        return err_set(
            err, ERR_FORMAT,
            "%s: not a record of ferry fetch; remove it to record the files of "
            "its directory anew",
            l->path);
    if (strcmp(json_string_value(name), corpus) != 0)
        return err_set(err, ERR_USAGE,
                       "%s: this directory holds the corpus %.64s, not %.64s; give "
                       "another one",
                       l->path, json_string_value(name), corpus);
    return OK;
}

status ledger_open(struct ledger *l, const char *dir, const char *corpus, struct err *err)
{
    *l = (struct ledger){0};
    TRY(file_join(l->path, sizeof l->path, dir, "fetch.json", err));
    if (file_exists(l->path)) {
        if (read_file(l, corpus, err) != OK) {
            ledger_close(l);
            return err->code;
        }
        return OK;
    }
    l->root = json_pack("{s:s, s:{}}", "corpus", corpus, "files");
    return l->root ? OK : no_memory(l, err);
}

void ledger_close(struct ledger *l)
{
    json_decref(l->root);
    l->root = NULL;
}

bool ledger_find(const struct ledger *l, const char *name, struct ledger_entry *e)
{
    json_t *file = json_object_get(json_object_get(l->root, "files"), name);
    const char *sha256 = json_string_value(json_object_get(file, "sha256"));
    const json_int_t n_bytes = json_integer_value(json_object_get(file, "bytes"));
    const char *from = json_string_value(json_object_get(file, "from"));

    if (!sha256 || strlen(sha256) != SHA256_HEX - 1 || n_bytes < 0)
        return false;
    *e = (struct ledger_entry){.from = from ? from : "", .n_bytes = (uint64_t)n_bytes};
    memcpy(e->sha256, sha256, SHA256_HEX);
    return true;
}

status ledger_put(struct ledger *l, const char *name, const struct ledger_entry *e,
                  struct err *err)
{
    json_t *file = json_pack("{s:s, s:I, s:s}", "from", e->from, "bytes",
                             (json_int_t)e->n_bytes, "sha256", e->sha256);

    if (file && e->unit)
        json_object_set_new(file, e->unit, json_integer((json_int_t)e->n));
    if (!file || json_object_set_new(json_object_get(l->root, "files"), name, file) != 0)
        return no_memory(l, err);
    char *text = json_dumps(l->root, JSON_INDENT(2));
    if (!text)
        return no_memory(l, err);
    const status result = file_write(l->path, text, strlen(text), err);
    free(text);
    return result;
}

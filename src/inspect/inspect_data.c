#include <string.h>

#include "base/file.h"
#include "corpus/dataset.h"
#include "inspect/inspect.h"

static json_t *get(const json_t *o, const char *a, const char *b)
{
    return json_object_get(json_object_get(o, a), b);
}

/* A member of prepare.json; one that is not there, or not plain, is left out. */
static void copy(json_t *to, const char *key, json_t *v)
{
    if (v && !json_is_object(v) && !json_is_array(v))
        json_object_set(to, key, v);
}

static void add_facts(json_t *page, const json_t *stats)
{
    const json_t *languages = json_object_get(stats, "languages");

    copy(page, "ferry", json_object_get(stats, "ferry"));
    copy(page, "pairs_read", json_object_get(stats, "pairs_in"));
    copy(page, "pairs_kept", json_object_get(stats, "pairs_kept"));
    copy(page, "source_language", get(languages, "source", "name"));
    copy(page, "target_language", get(languages, "target", "name"));
    copy(page, "pieces", get(stats, "vocabulary", "pieces"));
    copy(page, "tokenizer", get(stats, "vocabulary", "hash"));
    copy(page, "learned_here", get(stats, "vocabulary", "learned"));
    copy(page, "seconds", get(stats, "seconds", "total"));
}

static void add_sets(json_t *page, const json_t *stats)
{
    json_t *table = inspect_page_table(page, "sets"), *set;
    const char *name;

    json_object_foreach(json_object_get(stats, "sets"), name, set)
    {
        json_t *row = inspect_page_row(table);
        inspect_page_text(row, "set", name);
        copy(row, "pairs", json_object_get(set, "pairs"));
        copy(row, "source_tokens", get(set, "source", "tokens"));
        copy(row, "target_tokens", get(set, "target", "tokens"));
        copy(row, "longest_source", get(set, "source", "longest"));
        copy(row, "longest_target", get(set, "target", "longest"));
        copy(row, "bytes", json_object_get(set, "bytes"));
        copy(row, "checksum", json_object_get(set, "checksum"));
    }
}

static void add_dropped(json_t *page, const json_t *stats)
{
    json_t *table = inspect_page_table(page, "dropped"), *n;
    const char *why;

    json_object_foreach(json_object_get(stats, "dropped"), why, n)
    {
        if (json_integer_value(n) == 0)
            continue;
        json_t *row = inspect_page_row(table);
        inspect_page_text(row, "dropped", why);
        copy(row, "pairs", n);
    }
}

static status read_stats(json_t **stats, const char *dir, struct err *err)
{
    char path[FILE_PATH_MAX];
    struct file_map map;

    TRY(file_join(path, sizeof path, dir, DATASET_MARK, err));
    if (!file_exists(path))
        return err_set(err, ERR_FORMAT,
                       "%s was not finished (it has no " DATASET_MARK
                       "); run ferry prepare again",
                       dir);
    TRY(file_map_open(&map, path, err));
    *stats = json_loadb((const char *)map.data, map.n_bytes, 0, NULL);
    file_map_close(&map);
    if (json_is_object(json_object_get(*stats, "sets")))
        return OK;
    json_decref(*stats);
    *stats = NULL;
    return err_set(err, ERR_FORMAT, "%s is not what ferry prepare writes; run it again",
                   path);
}

status inspect_data(json_t *page, const char *dir, const struct inspect_config *c,
                    struct err *err)
{
    struct dataset d;
    json_t *stats;

    TRY(read_stats(&stats, dir, err));
    inspect_page_text(page, "data_directory", dir);
    add_facts(page, stats);
    status result = c->verify ? dataset_open(&d, dir, err) : OK;
    if (c->verify && result == OK) {
        result = dataset_verify(&d, err);
        if (result == OK)
            inspect_page_text(page, "checksums", "all right");
        dataset_close(&d);
    }
    add_sets(page, stats);
    add_dropped(page, stats);
    json_decref(stats);
    if (c->pairs)
        THEN(result, inspect_varied(page, dir, c, err));
    return result;
}

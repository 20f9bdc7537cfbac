#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/cmd.h"
#include "corpus/corpus_file.h"
#include "corpus/dataset.h"
#include "decode/model_dir.h"
#include "format/crc32c.h"
#include "format/le.h"
#include "format/tf/sstable_layout.h"
#include "inspect/inspect.h"
#include "inspect/inspect_page.h"
#include "report/read/runlog.h"

static const struct opt rows[] = {
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct inspect_config, field), field, __VA_ARGS__)
    INSPECT_OPTIONS(X)
#undef X
};

const struct opt_table cmd_inspect_options = {rows, sizeof rows / sizeof *rows};

/* kind, its inspector */
#define KIND_LIST(K)                  \
    K(CORPUS, inspect_corpus)         \
    K(EVENTS, inspect_events)         \
    K(TOKENIZER, inspect_tokenizer)   \
    K(RUNLOG, inspect_runlog)         \
    K(CHECKPOINT, inspect_checkpoint) \
    K(DATA, inspect_data)

enum kind {
#define K(code, inspector) KIND_##code,
    KIND_LIST(K)
#undef K
        KIND_POINTER, /* the file `checkpoint` */
    KIND_UNKNOWN
};

typedef status inspector(json_t *page, const char *path, const struct inspect_config *c,
                         struct err *err);

static inspector *const inspectors[] = {
#define K(code, inspector) inspector,
    KIND_LIST(K)
#undef K
};

/* ---- which kind is it ---- */

static bool begins(const struct file_map *m, const char *with)
{
    const size_t n = strlen(with);

    return m->n_bytes >= n && memcmp(m->data, with, n) == 0;
}

/* Every record of an event file starts with its length and that length's checksum. */
static bool is_record(const struct file_map *m)
{
    return m->n_bytes >= 12 &&
           crc32c_mask(crc32c(0, m->data, 8)) == le_get32(m->data + 8);
}

static bool is_index(const struct file_map *m)
{
    return m->n_bytes >= SSTABLE_FOOTER_BYTES &&
           le_get64(m->data + m->n_bytes - 8) == SSTABLE_MAGIC;
}

/* Three files of ours are JSON: prepare.json, a checkpoint's .state, run.jsonl, of which
 * the first line is looked at. */
static enum kind kind_of_json(const struct file_map *m)
{
    json_t *o =
        json_loadb((const char *)m->data, m->n_bytes, JSON_DISABLE_EOF_CHECK, NULL);
    const enum kind kind = json_object_get(o, "sets")        ? KIND_DATA
                           : json_object_get(o, "next_pair") ? KIND_CHECKPOINT
                           : json_object_get(o, "event")     ? KIND_RUNLOG
                                                             : KIND_UNKNOWN;

    json_decref(o);
    return kind;
}

static enum kind kind_by_content(const struct file_map *m)
{
    if (begins(m, CORPUS_FILE_MAGIC))
        return KIND_CORPUS;
    if (is_record(m))
        return KIND_EVENTS;
    if (is_index(m))
        return KIND_CHECKPOINT;
    if (begins(m, "model_checkpoint_path"))
        return KIND_POINTER;
    return begins(m, "{") ? kind_of_json(m) : KIND_UNKNOWN;
}

static bool ends(const char *name, const char *with)
{
    const size_t n = strlen(name), k = strlen(with);

    return n >= k && strcmp(name + n - k, with) == 0;
}

/* The tensors themselves have no mark, and a damaged file may have lost its own; then
 * the inspector that the name asks for says what is wrong. */
static enum kind kind_by_name(const char *path, const struct file_map *m)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    if (strstr(name, ".data-") || ends(name, ".index") || ends(name, ".meta") ||
        ends(name, ".state"))
        return KIND_CHECKPOINT;
    if (strstr(name, "tfevents"))
        return KIND_EVENTS;
    if (ends(name, ".bin"))
        return KIND_CORPUS;
    if (strcmp(name, DATASET_MARK) == 0)
        return KIND_DATA;
    if (ends(name, ".jsonl"))
        return KIND_RUNLOG;
    /* the first field of SentencePiece's message is a piece, of some length */
    return ends(name, ".model") || begins(m, "\n") ? KIND_TOKENIZER : KIND_UNKNOWN;
}

/* ---- from what the user typed to what an inspector takes ---- */

static status set_path(char *out, const char *path, struct err *err)
{
    if (strlen(path) >= FILE_PATH_MAX)
        return err_set(err, ERR_USAGE, "%.200s...: the path is too long", path);
    memcpy(out, path, strlen(path) + 1);
    return OK;
}

/* The prefix of a checkpoint from any of its files. */
static status prefix_of(char *out, const char *path, struct err *err)
{
    static const char *const parts[] = {".index", ".meta", ".state"};
    char index[FILE_PATH_MAX + 8];

    TRY(set_path(out, path, err));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (ends(out, parts[i]))
            out[strlen(out) - strlen(parts[i])] = '\0';
    char *slash = strrchr(out, '/'), *data = strstr(slash ? slash : out, ".data-");
    if (data)
        *data = '\0';
    snprintf(index, sizeof index, "%s.index", out);
    if (!file_exists(index))
        return err_set(err, ERR_IO, "%s is part of a checkpoint, but %s is not there",
                       path, index);
    return OK;
}

/* The directory that a path lies in. */
static status parent_of(char *out, const char *path, struct err *err)
{
    TRY(set_path(out, path, err));
    char *slash = strrchr(out, '/');
    if (!slash)
        return set_path(out, ".", err);
    slash[slash == out] = '\0';
    return OK;
}

struct view {
    struct inspect_config config;
    size_t n_pages; /* shown so far; an empty line keeps them apart */
};

static status show(struct view *v, enum kind kind, const char *path, const char *note,
                   struct err *err)
{
    json_t *page = json_object();

    status result = inspectors[kind](page, path, &v->config, err);
    if (result == OK && *note)
        inspect_page_text(page, "note", note);
    if (result == OK && v->n_pages++ && !v->config.json)
        putchar('\n');
    if (result == OK)
        result = inspect_page_print(page, v->config.json, stdout, err);
    json_decref(page);
    return result;
}

static status show_newest(struct view *v, const char *dir, struct err *err)
{
    char prefix[FILE_PATH_MAX], note[512];

    TRY(model_dir_newest(prefix, sizeof prefix, dir, note, sizeof note, err));
    return show(v, KIND_CHECKPOINT, prefix, note, err);
}

static status show_file(struct view *v, enum kind kind, const char *path, struct err *err)
{
    char where[FILE_PATH_MAX];

    switch (kind) {
    case KIND_CHECKPOINT:
        TRY(prefix_of(where, path, err));
        return show(v, kind, where, "", err);
    case KIND_DATA:
        TRY(parent_of(where, path, err));
        return show(v, kind, where, "", err);
    case KIND_POINTER:
        TRY(parent_of(where, path, err));
        return show_newest(v, where, err);
    case KIND_UNKNOWN:
        return err_set(err, ERR_FORMAT,
                       "%s is neither checkpoint, event file, corpus, tokenizer nor run "
                       "log",
                       path);
    default:
        return show(v, kind, path, "", err);
    }
}

static status open_file(const char *path, enum kind *kind, struct err *err)
{
    struct file_map map;

    TRY(file_map_open(&map, path, err));
    if (map.n_bytes == 0)
        return err_set(err, ERR_FORMAT, "%s: the file is empty", path);
    *kind = kind_by_content(&map);
    if (*kind == KIND_UNKNOWN)
        *kind = kind_by_name(path, &map);
    file_map_close(&map);
    return OK;
}

static bool holds(const char *dir, const char *name)
{
    char path[FILE_PATH_MAX];
    struct err ignored;

    return file_join(path, sizeof path, dir, name, &ignored) == OK && file_exists(path);
}

/* A run is its log and its newest checkpoint. */
static status show_dir(struct view *v, const char *dir, struct err *err)
{
    const bool has_log = holds(dir, RUNLOG_FILE), has_model = holds(dir, "checkpoint");
    char log[FILE_PATH_MAX];

    if (holds(dir, DATASET_MARK) || holds(dir, "train.bin"))
        return show(v, KIND_DATA, dir, "", err);
    if (!has_log && !has_model)
        return err_set(
            err, ERR_FORMAT,
            "%s is neither a run directory nor a data directory: it has no " RUNLOG_FILE
            ", no checkpoint and no " DATASET_MARK,
            dir);
    if (has_log) {
        TRY(file_join(log, sizeof log, dir, RUNLOG_FILE, err));
        TRY(show(v, KIND_RUNLOG, log, "", err));
    }
    return has_model ? show_newest(v, dir, err) : OK;
}

static status inspect(struct view *v, const char *word, struct err *err)
{
    char index[FILE_PATH_MAX + 8];
    enum kind kind = KIND_UNKNOWN;

    if (strlen(word) >= FILE_PATH_MAX)
        return err_set(err, ERR_USAGE, "%.200s...: the path is too long", word);
    if (file_is_dir(word))
        return show_dir(v, word, err);
    snprintf(index, sizeof index, "%s.index", word);
    if (file_exists(index))
        return show(v, KIND_CHECKPOINT, word, "", err);
    if (!file_exists(word))
        return err_set(err, ERR_IO, "%s: no such file, directory or checkpoint", word);
    TRY(open_file(word, &kind, err));
    return show_file(v, kind, word, err);
}

status cmd_inspect(int argc, char **argv, struct err *err)
{
    struct opt_words words = {.max = 64};
    struct view v = {0};

    TRY(opt_read(cmd_inspect_options, &v.config, &words, argc, argv, err));
    if (words.n == 0)
        return err_set(err, ERR_USAGE, "which file? usage: ferry inspect FILE...");
    for (size_t i = 0; i < words.n; i++)
        TRY(inspect(&v, words.word[i], err));
    return OK;
}

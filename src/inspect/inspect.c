#include "inspect/inspect.h"

#include <libgen.h>
#include <string.h>

#include "base/file.h"
#include "corpus/corpus.h"
#include "corpus/dataset.h"
#include "foreign/foreign.h"
#include "foreign/tensor_file.h"
#include "format/crc32c.h"
#include "format/le.h"
#include "format/pack.h"
#include "format/tf/checkpoint_dir.h"
#include "format/tf/sstable.h"
#include "report/log/runlog.h"

static const struct opt rows[] = {
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct inspect_config, field), field, __VA_ARGS__)
    INSPECT_OPTIONS(X)
#undef X
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct inspect_config, variation.field), field, __VA_ARGS__)
        VARIATION_OPTIONS(X)
#undef X
};

const struct opt_table inspect_options = {rows, sizeof rows / sizeof *rows};

enum kind {
    KIND_CORPUS,
    KIND_EVENTS,
    KIND_TOKENIZER,
    KIND_RUNLOG,
    KIND_CHECKPOINT,
    KIND_DATA,
    KIND_PACKED,
    KIND_FOREIGN, /* a model of another program, or its tensors */
    KIND_POINTER, /* the file `checkpoint` */
    KIND_UNKNOWN
};

static inspect_fn *const inspectors[] = {
    [KIND_CORPUS] = inspect_corpus,         [KIND_EVENTS] = inspect_events,
    [KIND_TOKENIZER] = inspect_tokenizer,   [KIND_RUNLOG] = inspect_runlog,
    [KIND_CHECKPOINT] = inspect_checkpoint, [KIND_DATA] = inspect_data,
    [KIND_PACKED] = inspect_packed,         [KIND_FOREIGN] = inspect_foreign};

/* ---- which kind is it ---- */

static bool begins(const struct file_map *m, const char *with)
{
    const size_t n = strlen(with);

    return m->n_bytes >= n && memcmp(m->data, with, n) == 0;
}

/* Three files of ours are JSON: prepare.json, a checkpoint's .state and run.jsonl, whose
 * first line decides. */
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
    if (begins(m, PACK_MAGIC))
        return KIND_PACKED;
    /* every record of an event file starts with its length and that length's checksum */
    if (m->n_bytes >= 12 && crc32c_mask(crc32c(0, m->data, 8)) == le_get32(m->data + 8))
        return KIND_EVENTS;
    if (m->n_bytes >= SSTABLE_FOOTER_BYTES &&
        le_get64(m->data + m->n_bytes - 8) == SSTABLE_MAGIC)
        return KIND_CHECKPOINT;
    if (begins(m, "model_checkpoint_path"))
        return KIND_POINTER;
    enum tensors_format format;
    if (zip_is(m->data, m->n_bytes) || tensor_file_format(m->data, m->n_bytes, &format))
        return KIND_FOREIGN;
    return begins(m, "{") ? kind_of_json(m) : KIND_UNKNOWN;
}

/* Tensor data has no magic number, and a damaged file may have lost its own; then the
 * inspector that the name asks for says what is wrong. */
static enum kind kind_by_name(const char *path, const struct file_map *m)
{
    static const struct {
        const char *ending;
        enum kind kind;
    } list[] = {{".index", KIND_CHECKPOINT}, {".meta", KIND_CHECKPOINT},
                {".state", KIND_CHECKPOINT}, {".bin", KIND_CORPUS},
                {".jsonl", KIND_RUNLOG},     {".model", KIND_TOKENIZER}};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    if (strstr(name, ".data-"))
        return KIND_CHECKPOINT;
    if (strstr(name, "tfevents"))
        return KIND_EVENTS;
    if (strcmp(name, DATASET_MARK) == 0)
        return KIND_DATA;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (str_ends(name, list[i].ending))
            return list[i].kind;
    /* the first field of SentencePiece's message is a piece, of some length */
    return begins(m, "\n") ? KIND_TOKENIZER : KIND_UNKNOWN;
}

static status kind_of_file(enum kind *kind, const char *path, struct err *err)
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

/* ---- from what the user typed to what an inspector takes ---- */

static status print(struct inspect *v, json_t *page, const char *note, struct err *err)
{
    if (*note)
        inspect_page_text(page, "note", note);
    if (v->n_pages++ && !v->config.json)
        fputc('\n', v->out);
    return inspect_page_print(page, v->config.json, v->out, err);
}

static status show(struct inspect *v, enum kind kind, const char *path, struct err *err)
{
    json_t *page = json_object();

    status result = inspectors[kind](page, path, &v->config, err);
    THEN(result, print(v, page, "", err));
    json_decref(page);
    return result;
}

/* A training may remove the files that are looked at: *is_gone, then, and another look is
 * due. */
static status show_choice(struct inspect *v, const struct checkpoint_choice *c,
                          bool *is_gone, struct err *err)
{
    char index[FILE_PATH_MAX + 8];
    json_t *page = json_object();

    status result = inspect_bundle(page, c->prefix, &c->bundle, "", &v->config, err);
    snprintf(index, sizeof index, "%s.index", c->prefix);
    *is_gone = !file_exists(index);
    if (!*is_gone)
        THEN(result, print(v, page, c->note, err));
    json_decref(page);
    return result;
}

/* The one to use. To verify a run is to verify that one, not the one that stands in. */
static status show_newest(struct inspect *v, const char *dir, struct err *err)
{
    struct checkpoint_choice c;
    bool is_gone = true;
    status result = OK;

    for (int look = 0; is_gone && look < CHECKPOINT_DIR_LOOKS; look++) {
        TRY(checkpoint_dir_open(&c, dir, err));
        if (v->config.verify && c.damage.code != OK) {
            tensor_bundle_close(&c.bundle);
            return err_set(err, c.damage.code, "%.600s; %.300s is whole", c.damage.msg,
                           c.prefix);
        }
        result = show_choice(v, &c, &is_gone, err);
        tensor_bundle_close(&c.bundle);
    }
    if (is_gone)
        return err_set(err, ERR_IO, "%s: checkpoints are removed faster than read", dir);
    return result;
}

/* The prefix of a checkpoint from any of its files. */
static status cut_prefix(char *path, struct err *err)
{
    static const char *const parts[] = {".index", ".meta", ".state"};
    char whole[FILE_PATH_MAX], index[FILE_PATH_MAX + 8];

    memcpy(whole, path, strlen(path) + 1);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (str_ends(path, parts[i]))
            path[strlen(path) - strlen(parts[i])] = '\0';
    char *slash = strrchr(path, '/'), *data = strstr(slash ? slash : path, ".data-");
    if (data)
        *data = '\0';
    snprintf(index, sizeof index, "%s.index", path);
    if (!file_exists(index))
        return err_set(err, ERR_IO, "%s is part of a checkpoint, but %s is missing",
                       whole, index);
    return OK;
}

static status show_file(struct inspect *v, const char *word, struct err *err)
{
    enum kind kind = KIND_UNKNOWN;
    char path[FILE_PATH_MAX];

    memcpy(path, word, strlen(word) + 1);
    TRY(kind_of_file(&kind, path, err));
    if (kind == KIND_UNKNOWN)
        return err_set(
            err, ERR_FORMAT,
            "%s is neither checkpoint, event file, corpus, tokenizer, run log nor model "
            "of another program",
            path);
    if (kind == KIND_CHECKPOINT)
        TRY(cut_prefix(path, err));
    if (kind == KIND_POINTER)
        return show_newest(v, dirname(path), err);
    return show(v, kind, kind == KIND_DATA ? dirname(path) : path, err);
}

static bool holds(const char *dir, const char *name)
{
    char path[FILE_PATH_MAX];
    struct err ignored;

    return file_join(path, sizeof path, dir, name, &ignored) == OK && file_exists(path);
}

/* A run is its log and its newest checkpoint. */
static status show_dir(struct inspect *v, const char *dir, struct err *err)
{
    const bool has_log = holds(dir, RUNLOG_FILE), has_model = checkpoint_dir_has_any(dir);
    char log[FILE_PATH_MAX];

    if (holds(dir, DATASET_MARK) || holds(dir, "train.bin"))
        return show(v, KIND_DATA, dir, err);
    if (!has_log && !has_model && foreign_is(dir))
        return show(v, KIND_FOREIGN, dir, err);
    if (!has_log && !has_model)
        return err_set(
            err, ERR_FORMAT,
            "%s is neither a run directory, a data directory nor a model of another "
            "program: it has no " RUNLOG_FILE ", no checkpoint and no " DATASET_MARK,
            dir);
    if (has_log) {
        TRY(file_join(log, sizeof log, dir, RUNLOG_FILE, err));
        TRY(show(v, KIND_RUNLOG, log, err));
    }
    return has_model ? show_newest(v, dir, err) : OK;
}

status inspect_show(struct inspect *v, const char *word, struct err *err)
{
    char index[FILE_PATH_MAX + 8];

    if (strlen(word) >= FILE_PATH_MAX)
        return err_set(err, ERR_USAGE, "%.200s...: the path is too long", word);
    if (file_is_dir(word))
        return show_dir(v, word, err);
    snprintf(index, sizeof index, "%s.index", word);
    if (file_exists(index))
        return show(v, KIND_CHECKPOINT, word, err);
    if (!file_exists(word))
        return err_set(err, ERR_IO, "%s: no such file, directory or checkpoint", word);
    return show_file(v, word, err);
}

#include "report/read/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#define CHECKPOINT_STEM "model.ckpt-"
#define DATA_SUFFIX     ".data-00000-of-00001"

/* What each kind of file is for; the first match of a name's end counts. */
static const struct {
    const char *end, *purpose;
} purposes[] = {
    {DATA_SUFFIX, "the values: every weight, both moments of the optimizer for each "
                  "weight, and counters, as raw little-endian numbers"},
    {".index", "where each tensor lies in the data file: name, shape, type, offset, "
               "checksum"},
    {".meta",
     "the graph description that TensorFlow's tools expect beside the other two"},
    {".state", "Ferry's own: place in the data, patience and best scores, so that a "
               "resumed run goes on exactly"},
    {"checkpoint", "text: names the newest checkpoint and those that are kept"},
    {"run.jsonl", "the log that this page is made of"},
    {"config.yaml", "every option with its value; reproduces the run"},
    {"vocab.model", "the tokenizer"},
    {".html", "this page"},
    {"report.md", "this page as text"},
    {"report.json", "this page for programs"},
};

const char *rundir_purpose(const char *name)
{
    for (size_t i = 0; i < sizeof purposes / sizeof *purposes; i++)
        if (str_ends(name, purposes[i].end))
            return purposes[i].purpose;
    return strstr(name, "events.out.tfevents") ? "curves for TensorBoard" : "";
}

/* The N of model.ckpt-N.xyz, NAN for other names. */
static double step_of(const char *name)
{
    if (!str_begins(name, CHECKPOINT_STEM))
        return NAN;
    const char *digits = name + strlen(CHECKPOINT_STEM);
    const size_t n = strspn(digits, "0123456789");
    return n > 0 && n < 16 && digits[n] == '.' ? (double)strtoll(digits, NULL, 10) : NAN;
}

/* The N of best_models/val_loss=X-step-N.xyz, NAN for other names. */
static double best_step_of(const char *name)
{
    const char *at = strstr(name, "-step-");
    const size_t n = at ? strspn(at + 6, "0123456789") : 0;

    return n > 0 && n < 16 && at[6 + n] == '.' ? (double)strtoll(at + 6, NULL, 10) : NAN;
}

static status add_file(struct rundir *d, const char *name, double bytes, struct err *err)
{
    TRY(mem_grow(&d->file, &d->cap_files, d->n_files + 1, sizeof *d->file, err));
    d->file[d->n_files] = (struct rundir_file){
        .name = strdup(name), .purpose = rundir_purpose(name), .bytes = bytes};
    if (!d->file[d->n_files].name)
        return err_set(err, ERR_MEMORY, "no memory for a list of files");
    d->n_files++;
    return OK;
}

/* Every regular file of dir/under (under may be ""), named relative to dir. */
static status list_files(struct rundir *d, const char *dir, const char *under,
                         struct err *err)
{
    char path[FILE_PATH_MAX], name[FILE_PATH_MAX];
    status result = OK;

    TRY(file_join(path, sizeof path, dir, under, err));
    DIR *handle = opendir(path);
    if (!handle && under[0])
        return OK;
    if (!handle)
        return err_set(err, ERR_IO, "%s: %s", dir, strerror(errno));
    for (struct dirent *e; result == OK && (e = readdir(handle));) {
        const int n =
            snprintf(name, sizeof name, "%s%s%s", under, under[0] ? "/" : "", e->d_name);
        if (n < 0 || (size_t)n >= sizeof name || e->d_name[0] == '.' ||
            file_is_tmp(e->d_name))
            continue;
        result = file_join(path, sizeof path, dir, name, err);
        if (result == OK && !file_is_dir(path) && file_bytes(path) >= 0)
            result = add_file(d, name, (double)file_bytes(path), err);
    }
    closedir(handle);
    return result;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct rundir_file *)a)->name,
                  ((const struct rundir_file *)b)->name);
}

/* The files of the greatest step by their names; false when there are none. */
static bool mark_newest(struct rundir *d, double (*step)(const char *name))
{
    d->newest_step = NAN;
    for (size_t i = 0; i < d->n_files; i++)
        if (str_ends(d->file[i].name, ".index"))
            d->newest_step = fmax(d->newest_step, step(d->file[i].name));
    for (size_t i = 0; i < d->n_files; i++)
        d->file[i].is_newest = step(d->file[i].name) == d->newest_step;
    return isfinite(d->newest_step);
}

/* Where only best models were kept, the newest of them stands for the run. */
static void count_checkpoints(struct rundir *d)
{
    for (size_t i = 0; i < d->n_files; i++) {
        const struct rundir_file *f = &d->file[i];
        const double step = step_of(f->name);
        const bool is_best = str_begins(f->name, "best_models/");

        if (is_best)
            d->best_bytes += f->bytes;
        if (isfinite(step))
            d->checkpoint_bytes += f->bytes;
        if (!str_ends(f->name, ".index"))
            continue;
        d->n_best += is_best ? 1 : 0;
        d->n_checkpoints += isfinite(step) ? 1 : 0;
    }
    if (!mark_newest(d, step_of))
        mark_newest(d, best_step_of);
}

static status add_fact(struct rundir *d, const char *key, const json_t *v,
                       struct err *err)
{
    TRY(mem_grow(&d->fact, &d->cap_facts, d->n_facts + 1, sizeof *d->fact, err));
    d->fact[d->n_facts++] = (struct rundir_fact){
        .key = strdup(key),
        .value = json_is_string(v)
                     ? strdup(json_string_value(v))
                     : json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9)),
    };
    if (!d->fact[d->n_facts - 1].key || !d->fact[d->n_facts - 1].value)
        return err_set(err, ERR_MEMORY, "no memory for the corpus statistics");
    return OK;
}

static status add_facts(struct rundir *d, json_t *v, const char *key, struct err *err);

/* A member of an object or list: "key: name". What is nested too deep to be ours is left
 * out, which also bounds the recursion. */
static status add_member(struct rundir *d, json_t *v, const char *key, const char *name,
                         struct err *err)
{
    char path[256];

    const int n = snprintf(path, sizeof path, "%s%s%s", key, key[0] ? ": " : "", name);
    return n >= 0 && (size_t)n < sizeof path ? add_facts(d, v, path, err) : OK;
}

static status add_facts(struct rundir *d, json_t *v, const char *key, struct err *err)
{
    const char *name;
    json_t *member;
    size_t i;

    if (json_is_object(v)) {
        json_object_foreach(v, name, member) TRY(add_member(d, member, key, name, err));
    } else if (json_is_array(v)) {
        json_array_foreach(v, i, member)
        {
            char number[24];
            snprintf(number, sizeof number, "%zu", i);
            TRY(add_member(d, member, key, number, err));
        }
    } else {
        return add_fact(d, key, v, err);
    }
    return OK;
}

static status read_data(struct rundir *d, const char *data, struct err *err)
{
    char path[FILE_PATH_MAX];
    struct file_map map;
    struct err ignored;

    if (!data || !data[0] || file_join(path, sizeof path, data, "prepare.json", &ignored))
        return OK;
    d->data_path = strdup(path);
    if (!d->data_path)
        return err_set(err, ERR_MEMORY, "no memory for a path");
    if (file_is_dir(path) || file_map_open(&map, path, &ignored) != OK)
        return OK;
    json_t *json = json_loadb((const char *)map.data, map.n_bytes, 0, NULL);
    file_map_close(&map);
    d->has_data = json_is_object(json);
    const status result = d->has_data ? add_facts(d, json, "", err) : OK;
    json_decref(json);
    return result;
}

status rundir_open(struct rundir *d, const char *dir, const char *data, struct err *err)
{
    *d = (struct rundir){.newest_step = NAN};
    status result = list_files(d, dir, "", err);
    THEN(result, list_files(d, dir, "best_models", err));
    THEN(result, read_data(d, data, err));
    if (result != OK) {
        rundir_close(d);
        return result;
    }
    if (d->n_files)
        qsort(d->file, d->n_files, sizeof *d->file, by_name);
    count_checkpoints(d);
    const struct rundir_file *index = rundir_newest(d, ".index");
    char path[FILE_PATH_MAX];
    if (index && file_join(path, sizeof path, dir, index->name, err) == OK)
        tensors_read(&d->tensors, path);
    return OK;
}

void rundir_close(struct rundir *d)
{
    for (size_t i = 0; i < d->n_files; i++)
        free(d->file[i].name);
    for (size_t i = 0; i < d->n_facts; i++) {
        free(d->fact[i].key);
        free(d->fact[i].value);
    }
    free(d->file);
    free(d->fact);
    free(d->data_path);
    memset(d, 0, sizeof *d);
}

const struct rundir_file *rundir_newest(const struct rundir *d, const char *suffix)
{
    for (size_t i = 0; i < d->n_files; i++)
        if (d->file[i].is_newest && str_ends(d->file[i].name, suffix))
            return &d->file[i];
    return NULL;
}

static double number_of(const struct rundir_fact *f)
{
    char *end;
    const double v = strtod(f->value, &end);

    return *end == '\0' && end != f->value ? v : NAN;
}

double rundir_sum(const struct rundir *d, const char *prefix, const char *suffix)
{
    double sum = NAN;

    for (size_t i = 0; i < d->n_facts; i++) {
        const double v = number_of(&d->fact[i]);
        if (isfinite(v) && str_begins(d->fact[i].key, prefix) &&
            str_ends(d->fact[i].key, suffix))
            sum = isfinite(sum) ? sum + v : v;
    }
    return sum;
}

static const struct rundir_fact *find_fact(const struct rundir *d, const char *key)
{
    for (size_t i = 0; i < d->n_facts; i++)
        if (strcmp(d->fact[i].key, key) == 0)
            return &d->fact[i];
    return NULL;
}

double rundir_number(const struct rundir *d, const char *key)
{
    const struct rundir_fact *f = find_fact(d, key);

    return f ? number_of(f) : NAN;
}

const char *rundir_text(const struct rundir *d, const char *key)
{
    const struct rundir_fact *f = find_fact(d, key);

    return f ? f->value : NULL;
}

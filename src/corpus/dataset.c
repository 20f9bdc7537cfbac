#include "corpus/dataset.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "corpus/checksum.h"
#include "corpus/corpus.h"

static status open_text(struct dataset_text *t, const char *dir, const char *name,
                        size_t n_pairs, struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(file_join(path, sizeof path, dir, name, err));
    TRY(lines_open(&t->file, path, err));
    t->n = (size_t)lines_count(&t->file);
    if (t->n != n_pairs)
        return err_set(err, ERR_FORMAT,
                       "%s has %zu lines, its corpus %zu pairs; run ferry prepare again",
                       path, t->n, n_pairs);
    TRY(mem_alloc(&t->line, t->n, sizeof *t->line, err));
    for (size_t i = 0; i < t->n; i++)
        if (!lines_next(&t->file, &t->line[i]))
            return err_set(err, ERR_IO, "%s changed while it was read", path);
    return OK;
}

static void close_text(struct dataset_text *t)
{
    free(t->line);
    lines_close(&t->file);
    *t = (struct dataset_text){0};
}

static status open_corpus(struct corpus *c, const struct dataset *d, const char *path,
                          struct err *err)
{
    TRY(corpus_open(c, path, err));
    if (c->tokenizer_hash == d->tokenizer_hash)
        return OK;
    return err_set(err, ERR_FORMAT,
                   "%s is a vocabulary that does not match %s; run ferry prepare again",
                   d->tokenizer, path);
}

/* A held-out set is there when its corpus is. */
static status open_set(struct dataset_set *set, const struct dataset *d, const char *dir,
                       const char *name, struct err *err)
{
    char file[32], path[FILE_PATH_MAX];

    snprintf(file, sizeof file, "%s.bin", name);
    TRY(file_join(path, sizeof path, dir, file, err));
    if (!file_exists(path))
        return OK;
    TRY(open_corpus(&set->corpus, d, path, err));
    snprintf(file, sizeof file, "%s.source", name);
    TRY(open_text(&set->source, dir, file, set->corpus.n_pairs, err));
    snprintf(file, sizeof file, "%s.target", name);
    TRY(open_text(&set->target, dir, file, set->corpus.n_pairs, err));
    set->is_there = true;
    return OK;
}

static void close_set(struct dataset_set *set)
{
    corpus_close(&set->corpus);
    close_text(&set->source);
    close_text(&set->target);
    *set = (struct dataset_set){0};
}

static status check_whole(const char *dir, struct err *err)
{
    char mark[FILE_PATH_MAX];

    if (!file_is_dir(dir))
        return err_set(err, ERR_IO,
                       "%s: no such directory; make it with ferry prepare, or "
                       "name it with data=DIR",
                       dir);
    TRY(file_join(mark, sizeof mark, dir, DATASET_MARK, err));
    if (!file_exists(mark))
        return err_set(err, ERR_FORMAT,
                       "%s was not finished (it has no " DATASET_MARK
                       "); run ferry prepare again",
                       dir);
    return OK;
}

static void take_language(char out[16], const json_t *languages, const char *side)
{
    const json_t *name = json_object_get(json_object_get(languages, side), "name");

    if (json_is_string(name))
        snprintf(out, 16, "%.15s", json_string_value(name));
}

static status check_version(const json_t *all, const char *path, struct err *err)
{
    const json_int_t version = json_integer_value(json_object_get(all, "version"));

    if (version <= DATASET_VERSION)
        return OK;
    return err_set(err, ERR_FORMAT,
                   "%s: this data was prepared by a newer ferry (version %lld, up to %d "
                   "can be read); use that one, or prepare the text once more with this "
                   "one",
                   path, (long long)version, DATASET_VERSION);
}

/* Pieces of each side, which only those with two tokenizers say. */
static void take_sizes(struct dataset *d, const json_t *vocabulary)
{
    const json_t *target = json_object_get(vocabulary, "target_pieces");
    const json_t *source = json_object_get(vocabulary, "pieces");

    if (!target)
        return;
    d->n_source = (uint32_t)json_integer_value(source);
    d->n_target = (uint32_t)json_integer_value(target);
}

uint64_t dataset_tokenizer_hash(struct line source, struct line target)
{
    struct checksum sum = checksum_start();

    checksum_add(&sum, source.text, source.n_bytes);
    checksum_add(&sum, target.text, target.n_bytes);
    return checksum_value(&sum);
}

static status hash_tokenizers(struct dataset *d, struct err *err)
{
    RELEASED_BY(file_map_close) struct file_map source = {0}, target = {0};

    TRY(file_map_open(&source, d->tokenizer, err));
    if (*d->target_tokenizer)
        TRY(file_map_open(&target, d->target_tokenizer, err));
    d->tokenizer_hash =
        dataset_tokenizer_hash((struct line){(const char *)source.data, source.n_bytes},
                               (struct line){(const char *)target.data, target.n_bytes});
    return OK;
}

/* Its version, and the languages, which directories of earlier versions do not say. */
static status read_mark(struct dataset *d, const char *dir, struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(file_join(path, sizeof path, dir, DATASET_MARK, err));
    json_auto_t *all = json_load_file(path, 0, NULL);
    TRY(check_version(all, path, err));
    const json_t *languages = json_object_get(all, "languages");
    take_language(d->source_lang, languages, "source");
    take_language(d->target_lang, languages, "target");
    take_sizes(d, json_object_get(all, "vocabulary"));
    return OK;
}

static status open_all(struct dataset *d, const char *dir, struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(check_whole(dir, err));
    TRY(read_mark(d, dir, err));
    TRY(file_join(d->tokenizer, sizeof d->tokenizer, dir, DATASET_VOCAB ".model", err));
    TRY(file_join(path, sizeof path, dir, DATASET_TARGET ".model", err));
    if (file_exists(path))
        memcpy(d->target_tokenizer, path, sizeof path);
    TRY(hash_tokenizers(d, err));
    TRY(file_join(path, sizeof path, dir, "train.bin", err));
    TRY(open_corpus(&d->train, d, path, err));
    if (!*d->target_tokenizer)
        d->n_source = d->n_target = d->train.vocab;
    TRY(open_set(&d->valid, d, dir, "valid", err));
    return open_set(&d->test, d, dir, "test", err);
}

status dataset_open(struct dataset *d, const char *dir, struct err *err)
{
    *d = (struct dataset){0};
    if (open_all(d, dir, err) == OK)
        return OK;
    dataset_close(d);
    return err->code;
}

void dataset_read_as(struct dataset *d, const struct architecture *a)
{
    corpus_read_as(&d->train, a);
    corpus_read_as(&d->valid.corpus, a);
    corpus_read_as(&d->test.corpus, a);
}

void dataset_close(struct dataset *d)
{
    corpus_close(&d->train);
    close_set(&d->valid);
    close_set(&d->test);
    *d = (struct dataset){0};
}

static status verify(const struct corpus *c, const char *name, struct err *err)
{
    if (!c->n_bytes || corpus_file_verify(c, err) == OK)
        return OK;
    return err_wrap(err, "%s.bin", name);
}

uint64_t dataset_text_hash(const struct dataset_set *set)
{
    const struct dataset_text *const side[] = {&set->source, &set->target};
    struct checksum sum = checksum_start();

    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < side[k]->n; i++) {
            checksum_add(&sum, side[k]->line[i].text, side[k]->line[i].n_bytes);
            checksum_add(&sum, "\n", 1);
        }
    return checksum_value(&sum);
}

status dataset_verify_set(const struct dataset_set *set, const char *name,
                          struct err *err)
{
    return verify(&set->corpus, name, err);
}

status dataset_verify(const struct dataset *d, struct err *err)
{
    TRY(verify(&d->train, "train", err));
    TRY(dataset_verify_set(&d->valid, "valid", err));
    return dataset_verify_set(&d->test, "test", err);
}

static void *check_main(void *arg)
{
    struct dataset_check *v = arg;

    v->err.code = OK;
    (void)(dataset_verify(v->data, &v->err) == OK);
    atomic_store(&v->is_done, true);
    return NULL;
}

status dataset_check_start(struct dataset_check *v, const struct dataset *data,
                           struct err *err)
{
    *v = (struct dataset_check){.data = data};
    TRY(os_thread(&v->thread, check_main, v, err));
    v->is_running = true;
    return OK;
}

bool dataset_check_has_failed(const struct dataset_check *v)
{
    return atomic_load(&v->is_done) && v->err.code != OK;
}

status dataset_check_finish(struct dataset_check *v, struct err *err)
{
    if (v->is_running)
        pthread_join(v->thread, NULL);
    v->is_running = false;
    if (v->err.code == OK)
        return OK;
    *err = v->err;
    return err->code;
}

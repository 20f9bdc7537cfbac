#include "train/run/training_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "format/seal.h"
#include "format/tf/checkpoint_dir.h"

const char *training_data_before(char text[TRAINING_DATA_BEFORE],
                                 const struct train_config *c)
{
    struct train_config *old;
    char now[FILE_PATH_MAX];
    struct err ignored;

    text[0] = '\0';
    if (train_config_read(&old, c->run, &ignored) == OK && old &&
        file_absolute(now, c->data, &ignored) == OK && strcmp(old->data, c->data) != 0 &&
        strcmp(old->data, now) != 0)
        snprintf(text, TRAINING_DATA_BEFORE, " (data = %s)", old->data);
    free(old);
    return text;
}

status training_data_refuse_vocabulary(const struct train_config *c, struct err *err)
{
    char before[TRAINING_DATA_BEFORE];

    return err_set(err, ERR_USAGE,
                   "the vocabulary of %s is not the one that the run in %s began with%s; "
                   "resume with that data, or choose another run directory",
                   c->data, c->run, training_data_before(before, c));
}

static status hash_of_run(uint64_t *hash, const char *run, const char *vocab,
                          struct err *err)
{
    RELEASED_BY(file_map_close) struct file_map source = {0}, target = {0};
    char path[FILE_PATH_MAX];

    TRY(file_map_open(&source, vocab, err));
    TRY(file_join(path, sizeof path, run, DATASET_TARGET ".model", err));
    if (file_exists(path))
        TRY(file_map_open(&target, path, err));
    *hash =
        dataset_tokenizer_hash((struct line){(const char *)source.data, source.n_bytes},
                               (struct line){(const char *)target.data, target.n_bytes});
    return OK;
}

/* A run has its vocabulary beside its checkpoints. Compared before any number that
 * follows from it: vocab_size alone would not tell what is wrong. */
static status check_vocabulary(const struct dataset *d, const struct train_config *c,
                               struct err *err)
{
    char vocab[FILE_PATH_MAX], config[FILE_PATH_MAX];
    uint64_t hash;

    TRY(file_join(vocab, sizeof vocab, c->run, "vocab.model", err));
    if (!file_exists(vocab) || !checkpoint_dir_has_any(c->run))
        return OK;
    TRY(hash_of_run(&hash, c->run, vocab, err));
    if (hash == d->tokenizer_hash)
        return OK;
    TRY(file_join(config, sizeof config, c->run, "config.yaml", err));
    if (file_exists(config)) /* is it the run's that was damaged? */
        TRY(seal_check(config, vocab, err));
    return training_data_refuse_vocabulary(c, err);
}

/* vocab_size may exceed the tokenizer's pieces: rows that no text uses. */
static status settle_vocabulary(struct train_config *c, const struct dataset *d,
                                struct err *err)
{
    struct model_config *m = &c->model;
    const uint32_t n_pieces = d->n_target;

    if (*d->target_tokenizer && !c->arch.source_vocab_size)
        c->arch.source_vocab_size = d->n_source;
    m->arch = architecture_from_options(&c->arch);
    if (m->vocab_size == 0)
        m->vocab_size = n_pieces;
    if (m->vocab_size < (int64_t)n_pieces)
        return err_set(err, ERR_USAGE,
                       "vocab_size = %lld, but the tokenizer of %s has %u pieces; leave "
                       "vocab_size at 0 or raise it",
                       (long long)m->vocab_size, c->data, n_pieces);
    if (model_config_source_vocab(m) < (int64_t)d->n_source)
        return err_set(err, ERR_USAGE,
                       "source_vocab_size = %lld, but the tokenizer of sources of %s has "
                       "%u pieces; leave source_vocab_size at 0 or raise it",
                       (long long)model_config_source_vocab(m), c->data, d->n_source);
    return *c->init_from ? OK
                         : model_config_check(m, err); /* setup asks the donor first */
}

/* Another directory, of the same tokenizer. */
static status open_also(struct dataset *other, const struct dataset *d, const char *path,
                        const char *option, const struct train_config *c, struct err *err)
{
    if (dataset_open(other, path, err) != OK)
        return err_wrap(err, "%s", option);
    dataset_read_as(other, &c->model.arch);
    if (other->tokenizer_hash == d->tokenizer_hash)
        return OK;
    return err_set(err, ERR_USAGE,
                   "%s: the vocabulary of %s is not that of %s; prepare its text with "
                   "tokenizer=%s",
                   option, path, c->data, d->tokenizer);
}

/* Of `data` first. */
static status list_names(char name[MIX_CORPORA][DATA_LIST_NAME],
                         const struct data_list *list, const struct train_config *c,
                         struct err *err)
{
    TRY(data_list_name(name[0], "data", c->data, err));
    for (size_t i = 0; i < list->n; i++) {
        memcpy(name[i + 1], list->item[i].name, DATA_LIST_NAME);
        if (strcmp(name[0], name[i + 1]) == 0)
            return err_set(err, ERR_USAGE,
                           "data and also_data: %.200s and %.200s are both called %s; "
                           "rename one or link it",
                           c->data, list->item[i].path, name[0]);
    }
    return OK;
}

/* The training pairs of also_data behind those of data, and how they are mixed. */
static status open_corpora(struct training_data *d, const struct train_config *c,
                           struct err *err)
{
    _Static_assert((int)DATA_LIST_MAX < (int)MIX_CORPORA, "data is there too");
    RELEASED_BY(mem_release) struct data_list *list = NULL;
    char name[MIX_CORPORA][DATA_LIST_NAME];
    const char *names[MIX_CORPORA];

    if (!*c->also_data && !*c->mix)
        return OK;
    TRY(mem_alloc(&list, 1, sizeof *list, err));
    TRY(data_list_read(list, "also_data", c->also_data, err));
    TRY(list_names(name, list, c, err));
    for (size_t i = 0; i < list->n; i++) {
        RELEASED_BY(dataset_close) struct dataset more = {0};
        TRY(open_also(&more, &d->sets, list->item[i].path, "also_data", c, err));
        TRY(corpus_append(&d->sets.train, &more.train, err));
    }
    for (size_t i = 0; i <= list->n; i++)
        names[i] = name[i];
    return mix_read(&d->mix, c->mix, names, list->n + 1, err);
}

static bool has_name(const struct data_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->item[i].name, name) == 0)
            return true;
    return false;
}

/* These sets are small, so they are read whole at once. */
static status open_valid_sets(struct training_data *d, const struct train_config *c,
                              struct err *err)
{
    TRY(data_list_read(&d->valid_list, "also_valid", c->also_valid, err));
    if (d->valid_list.n && !d->sets.valid.is_there)
        return err_set(err, ERR_USAGE,
                       "also_valid: %s has no validation set itself; prepare it with one",
                       c->data);
    if (*c->best_set && !has_name(&d->valid_list, c->best_set))
        return err_set(err, ERR_USAGE,
                       "best_set = %.200s is none of also_valid; its sets are called by "
                       "the last part of their paths",
                       c->best_set);
    for (size_t i = 0; i < d->valid_list.n; i++) {
        const char *path = d->valid_list.item[i].path;
        TRY(open_also(&d->also_valid[i], &d->sets, path, "also_valid", c, err));
        const struct dataset_set *set = &d->also_valid[i].valid;
        if (!set->is_there)
            return err_set(err, ERR_USAGE, "also_valid: %s has no validation set", path);
        if (c->verify_data && dataset_verify_set(set, "valid", err) != OK)
            return err_wrap(err, "%s", path);
    }
    return OK;
}

status training_data_open(struct training_data *d, struct train_config *c,
                          bool is_checked, struct err *err)
{
    TRY(dataset_open(&d->sets, c->data, err));
    TRY(open_corpora(d, c, err));
    if (is_checked)
        TRY(dataset_check_start(&d->check, &d->sets, err));
    TRY(check_vocabulary(&d->sets, c, err));
    TRY(settle_vocabulary(c, &d->sets, err));
    dataset_read_as(&d->sets, &c->model.arch);
    TRY(open_valid_sets(d, c, err));
    if (!*c->source_lang)
        snprintf(c->source_lang, sizeof c->source_lang, "%s", d->sets.source_lang);
    if (!*c->target_lang)
        snprintf(c->target_lang, sizeof c->target_lang, "%s", d->sets.target_lang);
    TRY(spm_load_both(&d->spm, d->sets.tokenizer, d->sets.target_tokenizer,
                      (size_t)model_config_source_vocab(&c->model),
                      (size_t)c->model.vocab_size, err));
    const struct variation_rule rule = {&c->variation, (uint64_t)c->seed,
                                        (size_t)c->max_length};
    return variation_open(&d->variation, rule, d->spm, err);
}

uint64_t training_data_valid_hash(const struct training_data *d)
{
    struct checksum sum = checksum_start();

    if (!d->sets.valid.is_there)
        return 0;
    checksum_add(&sum, &d->sets.valid.corpus.checksum, sizeof(uint64_t));
    for (size_t i = 0; i < d->valid_list.n; i++)
        checksum_add(&sum, &d->also_valid[i].valid.corpus.checksum, sizeof(uint64_t));
    return checksum_value(&sum);
}

void training_data_close(struct training_data *d)
{
    struct err known; /* what the check found was said before */

    (void)(dataset_check_finish(&d->check, &known) == OK);
    prefetch_close(d->prefetch);
    variation_close(d->variation);
    spm_free(d->spm);
    dataset_close(&d->sets);
    for (size_t i = 0; i < d->valid_list.n; i++)
        dataset_close(&d->also_valid[i]);
}

status training_data_prefetch(struct training_data *d, const struct train_config *c,
                              const struct peers *p, struct batch_limit limit,
                              struct order_cursor from, struct err *err)
{
    const struct prefetch_rule rule = {
        .order = {.seed = (uint64_t)c->seed,
                  .drop_overlong = strcmp(c->overlong, "drop") == 0,
                  .max_length = (size_t)c->max_length,
                  .batch_tokens = (size_t)c->batch_tokens,
                  .batch_sentences = (size_t)c->batch_sentences,
                  .mix = d->mix.n ? &d->mix : NULL},
        .shard = {p->comm->rank, p->comm->size, p->node},
        .limit = limit,
        .vary = {.make = d->variation ? variation_make : NULL,
                 .ctx = d->variation,
                 .is_for_node = c->local_steps > 1 && p->comm->n_nodes > 1}};

    return prefetch_open(&d->prefetch, &d->sets.train, rule, from, err);
}

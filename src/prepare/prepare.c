#include "prepare/prepare.h"
#include "prepare/given.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/pool.h"
#include "corpus/checksum.h"
#include "corpus/dataset.h"
#include "prepare/prepare_stages.h"

OPT_TABLE(prepare_config_table, struct prepare_config, PREPARE_OPTIONS);

static status need_both(const char *name, const char *source, const char *target,
                        struct err *err)
{
    if (!*source == !*target)
        return OK;
    return err_set(err, ERR_USAGE, "%s_%s is given without %s_%s; a set needs both", name,
                   *source ? "source" : "target", name, *source ? "target" : "source");
}

static status check_language(const char *option, const char *name, struct err *err)
{
    if (strlen(name) < LANGUAGE_NAME)
        return OK;
    return err_set(
        err, ERR_USAGE,
        "%s = '%.64s': want a code of at most %d characters, as in de or en-GB", option,
        name, LANGUAGE_NAME - 1);
}

/* A set is given, or drawn, or not there. */
static status check_drawn(const char *name, int64_t n, const char *source,
                          const char *pairs, struct err *err)
{
    if (!n || (!*source && !*pairs))
        return OK;
    return err_set(err, ERR_USAGE,
                   "%s = %" PRId64 " draws a set from the training text, and %s_%s names "
                   "one: leave one of the two out",
                   name, n, name, *source ? "source" : "pairs");
}

static status check_training(const struct prepare_config *c, struct err *err)
{
    const bool has_source = *c->source, has_target = *c->target;

    if (has_source == has_target && (has_source || *c->pairs))
        return OK;
    return err_set(err, ERR_USAGE,
                   "%s is missing: name the text file of that language, as in %s=FILE",
                   has_source ? "target" : "source", has_source ? "target" : "source");
}

/* Required options, and constraints between them. */
static status check_config(const struct prepare_config *c, struct err *err)
{
    struct prepare_reference_names names;

    TRY(check_training(c, err));
    if (!*c->out)
        return err_set(err, ERR_USAGE,
                       "out is missing: name the data directory to make, as in out=DIR");
    TRY(need_both("valid", c->valid_source, c->valid_target, err));
    TRY(need_both("test", c->test_source, c->test_target, err));
    TRY(check_language("source_lang", c->source_lang, err));
    TRY(check_language("target_lang", c->target_lang, err));
    if (c->vocab_size && c->vocab_size <= ID_N_SPECIAL)
        return err_set(err, ERR_USAGE, "vocab_size = %" PRId64 ": want 0 or at least %d",
                       c->vocab_size, ID_N_SPECIAL + 1);
    TRY(check_drawn("valid", c->valid, c->valid_source, c->valid_pairs, err));
    TRY(check_drawn("test", c->test, c->test_source, c->test_pairs, err));
    if (c->min_words > c->max_words)
        return err_set(err, ERR_USAGE,
                       "min_words = %" PRId64 " exceeds max_words = %" PRId64,
                       c->min_words, c->max_words);
    if (c->max_chars && c->min_chars > c->max_chars)
        return err_set(err, ERR_USAGE,
                       "min_chars = %" PRId64 " exceeds max_chars = %" PRId64,
                       c->min_chars, c->max_chars);
    return c->reference_names ? prepare_reference_find(&names, c, err) : OK;
}

static int64_t wanted(const struct prepare_config *c, enum prepare_set set)
{
    return set == PREPARE_VALID ? c->valid : set == PREPARE_TEST ? c->test : 0;
}

bool prepare_has_set(const struct prepare *p, enum prepare_set set)
{
    return p->input[set].n_files || wanted(p->config, set);
}

bool prepare_leaves_out(const struct prepare_config *c)
{
    return c->valid || c->test || strcmp(c->duplicates, "keep") != 0;
}

uint64_t prepare_budget(const struct prepare *p)
{
    const uint64_t all = (uint64_t)p->config->memory_mib << 20, own = (uint64_t)256 << 20;

    return all > 2 * own ? all - own : all / 2;
}

/* Refuse bad inputs before anything is written. */
static status open_inputs(struct prepare *p, struct err *err)
{
    const struct prepare_config *c = p->config;
    struct source_options reading = {.lang = {c->source_lang, c->target_lang}};

    TRY(source_columns(reading.column, c->columns, err));
    const struct pairs_lists lists[N_PREPARE_SETS] = {
        [PREPARE_TRAIN] = {c->source, c->target, c->pairs, reading, c->weights},
        [PREPARE_VALID] = {c->valid_source, c->valid_target, c->valid_pairs, reading},
        [PREPARE_TEST] = {c->test_source, c->test_target, c->test_pairs, reading},
    };
    for (enum prepare_set set = 0; set < N_PREPARE_SETS; set++)
        TRY(pairs_open(&p->input[set], &lists[set], err));
    TRY(marks_read(&p->marks, c->marks, c->mark, err));
    if (!*c->tokenizer)
        return OK;
    TRY(given_load(&p->spm, c->tokenizer, err));
    if (spm_check_special(p->spm, err) != OK)
        return err_wrap(err, "%s", c->tokenizer);
    return marks_check(&p->marks, p->spm, c->tokenizer, err);
}

static void add_text(struct checksum *sum, const char *text)
{
    checksum_add(sum, text, strlen(text) + 1);
}

static void add_input(struct checksum *sum, const struct pairs *in)
{
    for (size_t i = 0; i < in->n_files; i++)
        for (int s = 0; s < PAIRS_FILES; s++) {
            const struct pairs_file *f = &in->file[i];
            add_text(sum, f->path[s]);
            checksum_add(sum, &f->n_bytes[s], sizeof f->n_bytes[s]);
            checksum_add(sum, &f->changed[s], sizeof f->changed[s]);
        }
    checksum_add(sum, &in->n_files, sizeof in->n_files);
}

static void add_tokenizers(struct checksum *sum, const struct spm *spm)
{
    const struct line source = spm_bytes(spm), target = spm_target_bytes(spm);

    checksum_add(sum, source.text, source.n_bytes);
    checksum_add(sum, target.text, target.n_bytes);
}

/*
 * Everything that the result depends on: options, the files by name, size and age, the
 * given model, this program. Threads change nothing; memory does when it is too little to
 * remember every word that is learned from.
 */
static uint64_t hash_config(const struct prepare *p)
{
    static const char *const ignored[] = {"out", "threads", "fresh", "measure"};
    struct checksum sum = checksum_start();

    add_text(&sum, FERRY_VERSION);
    for (size_t i = 0; i < prepare_config_table.n; i++) {
        const struct opt *o = &prepare_config_table.opt[i];
        struct str value = str_new(0);
        bool is_ignored = false;
        for (size_t k = 0; k < sizeof ignored / sizeof *ignored; k++)
            is_ignored |= strcmp(o->name, ignored[k]) == 0;
        opt_value(o, p->config, &value);
        add_text(&sum, is_ignored ? "" : str_text(&value));
        str_release(&value);
    }
    for (enum prepare_set set = 0; set < N_PREPARE_SETS; set++)
        add_input(&sum, &p->input[set]);
    if (p->spm)
        add_tokenizers(&sum, p->spm);
    return checksum_value(&sum);
}

/*
 * Make the directory and its work directory, when they are not yet there: the first stage
 * does so once it has nothing against the input. A directory that cannot be written to is
 * refused before the long stages.
 */
static status open_work(struct prepare *p, struct err *err)
{
    if (p->work.is_open)
        return OK;
    TRY(file_make_dirs(p->config->out, err));
    if (access(p->config->out, W_OK | X_OK) != 0)
        return err_set(err, ERR_IO, "%s: %s", p->config->out, strerror(errno));
    return workdir_open(&p->work, p->config->out, hash_config(p), err);
}

/* The counts of every file, for a run that continues after this stage. */
static status keep_counts(struct prepare *p, struct err *err)
{
    RELEASED_BY(str_release) struct str bytes = str_new(0);

    for (enum prepare_set set = 0; set < N_PREPARE_SETS; set++)
        for (size_t i = 0; i < p->input[set].n_files; i++) {
            str_add(&bytes, &p->input[set].file[i].n_lines, sizeof(uint64_t));
            str_add(&bytes, &p->input[set].file[i].n_skipped, sizeof(uint64_t));
        }
    TRY(str_check(&bytes, "the line counts", err));
    return workdir_write(&p->work, "lines", bytes.data, bytes.len, err);
}

/* The counts of a stage that is taken over from an earlier run. */
static status recall_counts(struct prepare *p, struct err *err)
{
    RELEASED_BY(file_map_close) struct file_map map = {0};
    char path[FILE_PATH_MAX];

    TRY(workdir_path(&p->work, path, "lines", err));
    TRY(file_map_open(&map, path, err));
    const uint64_t *n = (const uint64_t *)(const void *)map.data;
    const uint64_t *end = n + map.n_bytes / sizeof *n;
    for (enum prepare_set set = 0; set < N_PREPARE_SETS; set++) {
        struct pairs *in = &p->input[set];
        in->n_lines = 0;
        for (size_t i = 0; i < in->n_files; i++, n += 2) {
            if (end - n < 2)
                return err_set(err, ERR_FORMAT, "the line counts of %s are damaged",
                               p->work.dir);
            in->file[i].n_lines = n[0];
            in->file[i].n_skipped = n[1];
            in->n_lines += n[0];
        }
    }
    return OK;
}

/* Units that were passed over are known after a whole reading. */
static status count_all(struct prepare *p, struct err *err)
{
    uint64_t n_bytes = 0;

    for (enum prepare_set set = 0; set < N_PREPARE_SETS; set++)
        n_bytes += pairs_bytes(&p->input[set]);
    progress_begin(p->progress, "counting", "MiB", (n_bytes >> 20) + 1);
    for (enum prepare_set set = 0; set < N_PREPARE_SETS; set++) {
        TRY(pairs_count(&p->input[set], p->progress, err));
        if (p->input[set].n_lines > INT32_MAX)
            return err_set(err, ERR_USAGE, "%" PRIu64 " pairs, at most %d are taken",
                           p->input[set].n_lines, INT32_MAX);
    }
    progress_end(p->progress, (n_bytes >> 20) + 1);
    return OK;
}

static status count_stage(struct prepare *p, struct err *err)
{
    const struct pairs *in = &p->input[PREPARE_TRAIN];
    struct prepare_stage_stats *s = &p->stats->stage[PREPARE_COUNT];

    TRY(count_all(p, err));
    for (size_t i = 0; i < in->n_files; i++)
        for (int side = 0; side < PAIRS_SIDES; side++)
            if (side == PAIRS_SOURCE || !in->file[i].is_both)
                s->before.n_bytes[side] += in->file[i].n_bytes[side];
    s->before.n_pairs = in->n_lines;
    s->after = s->before;
    TRY(open_work(p, err));
    return keep_counts(p, err);
}

/* A directory that is whole may be what a run was trained on. */
static status check_replaced(const struct prepare *p, struct err *err)
{
    char mark[FILE_PATH_MAX];

    TRY(file_join(mark, sizeof mark, p->config->out, DATASET_MARK, err));
    if (p->config->fresh || !file_exists(mark) ||
        prepare_stats_made_from(mark) == hash_config(p))
        return OK;
    return err_set(
        err, ERR_USAGE,
        "out = %s is a data directory that was not made of these files (by "
        "name, size and time) with these options and this version, and runs "
        "may depend on it: name another out=DIR, or replace it with fresh=true",
        p->config->out);
}

/* Continue what an earlier run left, or remove it if its inputs or options differ. */
static status reopen_work(struct prepare *p, struct err *err)
{
    bool is_ours;

    if (!workdir_exists(p->config->out))
        return check_replaced(p, err);
    TRY(open_work(p, err));
    TRY(workdir_load(&p->work, PREPARE_COUNT, p->stats, &is_ours, err));
    if (is_ours && !p->config->fresh)
        return recall_counts(p, err);
    TRY(check_replaced(p, err));
    *p->stats = (struct prepare_stats){0};
    return workdir_wipe(&p->work, err);
}

static status load_learned(struct prepare *p, struct err *err)
{
    char path[FILE_PATH_MAX];

    if (p->spm)
        return OK;
    TRY(workdir_path(&p->work, path, "final/" DATASET_VOCAB ".model", err));
    return spm_load(&p->spm, path, err);
}

typedef status stage_fn(struct prepare *p, struct err *err);

static status run_stage(struct prepare *p, enum prepare_stage stage, stage_fn *fn,
                        struct err *err)
{
    struct prepare_stage_stats *s = &p->stats->stage[stage];
    const double begun = clock_now();
    struct rusage usage;

    *s = (struct prepare_stage_stats){0};
    TRY(fn(p, err));
    s->seconds = clock_now() - begun;
    getrusage(RUSAGE_SELF, &usage);
    s->peak_kib = (uint64_t)usage.ru_maxrss;
    return workdir_save(&p->work, stage, p->stats, err);
}

/* The stages that an earlier run did not finish. */
static status run_stages(struct prepare *p, struct err *err)
{
    static stage_fn *const stages[N_PREPARE_STAGES] = {
        [PREPARE_COUNT] = count_stage,         [PREPARE_CLEAN] = prepare_stage_clean,
        [PREPARE_LEARN] = prepare_stage_learn, [PREPARE_ENCODE] = prepare_stage_encode,
        [PREPARE_PACK] = prepare_stage_pack,
    };
    enum prepare_stage stage = 0;
    bool is_done = p->work.is_open;
    char note[100];

    for (; stage < N_PREPARE_STAGES && is_done; stage++) {
        TRY(workdir_load(&p->work, stage, p->stats, &is_done, err));
        if (!is_done)
            break;
        snprintf(note, sizeof note, "%-10s done by an earlier run",
                 prepare_stats_stage_names[stage]);
        progress_note(p->progress, note);
    }
    for (int i = 0; i < (int)stage; i++)
        p->stats->stage[i].is_resumed = true;
    if (stage > PREPARE_LEARN)
        TRY(load_learned(p, err));
    for (; stage < N_PREPARE_STAGES; stage++)
        TRY(run_stage(p, stage, stages[stage], err));
    return OK;
}

/* Sets of an earlier preparation that are not part of this one, and its proposal. */
static status remove_stale(const struct prepare *p, struct err *err)
{
    static const char *const endings[] = {"bin", "source", "target"};
    char path[FILE_PATH_MAX];

    for (enum prepare_set set = PREPARE_VALID; set < N_PREPARE_SETS; set++)
        for (size_t i = 0; i < 3 && !prepare_has_set(p, set); i++) {
            TRY(file_path(path, err, "%s/%s.%s", p->config->out,
                          prepare_stats_set_names[set], endings[i]));
            TRY(file_remove(path, err));
        }
    TRY(file_join(path, sizeof path, p->config->out, DATASET_PROPOSAL, err));
    return file_remove(path, err);
}

/* Without its mark the directory is not whole; the mark is written when all else is. */
static status publish(struct prepare *p, struct err *err)
{
    char mark[FILE_PATH_MAX];

    TRY(file_join(mark, sizeof mark, p->config->out, DATASET_MARK, err));
    TRY(file_remove(mark, err));
    TRY(workdir_publish(&p->work, err));
    TRY(remove_stale(p, err));
    p->stats->made_from = p->work.config;
    TRY(prepare_stats_write(p->stats, mark, prepare_config_table, p->config, p->input,
                            err));
    return workdir_remove(&p->work, err);
}

/* The same text and options would be refused again: nothing of it is worth keeping. */
static void discard_work(struct prepare *p, bool has_made_out)
{
    struct err ignored;

    if (p->work.is_open && workdir_remove(&p->work, &ignored) == OK && has_made_out)
        (void)rmdir(p->config->out);
}

static void release(struct prepare *p)
{
    for (enum prepare_set set = 0; set < N_PREPARE_SETS; set++)
        pairs_close(&p->input[set]);
    workdir_close(&p->work);
    pool_close(p->pool);
    spm_free(p->spm);
}

status prepare_run(const struct prepare_config *config, struct progress *progress,
                   struct prepare_stats *stats, struct err *err)
{
    RELEASED_BY(release)
    struct prepare p = {.config = config, .progress = progress, .stats = stats};
    char note[POOL_NOTE];

    const bool is_new = !file_exists(config->out);

    *stats = (struct prepare_stats){0};
    TRY(check_config(config, err));
    TRY(open_inputs(&p, err));
    TRY(pool_open(&p.pool, (size_t)config->threads, false, err));
    if (pool_crowded(note, 1, pool_size(p.pool)))
        progress_note(progress, note);
    TRY(reopen_work(&p, err));
    const status result = run_stages(&p, err);
    if (result == ERR_USAGE || result == ERR_FORMAT)
        discard_work(&p, is_new);
    return result == OK ? publish(&p, err) : result;
}

#include "corpus/prepare.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "corpus/checksum.h"
#include "corpus/dataset.h"
#include "corpus/packer.h"
#include "text/spm.h"
#include "text/spm_train.h"

const struct opt prepare_config_rows[PREPARE_N_OPTIONS] = {
#define X(kind, field, ...) \
    OPT_ROW(kind, offsetof(struct prepare_config, field), field, __VA_ARGS__)
    PREPARE_OPTIONS(X)
#undef X
};

const struct opt_table prepare_config_table = {prepare_config_rows, PREPARE_N_OPTIONS};

/* A training pair that passed cleaning, where it lies in the input. */
struct kept {
    struct line side[PAIRS_SIDES];
};

struct prepare {
    const struct prepare_config *config;
    struct progress *progress;
    struct prepare_stats *stats;
    struct pairs input[N_PREPARE_SETS];
    struct clean clean;
    struct kept *kept; /* [n_kept] in the order of the files */
    size_t n_kept;
    uint32_t *order; /* [n_kept] shuffled */
    struct spm *spm;
};

static status need_both(const char *name, const char *source, const char *target,
                        struct err *err)
{
    if (!*source == !*target)
        return OK;
    return err_set(err, ERR_USAGE, "%s_%s is given without %s_%s; a set needs both", name,
                   *source ? "source" : "target", name, *source ? "target" : "source");
}

status prepare_config_check(const struct prepare_config *c, struct err *err)
{
    if (!*c->source || !*c->target)
        return err_set(
            err, ERR_USAGE,
            "%s is missing: name the text file of that language, as in %s=FILE",
            *c->source ? "target" : "source", *c->source ? "target" : "source");
    if (!*c->out)
        return err_set(err, ERR_USAGE,
                       "out is missing: name the data directory to make, as in out=DIR");
    TRY(need_both("valid", c->valid_source, c->valid_target, err));
    TRY(need_both("test", c->test_source, c->test_target, err));
    if (c->min_words > c->max_words)
        return err_set(err, ERR_USAGE,
                       "min_words = %" PRId64 " exceeds max_words = %" PRId64,
                       c->min_words, c->max_words);
    return OK;
}

/* Find every reason against the inputs before anything is made. */
static status open_inputs(struct prepare *p, struct err *err)
{
    const struct prepare_config *c = p->config;
    const char *list[N_PREPARE_SETS][PAIRS_SIDES] = {
        [PREPARE_TRAIN] = {c->source, c->target},
        [PREPARE_VALID] = {c->valid_source, c->valid_target},
        [PREPARE_TEST] = {c->test_source, c->test_target},
    };
    uint64_t n = 0;

    progress_begin(p->progress, "counting", "lines", 0);
    for (enum prepare_set set = 0; set < N_PREPARE_SETS; set++) {
        if (!*list[set][PAIRS_SOURCE])
            continue;
        TRY(pairs_open(&p->input[set], list[set][PAIRS_SOURCE], list[set][PAIRS_TARGET],
                       err));
        if (p->input[set].n_lines > INT32_MAX)
            return err_set(err, ERR_USAGE, "%" PRIu64 " pairs, at most %d are taken",
                           p->input[set].n_lines, INT32_MAX);
        n += p->input[set].n_lines;
    }
    progress_end(p->progress, n);
    if (!*c->tokenizer)
        return OK;
    TRY(spm_load(&p->spm, c->tokenizer, err));
    if (spm_check_special(p->spm, err) != OK)
        return err_wrap(err, "%s", c->tokenizer);
    return OK;
}

/* A directory that cannot be written to is better known before the long stages. */
static status open_output(const char *out, struct err *err)
{
    TRY(file_make_dirs(out, err));
    if (access(out, W_OK | X_OK) != 0)
        return err_set(err, ERR_IO, "%s: %s", out, strerror(errno));
    return OK;
}

static status nothing_left(const struct prepare_stats *s, struct err *err)
{
    struct str why = str_new(0);

    for (enum clean_verdict v = 0; v < N_CLEAN; v++)
        if (s->n_verdict[v])
            str_printf(&why, "%s%" PRIu64 " because %s", why.len ? ", " : "",
                       s->n_verdict[v], clean_why(v));
    err_set(err, ERR_FORMAT, "no pairs are left of %" PRIu64 " after cleaning: %s",
            prepare_stats_read(s), str_text(&why));
    str_release(&why);
    return err->code;
}

static status clean_training(struct prepare *p, struct err *err)
{
    const struct prepare_config *c = p->config;
    struct pairs *in = &p->input[PREPARE_TRAIN];
    struct kept pair;

    clean_init(&p->clean,
               (struct clean_options){.min_words = (size_t)c->min_words,
                                      .max_words = (size_t)c->max_words,
                                      .max_ratio = c->ratio,
                                      .max_word_chars = (size_t)c->max_word_chars});
    TRY(mem_alloc(&p->kept, (size_t)in->n_lines, sizeof *p->kept, err));
    progress_begin(p->progress, "cleaning", "pairs", in->n_lines);
    for (uint64_t i = 1; pairs_next(in, pair.side); i++) {
        enum clean_verdict verdict;
        TRY(clean_pair(&p->clean, pair.side[0], pair.side[1], &verdict, err));
        if (verdict == CLEAN_KEEP)
            p->kept[p->n_kept++] = pair;
        progress_update(p->progress, i);
    }
    progress_end(p->progress, in->n_lines);
    memcpy(p->stats->n_verdict, p->clean.n_pairs, sizeof p->clean.n_pairs);
    return p->n_kept ? OK : nothing_left(p->stats, err);
}

static status shuffle(struct prepare *p, struct err *err)
{
    struct rng rng = rng_open(rng_key((uint64_t)p->config->seed, "prepare"));

    TRY(mem_alloc(&p->order, p->n_kept, sizeof *p->order, err));
    for (size_t i = 0; i < p->n_kept; i++)
        p->order[i] = (uint32_t)i;
    rng_shuffle(&rng, p->order, p->n_kept);
    return OK;
}

/* The i-th pair of the shuffled order, cleaned anew: cheaper than to keep its text. */
static status cleaned(struct prepare *p, size_t i, struct line side[PAIRS_SIDES],
                      struct err *err)
{
    const struct kept *k = &p->kept[p->order[i]];
    enum clean_verdict verdict;

    TRY(clean_pair(&p->clean, k->side[0], k->side[1], &verdict, err));
    for (int s = 0; s < PAIRS_SIDES; s++)
        side[s] = (struct line){str_text(&p->clean.side[s]), p->clean.side[s].len};
    return OK;
}

/* What the trainer of the vocabulary reads: all sources, then all targets. */
struct learn_lines {
    struct prepare *p;
    size_t next;
    struct err err; /* why it ended early, or OK */
};

static bool next_learn_line(void *ctx, struct line *line)
{
    struct learn_lines *l = ctx;
    const size_t n = l->p->n_kept, i = l->next;
    struct line side[PAIRS_SIDES];

    if (i == 2 * n || cleaned(l->p, i % n, side, &l->err) != OK)
        return false;
    *line = side[i / n];
    progress_update(l->p->progress, ++l->next);
    return true;
}

static status learn_vocabulary(struct prepare *p, struct err *err)
{
    const struct spm_train_options options = {.vocab_size =
                                                  (size_t)p->config->vocab_size};
    struct learn_lines lines = {.p = p};
    struct spm_train_count count = {0};

    progress_begin(p->progress, "learning", "lines", 2 * (uint64_t)p->n_kept);
    const status s = spm_train(&p->spm, options, next_learn_line, &lines, &count, err);
    if (lines.err.code != OK) {
        *err = lines.err;
        return err->code;
    }
    TRY(s);
    progress_end(p->progress, count.n_lines);
    p->stats->is_learned = true;
    p->stats->n_learn_lines = count.n_lines;
    p->stats->n_too_long = count.n_too_long;
    return OK;
}

/* From here on the directory is not whole, until the last line of finish(). */
static status clear_output(const char *out, struct err *err)
{
    static const char *const names[] = {DATASET_MARK,
#define S(code, name) name ".bin", name ".source", name ".target",
                                        PREPARE_SET_LIST(S)
#undef S
    };
    char path[FILE_PATH_MAX];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        TRY(file_join(path, sizeof path, out, names[i], err));
        TRY(file_remove(path, err));
    }
    return OK;
}

static status save_vocabulary(struct prepare *p, struct err *err)
{
    const struct line bytes = spm_bytes(p->spm);
    char prefix[FILE_PATH_MAX];

    p->stats->n_pieces = spm_size(p->spm);
    p->stats->tokenizer_hash = checksum_of(bytes.text, bytes.n_bytes);
    TRY(file_join(prefix, sizeof prefix, p->config->out, DATASET_VOCAB, err));
    return spm_save(p->spm, prefix, err);
}

static status open_packer(struct packer *k, struct prepare *p, enum prepare_set set,
                          struct err *err)
{
    char name[32], path[FILE_PATH_MAX];

    *k = (struct packer){0};
    snprintf(name, sizeof name, "%s.bin", prepare_stats_set_name(set));
    TRY(file_join(path, sizeof path, p->config->out, name, err));
    return packer_open(k, path, p->spm, p->stats->tokenizer_hash, &p->stats->set[set],
                       err);
}

/* Text of control characters alone is no text to SentencePiece: such pairs go too. */
static status add_training(struct packer *k, struct prepare *p, struct err *err)
{
    struct line side[PAIRS_SIDES];

    for (size_t i = 0; i < p->n_kept; i++) {
        TRY(cleaned(p, i, side, err));
        TRY(packer_encode(k, side, err));
        if (packer_has_text(k)) {
            TRY(packer_add(k, err));
        } else {
            p->stats->n_verdict[CLEAN_KEEP]--;
            p->stats->n_verdict[CLEAN_EMPTY]++;
        }
        progress_update(p->progress, i + 1);
    }
    return k->stats->n_pairs ? OK : nothing_left(p->stats, err);
}

static status encode_training(struct prepare *p, struct err *err)
{
    struct packer k;
    status s = open_packer(&k, p, PREPARE_TRAIN, err);

    progress_begin(p->progress, "encoding", "pairs", p->n_kept);
    if (s == OK)
        s = add_training(&k, p, err);
    if (s == OK)
        s = packer_commit(&k, err);
    if (s == OK)
        progress_end(p->progress, p->n_kept);
    packer_release(&k);
    return s;
}

/* The raw lines of one side of a held-out set. */
static status copy_text(struct prepare *p, enum prepare_set set, int side,
                        struct err *err)
{
    static const char *const ending[PAIRS_SIDES] = {"source", "target"};
    char name[32], path[FILE_PATH_MAX];
    struct file_writer w;
    struct line line;

    snprintf(name, sizeof name, "%s.%s", prepare_stats_set_name(set), ending[side]);
    TRY(file_join(path, sizeof path, p->config->out, name, err));
    TRY(file_writer_open(&w, path, err));
    for (size_t i = 0; i < p->input[set].n_files; i++) {
        struct lines *text = &p->input[set].file[i].text[side];
        for (lines_rewind(text); lines_next(text, &line);)
            if (file_writer_add(&w, line.text, line.n_bytes, err) != OK ||
                file_writer_add(&w, "\n", 1, err) != OK) {
                file_writer_abort(&w);
                return err->code;
            }
        lines_rewind(text);
    }
    return file_writer_commit(&w, err);
}

static status encode_held_out(struct prepare *p, enum prepare_set set, struct err *err)
{
    struct line side[PAIRS_SIDES];
    struct packer k;

    if (!p->input[set].n_files)
        return OK;
    TRY(copy_text(p, set, PAIRS_SOURCE, err));
    TRY(copy_text(p, set, PAIRS_TARGET, err));
    status s = open_packer(&k, p, set, err);
    while (s == OK && pairs_next(&p->input[set], side)) {
        s = packer_encode(&k, side, err);
        if (s == OK)
            s = packer_add(&k, err);
    }
    if (s == OK)
        s = packer_commit(&k, err);
    packer_release(&k);
    return s;
}

static status encode(struct prepare *p, struct err *err)
{
    TRY(clear_output(p->config->out, err));
    TRY(save_vocabulary(p, err));
    TRY(encode_training(p, err));
    TRY(encode_held_out(p, PREPARE_VALID, err));
    return encode_held_out(p, PREPARE_TEST, err);
}

static status finish(struct prepare *p, struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(file_join(path, sizeof path, p->config->out, DATASET_MARK, err));
    return prepare_stats_write(p->stats, path, prepare_config_table, p->config, p->input,
                               err);
}

static status run_stages(struct prepare *p, struct err *err)
{
    double *t = p->stats->t_stage;
    struct clock_lap lap = clock_start();

    TRY(open_inputs(p, err));
    TRY(open_output(p->config->out, err));
    t[PREPARE_COUNT] = clock_next(&lap);
    TRY(clean_training(p, err));
    TRY(shuffle(p, err));
    t[PREPARE_CLEAN] = clock_next(&lap);
    if (!p->spm)
        TRY(learn_vocabulary(p, err));
    t[PREPARE_LEARN] = clock_next(&lap);
    TRY(encode(p, err));
    t[PREPARE_ENCODE] = clock_next(&lap);
    return finish(p, err);
}

status prepare_run(const struct prepare_config *config, struct progress *progress,
                   struct prepare_stats *stats, struct err *err)
{
    struct prepare p = {.config = config, .progress = progress, .stats = stats};

    *stats = (struct prepare_stats){0};
    TRY(prepare_config_check(config, err));
    const status s = run_stages(&p, err);
    for (enum prepare_set set = 0; set < N_PREPARE_SETS; set++)
        pairs_close(&p.input[set]);
    clean_release(&p.clean);
    spm_free(p.spm);
    free(p.kept);
    free(p.order);
    return s;
}

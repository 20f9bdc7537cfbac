#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "decode/model_dir.h"
#include "format/le.h"
#include "format/seal.h"
#include "format/tf/meta_graph.h"
#include "format/tf/tensor_bundle.h"
#include "inspect/inspect.h"
#include "train/save/state.h"

#define WEIGHTS "ForwardPass/"
#define SLOTS   "Loss_Optimization/"
#define MASTER  "FP32-master-copy/"

/* What the tensors of a training checkpoint are for, in the order of the table. */
#define ROLE_LIST(R)                                  \
    R(WEIGHT, "weights")                              \
    R(AVERAGE, "moving average of the weights")       \
    R(MASTER, "float32 master copies of the weights") \
    R(ADAM_M, "first moments (Adam's m)")             \
    R(ADAM_V, "second moments (Adam's v)")            \
    R(MOMENTUM, "momentum (NovoGrad's m)")            \
    R(NORM, "gradient norms (NovoGrad's v)")          \
    R(COUNTER, "counters: step, powers of the betas") \
    R(SCALE, "loss scaling")                          \
    R(OTHER, "other tensors")

#define ROLE(code, text) ROLE_##code,
enum role { ROLE_LIST(ROLE) N_ROLES };

#define ROLE_TEXT(code, text) text,
static const char *const role_text[] = {ROLE_LIST(ROLE_TEXT)};

/* The names are the reference's, of float32 and of mixed precision. */
static enum role role_of(const char *name)
{
    static const struct {
        const char *beginning, *ending;
        enum role role;
    } list[] = {{"", MODEL_DIR_AVERAGE, ROLE_AVERAGE},
                {WEIGHTS, "", ROLE_WEIGHT},
                {"global_step", "global_step", ROLE_COUNTER},
                {SLOTS, "/Adam", ROLE_ADAM_M},
                {SLOTS, "/Adam_1", ROLE_ADAM_V},
                {SLOTS, "/Momentum", ROLE_MOMENTUM},
                {SLOTS, "/beta1_power", ROLE_COUNTER},
                {SLOTS, "/beta2_power", ROLE_COUNTER},
                {SLOTS MASTER, "", ROLE_MASTER},
                {SLOTS "Variable", "", ROLE_SCALE}};

    if (str_begins(name, SLOTS) && strstr(name, "nvgrad2_ema"))
        return ROLE_NORM;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (str_begins(name, list[i].beginning) && str_ends(name, list[i].ending))
            return list[i].role;
    return ROLE_OTHER;
}

struct sums {
    uint64_t n_tensors, n_elements, n_bytes;
};

static void count_roles(struct sums by_role[N_ROLES], const struct tensor_index *index)
{
    memset(by_role, 0, N_ROLES * sizeof *by_role);
    for (size_t i = 0; i < index->n; i++) {
        const struct tensor_entry *e = &index->entry[i];
        struct sums *s = &by_role[role_of(e->name)];
        s->n_tensors++;
        s->n_elements += tensor_index_elements(e);
        s->n_bytes += e->n_bytes;
    }
}

static void add_role(json_t *table, const char *holds, const struct sums *s)
{
    json_t *row = inspect_page_row(table);

    inspect_page_text(row, "holds", holds);
    inspect_page_int(row, "tensors", s->n_tensors);
    inspect_page_int(row, "elements", s->n_elements);
    inspect_page_int(row, "bytes", s->n_bytes);
}

static void add_roles(json_t *page, const struct sums by_role[N_ROLES])
{
    json_t *table = inspect_page_table(page, "contents");
    struct sums all = {0};

    for (size_t r = 0; r < N_ROLES; r++) {
        const struct sums *s = &by_role[r];
        if (s->n_tensors)
            add_role(table, role_text[r], s);
        all.n_tensors += s->n_tensors;
        all.n_elements += s->n_elements;
        all.n_bytes += s->n_bytes;
    }
    add_role(table, "all", &all);
}

static void add_file(json_t *table, const char *path, const char *holds)
{
    const int64_t n = file_bytes(path);
    const char *slash = strrchr(path, '/');

    if (n < 0)
        return;
    json_t *row = inspect_page_row(table);
    inspect_page_text(row, "file", slash ? slash + 1 : path);
    inspect_page_int(row, "bytes", (uint64_t)n);
    inspect_page_text(row, "holds", holds);
}

static status add_files(json_t *page, const char *prefix,
                        const struct tensor_index *index, struct err *err)
{
    static const char *const list[][2] = {
        {"index", "name, shape, type, place and checksum of each tensor"},
        {"meta", "the graph that TensorFlow restores them into"},
        {"state", "place in the data, patience, best score"}};
    json_t *table = inspect_page_table(page, "files");
    char path[FILE_PATH_MAX];

    for (uint32_t i = 0; i < index->n_shards; i++) {
        TRY(tensor_bundle_data_path(path, prefix, i, index->n_shards, err));
        add_file(table, path, "the values of the tensors, one after the other");
    }
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        snprintf(path, sizeof path, "%s.%s", prefix, list[i][0]);
        add_file(table, path, list[i][1]);
    }
    return OK;
}

static status add_state(json_t *page, const char *prefix, struct err *err)
{
    char path[FILE_PATH_MAX + 8];
    struct state s;

    snprintf(path, sizeof path, "%s.state", prefix);
    if (!file_exists(path))
        return OK;
    TRY(state_read(&s, path, err));
    json_t *o = json_object();
    json_object_set_new(page, "state", o);
    inspect_page_int(o, "step", (uint64_t)s.step);
    inspect_page_int(o, "epochs_done", s.cursor.epoch);
    inspect_page_int(o, "next_pair", s.cursor.next);
    if (s.loss.is_there) {
        inspect_page_real(o, "best_loss", s.loss.value);
        inspect_page_int(o, "best_loss_step", (uint64_t)s.loss.step);
    }
    if (s.bleu.is_there) {
        inspect_page_real(o, "best_bleu", s.bleu.value);
        inspect_page_int(o, "best_bleu_step", (uint64_t)s.bleu.step);
    }
    inspect_page_int(o, "evals_since", (uint64_t)s.evals_since_best);
    inspect_page_int(o, "skipped", (uint64_t)s.n_skipped);
    inspect_page_int(o, "source_tokens", s.n_source);
    inspect_page_int(o, "target_tokens", s.n_target);
    inspect_page_real(o, "seconds", s.t_trained);
    inspect_page_int(o, "corpus_pairs", s.corpus_pairs);
    inspect_page_hash(o, "tokenizer", s.tokenizer_hash);
    if (s.train_hash)
        inspect_page_hash(o, "corpus", s.train_hash);
    if (s.micro_tokens)
        inspect_page_int(o, "micro_tokens", (uint64_t)s.micro_tokens);
    return OK;
}

struct moments {
    double mean, std, min, max;
};

/* Two passes, so that the deviation of a large mean is not lost in rounding. */
static struct moments moments_of(const unsigned char *bytes, int dtype, uint64_t n)
{
    enum { CHUNK = 1024 };
    struct moments m = {.min = INFINITY, .max = -INFINITY};
    float part[CHUNK];

    for (int pass = 0; pass < 2; pass++) {
        double sum = 0;
        for (uint64_t at = 0; at < n; at += CHUNK) {
            const size_t k = n - at < CHUNK ? (size_t)(n - at) : CHUNK;
            model_dir_floats(part, bytes, dtype, (size_t)at, k);
            for (size_t i = 0; i < k; i++) {
                const double x = (double)part[i], d = x - m.mean;
                sum += pass ? d * d : x;
                m.min = !(x >= m.min) ? x : m.min; /* a NaN stays */
                m.max = !(x <= m.max) ? x : m.max;
            }
        }
        *(pass ? &m.std : &m.mean) = pass ? sqrt(sum / (double)n) : sum / (double)n;
    }
    return m;
}

/* An integer is a counter: its value is shown as mean and extremes. */
static void add_values(json_t *row, const struct tensor_entry *e,
                       const unsigned char *bytes)
{
    const uint64_t n = tensor_index_elements(e);
    struct moments m;

    if (model_dir_is_number(e->dtype) && n) {
        m = moments_of(bytes, e->dtype, n);
    } else if (e->dtype == TENSOR_INT64 && n == 1) {
        const double x = (double)(int64_t)le_get64(bytes);
        m = (struct moments){.mean = x, .min = x, .max = x};
    } else {
        return;
    }
    inspect_page_real(row, "mean", m.mean);
    inspect_page_real(row, "std", m.std);
    inspect_page_real(row, "min", m.min);
    inspect_page_real(row, "max", m.max);
}

static void add_tensor(json_t *table, const struct tensor_entry *e,
                       const unsigned char *bytes)
{
    const char *type = tensor_dtype_name(e->dtype);
    char shape[MODEL_DIR_SHAPE];
    json_t *row = inspect_page_row(table);

    inspect_page_text(row, "tensor", e->name);
    inspect_page_text(row, "shape", model_dir_shape(shape, e->dims, e->n_dims));
    inspect_page_text(row, "type", type ? type : "unknown");
    inspect_page_int(row, "bytes", e->n_bytes);
    if (bytes)
        add_values(row, e, bytes);
}

static status add_tensors(json_t *page, const struct tensor_bundle *b,
                          const struct inspect_config *c, struct err *err)
{
    json_t *table = c->tensors ? inspect_page_table(page, "tensor_list") : NULL;

    for (size_t i = 0; i < b->index.n; i++) {
        const unsigned char *bytes = NULL;
        /* text has no fixed size: its bytes are checked by TensorFlow only */
        if ((c->values || c->verify) && tensor_dtype_bytes(b->index.entry[i].dtype))
            TRY(tensor_bundle_read(b, &b->index.entry[i], &bytes, err));
        if (table)
            add_tensor(table, &b->index.entry[i], c->values ? bytes : NULL);
    }
    return OK;
}

/* Our .meta follows from the index, so that one that was cut is seen by its size; that of
 * another tool, known by the absence of .state, is not ours to judge. */
static status check_meta(const char *prefix, const struct tensor_index *index,
                         struct err *err)
{
    char state[FILE_PATH_MAX + 8], meta[FILE_PATH_MAX + 8];
    struct str want = str_new(0);

    snprintf(state, sizeof state, "%s.state", prefix);
    snprintf(meta, sizeof meta, "%s.meta", prefix);
    if (!file_exists(state))
        return OK;
    status result = meta_graph_build(&want, index->entry, index->n, WEIGHTS, err);
    if (result == OK && file_bytes(meta) != (int64_t)want.len)
        result = err_set(err, ERR_FORMAT, "%s is not whole", meta);
    str_release(&want);
    return result;
}

/* Bytes that no checksum is of change no number; that they are there says that something
 * wrote where it should not. */
static status check_whole(const char *prefix, const struct tensor_bundle *b,
                          struct err *err)
{
    TRY(tensor_bundle_check_ends(b, prefix, err));
    return check_meta(prefix, &b->index, err);
}

/* The data file has the step and what checksums are of; without it the rest is shown. */
static status add_step(json_t *page, const struct tensor_bundle *b, const char *missing,
                       const struct inspect_config *c, struct err *err)
{
    int64_t step;

    if (missing[0] && (c->values || c->verify))
        return err_set(err, ERR_IO,
                       "%s is not there; without it values cannot be shown or checked",
                       missing);
    if (missing[0]) {
        const char *slash = strrchr(missing, '/');
        char note[FILE_PATH_MAX + 64];
        snprintf(note, sizeof note, "not checked: %s is not there",
                 slash ? slash + 1 : missing);
        inspect_page_text(page, "values", note);
        return OK;
    }
    TRY(model_dir_step(b, &step, err));
    if (step >= 0)
        inspect_page_int(page, "step", (uint64_t)step);
    return OK;
}

/* The run's config.yaml, beside the checkpoint or above it, says them; a checkpoint alone
 * does not. */
static status add_languages(json_t *page, const char *prefix, bool verify,
                            struct err *err)
{
    char name[FILE_PATH_MAX], path[FILE_PATH_MAX], vocab[FILE_PATH_MAX];
    struct model_dir_languages l;
    struct err none;

    snprintf(name, sizeof name, "%s", prefix);
    const char *dir = dirname(name);
    if (model_dir_find(path, sizeof path, dir, "config.yaml", &none) != OK)
        return OK;
    verify =
        verify && model_dir_find(vocab, sizeof vocab, dir, "vocab.model", &none) == OK;
    TRY(seal_check(path, verify ? vocab : NULL, err));
    TRY(model_dir_languages(&l, path, err));
    if (*l.source)
        inspect_page_text(page, "source_language", l.source);
    if (*l.target)
        inspect_page_text(page, "target_language", l.target);
    return OK;
}

static status describe(json_t *page, const char *prefix, const struct tensor_bundle *b,
                       const char *missing, const struct inspect_config *c,
                       struct err *err)
{
    struct sums by_role[N_ROLES];

    count_roles(by_role, &b->index);
    inspect_page_text(page, "checkpoint", prefix);
    TRY(add_step(page, b, missing, c, err));
    TRY(add_languages(page, prefix, c->verify, err));
    inspect_page_int(page, "tensors", b->index.n);
    inspect_page_int(page, "parameters", by_role[ROLE_WEIGHT].n_elements);
    if (c->values || c->verify)
        inspect_page_text(page, "checksums", "all right");
    if (c->verify)
        TRY(check_whole(prefix, b, err));
    TRY(add_files(page, prefix, &b->index, err));
    add_roles(page, by_role);
    TRY(add_state(page, prefix, err));
    return add_tensors(page, b, c, err);
}

status inspect_bundle(json_t *page, const char *prefix, const struct tensor_bundle *b,
                      const char *missing, const struct inspect_config *c,
                      struct err *err)
{
    const status result = describe(page, prefix, b, missing, c, err);

    if (result != OK && !strstr(err->msg, prefix))
        return err_wrap(err, "%s", prefix);
    return result;
}

status inspect_checkpoint(json_t *page, const char *prefix,
                          const struct inspect_config *c, struct err *err)
{
    char missing[FILE_PATH_MAX];
    struct tensor_bundle b;

    TRY(tensor_bundle_open_index(&b, prefix, missing, err));
    const status result = inspect_bundle(page, prefix, &b, missing, c, err);
    tensor_bundle_close(&b);
    return result;
}

#include "pack/packing.h"

#include <inttypes.h>
#include <jansson.h>
#include <libgen.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "align/shortlist.h"
#include "align/ttable.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/progress.h"
#include "base/utf8.h"
#include "corpus/dataset.h"
#include "decode/forced/links.h"
#include "decode/packed_model.h"
#include "decode/translate.h"
#include "foreign/foreign.h"
#include "pack/alignment.h"
#include "pack/calibration.h"
#include "score/bleu.h"
#include "text/profile.h"

OPT_TABLE(packing_options, struct packing_config, PACKING_OPTIONS);

enum { CALIBRATION_PAIRS = 100, LENGTH_MAX = 256 };

/* What is open while a model is packed. */
struct work {
    const struct packing_config *c;
    const char *made_by;
    struct model_dir dir;
    struct params params;
    float *flat;
    struct dataset data;
    bool has_data; /* with a validation set */
    struct network real, packed;
    struct calibration loss;
    struct alignment alignment;
    struct bleu before, after; /* of validation pairs */
    size_t n_translated;
    char signature[128];
    struct str list_bytes; /* the shortlist, if one is wanted */
    struct shortlist shortlist;
    struct file_map licence, profiles;
    json_t *about;
    struct progress progress;
};

static bool is_int8(const struct work *w)
{
    return strcmp(w->c->precision, "int8") == 0;
}

/* ---- what it is made of ---- */

static status read_licence(struct work *w, struct err *err)
{
    if (!*w->c->licence)
        return OK;
    TRY(file_map_open(&w->licence, w->c->licence, err));
    if (!utf8_valid((const char *)w->licence.data, w->licence.n_bytes))
        return err_set(err, ERR_FORMAT, "%s is not text in UTF-8", w->c->licence);
    return OK;
}

/* The validation pairs, if they are where the run says; data=DIR insists on them. */
static status open_data(struct work *w, struct err *err)
{
    const struct line tokenizer = spm_bytes(w->dir.spm);
    const struct line target = spm_target_bytes(w->dir.spm);
    const char *dir = *w->c->data ? w->c->data : w->dir.data;
    struct err why = {0};

    if (!*dir || dataset_open(&w->data, dir, &why) != OK) {
        if (*w->c->data)
            return err_set(err, why.code, "%s", why.msg);
        progress_note(&w->progress, "without its data the model is packed uncalibrated; "
                                    "data=DIR names it");
        return OK;
    }
    if (w->data.tokenizer_hash != dataset_tokenizer_hash(tokenizer, target))
        return err_set(err, ERR_FORMAT,
                       "the tokenizer of %s is not that of the model; data=DIR names its "
                       "data",
                       dir);
    w->has_data = w->data.valid.is_there && w->data.valid.corpus.n_pairs > 0;
    if (!w->has_data)
        progress_note(&w->progress, "the data has no validation pairs: the model is "
                                    "packed uncalibrated");
    return w->has_data ? dataset_verify_set(&w->data.valid, "valid", err) : OK;
}

/* Of the languages, if the data has them; that of older versions has not. */
static status read_profiles(struct work *w, struct err *err)
{
    const char *dir = *w->c->data ? w->c->data : w->dir.data;
    RELEASED_BY(profile_release) struct profiles all = {0};
    char path[FILE_PATH_MAX];

    if (!*dir || file_join(path, sizeof path, dir, PROFILE_FILE, err) != OK ||
        access(path, R_OK) != 0)
        return OK;
    TRY(file_map_open(&w->profiles, path, err));
    const struct line bytes = {(const char *)w->profiles.data, w->profiles.n_bytes};
    if (profile_read(&all, bytes, err) != OK)
        return err_wrap(err, "%s", path);
    return OK;
}

static status read_weights(struct work *w, struct err *err)
{
    TRY(params_open(&w->params, &w->dir.config, err));
    TRY(mem_alloc(&w->flat, w->params.n_flat, sizeof *w->flat, err));
    TRY(model_dir_read_weights(&w->dir, &w->params, w->c->average, w->flat, err));
    for (size_t i = 0; i < w->params.n_flat; i++)
        if (!isfinite(w->flat[i]))
            return err_set(err, ERR_NUMERIC,
                           "%s holds weights that are not numbers: it is damaged, or "
                           "training diverged",
                           w->dir.prefix);
    return OK;
}

/* ---- weights ---- */

static enum linear_type all_int8(void *ctx, const struct network_part *part)
{
    (void)ctx, (void)part;
    return LINEAR_INT8;
}

/* Int8, unless the calibration has shown that the matrix breaks. */
static enum linear_type best_type(void *ctx, const struct network_part *part)
{
    const struct work *w = ctx;
    const struct calibration_part *p = calibration_find(&w->loss, part->name);

    return p && p->error > w->c->keep_float ? LINEAR_FLOAT : LINEAR_INT8;
}

static status make(struct work *w, struct network *n,
                   enum linear_type (*type)(void *, const struct network_part *),
                   struct err *err)
{
    TRY(network_open(n, &w->dir.config, err));
    return network_pack(n, &w->params, w->flat, (struct network_types){type, w}, err);
}

static status calibrate(struct work *w, struct err *err)
{
    struct network trial = {0};
    status result = make(w, &trial, all_int8, err);

    THEN(result,
         calibration_run(&w->loss, &w->real, &trial, &w->data.valid,
                         (struct calibration_options){kernels_choose("cpu"),
                                                      CALIBRATION_PAIRS, LENGTH_MAX},
                         err));
    network_close(&trial);
    return result;
}

static status make_networks(struct work *w, struct err *err)
{
    TRY(make(w, &w->real, NULL, err));
    if (is_int8(w) && w->has_data)
        TRY(calibrate(w, err));
    return is_int8(w) ? make(w, &w->packed, best_type, err) : OK;
}

/* ---- shortlist ---- */

/* Pieces that every list has, because any sentence may need them. */
enum { FREQUENT = 100 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static status learn_shortlist(struct work *w, struct err *err)
{
    struct ttable_options how = ttable_defaults();
    struct pool *pool = NULL;
    struct ttable table = {0};
    const size_t vocab = (size_t)w->dir.config.vocab_size;

    if (!w->c->shortlist)
        return OK;
    if (!w->data.train.n_pairs)
        return err_set(err, ERR_USAGE,
                       "a shortlist is learned from the training pairs; data=DIR names "
                       "them");
    TRY(pool_open(&pool, (size_t)w->c->threads, false, err));
    how.pool = pool;
    how.progress = &w->progress;
    status result = ttable_learn(&table, &w->data.train, &how, err);
    THEN(result,
         shortlist_make(&w->list_bytes, &table, smaller(FREQUENT, table.vocab),
                        smaller((size_t)w->c->shortlist, table.vocab), table.vocab, err));
    THEN(result, str_check(&w->list_bytes, "the shortlist", err));
    THEN(result, shortlist_view(&w->shortlist, w->list_bytes.data, w->list_bytes.len,
                                vocab, err));
    if (result == OK && *table.note)
        progress_note(&w->progress, table.note);
    ttable_release(&table);
    pool_close(pool);
    return result;
}

/* ---- the layer that aligns words ---- */

static status choose_layer(struct work *w, struct err *err)
{
    enum { LEARNT = 200000, COMPARED = 1000 }; /* pairs */
    const struct alignment_options how = {kernels_choose("cpu"), (size_t)w->c->threads,
                                          LEARNT, COMPARED, &w->progress};

    if (!w->has_data || !w->data.train.n_pairs)
        return OK;
    return alignment_measure(&w->alignment, &w->real, w->dir.spm, &w->data, how, err);
}

static int alignment_layer(const struct work *w)
{
    return w->alignment.n_pairs ? (int)w->alignment.best
                                : links_usual_layer(w->real.decoder.n_layers);
}

/* ---- BLEU before and after ---- */

static status score(struct work *w, const struct translations *found, struct bleu *b,
                    struct err *err)
{
    const struct dataset_set *set = &w->data.valid;
    const struct bleu_options how = {0};
    RELEASED_BY(str_release) struct str signature = str_new(0);
    struct bleu_stats stats = {0};

    for (size_t i = 0; i < w->n_translated; i++) {
        const char *text = translate_get(found, i, 0);
        TRY(bleu_add(&stats, &how, (struct line){text, strlen(text)},
                     &set->target.line[i], 1, err));
    }
    *b = bleu_score(&stats, &how);
    bleu_signature(&signature, &how, 1);
    snprintf(w->signature, sizeof w->signature, "%s", str_text(&signature));
    return OK;
}

static status translate_with(struct work *w, const struct network *n,
                             const struct shortlist *list, struct bleu *b,
                             struct err *err)
{
    const struct engine_options engine = {.kernels = kernels_choose("cpu"),
                                          .n_threads = (size_t)w->c->threads,
                                          .shortlist = list};
    struct translate_config how;
    struct translator t = {0};
    struct translations found = {0};

    TRY(opt_defaults(translate_config_table, &how, err));
    how.split = false; /* a line of the set is a sentence */
    status result = translate_open_packed(&t, n, w->dir.spm, &how, engine, err);
    t.lang = w->dir.lang.source;
    t.progress = &w->progress;
    progress_begin(&w->progress, "translating", "lines", w->n_translated);
    THEN(result,
         translate_lines(&t, w->data.valid.source.line, w->n_translated, &found, err));
    progress_end(&w->progress, w->n_translated);
    THEN(result, score(w, &found, b, err));
    translate_release(&found);
    translate_close(&t);
    return result;
}

/* Does the file translate otherwise than the weights in float? */
static bool is_changed(const struct work *w)
{
    return is_int8(w) || w->c->shortlist;
}

static status measure(struct work *w, struct err *err)
{
    const size_t n = w->has_data ? w->data.valid.source.n : 0;

    w->n_translated = n < (size_t)w->c->pairs ? n : (size_t)w->c->pairs;
    if (!w->n_translated)
        return OK;
    const struct shortlist *list = w->c->shortlist ? &w->shortlist : NULL;
    TRY(translate_with(w, &w->real, NULL, &w->before, err));
    w->after = w->before;
    return is_changed(w) ? translate_with(w, is_int8(w) ? &w->packed : &w->real, list,
                                          &w->after, err)
                         : OK;
}

/* ---- the file ---- */

static json_t *kept_float(const struct work *w)
{
    json_t *list = json_array();

    for (size_t i = 0; i < w->loss.n; i++)
        if (w->loss.part[i].error > w->c->keep_float)
            json_array_append_new(list,
                                  json_pack("{s:s, s:f}", "matrix", w->loss.part[i].name,
                                            "error", w->loss.part[i].error));
    return list;
}

static double largest_loss(const struct work *w)
{
    double most = 0;

    for (size_t i = 0; i < w->loss.n; i++)
        if (w->loss.part[i].error <= w->c->keep_float && w->loss.part[i].error > most)
            most = w->loss.part[i].error;
    return most;
}

static void add_data(struct work *w)
{
    char hash[24];

    if (!w->has_data)
        return;
    snprintf(hash, sizeof hash, "%016" PRIx64, w->data.train.checksum);
    json_object_set_new(w->about, "data",
                        json_pack("{s:s, s:I}", "hash", hash, "pairs",
                                  (json_int_t)w->data.train.n_pairs));
}

static status describe(struct work *w, struct err *err)
{
    char name[FILE_PATH_MAX];

    memcpy(name, w->dir.prefix, sizeof name);
    w->about = json_pack("{s:s, s:s, s:s, s:I, s:b}", "made_by", w->made_by, "precision",
                         w->c->precision, "checkpoint", basename(name), "step",
                         (json_int_t)w->dir.step, "moving_average", (int)w->c->average);
    if (!w->about)
        return err_set(err, ERR_MEMORY, "cannot describe the model: out of memory");
    add_data(w);
    if (is_int8(w) && w->loss.n) {
        json_object_set_new(w->about, "largest_loss", json_real(largest_loss(w)));
        json_object_set_new(w->about, "kept_float", kept_float(w));
    }
    if (w->alignment.n_pairs)
        json_object_set_new(w->about, "alignment",
                            json_pack("{s:i, s:f, s:i}", "layer", alignment_layer(w),
                                      "f1",
                                      alignment_f1(w->alignment.layer[w->alignment.best]),
                                      "sentences", (int)w->alignment.n_pairs));
    if (w->n_translated)
        json_object_set_new(w->about, "bleu",
                            json_pack("{s:s, s:i, s:f, s:f, s:s}", "set", "valid",
                                      "sentences", (int)w->n_translated, "before",
                                      w->before.score, "after", w->after.score,
                                      "signature", w->signature));
    return OK;
}

static status write_file(struct work *w, struct err *err)
{
    const struct line tokenizer = spm_bytes(w->dir.spm);
    char *about = json_dumps(w->about, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    struct packed_model_parts parts = {
        .network = is_int8(w) ? &w->packed : &w->real,
        .options = {.step = w->dir.step, .alignment_layer = alignment_layer(w)},
        .is_half = strcmp(w->c->precision, "fp16") == 0,
        .tokenizer = tokenizer,
        .target = spm_target_bytes(w->dir.spm),
        .licence = {(const char *)w->licence.data, w->licence.n_bytes},
        .shortlist = {w->list_bytes.data, w->list_bytes.len},
        .profiles = {(const char *)w->profiles.data, w->profiles.n_bytes}};

    if (!about)
        return err_set(err, ERR_MEMORY, "cannot describe the model: out of memory");
    parts.about = (struct line){about, strlen(about)};
    memcpy(parts.options.source_lang, w->dir.lang.source, sizeof w->dir.lang.source);
    memcpy(parts.options.target_lang, w->dir.lang.target, sizeof w->dir.lang.target);
    const status result = packed_model_write(&parts, w->c->out, err);
    free(about);
    return result;
}

static void tell_alignment(const struct work *w, FILE *out)
{
    const struct alignment *a = &w->alignment;

    fprintf(out, "alignments  of decoder layer %d of %zu", alignment_layer(w) + 1,
            w->real.decoder.n_layers);
    for (size_t i = 0; i < a->n_layers && a->n_pairs; i++)
        fprintf(out, "%s%.3f", i ? ", " : "; F1 of each layer ",
                alignment_f1(a->layer[i]));
    fprintf(out, "%s\n", a->n_pairs ? "" : ", the usual one");
}

static void tell(const struct work *w, FILE *out)
{
    fprintf(out, "checkpoint  %s\n", w->dir.prefix);
    for (size_t i = 0; i < w->loss.n; i++)
        if (w->loss.part[i].error > w->c->keep_float)
            fprintf(out, "stays float %s: int8 would lose %.1f %%\n",
                    w->loss.part[i].name, 100 * w->loss.part[i].error);
    if (is_int8(w) && w->loss.n)
        fprintf(out, "int8        loses at most %.1f %% of a product\n",
                100 * largest_loss(w));
    tell_alignment(w, out);
    if (w->n_translated && is_changed(w))
        fprintf(out, "BLEU        %.2f, in float %.2f; %zu validation sentences  %s\n",
                w->after.score, w->before.score, w->n_translated, w->signature);
    else if (w->n_translated)
        fprintf(out, "BLEU        %.2f; %zu validation sentences  %s\n", w->before.score,
                w->n_translated, w->signature);
    fprintf(out, "%s  %.1f MB\n", w->c->out, (double)file_bytes(w->c->out) / 1e6);
}

static status run_work(struct work *w, const char *run, struct err *err)
{
    if (packed_model_is(run))
        return err_set(err, ERR_USAGE, "%s is packed already", run);
    if (foreign_is(run))
        return err_set(err, ERR_USAGE,
                       "%s is a model of another program: ferry import makes one file of "
                       "it",
                       run);
    TRY(file_check_output(w->c->out, err));
    TRY(read_licence(w, err));
    TRY(model_dir_open(&w->dir, run, w->c->checkpoint, err));
    if (*w->dir.note)
        progress_note(&w->progress, w->dir.note);
    TRY(open_data(w, err));
    TRY(read_profiles(w, err));
    TRY(read_weights(w, err));
    TRY(make_networks(w, err));
    TRY(learn_shortlist(w, err));
    TRY(choose_layer(w, err));
    TRY(measure(w, err));
    TRY(describe(w, err));
    return write_file(w, err);
}

status packing_run(const struct packing_config *c, const char *run, const char *made_by,
                   FILE *out, FILE *console, struct err *err)
{
    struct work w = {.c = c,
                     .made_by = made_by,
                     .progress = progress_to(console),
                     .list_bytes = str_new(SIZE_MAX / 2)};
    const status result = run_work(&w, run, err);

    if (result == OK)
        tell(&w, out);
    json_decref(w.about);
    str_release(&w.list_bytes);
    file_map_close(&w.licence);
    file_map_close(&w.profiles);
    calibration_release(&w.loss);
    alignment_release(&w.alignment);
    network_close(&w.real);
    network_close(&w.packed);
    dataset_close(&w.data);
    free(w.flat);
    params_close(&w.params);
    model_dir_close(&w.dir);
    return result;
}

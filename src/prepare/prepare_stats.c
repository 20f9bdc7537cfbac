#include "prepare/prepare.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "corpus/dataset.h"
#include "format/json_text.h"

#define S(code, name) name,
const char *const prepare_stats_set_names[N_PREPARE_SETS] = {PREPARE_SET_LIST(S)};
const char *const prepare_stats_stage_names[N_PREPARE_STAGES] = {PREPARE_STAGE_LIST(S)};
#undef S

/* The beginning of a line, cut between two characters. */
static void excerpt(char out[PREPARE_SAMPLE_BYTES], struct line in)
{
    size_t shown;
    const size_t n =
        utf8_fit(in.text, in.n_bytes, SIZE_MAX, PREPARE_SAMPLE_BYTES - 4, &shown);

    if (n)
        memcpy(out, in.text, n);
    out[n] = '\0';
}

void prepare_stats_sample(struct prepare_stats *s, int reason, size_t k,
                          const struct pairs_row *row)
{
    struct prepare_sample *p = &s->sample[reason][k];

    p->file = row->file;
    for (int i = 0; i < PAIRS_SIDES; i++) {
        p->line[i] = row->line[i];
        excerpt(p->text[i], row->side[i]);
    }
}

void prepare_stats_count(struct prepare_stats *s, int reason, const struct pairs_row *row)
{
    if (reason != CLEAN_KEEP && s->n_reason[reason] < PREPARE_SAMPLES)
        prepare_stats_sample(s, reason, (size_t)s->n_reason[reason], row);
    s->n_reason[reason]++;
}

void prepare_stats_drop(struct prepare_stats *s, int reason, uint64_t n)
{
    s->n_reason[CLEAN_KEEP] -= n;
    s->n_reason[reason] += n;
}

uint64_t prepare_stats_read(const struct prepare_stats *s)
{
    uint64_t n = 0;

    for (int v = 0; v < N_FILTER; v++)
        n += s->n_reason[v];
    return n;
}

static json_t *count(uint64_t n)
{
    return json_integer((json_int_t)n);
}

static json_t *hash(uint64_t value)
{
    return json_sprintf("%016" PRIx64, value);
}

static json_t *options_json(struct opt_table options, const void *config)
{
    json_t *all = json_object();

    for (size_t i = 0; i < options.n; i++) {
        const struct opt *o = &options.opt[i];
        struct str value = str_new(0);
        opt_value(o, config, &value);
        const char *is = str_text(&value);
        json_object_set_new(all, o->name,
                            o->type == OPT_INT    ? json_integer(strtoll(is, NULL, 10))
                            : o->type == OPT_REAL ? json_real(strtod(is, NULL))
                                                  : json_text(is));
        str_release(&value);
    }
    return all;
}

static json_t *file_json(const struct pairs_file *f, int side)
{
    return json_pack("{s:o, s:o, s:o}", "path", json_text(f->path[side]), "bytes",
                     count(f->n_bytes[side]), "lines", count(f->n_lines));
}

/* A file with both sides stands under "pairs", two of one side under their names. */
static json_t *input_json(const struct pairs *input)
{
    json_t *files = json_array();

    for (size_t i = 0; i < input->n_files; i++) {
        const struct pairs_file *f = &input->file[i];
        json_t *one = json_object();
        if (f->is_both) {
            json_object_set_new(one, "pairs", file_json(f, PAIRS_SOURCE));
            json_object_set_new(one, "units_without_both", count(f->n_skipped));
        } else {
            json_object_set_new(one, "source", file_json(f, PAIRS_SOURCE));
            json_object_set_new(one, "target", file_json(f, PAIRS_TARGET));
        }
        if (*f->path[PAIRS_WEIGHTS])
            json_object_set_new(one, "weights", file_json(f, PAIRS_WEIGHTS));
        json_array_append_new(files, one);
    }
    return files;
}

static json_t *side_json(const struct prepare_side_stats *s)
{
    return json_pack("{s:o, s:o, s:o}", "tokens", count(s->n_tokens), "unknown",
                     count(s->n_unknown), "longest", count(s->longest));
}

static json_t *set_json(const struct prepare_set_stats *s, const struct pairs *input)
{
    json_t *all = json_pack(
        "{s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "inputs", input_json(input), "drawn",
        input->n_files == 0, "pairs", count(s->n_pairs), "source",
        side_json(&s->side[PAIRS_SOURCE]), "target", side_json(&s->side[PAIRS_TARGET]),
        "bytes", count(s->n_bytes), "checksum", hash(s->checksum));

    if (s->weights.n_other)
        json_object_set_new(all, "weights",
                            json_pack("{s:f, s:f, s:f}", "least", s->weights.least,
                                      "mean", s->weights.sum / (double)s->n_pairs, "most",
                                      s->weights.most));
    return all;
}

static json_t *dropped_json(const struct prepare_stats *s)
{
    json_t *all = json_object();

    for (int v = 0; v < N_FILTER; v++)
        if (v != CLEAN_KEEP)
            json_object_set_new(all, filter_name(v), count(s->n_reason[v]));
    return all;
}

static json_t *sample_json(const struct prepare_sample *p, const struct pairs *input)
{
    const struct pairs_file *f = p->file < input->n_files ? &input->file[p->file] : NULL;

    return json_pack(
        "{s:o, s:o, s:o, s:o}", "file", json_text(f ? f->path[PAIRS_SOURCE] : ""), "line",
        count(p->line[PAIRS_SOURCE]), "source", json_text(p->text[PAIRS_SOURCE]),
        "target", json_text(p->text[PAIRS_TARGET]));
}

static json_t *samples_json(const struct prepare_stats *s, const struct pairs *input)
{
    json_t *all = json_object();

    for (int v = 0; v < N_FILTER; v++) {
        if (v == CLEAN_KEEP || !s->n_reason[v])
            continue;
        json_t *some = json_array();
        for (size_t k = 0; k < PREPARE_SAMPLES && k < s->n_reason[v]; k++)
            json_array_append_new(some, sample_json(&s->sample[v][k], input));
        json_object_set_new(all, filter_name(v), some);
    }
    return all;
}

static json_t *parts_json(const uint64_t n[N_OVERLAP])
{
    return json_pack("{s:o, s:o, s:o}", "sources", count(n[OVERLAP_SOURCE]), "targets",
                     count(n[OVERLAP_TARGET]), "pairs", count(n[OVERLAP_PAIR]));
}

/* What is left, and what was in pairs that were removed. */
static json_t *overlap_of(const struct prepare_stats *s, enum prepare_set set)
{
    json_t *left = parts_json(s->overlap[set]);

    json_object_set_new(left, "removed", parts_json(s->overlap_removed[set]));
    return left;
}

/* Only of sets that are there. */
static json_t *overlap_json(const struct prepare_stats *s)
{
    json_t *all = json_object();

    for (enum prepare_set i = PREPARE_VALID; i < N_PREPARE_SETS; i++)
        if (s->set[i].n_pairs) {
            char name[32];
            snprintf(name, sizeof name, "%s in train", prepare_stats_set_names[i]);
            json_object_set_new(all, name, overlap_of(s, i));
        }
    if (s->set[PREPARE_VALID].n_pairs && s->set[PREPARE_TEST].n_pairs)
        json_object_set_new(all, "test in valid", parts_json(s->overlap_held_out));
    return all;
}

static json_t *language_json(const struct prepare_language *l)
{
    return json_pack("{s:s, s:s, s:f}", "name", l->name, "guess", l->guess.name,
                     "confidence", l->guess.confidence);
}

static json_t *languages_json(const struct prepare_stats *s)
{
    return json_pack("{s:o, s:o}", "source", language_json(&s->language[PAIRS_SOURCE]),
                     "target", language_json(&s->language[PAIRS_TARGET]));
}

static json_t *vocabulary_json(const struct prepare_stats *s)
{
    json_t *all =
        json_pack("{s:o, s:o, s:b, s:o, s:o, s:o}", "pieces", count(s->n_pieces), "hash",
                  hash(s->tokenizer_hash), "learned", (int)s->is_learned, "lines_offered",
                  count(s->n_learn_lines), "lines_too_long", count(s->n_too_long),
                  "words_forgotten", count(s->n_words_forgotten));
    if (s->n_target_pieces)
        json_object_set_new(all, "target_pieces", count(s->n_target_pieces));
    return all;
}

static json_t *seconds_json(const struct prepare_stats *s)
{
    json_t *all = json_object();
    double total = 0;

    for (enum prepare_stage i = 0; i < N_PREPARE_STAGES; i++) {
        json_object_set_new(all, prepare_stats_stage_names[i],
                            json_real(s->stage[i].seconds));
        total += s->stage[i].seconds;
    }
    json_object_set_new(all, "total", json_real(total));
    return all;
}

static json_t *size_json(const struct prepare_size *z)
{
    return json_pack("{s:o, s:o, s:o}", "pairs", count(z->n_pairs), "source_bytes",
                     count(z->n_bytes[PAIRS_SOURCE]), "target_bytes",
                     count(z->n_bytes[PAIRS_TARGET]));
}

static json_t *stages_json(const struct prepare_stats *s)
{
    json_t *all = json_object();

    for (enum prepare_stage i = 0; i < N_PREPARE_STAGES; i++) {
        const struct prepare_stage_stats *st = &s->stage[i];
        const double rate =
            st->seconds > 0 ? (double)st->before.n_pairs / st->seconds : 0;
        json_object_set_new(
            all, prepare_stats_stage_names[i],
            json_pack("{s:o, s:o, s:f, s:f, s:f, s:b}", "before", size_json(&st->before),
                      "after", size_json(&st->after), "seconds", st->seconds,
                      "pairs_a_second", rate, "peak_mib", (double)st->peak_kib / 1024,
                      "resumed", (int)st->is_resumed));
    }
    return all;
}

static json_t *sets_json(const struct prepare_stats *s, const struct pairs *input)
{
    json_t *all = json_object();

    for (enum prepare_set i = 0; i < N_PREPARE_SETS; i++)
        if (s->set[i].n_pairs)
            json_object_set_new(all, prepare_stats_set_names[i],
                                set_json(&s->set[i], &input[i]));
    return all;
}

/* NULL when memory runs out for any of the values. */
static json_t *all_json(const struct prepare_stats *s, struct opt_table options,
                        const void *config, const struct pairs input[N_PREPARE_SETS])
{
    return json_pack(
        "{s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "ferry",
        FERRY_VERSION, "version", DATASET_VERSION, "made_from", hash(s->made_from),
        "options", options_json(options, config), "pairs_in",
        count(prepare_stats_read(s)), "pairs_kept", count(s->n_reason[CLEAN_KEEP]),
        "dropped", dropped_json(s), "samples", samples_json(s, &input[PREPARE_TRAIN]),
        "overlap", overlap_json(s), "languages", languages_json(s), "vocabulary",
        vocabulary_json(s), "sets", sets_json(s, input), "stages", stages_json(s),
        "seconds", seconds_json(s));
}

uint64_t prepare_stats_made_from(const char *path)
{
    json_auto_t *all = json_load_file(path, 0, NULL);
    const char *text = json_string_value(json_object_get(all, "made_from"));

    return text ? strtoull(text, NULL, 16) : 0;
}

status prepare_stats_write(const struct prepare_stats *s, const char *path,
                           struct opt_table options, const void *config,
                           const struct pairs input[N_PREPARE_SETS], struct err *err)
{
    json_auto_t *all = all_json(s, options, config, input);
    RELEASED_BY(str_release) struct str page = str_new(0);
    RELEASED_BY(mem_release)
    char *dump = all ? json_dumps(all, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) : NULL;

    if (!dump)
        return err_set(err, ERR_MEMORY, "%s: no memory to write it", path);
    str_puts(&page, dump);
    str_putc(&page, '\n');
    return file_write_str(path, &page, err);
}

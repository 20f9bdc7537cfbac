#include "corpus/prepare_stats.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "text/spm.h"

const char *prepare_stats_set_name(enum prepare_set set)
{
    static const char *const names[] = {
#define S(code, name) name,
        PREPARE_SET_LIST(S)
#undef S
    };

    return names[set];
}

static const char *stage_name(enum prepare_stage stage)
{
    static const char *const names[] = {
#define S(code, name) name,
        PREPARE_STAGE_LIST(S)
#undef S
    };

    return names[stage];
}

void prepare_stats_side(struct prepare_side_stats *s, const int32_t *id, size_t n)
{
    s->n_tokens += n;
    s->longest = n > s->longest ? n : s->longest;
    for (size_t i = 0; i < n; i++)
        s->n_unknown += id[i] == SPM_UNK;
}

uint64_t prepare_stats_read(const struct prepare_stats *s)
{
    uint64_t n = 0;

    for (enum clean_verdict v = 0; v < N_CLEAN; v++)
        n += s->n_verdict[v];
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

/* Paths are bytes, JSON is UTF-8: what is not becomes question marks. */
static json_t *text(const char *bytes)
{
    json_t *as_is = json_string(bytes);
    struct str plain = str_new(0);

    if (as_is)
        return as_is;
    for (; *bytes; bytes++)
        str_putc(&plain, (unsigned char)*bytes < 0x80 ? *bytes : '?');
    as_is = json_string(str_text(&plain));
    str_release(&plain);
    return as_is;
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
                                                  : text(is));
        str_release(&value);
    }
    return all;
}

static json_t *file_json(const struct pairs_file *f, int side)
{
    const struct lines *lines = &f->text[side];
    const size_t n_bytes = lines->map.data ? lines->map.n_bytes : lines->copy.len;

    return json_pack("{s:o, s:o, s:o}", "path", text(f->path[side]), "bytes",
                     count(n_bytes), "lines", count(f->n_lines));
}

static json_t *input_json(const struct pairs *input)
{
    json_t *files = json_array();

    for (size_t i = 0; i < input->n_files; i++)
        json_array_append_new(files, json_pack("{s:o, s:o}", "source",
                                               file_json(&input->file[i], PAIRS_SOURCE),
                                               "target",
                                               file_json(&input->file[i], PAIRS_TARGET)));
    return files;
}

static json_t *side_json(const struct prepare_side_stats *s)
{
    return json_pack("{s:o, s:o, s:o}", "tokens", count(s->n_tokens), "unknown",
                     count(s->n_unknown), "longest", count(s->longest));
}

static json_t *set_json(const struct prepare_set_stats *s, const struct pairs *input)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "inputs", input_json(input),
                     "pairs", count(s->n_pairs), "source",
                     side_json(&s->side[PAIRS_SOURCE]), "target",
                     side_json(&s->side[PAIRS_TARGET]), "bytes", count(s->n_bytes),
                     "checksum", hash(s->checksum));
}

static json_t *dropped_json(const struct prepare_stats *s)
{
    json_t *all = json_object();

    for (enum clean_verdict v = 0; v < N_CLEAN; v++)
        if (v != CLEAN_KEEP)
            json_object_set_new(all, clean_name(v), count(s->n_verdict[v]));
    return all;
}

static json_t *vocabulary_json(const struct prepare_stats *s)
{
    return json_pack("{s:o, s:o, s:b, s:o, s:o}", "pieces", count(s->n_pieces), "hash",
                     hash(s->tokenizer_hash), "learned", (int)s->is_learned,
                     "lines_offered", count(s->n_learn_lines), "lines_too_long",
                     count(s->n_too_long));
}

static json_t *seconds_json(const struct prepare_stats *s)
{
    json_t *all = json_object();
    double total = 0;

    for (enum prepare_stage i = 0; i < N_PREPARE_STAGES; i++) {
        json_object_set_new(all, stage_name(i), json_real(s->t_stage[i]));
        total += s->t_stage[i];
    }
    json_object_set_new(all, "total", json_real(total));
    return all;
}

static json_t *sets_json(const struct prepare_stats *s, const struct pairs *input)
{
    json_t *all = json_object();

    for (enum prepare_set i = 0; i < N_PREPARE_SETS; i++)
        if (s->set[i].n_pairs)
            json_object_set_new(all, prepare_stats_set_name(i),
                                set_json(&s->set[i], &input[i]));
    return all;
}

status prepare_stats_write(const struct prepare_stats *s, const char *path,
                           struct opt_table options, const void *config,
                           const struct pairs input[N_PREPARE_SETS], struct err *err)
{
    json_t *all = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "ferry",
                            FERRY_VERSION, "options", options_json(options, config),
                            "pairs_in", count(prepare_stats_read(s)), "pairs_kept",
                            count(s->n_verdict[CLEAN_KEEP]), "dropped", dropped_json(s),
                            "vocabulary", vocabulary_json(s), "sets", sets_json(s, input),
                            "seconds", seconds_json(s));
    char *dump = all ? json_dumps(all, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) : NULL;
    struct str page = str_new(0);
    status result;

    if (dump) {
        str_printf(&page, "%s\n", dump);
        result = str_check(&page, path, err);
    } else {
        result = err_set(err, ERR_MEMORY, "%s: no memory to write it", path);
    }
    if (result == OK)
        result = file_write(path, page.data, page.len, err);
    str_release(&page);
    free(dump);
    json_decref(all);
    return result;
}

/*
 * The files of the reference's script, with its names, for people whose configurations
 * name them: the cleaned text, the same shuffled, both sides in one file, the pieces
 * joined by blanks, the model, and the held-out sets as wmt13 and wmt14. The order is
 * that of train.bin, the same for both sides; the script's comes from `shuf`.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "corpus/dataset.h"
#include "format/stream.h"
#include "prepare/prepare_stages.h"

/* "en" of "data/train.en.gz"; false when the name does not end in a language. */
static bool language_of(char out[16], const char *list)
{
    const size_t n = stream_stem(list, strcspn(list, ","));
    size_t from = n;

    while (from > 0 && isalpha((unsigned char)list[from - 1]))
        from--;
    if (from == 0 || list[from - 1] != '.' || n - from < 2 || n - from > 3)
        return false;
    snprintf(out, 16, "%.*s", (int)(n - from), list + from);
    return true;
}

static status find_language(char out[16], const char *given, const char *list,
                            const char *option, struct err *err)
{
    if (*given && strlen(given) < 16 && !strpbrk(given, "/")) {
        snprintf(out, 16, "%s", given);
        return OK;
    }
    if (!*given && *list != '@' && language_of(out, list))
        return OK;
    return err_set(err, ERR_USAGE,
                   "reference_names needs the languages: say %s=LANGUAGE, as in %s=en",
                   option, option);
}

status prepare_reference_find(struct prepare_reference_names *n,
                              const struct prepare_config *c, struct err *err)
{
    TRY(find_language(n->lang[PAIRS_SOURCE], c->source_lang, c->source, "source_lang",
                      err));
    TRY(find_language(n->lang[PAIRS_TARGET], c->target_lang, c->target, "target_lang",
                      err));
    return OK;
}

status prepare_reference_open(struct prepare_reference *r, struct prepare *p,
                              struct err *err)
{
    *r = (struct prepare_reference){.line = str_new(0)};
    TRY(prepare_reference_find(&r->names, p->config, err));
    const size_t n = spm_size(p->spm);
    snprintf(r->names.size, sizeof r->names.size, n % 1024 ? "%zu" : "%zuK",
             n % 1024 ? n : n / 1024);
    for (int s = 0; s < PAIRS_SIDES; s++) {
        const char *lang = r->names.lang[s];
        TRY(workdir_create(&p->work, &r->text[s], err, "final/train.clean.%s.shuffled",
                           lang));
        TRY(workdir_create(&p->work, &r->tok[s], err,
                           "final/train.clean.%s.shuffled.BPE_common.%s.tok", lang,
                           r->names.size));
    }
    return OK;
}

void prepare_reference_abort(struct prepare_reference *r)
{
    for (int s = 0; s < PAIRS_SIDES; s++) {
        file_writer_abort(&r->text[s]);
        file_writer_abort(&r->tok[s]);
    }
    str_release(&r->line);
}

static status commit_both(struct file_writer w[PAIRS_SIDES], struct err *err)
{
    TRY(file_writer_commit(&w[PAIRS_SOURCE], err));
    return file_writer_commit(&w[PAIRS_TARGET], err);
}

/* A line of pieces joined by blanks, from the ids when they say it all: an unknown one is
 * written as it stands in the text, as SentencePiece's own encoder does. */
static status pieces(struct str *out, const struct spm *spm, const struct spm_ids *ids,
                     struct line text, struct err *err)
{
    bool is_known = ids != NULL;

    str_reset(out);
    for (size_t i = 0; is_known && i < ids->n; i++) {
        is_known = ids->id[i] != ID_UNK;
        str_puts(out, i ? " " : "");
        str_puts(out, spm_piece(spm, ids->id[i]));
    }
    if (!is_known) {
        str_reset(out);
        TRY(spm_pieces(spm, text, out, err));
    }
    str_putc(out, '\n');
    return str_check(out, "a line of pieces", err);
}

status prepare_reference_add(struct prepare_reference *r, const struct spm *spm,
                             const struct spm_ids ids[PAIRS_SIDES],
                             const struct line text[PAIRS_SIDES], struct err *err)
{
    for (int s = 0; s < PAIRS_SIDES; s++) {
        TRY(pieces(&r->line, s ? spm_target(spm) : spm, &ids[s], text[s], err));
        TRY(file_writer_add(&r->tok[s], r->line.data, r->line.len, err));
        TRY(file_writer_add_line(&r->text[s], text[s].text, text[s].n_bytes, err));
    }
    return OK;
}

/* Append the whole of a file that workdir_path() finds; "": nothing. */
static status append_file(struct file_writer *w, const struct prepare *p,
                          const char *name, struct err *err)
{
    RELEASED_BY(file_map_close) struct file_map map = {0};
    char path[FILE_PATH_MAX];

    if (!*name)
        return OK;
    TRY(workdir_path(&p->work, path, name, err));
    TRY(file_map_open(&map, path, err));
    return file_writer_add(w, map.data, map.n_bytes, err);
}

/* A file made of one or two whole others. */
static status join_files(struct prepare *p, const char *name, const char *first,
                         const char *second, struct err *err)
{
    RELEASED_BY(file_writer_abort) struct file_writer w = {0};

    TRY(workdir_create(&p->work, &w, err, "final/%s", name));
    TRY(append_file(&w, p, first, err));
    TRY(append_file(&w, p, second, err));
    return file_writer_commit(&w, err);
}

static status put_clean(void *ctx, const struct prepare_batch *b, size_t part, size_t i,
                        struct err *err)
{
    struct prepare_reference *r = ctx;
    const struct pairs_row row = prepare_batch_row(b, i);

    (void)part;
    for (int s = 0; s < PAIRS_SIDES; s++)
        TRY(file_writer_add_line(&r->text[s], row.side[s].text, row.side[s].n_bytes,
                                 err));
    return OK;
}

/* train.clean.en and .de, duplicates left out. */
static status write_clean(struct prepare_reference *r, struct prepare *p, struct err *err)
{
    const struct prepare_job job = {.put = put_clean, .ctx = r};

    for (int s = 0; s < PAIRS_SIDES; s++)
        TRY(workdir_create(&p->work, &r->text[s], err, "final/train.clean.%s",
                           r->names.lang[s]));
    TRY(prepare_batch_run(p, &job, err));
    return commit_both(r->text, err);
}

/* The pieces of one side of a held-out set. */
static status write_pieces(struct prepare_reference *r, struct prepare *p,
                           const char *name, const char *from, struct err *err)
{
    struct file_writer *w = &r->tok[PAIRS_SOURCE];
    RELEASED_BY(lines_close) struct lines text = {0};
    struct line line;
    char path[FILE_PATH_MAX];

    TRY(workdir_create(&p->work, w, err, "final/%s.BPE_common.%s.tok", name,
                       r->names.size));
    TRY(workdir_path(&p->work, path, from, err));
    TRY(lines_open(&text, path, err));
    while (lines_next(&text, &line)) {
        TRY(pieces(&r->line, p->spm, NULL, line, err));
        TRY(file_writer_add(w, r->line.data, r->line.len, err));
    }
    return file_writer_commit(w, err);
}

static status write_held_out(struct prepare_reference *r, struct prepare *p,
                             enum prepare_set set, const char *stem, struct err *err)
{
    static const char *const ending[PAIRS_SIDES] = {"src", "ref"};
    static const char *const raw[PAIRS_SIDES] = {"source", "target"};
    char name[64], from[64];

    for (int s = 0; s < PAIRS_SIDES && prepare_has_set(p, set); s++) {
        snprintf(from, sizeof from, "final/%s.%s", prepare_stats_set_names[set], raw[s]);
        snprintf(name, sizeof name, "%s-%s-%s.%s", stem, r->names.lang[0],
                 r->names.lang[1], ending[s]);
        TRY(join_files(p, name, from, "", err));
        TRY(write_pieces(r, p, name, from, err));
    }
    return OK;
}

static status write_common(const struct prepare_reference *r, struct prepare *p,
                           struct err *err)
{
    char name[96], from[PAIRS_SIDES][64];

    for (int s = 0; s < PAIRS_SIDES; s++)
        snprintf(from[s], sizeof from[s], "final/train.clean.%s.shuffled",
                 r->names.lang[s]);
    snprintf(name, sizeof name, "train.clean.%s-%s.shuffled.common", r->names.lang[0],
             r->names.lang[1]);
    TRY(join_files(p, name, from[0], from[1], err));
    TRY(join_files(p, "m_common.model", "final/" DATASET_VOCAB ".model", "", err));
    return join_files(p, "m_common.vocab", "final/" DATASET_VOCAB ".vocab", "", err);
}

status prepare_reference_commit(struct prepare_reference *r, struct prepare *p,
                                struct err *err)
{
    TRY(commit_both(r->text, err));
    TRY(commit_both(r->tok, err));
    TRY(write_common(r, p, err));
    TRY(write_clean(r, p, err));
    TRY(write_held_out(r, p, PREPARE_VALID, "wmt13", err));
    return write_held_out(r, p, PREPARE_TEST, "wmt14", err);
}

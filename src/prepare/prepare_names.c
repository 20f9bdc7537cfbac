/*
 * The files of the reference's script, with its names, for people whose configurations
 * name them: the cleaned text, the same shuffled, both sides in one file, the pieces
 * joined by blanks, the model, and the held-out sets as wmt13 and wmt14. The order is
 * ours (shuffle.h), one and the same for both sides; the script's comes from `shuf`.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "corpus/dataset.h"
#include "prepare/prepare_stages.h"

/* "en" of "data/train.en.gz"; false when the name does not end in a language. */
static bool language_of(char out[16], const char *list)
{
    size_t n = strcspn(list, ",");
    static const char *const packed[] = {".gz", ".xz", ".zst"};

    for (size_t i = 0; i < 3; i++) {
        const size_t len = strlen(packed[i]);
        if (n > len && memcmp(list + n - len, packed[i], len) == 0)
            n -= len;
    }
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

status prepare_names_of(struct prepare_names *n, const struct prepare_config *c,
                        struct err *err)
{
    TRY(find_language(n->lang[PAIRS_SOURCE], c->source_lang, c->source, "source_lang",
                      err));
    TRY(find_language(n->lang[PAIRS_TARGET], c->target_lang, c->target, "target_lang",
                      err));
    if (c->vocab_size % 1024 == 0)
        snprintf(n->size, sizeof n->size, "%dK", (int)(c->vocab_size / 1024));
    else
        snprintf(n->size, sizeof n->size, "%d", (int)c->vocab_size);
    return OK;
}

static status open_named(struct file_writer *w, struct prepare *p, const char *name,
                         struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(file_join(path, sizeof path, p->work.final, name, err));
    TRY(file_writer_open(w, path, err));
    return work_add(&p->made, err, "final/%s", name);
}

status prepare_tok_open(struct prepare_tok *t, struct prepare *p, struct err *err)
{
    struct prepare_names names;
    char name[96];

    *t = (struct prepare_tok){.spm = p->spm, .line = str_new(0)};
    TRY(prepare_names_of(&names, p->config, err));
    for (int s = 0; s < PAIRS_SIDES; s++) {
        snprintf(name, sizeof name, "train.clean.%s.shuffled", names.lang[s]);
        TRY(open_named(&t->text[s], p, name, err));
        snprintf(name, sizeof name, "train.clean.%s.shuffled.BPE_common.%s.tok",
                 names.lang[s], names.size);
        TRY(open_named(&t->tok[s], p, name, err));
    }
    return OK;
}

void prepare_tok_abort(struct prepare_tok *t)
{
    for (int s = 0; s < PAIRS_SIDES; s++) {
        file_writer_abort(&t->text[s]);
        file_writer_abort(&t->tok[s]);
    }
    str_release(&t->line);
}

/* Pieces joined by blanks. An unknown one is written as it stands in the text, as
 * SentencePiece's own encoder does. */
static status pieces(struct str *out, const struct spm *spm, const struct spm_ids *ids,
                     struct line text, struct err *err)
{
    str_reset(out);
    for (size_t i = 0; i < ids->n; i++) {
        if (ids->id[i] == ID_UNK) {
            str_reset(out);
            TRY(spm_pieces(spm, text, out, err));
            break;
        }
        if (i)
            str_putc(out, ' ');
        str_puts(out, spm_piece(spm, ids->id[i]));
    }
    str_putc(out, '\n');
    return str_check(out, "a line of pieces", err);
}

status prepare_tok_add(struct prepare_tok *t, const struct spm_ids ids[PAIRS_SIDES],
                       const struct line text[PAIRS_SIDES], struct err *err)
{
    for (int s = 0; s < PAIRS_SIDES; s++) {
        TRY(pieces(&t->line, t->spm, &ids[s], text[s], err));
        TRY(file_writer_add(&t->tok[s], t->line.data, t->line.len, err));
        TRY(file_writer_add(&t->text[s], text[s].text, text[s].n_bytes, err));
        TRY(file_writer_add(&t->text[s], "\n", 1, err));
    }
    return OK;
}

/* Append the whole of the file at `path`. */
static status append_file(struct file_writer *w, const char *path, struct err *err)
{
    struct stream in;
    char *block;
    size_t got = 1;

    TRY(mem_alloc(&block, 1 << 20, 1, err));
    status result = stream_open(&in, path, path, err);
    while (result == OK && got) {
        result = stream_read(&in, block, 1 << 20, &got, err);
        if (result == OK)
            result = file_writer_add(w, block, got, err);
    }
    stream_close(&in);
    free(block);
    return result;
}

/* A file made of whole others: `from` are names that work_path() finds. */
static status join_files(struct prepare *p, const char *name, const char *const from[2],
                         struct err *err)
{
    struct file_writer w = {0};
    char path[FILE_PATH_MAX];

    status result = open_named(&w, p, name, err);
    for (int i = 0; i < 2 && from[i] && result == OK; i++) {
        result = work_path(&p->work, path, from[i], err);
        if (result == OK)
            result = append_file(&w, path, err);
    }
    if (result == OK)
        return file_writer_commit(&w, err);
    file_writer_abort(&w);
    return result;
}

/* train.clean.en and .de, duplicates left out. */
static status write_clean(struct prepare *p, const struct prepare_names *names,
                          struct err *err)
{
    struct file_writer w[PAIRS_SIDES] = {0};
    struct prepare_text text;
    struct line side[PAIRS_SIDES];
    char name[96];
    bool has = true;

    TRY(prepare_text_open(&text, p, err));
    status result = OK;
    for (int s = 0; s < PAIRS_SIDES && result == OK; s++) {
        snprintf(name, sizeof name, "train.clean.%s", names->lang[s]);
        result = open_named(&w[s], p, name, err);
    }
    while (result == OK && has) {
        result = prepare_text_next(&text, side, &has, err);
        for (int s = 0; s < PAIRS_SIDES && has && result == OK; s++) {
            result = file_writer_add(&w[s], side[s].text, side[s].n_bytes, err);
            if (result == OK)
                result = file_writer_add(&w[s], "\n", 1, err);
        }
    }
    for (int s = 0; s < PAIRS_SIDES; s++)
        if (result == OK)
            result = file_writer_commit(&w[s], err);
        else
            file_writer_abort(&w[s]);
    prepare_text_close(&text);
    return result;
}

/* The pieces of one side of a held-out set. */
static status write_held_out_tok(struct prepare *p, const char *name, const char *from,
                                 struct err *err)
{
    struct file_writer w = {0};
    struct spm_ids ids = {0};
    struct str out = str_new(0);
    struct lines text;
    struct line line;
    char path[FILE_PATH_MAX];

    TRY(work_path(&p->work, path, from, err));
    TRY(lines_open(&text, path, err));
    status result = open_named(&w, p, name, err);
    while (result == OK && lines_next(&text, &line)) {
        ids.n = 0;
        result = spm_encode(p->spm, line, &ids, err);
        if (result == OK)
            result = pieces(&out, p->spm, &ids, line, err);
        if (result == OK)
            result = file_writer_add(&w, out.data, out.len, err);
    }
    if (result == OK)
        result = file_writer_commit(&w, err);
    else
        file_writer_abort(&w);
    lines_close(&text);
    spm_ids_release(&ids);
    str_release(&out);
    return result;
}

static status write_held_out(struct prepare *p, const struct prepare_names *names,
                             enum prepare_set set, const char *stem, struct err *err)
{
    static const char *const ending[PAIRS_SIDES] = {"src", "ref"};
    static const char *const raw[PAIRS_SIDES] = {"source", "target"};
    char name[96], from[64];

    if (!p->input[set].n_files)
        return OK;
    for (int s = 0; s < PAIRS_SIDES; s++) {
        snprintf(from, sizeof from, "final/%s.%s", prepare_stats_set_name(set), raw[s]);
        snprintf(name, sizeof name, "%s-%s-%s.%s", stem, names->lang[0], names->lang[1],
                 ending[s]);
        TRY(join_files(p, name, (const char *const[2]){from, NULL}, err));
        snprintf(name, sizeof name, "%s-%s-%s.%s.BPE_common.%s.tok", stem, names->lang[0],
                 names->lang[1], ending[s], names->size);
        TRY(write_held_out_tok(p, name, from, err));
    }
    return OK;
}

static status write_common(struct prepare *p, const struct prepare_names *names,
                           struct err *err)
{
    char name[96], from[PAIRS_SIDES][64];

    for (int s = 0; s < PAIRS_SIDES; s++)
        snprintf(from[s], sizeof from[s], "final/train.clean.%s.shuffled",
                 names->lang[s]);
    snprintf(name, sizeof name, "train.clean.%s-%s.shuffled.common", names->lang[0],
             names->lang[1]);
    TRY(join_files(p, name, (const char *const[2]){from[0], from[1]}, err));
    TRY(join_files(p, "m_common.model",
                   (const char *const[2]){"final/" DATASET_VOCAB ".model", NULL}, err));
    return join_files(p, "m_common.vocab",
                      (const char *const[2]){"final/" DATASET_VOCAB ".vocab", NULL}, err);
}

status prepare_tok_commit(struct prepare_tok *t, struct prepare *p, struct err *err)
{
    struct prepare_names names;

    TRY(prepare_names_of(&names, p->config, err));
    for (int s = 0; s < PAIRS_SIDES; s++) {
        TRY(file_writer_commit(&t->text[s], err));
        TRY(file_writer_commit(&t->tok[s], err));
    }
    TRY(write_common(p, &names, err));
    TRY(write_clean(p, &names, err));
    TRY(write_held_out(p, &names, PREPARE_VALID, "wmt13", err));
    return write_held_out(p, &names, PREPARE_TEST, "wmt14", err);
}

#include "foreign/vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/subword/spm_parts.h"

/* As SentencePiece names them unless it is told otherwise. */
static const char *const specials[ID_N_SPECIAL] = {
    [ID_PAD] = "<pad>", [ID_EOS] = "</s>", [ID_BOS] = "<s>", [ID_UNK] = "<unk>"};

status vocabulary_add(struct vocabulary *v, struct line text, int64_t number,
                      struct err *err)
{
    if (number < 0 || number >= SPM_VOCAB_MAX)
        return err_set(err, ERR_FORMAT, "token %.*s has number %lld; want 0 to %d",
                       (int)(text.n_bytes < 40 ? text.n_bytes : 40), text.text,
                       (long long)number, SPM_VOCAB_MAX - 1);
    const size_t i = (size_t)number, cap = v->cap;
    TRY(mem_grow(&v->token, &v->cap, i + 1, sizeof *v->token, err));
    memset(v->token + cap, 0, (v->cap - cap) * sizeof *v->token);
    if (v->token[i].text)
        return err_set(err, ERR_FORMAT, "two tokens have number %zu", i);
    if (!utf8_valid(text.text, text.n_bytes))
        return err_set(err, ERR_FORMAT, "token %zu is not valid UTF-8", i);
    TRY(mem_alloc(&v->token[i].text, text.n_bytes + 1, 1, err));
    memcpy(v->token[i].text, text.text, text.n_bytes);
    v->token[i].n_bytes = text.n_bytes;
    v->n = i + 1 > v->n ? i + 1 : v->n;
    return OK;
}

status vocabulary_fit(struct vocabulary *v, size_t n, struct err *err)
{
    const size_t cap = v->cap;

    if (n > SPM_VOCAB_MAX)
        return err_set(err, ERR_FORMAT, "its table has %zu rows, at most %d are read", n,
                       SPM_VOCAB_MAX);
    TRY(mem_grow(&v->token, &v->cap, n, sizeof *v->token, err));
    memset(v->token + cap, 0, (v->cap - cap) * sizeof *v->token);
    for (size_t i = n; i < v->n; i++) {
        free(v->token[i].text);
        v->token[i] = (struct vocabulary_token){0};
    }
    v->n = n;
    return OK;
}

/* Which special token it is; -1: none. */
static int special_of(const struct vocabulary_token *t,
                      const char *const names[ID_N_SPECIAL])
{
    for (int id = 0; t->text && id < ID_N_SPECIAL; id++)
        if (names[id] && strcmp(t->text, names[id]) == 0)
            return id;
    return -1;
}

status vocabulary_close(struct vocabulary *v, struct vocabulary_names names,
                        struct err *err)
{
    const char *const name[ID_N_SPECIAL] = {[ID_PAD] = names.pad,
                                            [ID_EOS] = names.eos,
                                            [ID_BOS] = names.bos,
                                            [ID_UNK] = names.unk};

    v->n_ids = ID_N_SPECIAL;
    for (size_t i = 0; i < v->n; i++) {
        const int special = special_of(&v->token[i], name);
        if (special >= 0 && v->has[special])
            return err_set(err, ERR_FORMAT, "the vocabulary has %s twice", name[special]);
        if (special >= 0)
            v->has[special] = true;
        v->token[i].id = special >= 0 ? special : (int32_t)v->n_ids++;
    }
    for (int id = 0; id < ID_N_SPECIAL; id++)
        if ((id == ID_EOS || id == ID_UNK) && !v->has[id])
            return err_set(err, ERR_FORMAT, "the vocabulary has no %s",
                           name[id] ? name[id] : specials[id]);
    if (v->n_ids > SPM_VOCAB_MAX)
        return err_set(err, ERR_FORMAT,
                       "the vocabulary has %zu tokens, at most %d are "
                       "read",
                       v->n_ids, SPM_VOCAB_MAX);
    return OK;
}

void vocabulary_release(struct vocabulary *v)
{
    for (size_t i = 0; i < v->n; i++)
        free(v->token[i].text);
    free(v->token);
    *v = (struct vocabulary){0};
}

/* ---- a tokenizer with our ids ---- */

enum { UNKNOWN_PENALTY = 10 /* what SentencePiece takes off for what no piece covers */ };

struct builder {
    const struct vocabulary *v;
    struct spm_parts parts; /* of the foreign tokenizer */
    struct table by_text;   /* its pieces */
    bool *is_used;          /* [n_pieces] */
    float lowest;           /* score of a piece */
    struct str out;
};

static uint32_t find_piece(const struct builder *b, const char *text, size_t n)
{
    struct table_search s = table_search(&b->by_text, table_hash(text, n));
    uint32_t i;

    while ((i = table_next(&s)) != TABLE_NONE)
        if (b->parts.piece[i].text.n_bytes == n &&
            memcmp(b->parts.piece[i].text.text, text, n) == 0)
            break;
    return i;
}

static status index_pieces(struct builder *b, struct err *err)
{
    TRY(table_reserve(&b->by_text, b->parts.n_pieces, err));
    TRY(mem_alloc(&b->is_used, b->parts.n_pieces, sizeof *b->is_used, err));
    for (size_t i = 0; i < b->parts.n_pieces; i++) {
        const struct line text = b->parts.piece[i].text;
        if (b->parts.piece[i].score < b->lowest)
            b->lowest = b->parts.piece[i].score;
        if (find_piece(b, text.text, text.n_bytes) != TABLE_NONE)
            return err_set(err, ERR_FORMAT, "the tokenizer has piece %.*s twice",
                           (int)(text.n_bytes < 40 ? text.n_bytes : 40), text.text);
        TRY(table_add(&b->by_text, table_hash(text.text, text.n_bytes), (uint32_t)i,
                      err));
    }
    return OK;
}

static void put_specials(struct builder *b)
{
    for (int id = 0; id < ID_N_SPECIAL; id++) {
        const struct line text = {specials[id], strlen(specials[id])};
        const uint32_t piece = find_piece(b, text.text, text.n_bytes);
        if (piece != TABLE_NONE)
            b->is_used[piece] = true;
        spm_parts_put_piece(
            &b->out, &(struct spm_parts_piece){.text = text,
                                               .kind = id == ID_UNK ? SPM_PARTS_UNKNOWN
                                                                    : SPM_PARTS_CONTROL});
    }
}

/* Is the text one of ours, so that no other piece may have it? */
static bool is_special_text(const char *text)
{
    for (int id = 0; id < ID_N_SPECIAL; id++)
        if (strcmp(text, specials[id]) == 0)
            return true;
    return false;
}

static bool is_character(const struct vocabulary_token *t)
{
    size_t len = 0;

    if (t->n_bytes)
        (void)utf8_decode(t->text, t->n_bytes, &len);
    return len && len == t->n_bytes;
}

/* A token as the piece that it is, or as one that no text becomes. */
static void put_token(struct builder *b, size_t number)
{
    const struct vocabulary_token *t = &b->v->token[number];
    const uint32_t piece = t->n_bytes ? find_piece(b, t->text, t->n_bytes) : TABLE_NONE;
    char name[40];

    if (piece != TABLE_NONE && !b->is_used[piece] &&
        b->parts.piece[piece].kind != SPM_PARTS_UNKNOWN) {
        b->is_used[piece] = true;
        spm_parts_put_piece(&b->out, &b->parts.piece[piece]);
        return;
    }
    struct spm_parts_piece unused = {.kind = SPM_PARTS_UNUSED};
    unused.text = (struct line){t->text, t->n_bytes};
    if (is_character(t)) {
        unused.kind = SPM_PARTS_NORMAL;
        unused.score = b->lowest - UNKNOWN_PENALTY;
    }
    if (!t->n_bytes || is_special_text(t->text) || piece != TABLE_NONE) {
        unused.kind = SPM_PARTS_UNUSED;
        snprintf(name, sizeof name, "<token %zu>", number);
        unused.text = (struct line){name, strlen(name)};
    }
    spm_parts_put_piece(&b->out, &unused);
}

static status build(struct builder *b, struct line model, struct err *err)
{
    TRY(spm_parts_guard(model.text, model.n_bytes, err));
    TRY(spm_parts_read(&b->parts, model.text, model.n_bytes, err));
    TRY(index_pieces(b, err));
    put_specials(b);
    for (size_t i = 0; i < b->v->n; i++)
        if (b->v->token[i].id >= ID_N_SPECIAL)
            put_token(b, i);
    size_t n = b->v->n_ids;
    for (size_t i = 0; i < b->parts.n_pieces; i++)
        if (!b->is_used[i] && b->parts.piece[i].kind != SPM_PARTS_UNKNOWN &&
            b->parts.piece[i].kind != SPM_PARTS_CONTROL) {
            spm_parts_put_piece(&b->out, &b->parts.piece[i]);
            n++;
        }
    return spm_parts_put_rest(&b->out, model.text, model.n_bytes, n, false, err);
}

status vocabulary_tokenizer(const struct vocabulary *v, const void *bytes, size_t n_bytes,
                            struct spm **spm, struct err *err)
{
    struct builder b = {.v = v, .out = str_new(SIZE_MAX / 2)};
    status result = build(&b, (struct line){bytes, n_bytes}, err);

    *spm = NULL;
    THEN(result, str_check(&b.out, "the tokenizer", err));
    THEN(result, spm_parse(spm, b.out.data, b.out.len, err));
    if (result == OK)
        spm_limit(*spm, v->n_ids);
    spm_parts_release(&b.parts);
    table_release(&b.by_text);
    free(b.is_used);
    str_release(&b.out);
    return result;
}

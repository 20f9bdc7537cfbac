#include "text/subword/spm_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Field numbers of the model message and of those inside it. */
enum { MODEL_PIECE = 1, MODEL_TRAINER, MODEL_NORMALIZER };
enum { PIECE_TEXT = 1, PIECE_SCORE, PIECE_KIND };
enum {
    TRAINER_KIND = 3,
    TRAINER_VOCAB_SIZE = 4,
    TRAINER_SPACE_LAST = 24,
    TRAINER_HARD_LIMIT = 33,
    TRAINER_BYTE_FALLBACK = 35
};
enum { NORM_CHARSMAP = 2, NORM_DUMMY_PREFIX, NORM_SQUEEZE, NORM_ESCAPE };

static struct line line_of(struct wire w)
{
    return (struct line){(const char *)w.data, w.n};
}

static bool read_piece(struct wire message, struct spm_parts_piece *piece)
{
    struct wire_field f;

    *piece = (struct spm_parts_piece){.kind = SPM_PARTS_NORMAL};
    while (message.n) {
        if (!wire_take_field(&message, &f))
            return false;
        if (f.number == PIECE_TEXT && f.type == WIRE_BYTES)
            piece->text = line_of(f.body);
        else if (f.number == PIECE_SCORE && f.type == WIRE_FIXED32)
            memcpy(&piece->score, f.body.data, sizeof piece->score);
        else if (f.number == PIECE_KIND && f.type == WIRE_VARINT &&
                 f.value >= SPM_PARTS_NORMAL && f.value <= SPM_PARTS_BYTE)
            piece->kind = (enum spm_parts_kind)f.value;
    }
    return true;
}

static bool read_trainer(struct wire message, struct spm_parts *p)
{
    struct wire_field f;

    p->trainer = message;
    while (message.n) {
        if (!wire_take_field(&message, &f))
            return false;
        if (f.type != WIRE_VARINT)
            continue;
        if (f.number == TRAINER_KIND && f.value >= SPM_PARTS_UNIGRAM &&
            f.value <= SPM_PARTS_CHARACTERS)
            p->model = (enum spm_parts_model)f.value;
        else if (f.number == TRAINER_SPACE_LAST)
            p->is_space_last = f.value != 0;
        else if (f.number == TRAINER_BYTE_FALLBACK)
            p->has_byte_fallback = f.value != 0;
    }
    return true;
}

static bool read_normalizer(struct wire message, struct spm_parts *p)
{
    struct wire_field f;

    while (message.n) {
        if (!wire_take_field(&message, &f))
            return false;
        if (f.number == NORM_CHARSMAP && f.type == WIRE_BYTES)
            p->charsmap = f.body;
        if (f.type != WIRE_VARINT)
            continue;
        if (f.number == NORM_DUMMY_PREFIX)
            p->has_dummy_prefix = f.value != 0;
        else if (f.number == NORM_SQUEEZE)
            p->squeezes_spaces = f.value != 0;
        else if (f.number == NORM_ESCAPE)
            p->escapes_spaces = f.value != 0;
    }
    return true;
}

static status read_field(struct spm_parts *p, const struct wire_field *f, bool *is_good,
                         struct err *err)
{
    *is_good = true;
    if (f->type != WIRE_BYTES)
        return OK;
    switch (f->number) {
    case MODEL_PIECE:
        TRY(mem_grow(&p->piece, &p->cap, p->n_pieces + 1, sizeof *p->piece, err));
        *is_good = read_piece(f->body, &p->piece[p->n_pieces++]);
        break;
    case MODEL_TRAINER:
        *is_good = read_trainer(f->body, p);
        break;
    case MODEL_NORMALIZER:
        *is_good = read_normalizer(f->body, p);
        break;
    }
    return OK;
}

status spm_parts_read(struct spm_parts *p, const void *bytes, size_t n_bytes,
                      struct err *err)
{
    struct wire message = {bytes, n_bytes};
    bool is_good = true;
    status s = OK;

    *p = (struct spm_parts){.model = SPM_PARTS_UNIGRAM,
                            .has_dummy_prefix = true,
                            .squeezes_spaces = true,
                            .escapes_spaces = true};
    while (s == OK && is_good && message.n) {
        struct wire_field f;
        is_good = wire_take_field(&message, &f);
        if (is_good)
            s = read_field(p, &f, &is_good, err);
    }
    if (s == OK && !is_good)
        s = err_set(err, ERR_FORMAT, "not a SentencePiece model, or cut short");
    if (s != OK)
        spm_parts_release(p);
    return s;
}

void spm_parts_release(struct spm_parts *p)
{
    free(p->piece);
    *p = (struct spm_parts){0};
}

void spm_parts_put_piece(struct str *out, const struct spm_parts_piece *piece)
{
    struct str body = str_new(0);

    wire_put_bytes(&body, PIECE_TEXT, piece->text.text, piece->text.n_bytes);
    wire_put_float(&body, PIECE_SCORE, piece->score);
    if (piece->kind != SPM_PARTS_NORMAL)
        wire_put_varint(&body, PIECE_KIND, piece->kind);
    out->bad |= body.bad;
    wire_put_bytes(out, MODEL_PIECE, str_text(&body), body.len);
    str_release(&body);
}

/* The trainer's settings, field by field as they came but for two. */
static bool put_trainer(struct str *out, struct wire message, size_t vocab_size,
                        bool is_hard_limit)
{
    while (message.n) {
        const unsigned char *start = message.data;
        struct wire_field f;
        if (!wire_take_field(&message, &f))
            return false;
        if (f.number == TRAINER_VOCAB_SIZE)
            wire_put_varint(out, TRAINER_VOCAB_SIZE, vocab_size);
        else if (f.number == TRAINER_HARD_LIMIT)
            wire_put_varint(out, TRAINER_HARD_LIMIT, is_hard_limit);
        else
            str_add(out, start, (size_t)(message.data - start));
    }
    return true;
}

status spm_parts_put_rest(struct str *out, const void *bytes, size_t n_bytes,
                          size_t vocab_size, bool is_hard_limit, struct err *err)
{
    struct wire message = {bytes, n_bytes};
    struct str trainer = str_new(0);
    bool is_good = true;

    while (is_good && message.n) {
        const unsigned char *start = message.data;
        struct wire_field f;
        is_good = wire_take_field(&message, &f);
        if (!is_good || f.number == MODEL_PIECE)
            continue;
        if (f.number == MODEL_TRAINER) {
            is_good = put_trainer(&trainer, f.body, vocab_size, is_hard_limit);
            wire_put_bytes(out, MODEL_TRAINER, str_text(&trainer), trainer.len);
        } else {
            str_add(out, start, (size_t)(message.data - start));
        }
    }
    out->bad |= trainer.bad;
    str_release(&trainer);
    if (!is_good)
        return err_set(err, ERR_FORMAT, "not a SentencePiece model, or cut short");
    return str_check(out, "the tokenizer", err);
}

#include "text/subword/spm_parts.h"

#include <stdlib.h>

#include <sentencepiece.pb-c.h>

#include "base/mem.h"
#include "format/tf/proto.h"
#include "format/varint.h"
#include "text/subword/normalizer.h"

/* Fields that are read or written by number: of the model, and of messages inside it. */
enum { MODEL_PIECE = 1, MODEL_TRAINER, MODEL_NORMALIZER, MODEL_DENORMALIZER = 5 };
enum { TRAINER_VOCAB_SIZE = 4, TRAINER_HARD_LIMIT = 33, NORMALIZER_CHARSMAP = 2 };
enum { FIELD_MAX = (1 << 29) - 1 };

static status damaged(struct err *err)
{
    return err_set(err, ERR_FORMAT, "not a SentencePiece model, or cut short");
}

static struct line line_of(ProtobufCBinaryData d)
{
    return (struct line){(const char *)d.data, d.len};
}

static status read_pieces(struct spm_parts *p, const SpmModel *m, struct err *err)
{
    TRY(mem_alloc(&p->piece, m->n_pieces, sizeof *p->piece, err));
    for (; p->n_pieces < m->n_pieces; p->n_pieces++) {
        const SpmPiece *from = m->pieces[p->n_pieces];
        if (from->type < SPM_PARTS_NORMAL || from->type > SPM_PARTS_BYTE)
            return err_set(err, ERR_FORMAT, "piece %zu is of no known kind, but of %d",
                           p->n_pieces, from->type);
        p->piece[p->n_pieces] = (struct spm_parts_piece){
            line_of(from->piece), from->score, (enum spm_parts_kind)from->type};
    }
    return OK;
}

static void read_settings(struct spm_parts *p, const SpmModel *m)
{
    const SpmTrainer no_trainer = SPM_TRAINER__INIT;
    const SpmNormalizer no_normalizer = SPM_NORMALIZER__INIT;
    const SpmTrainer *t = m->trainer_spec ? m->trainer_spec : &no_trainer;
    const SpmNormalizer *n = m->normalizer_spec ? m->normalizer_spec : &no_normalizer;

    p->model = t->model_type >= SPM_PARTS_UNIGRAM && t->model_type <= SPM_PARTS_CHARACTERS
                   ? (enum spm_parts_model)t->model_type
                   : SPM_PARTS_UNIGRAM;
    p->is_space_last = t->treat_whitespace_as_suffix;
    p->has_byte_fallback = t->byte_fallback;
    p->charsmap = line_of(n->precompiled_charsmap);
    p->has_dummy_prefix = n->add_dummy_prefix;
    p->squeezes_spaces = n->remove_extra_whitespaces;
    p->escapes_spaces = n->escape_whitespaces;
}

status spm_parts_read(struct spm_parts *p, const void *bytes, size_t n_bytes,
                      struct err *err)
{
    SpmModel *m = spm_model__unpack(NULL, n_bytes, bytes);

    *p = (struct spm_parts){.message = m};
    if (!m)
        return damaged(err);
    read_settings(p, m);
    const status s = read_pieces(p, m, err);
    if (s != OK)
        spm_parts_release(p);
    return s;
}

void spm_parts_release(struct spm_parts *p)
{
    spm_model__free_unpacked(p->message, NULL);
    free(p->piece);
    *p = (struct spm_parts){0};
}

void spm_parts_put_piece(struct str *out, const struct spm_parts_piece *piece)
{
    SpmPiece m = SPM_PIECE__INIT;

    m.has_piece = m.has_score = true;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): it is only read */
    m.piece.data = (uint8_t *)(uintptr_t)piece->text.text;
    m.piece.len = piece->text.n_bytes;
    m.score = piece->score;
    m.has_type = piece->kind != SPM_PARTS_NORMAL;
    m.type = (int32_t)piece->kind;
    proto_pack_field(out, MODEL_PIECE, &m.base);
}

/* The fields of any message in their order, as unknown fields of the result; NULL when it
 * is damaged. protobuf-c keeps more bits of a tag of five bytes than SentencePiece's
 * parser does, for which such a field would be another one. */
static ProtobufCMessage *fields_of(struct line bytes)
{
    SpmFields *m = spm_fields__unpack(NULL, bytes.n_bytes, (const uint8_t *)bytes.text);

    for (unsigned i = 0; m && i < m->base.n_unknown_fields; i++)
        if (m->base.unknown_fields[i].tag > FIELD_MAX) {
            spm_fields__free_unpacked(m, NULL);
            return NULL;
        }
    return m ? &m->base : NULL;
}

static void free_fields(ProtobufCMessage **m)
{
    protobuf_c_message_free_unpacked(*m, NULL);
}

/* The text of a field, or the bytes of the message in it; none if it is a number. */
static struct line body_of(const ProtobufCMessageUnknownField *f)
{
    size_t n_length = 1; /* bytes of the length in front */

    if (f->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
        return (struct line){"", 0};
    while (f->data[n_length - 1] & 0x80)
        n_length++;
    return (struct line){(const char *)f->data + n_length, f->len - n_length};
}

static void put_field(struct str *out, const ProtobufCMessageUnknownField *f)
{
    varint_add(out, (uint64_t)f->tag << 3 | f->wire_type);
    str_add(out, f->data, f->len);
}

/* The trainer's settings, field by field as they came but for two. */
static bool put_trainer(struct str *out, struct line bytes, size_t vocab_size,
                        bool is_hard_limit)
{
    RELEASED_BY(free_fields) ProtobufCMessage *m = fields_of(bytes);
    RELEASED_BY(str_release) struct str body = str_new(0);

    for (unsigned i = 0; m && i < m->n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *f = &m->unknown_fields[i];
        if (f->tag != TRAINER_VOCAB_SIZE && f->tag != TRAINER_HARD_LIMIT) {
            put_field(&body, f);
            continue;
        }
        varint_add(&body, f->tag << 3 | PROTOBUF_C_WIRE_TYPE_VARINT);
        varint_add(&body, f->tag == TRAINER_VOCAB_SIZE ? vocab_size : is_hard_limit);
    }
    varint_add(out, MODEL_TRAINER << 3 | PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED);
    varint_add(out, body.len);
    str_add(out, str_text(&body), body.len);
    out->bad |= body.bad;
    return m != NULL;
}

/*
 * By hand, because protobuf-c would write the fields that it knows before those that it
 * does not: the bytes are to be those that SentencePiece writes.
 */
status spm_parts_put_rest(struct str *out, const void *bytes, size_t n_bytes,
                          size_t vocab_size, bool is_hard_limit, struct err *err)
{
    RELEASED_BY(free_fields)
    ProtobufCMessage *m = fields_of((struct line){bytes, n_bytes});
    bool is_good = m != NULL;

    for (unsigned i = 0; is_good && i < m->n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *f = &m->unknown_fields[i];
        if (f->tag == MODEL_TRAINER)
            is_good = put_trainer(out, body_of(f), vocab_size, is_hard_limit);
        else if (f->tag != MODEL_PIECE)
            put_field(out, f);
    }
    return is_good ? str_check(out, "the tokenizer", err) : damaged(err);
}

static status check_normalizer(struct line bytes, bool *is_safe, struct err *err)
{
    RELEASED_BY(free_fields) ProtobufCMessage *m = fields_of(bytes);

    *is_safe = m != NULL;
    for (unsigned i = 0; *is_safe && i < m->n_unknown_fields; i++)
        if (m->unknown_fields[i].tag == NORMALIZER_CHARSMAP)
            TRY(normalizer_guard(body_of(&m->unknown_fields[i]), is_safe, err));
    return OK;
}

/* Each message of rules by itself: of several, SentencePiece joins what they say. */
static status check_rules(struct line bytes, struct err *err)
{
    RELEASED_BY(free_fields) ProtobufCMessage *m = fields_of(bytes);
    bool is_safe = true;

    if (!m)
        return damaged(err);
    for (unsigned i = 0; is_safe && i < m->n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *f = &m->unknown_fields[i];
        if (f->tag == MODEL_NORMALIZER || f->tag == MODEL_DENORMALIZER)
            TRY(check_normalizer(body_of(f), &is_safe, err));
    }
    if (!is_safe)
        return err_set(err, ERR_FORMAT,
                       "the normalisation rules in the SentencePiece model are damaged");
    return OK;
}

status spm_parts_guard(const void *bytes, size_t n_bytes, struct err *err)
{
    struct spm_parts parts;

    if (n_bytes == 0)
        return err_set(err, ERR_FORMAT, "an empty file is not a SentencePiece model");
    if (n_bytes > SPM_PARTS_MAX_BYTES)
        return err_set(err, ERR_FORMAT,
                       "%zu bytes are too many for a SentencePiece model, at most %d are "
                       "taken",
                       n_bytes, SPM_PARTS_MAX_BYTES);
    TRY(check_rules((struct line){bytes, n_bytes}, err));
    TRY(spm_parts_read(&parts, bytes, n_bytes, err)); /* what follows relies on it */
    spm_parts_release(&parts);
    return OK;
}

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "corpus/checksum.h"
#include "format/varint.h"
#include "inspect/inspect.h"
#include "inspect/inspect_page.h"
#include "text/subword/spm.h"

/* Of SentencePiece's messages: ModelProto, and in it a piece and the trainer's spec. */
enum { MODEL_PIECE = 1, MODEL_TRAINER = 2, PIECE_KIND = 3, TRAINER_ALGORITHM = 3 };
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };
enum { KIND_NORMAL = 1, N_KINDS = 7, ALGORITHM_UNIGRAM = 1, N_ALGORITHMS = 5 };

static const char *const kind_name[N_KINDS] = {
    "of no known kind", "normal", "unknown", "control", "user-defined", "unused", "byte"};
static const char *const algorithm_name[N_ALGORITHMS] = {"of no known kind", "unigram",
                                                         "BPE", "words", "characters"};

struct span {
    const unsigned char *data;
    size_t n;
};

struct field {
    uint64_t number, value; /* value: of a varint */
    struct span body;       /* of bytes */
};

static bool take_varint(struct span *in, uint64_t *value)
{
    const size_t n = varint_get64(in->data, in->n, value);

    in->data += n;
    in->n -= n;
    return n > 0;
}

static bool skip(struct span *in, uint64_t n, struct span *body)
{
    if (n > in->n)
        return false;
    *body = (struct span){in->data, (size_t)n};
    in->data += n;
    in->n -= (size_t)n;
    return true;
}

/* false at the end, and at anything that is not a field */
static bool take_field(struct span *in, struct field *f)
{
    uint64_t tag, n;

    *f = (struct field){0};
    if (!take_varint(in, &tag))
        return false;
    f->number = tag >> 3;
    switch (tag & 7) {
    case WIRE_VARINT:
        return take_varint(in, &f->value);
    case WIRE_BYTES:
        return take_varint(in, &n) && skip(in, n, &f->body);
    case WIRE_FIXED64:
        return skip(in, 8, &f->body);
    case WIRE_FIXED32:
        return skip(in, 4, &f->body);
    default:
        return false;
    }
}

static uint64_t number_in(struct span message, uint64_t field, uint64_t absent)
{
    struct field f;

    while (take_field(&message, &f))
        if (f.number == field)
            absent = f.value;
    return absent;
}

/* What the processor does not tell: the kinds of the pieces, how they were found. */
static void add_kinds(json_t *page, const struct spm *spm)
{
    const struct line bytes = spm_bytes(spm);
    struct span model = {(const unsigned char *)bytes.text, bytes.n_bytes};
    uint64_t n_kind[N_KINDS] = {0}, algorithm = ALGORITHM_UNIGRAM;
    struct field f;

    while (take_field(&model, &f)) {
        if (f.number == MODEL_TRAINER)
            algorithm = number_in(f.body, TRAINER_ALGORITHM, algorithm);
        if (f.number == MODEL_PIECE) {
            const uint64_t kind = number_in(f.body, PIECE_KIND, KIND_NORMAL);
            n_kind[kind < N_KINDS ? kind : 0]++;
        }
    }
    inspect_page_text(page, "model",
                      algorithm_name[algorithm < N_ALGORITHMS ? algorithm : 0]);
    inspect_page_int(page, "pieces", spm_size(spm));
    for (size_t k = 0; k < N_KINDS; k++)
        if (n_kind[k])
            inspect_page_int(page, kind_name[k], n_kind[k]);
}

static void add_special(json_t *table, const struct spm *spm, const char *name,
                        int32_t id)
{
    if (id < 0)
        return;
    json_t *row = inspect_page_row(table);
    inspect_page_text(row, "special", name);
    inspect_page_int(row, "id", (uint64_t)id);
    inspect_page_text(row, "piece", spm_piece(spm, id));
}

static void add_specials(json_t *page, const struct spm *spm)
{
    const struct spm_special s = spm_specials(spm);
    json_t *table = inspect_page_table(page, "specials");

    add_special(table, spm, "padding", s.pad);
    add_special(table, spm, "end of sentence", s.eos);
    add_special(table, spm, "start of sentence", s.bos);
    add_special(table, spm, "unknown", s.unk);
}

static void add_pieces(json_t *page, const struct spm *spm, size_t n)
{
    json_t *table = inspect_page_table(page, "first_pieces");

    for (size_t id = 0; id < spm_size(spm) && id < n; id++) {
        json_t *row = inspect_page_row(table);
        inspect_page_int(row, "id", id);
        inspect_page_text(row, "piece", spm_piece(spm, (int32_t)id));
        inspect_page_real(row, "score", 0 + spm_score(spm, (int32_t)id)); /* no -0 */
    }
}

status inspect_tokenizer(json_t *page, const char *path, const struct inspect_config *c,
                         struct err *err)
{
    struct spm *spm;
    uint64_t hash;

    TRY(spm_load(&spm, path, err));
    const status result = checksum_of_file(&hash, path, err);
    inspect_page_text(page, "tokenizer", path);
    add_kinds(page, spm);
    if (result == OK)
        inspect_page_hash(page, "hash", hash);
    struct err why = {0};
    inspect_page_text(page, "for_training",
                      spm_check_special(spm, &why) == OK ? "yes" : why.msg);
    add_specials(page, spm);
    add_pieces(page, spm, (size_t)c->pieces);
    spm_free(spm);
    return result;
}

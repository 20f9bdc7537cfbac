#include "corpus/checksum.h"
#include "inspect/inspect.h"
#include "text/subword/spm.h"
#include "text/subword/spm_parts.h"

/* What SentencePiece's interface does not tell: the kinds of the pieces and how they
 * were found. */
static status add_kinds(json_t *page, const struct spm *spm, struct err *err)
{
    static const char *const kinds[] = {NULL,           "normal", "unknown", "control",
                                        "user-defined", "unused", "byte"};
    static const char *const models[] = {NULL, "unigram", "BPE", "words", "characters"};
    const struct line bytes = spm_bytes(spm);
    uint64_t n_kind[SPM_PARTS_BYTE + 1] = {0};
    struct spm_parts parts;

    TRY(spm_parts_read(&parts, bytes.text, bytes.n_bytes, err));
    for (size_t i = 0; i < parts.n_pieces; i++)
        n_kind[parts.piece[i].kind]++;
    inspect_page_text(page, "model", models[parts.model]);
    inspect_page_int(page, "pieces", parts.n_pieces);
    for (size_t k = SPM_PARTS_NORMAL; k <= SPM_PARTS_BYTE; k++)
        if (n_kind[k])
            inspect_page_int(page, kinds[k], n_kind[k]);
    spm_parts_release(&parts);
    return OK;
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
    status result = checksum_of_file(&hash, path, err);
    inspect_page_text(page, "tokenizer", path);
    THEN(result, add_kinds(page, spm, err));
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

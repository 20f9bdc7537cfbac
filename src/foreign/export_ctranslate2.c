/*
 * A directory of CTranslate2. Its TransformerSpec says all that we compute: norms before
 * or behind, biases or none, a decoder that starts with a zero vector, and positions as a
 * table. Sentences that begin with <s> have it from add_source_bos, and from a prefix of
 * the target.
 */
#include <string.h>

#include "foreign/writers.h"

enum { POSITIONS = 2048 }; /* as its converters of Marian write */

static status check(const struct model_config *c, struct err *err)
{
    (void)c, (void)err;
    return OK;
}

/* ---- facts of the architecture ---- */

struct fact {
    const char *name;
    enum tensors_type type;
    int64_t number;
};

static status put_facts(struct pour *p, const struct model_config *c, struct err *err)
{
    const struct architecture *a = &c->arch;
    const int64_t heads = c->heads, pre = a->norm == NORM_PRE, scale = !a->is_unscaled,
                  activation = foreign_ctranslate2_activation(a->activation);
    const struct fact facts[] = {
        {"encoder/activation", TENSORS_I8, activation},
        {"encoder/embeddings_merge", TENSORS_I8, 0},
        {"encoder/multi_query_attention", TENSORS_I8, 0},
        {"encoder/num_heads", TENSORS_I16, heads},
        {"encoder/pre_norm", TENSORS_I8, pre},
        {"encoder/scale_embeddings", TENSORS_I8, scale},
        {"decoder/activation", TENSORS_I8, activation},
        {"decoder/alibi", TENSORS_I8, 0},
        {"decoder/alibi_use_positive_positions", TENSORS_I8, 0},
        {"decoder/alignment_heads", TENSORS_I16, 1},
        {"decoder/alignment_layer", TENSORS_I16, -1},
        {"decoder/num_heads", TENSORS_I16, heads},
        {"decoder/pre_norm", TENSORS_I8, pre},
        {"decoder/scale_alibi", TENSORS_I8, 0},
        {"decoder/scale_embeddings", TENSORS_I8, scale},
        {"decoder/start_from_zero_embedding", TENSORS_I8, a->start == 0}};

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        TRY(pour_number(p, facts[i].name, facts[i].type, facts[i].number, err));
    return OK;
}

/* ---- tensors ---- */

/* Where a table that stands once has its other names. */
static void put_aliases(struct pour *p, enum architecture_tables tables)
{
    const char *source = "encoder/embeddings_0/weight",
               *target = "decoder/embeddings/weight",
               *output = "decoder/projection/weight";
    const bool is_one = tables == TABLES_ONE || tables == TABLES_INPUTS;

    if (is_one)
        pour_alias(p, target, source);
    if (tables == TABLES_ONE)
        pour_alias(p, output, source);
    if (tables == TABLES_TARGET)
        pour_alias(p, output, target);
}

static status write_model(const struct writers_job *j, struct err *err)
{
    const struct foreign *f = j->model;
    const struct model_config *c = &f->config;
    RELEASED_BY(pour_release)
    struct pour p = {.names = foreign_ctranslate2_rows,
                     .params = &f->params,
                     .flat = f->flat,
                     .type = j->type};

    TRY(pour_weights(&p, err));
    TRY(put_facts(&p, c, err));
    put_aliases(&p, c->arch.tables);
    if (c->arch.positions != POSITIONS_LEARNED) { /* else they are weights */
        TRY(pour_positions(&p, READERS_DECODER_TABLE, c->arch.positions, POSITIONS,
                           (size_t)c->d_model, err));
        pour_alias(&p, READERS_ENCODER_TABLE, READERS_DECODER_TABLE);
    }
    return writers_tensors(j, &p, TENSORS_CTRANSLATE2, "model.bin", err);
}

/* ---- what stands beside it ---- */

static status write_config(const struct writers_job *j, struct err *err)
{
    const struct model_config *c = &j->model->config;
    const size_t start = c->arch.start ? (size_t)c->arch.start - 1 : (size_t)ID_EOS;
    char name[WRITERS_NAME];
    const char *first = writers_word(j, WRITERS_TARGET, start, name);

    return writers_json(
        j, "config.json",
        json_pack("{s:b, s:b, s:s, s:s, s:s, s:f, s:b, s:s}", "add_source_bos",
                  (int)!c->arch.has_no_begin, "add_source_eos", 1, "bos_token",
                  writers_word(j, WRITERS_TARGET, ID_BOS, name), "decoder_start_token",
                  first, "eos_token", writers_word(j, WRITERS_TARGET, ID_EOS, name),
                  "layer_norm_epsilon", c->norm_epsilon, "multi_query_attention", 0,
                  "unk_token", writers_word(j, WRITERS_TARGET, ID_UNK, name)),
        err);
}

static status write_words(const struct writers_job *j, enum writers_side side,
                          const char *file, struct err *err)
{
    json_t *list = json_array();
    char name[WRITERS_NAME];

    for (size_t i = 0; i < writers_n_words(j, side); i++)
        json_array_append_new(list, json_string(writers_word(j, side, i, name)));
    return writers_json(j, file, list, err);
}

static status write_vocabularies(const struct writers_job *j, struct err *err)
{
    if (writers_is_one(j))
        return write_words(j, WRITERS_TARGET, "shared_vocabulary.json", err);
    TRY(write_words(j, WRITERS_SOURCE, "source_vocabulary.json", err));
    return write_words(j, WRITERS_TARGET, "target_vocabulary.json", err);
}

static status write_readme(const struct writers_job *j, struct err *err)
{
    static const char body[] =
        "With the packages `ctranslate2` and `sentencepiece`, in this directory, a "
        "sentence a line:\n\n"
        "```python\n"
        "import sys\n"
        "import ctranslate2\n"
        "import sentencepiece\n"
        "\n"
        "source = sentencepiece.SentencePieceProcessor(model_file=\"source.spm\")\n"
        "target = sentencepiece.SentencePieceProcessor(model_file=\"target.spm\")\n"
        "translator = ctranslate2.Translator(\".\")\n"
        "sentences = [line.strip() for line in sys.stdin]\n"
        "pieces = [source.encode(text, out_type=str) for text in sentences]\n"
        "found = translator.translate_batch(pieces%s%s)\n"
        "for one in found:\n"
        "    print(target.decode(one.hypotheses[0]))\n"
        "```\n\n"
        "`ferry translate` reads the directory as it is.\n\n"
        "- `model.bin`, `config.json`: weights, and what they mean\n"
        "- `*_vocabulary.json`: the tokens by their numbers\n"
        "- `source.spm`, `target.spm`: the SentencePiece models that cut text into "
        "them\n";
    static const char begin[] = ", target_prefix=[[\"<s>\"]] * len(pieces)";
    RELEASED_BY(str_release) struct str text = str_new(0);
    const bool has_begin = !j->model->config.arch.has_no_begin;

    str_printf(&text, body, has_begin ? begin : "",
               j->model->config.arch.has_no_unknown ? ", disable_unk=True" : "");
    TRY(str_check(&text, "README.md", err));
    if (has_begin)
        str_puts(j->notes,
                 "Translations begin with `<s>`, which `target_prefix` says and "
                 "`decode` takes away again; CTranslate2 puts it before the "
                 "source itself.\n");
    return writers_readme(j, "CTranslate2", str_text(&text), err);
}

static status write(struct writers_job *j, struct err *err)
{
    writers_note_positions(j);
    TRY(write_model(j, err));
    TRY(write_config(j, err));
    TRY(write_vocabularies(j, err));
    TRY(writers_tokenizers(j, err));
    return write_readme(j, err);
}

const struct writers_format export_ctranslate2 = {
    .name = "ctranslate2", .check = check, .write = write};

/*
 * A directory of Marian: model.npz with the options that fix what it means as the text
 * special:model.yml, vocabularies in YAML, and a decoder.yml for marian-decoder. Its text
 * is pieces with blanks between them, which is what its vocabularies in YAML want.
 *
 * Marian always has biases, starts its decoder with a zero vector and scales embeddings;
 * its sentences begin with their first piece. Norms stand behind sublayers: it has
 * others, but where they stand before, its search (as of 1.12) normalises queries alone
 * and not keys and values, except at the first token. Its training and scoring normalise
 * all.
 */
#include <stdio.h>
#include <string.h>

#include "foreign/writers.h"

#define EPSILON 1e-6 /* of its norms */

static status check(const struct model_config *c, struct err *err)
{
    const struct architecture *a = &c->arch;

    if (a->norm == NORM_PRE)
        return writers_refuse("Marian",
                              "a search that, where norms stand before sublayers, leaves "
                              "keys and values without them: it would translate wrongly",
                              err);
    if (!a->has_no_begin)
        return writers_refuse("Marian",
                              "sentences that begin with their first piece, and the "
                              "model's begin with <s>",
                              err);
    if (a->positions != POSITIONS_REFERENCE)
        return writers_refuse("Marian",
                              "sines and cosines in halves of w_i = 10000^(-i/(D/2-1)), "
                              "and the model another signal of positions",
                              err);
    if (!foreign_marian_activation(a->activation))
        return writers_refuse(
            "Marian", "relu, swish and gelu, and the model another activation", err);
    if (a->is_gated)
        return writers_refuse("Marian",
                              "feed-forward layers without gates, and the model's have "
                              "them",
                              err);
    if (a->is_unscaled)
        return writers_refuse(
            "Marian",
            "embeddings times sqrt(d_model), and the model has them as they are", err);
    return OK;
}

/* ---- the model ---- */

static const char *truth(bool x)
{
    return x ? "true" : "false";
}

/* The options of a Transformer, as Marian keeps them; converters look for many of them.
 */
static void put_options(struct str *yml, const struct writers_job *j)
{
    const struct model_config *c = &j->model->config;
    const enum architecture_tables tables = c->arch.tables;

    str_printf(yml,
               "dec-depth: %lld\ndim-emb: %lld\ndim-vocabs:\n  - %zu\n  - %zu\n"
               "enc-depth: %lld\nlayer-normalization: false\nlemma-dim-emb: 0\n"
               "skip: false\n",
               (long long)c->decoder_layers, (long long)c->d_model,
               writers_n_words(j, WRITERS_SOURCE), writers_n_words(j, WRITERS_TARGET),
               (long long)c->encoder_layers);
    str_printf(yml,
               "tied-embeddings: %s\ntied-embeddings-all: %s\ntied-embeddings-src: %s\n",
               truth(tables == TABLES_TARGET), truth(tables == TABLES_ONE),
               truth(tables == TABLES_INPUTS));
    str_printf(yml,
               "transformer-decoder-autoreg: self-attention\ntransformer-dim-ffn: %lld\n"
               "transformer-ffn-activation: %s\ntransformer-ffn-depth: 2\n"
               "transformer-guided-alignment-layer: last\ntransformer-heads: %lld\n"
               "transformer-no-projection: false\n",
               (long long)c->d_ff, foreign_marian_activation(c->arch.activation),
               (long long)c->heads);
    str_printf(yml, "transformer-postprocess: dan\ntransformer-postprocess-emb: d\n"
                    "transformer-postprocess-top: \"\"\ntransformer-preprocess: \"\"\n"
                    "transformer-tied-layers:\n  []\n"
                    "transformer-train-position-embeddings: false\ntype: transformer\n"
                    "ulr: false\nversion: v1.12.0\n");
}

static status write_model(const struct writers_job *j, struct err *err)
{
    const struct foreign *f = j->model;
    RELEASED_BY(str_release) struct str yml = str_new(0);
    struct fill_row rows[READERS_ROWS];
    RELEASED_BY(pour_release)
    struct pour p = {.names = foreign_marian_rows(rows, &f->config.arch, false),
                     .params = &f->params,
                     .flat = f->flat,
                     .type = j->type,
                     .has_rows = true};

    put_options(&yml, j);
    TRY(str_check(&yml, "the options of the model", err));
    TRY(pour_weights(&p, err));
    TRY(pour_bytes(
        &p, "special:model.yml",
        (struct tensors_item){.type = TENSORS_I8, .n_dims = 1, .dim = {yml.len + 1}},
        str_text(&yml), err));
    return writers_tensors(j, &p, TENSORS_NPZ, "model.npz", err);
}

/* ---- vocabularies ---- */

/* In double quotes, where YAML has backslashes mean something. Characters that end a line
 * or are no text have their numbers. */
static void put_quoted(struct str *out, const char *text)
{
    static const char *const line_ends[] = {"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"},
                             *const names[] = {"\\N", "\\L", "\\P"};

    str_putc(out, '"');
    while (*text) {
        size_t i = 0;
        while (i < 3 && strncmp(text, line_ends[i], strlen(line_ends[i])) != 0)
            i++;
        if (i < 3) {
            str_puts(out, names[i]);
            text += strlen(line_ends[i]);
            continue;
        }
        const unsigned char c = (unsigned char)*text++;
        if (c < 0x20 || c == 0x7f)
            str_printf(out, "\\x%02x", c);
        else if (c == '"' || c == '\\')
            str_printf(out, "\\%c", c);
        else
            str_putc(out, (char)c);
    }
    str_putc(out, '"');
}

static status write_words(const struct writers_job *j, enum writers_side side,
                          const char *file, struct err *err)
{
    RELEASED_BY(str_release) struct str text = str_new(0);
    char name[WRITERS_NAME];

    for (size_t i = 0; i < writers_n_words(j, side); i++) {
        put_quoted(&text, writers_word(j, side, i, name));
        str_printf(&text, ": %zu\n", i);
    }
    return writers_text(j, file, &text, err);
}

struct names {
    const char *source, *target;
};

static struct names names_of(const struct writers_job *j)
{
    return writers_is_one(j) ? (struct names){"vocab.yml", "vocab.yml"}
                             : (struct names){"source.vocab.yml", "target.vocab.yml"};
}

static status write_vocabularies(const struct writers_job *j, struct err *err)
{
    const struct names names = names_of(j);

    if (!writers_is_one(j))
        TRY(write_words(j, WRITERS_SOURCE, names.source, err));
    return write_words(j, WRITERS_TARGET, names.target, err);
}

static status write_decoder(const struct writers_job *j, struct err *err)
{
    RELEASED_BY(str_release) struct str text = str_new(0);
    const struct names names = names_of(j);

    str_printf(&text,
               "relative-paths: true\nmodels:\n  - model.npz\nvocabs:\n  - %s\n  - %s\n"
               "beam-size: 4\nnormalize: 0.6\nmini-batch: 16\nmaxi-batch: 100\n"
               "maxi-batch-sort: src\n",
               names.source, names.target);
    return writers_text(j, "decoder.yml", &text, err);
}

static status write_readme(const struct writers_job *j, struct err *err)
{
    static const char body[] =
        "With the packages `pymarian` and `sentencepiece`, in this directory, a sentence "
        "a line:\n\n"
        "```python\n"
        "import sys\n"
        "import pymarian\n"
        "import sentencepiece\n"
        "\n"
        "source = sentencepiece.SentencePieceProcessor(model_file=\"source.spm\")\n"
        "target = sentencepiece.SentencePieceProcessor(model_file=\"target.spm\")\n"
        "translator = pymarian.Translator(\"-c decoder.yml --cpu-threads 1 --quiet\")\n"
        "pieces = [source.encode(line.strip(), out_type=str) for line in sys.stdin]\n"
        "found = translator.translate([\" \".join(one) for one in pieces])\n"
        "for one in found:\n"
        "    print(target.decode(one.split()))\n"
        "```\n\n"
        "The same with Marian's own programs:\n\n"
        "    spm_encode --model source.spm < FILE |\n"
        "        marian-decoder -c decoder.yml --cpu-threads 1 |\n"
        "        spm_decode --model target.spm\n\n"
        "`ferry translate` reads the directory as it is.\n\n"
        "- `model.npz`: weights, and the options that say what they mean\n"
        "- `*.yml`: the tokens by their numbers, and options for marian-decoder\n"
        "- `source.spm`, `target.spm`: the SentencePiece models that cut text into "
        "them\n";

    return writers_readme(j, "Marian", body, err);
}

static status write(struct writers_job *j, struct err *err)
{
    if (!writers_starts_at_zero(j))
        return writers_refuse("Marian",
                              "a decoder that starts with a zero vector, and the model's "
                              "starts with a token",
                              err);
    if (!j->model->config.arch.has_no_begin)
        str_puts(
            j->notes,
            "Sentences begin with `<s>`: it must be the first piece of a source, and "
            "the model says it first of a translation.\n");
    writers_note_epsilon(j, "Marian", EPSILON);
    TRY(write_model(j, err));
    TRY(write_vocabularies(j, err));
    TRY(write_decoder(j, err));
    TRY(writers_tokenizers(j, err));
    return write_readme(j, err);
}

const struct writers_format export_marian = {.name = "marian",
                                             .has_biases = true,
                                             .types = "float32",
                                             .check = check,
                                             .write = write};

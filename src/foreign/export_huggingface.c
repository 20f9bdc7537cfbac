/*
 * A directory of Hugging Face's transformers. A model whose norms stand behind sublayers
 * is a MarianMT, with its own tokenizer. One whose norms stand before them, and behind
 * the last, is a Blenderbot: the encoder and decoder there of just this arithmetic, whose
 * positions are a table.
 *
 * Both have biases. A decoder starts with a token; a zero vector is that of pad, which no
 * translation says, or of a token of its own where pad takes part in the output.
 */
#include <string.h>

#include "foreign/writers.h"

#define EPSILON 1e-5 /* of its norms */

enum { POSITIONS = 1024, LONGEST = 512 };

static bool is_pre(const struct model_config *c)
{
    return c->arch.norm == NORM_PRE;
}

static bool is_apart(const struct model_config *c)
{
    return c->arch.tables == TABLES_TARGET || c->arch.tables == TABLES_SEPARATE;
}

/* Rows of the tables of positions. */
static int64_t n_positions(const struct model_config *c)
{
    return c->arch.positions == POSITIONS_LEARNED ? c->arch.max_positions : POSITIONS;
}

/* Tokens that a translation may have. */
static int64_t longest(const struct model_config *c)
{
    return n_positions(c) < LONGEST ? n_positions(c) : LONGEST;
}

/* Positions that MarianMT does not compute itself. */
static bool has_table(const struct model_config *c)
{
    return is_pre(c) || c->arch.positions != POSITIONS_HALVES;
}

static status check(const struct model_config *c, struct err *err)
{
    if (is_pre(c) && is_apart(c))
        return writers_refuse("Hugging Face",
                              "no model with norms before sublayers (as Blenderbot's) "
                              "and tables of its own "
                              "for either side",
                              err);
    if (c->arch.is_gated)
        return writers_refuse("Hugging Face",
                              "no Marian or Blenderbot whose feed-forward layers have "
                              "gates",
                              err);
    if (!is_pre(c) && !c->arch.has_no_begin)
        return writers_refuse(
            "Hugging Face",
            "a MarianMT whose sentences begin with their first piece, and the model's "
            "begin with <s>",
            err);
    return OK;
}

/* ---- the token that the decoder starts with ---- */

struct start {
    size_t id;
    bool is_new; /* behind all others */
};

static struct start start_of(const struct writers_job *j)
{
    const struct model_config *c = &j->model->config;

    if (c->arch.start)
        return (struct start){(size_t)c->arch.start - 1, false};
    if (c->arch.has_no_begin)
        return (struct start){ID_PAD, false};
    return (struct start){(size_t)c->vocab_size, true};
}

/* Pad is never said where sentences have no <s>, and so may be zeros in every table that
 * is looked up. */
static void clear_pad(struct foreign *f)
{
    const enum param_id id =
        architecture_has_target_table(&f->config.arch) ? PARAM_target_embed : PARAM_embed;
    const struct param *t = params_get(&f->params, id, 0);

    memset(f->flat + t->at + (size_t)ID_PAD * t->stride, 0, t->cols * sizeof *f->flat);
}

static void never_say(struct foreign *f, size_t token)
{
    f->flat[params_get(&f->params, PARAM_output_bias, 0)->at + token] = READERS_NEVER;
}

/* One token more: zeros, and never said. */
static status add_token(struct foreign *f, struct err *err)
{
    struct model_config c = f->config;
    const size_t at = (size_t)c.vocab_size++;

    c.arch.source_vocab += c.arch.source_vocab > 0;
    TRY(writers_widen(f, &c, err));
    never_say(f, at);
    return OK;
}

static status make_start(struct foreign *f, struct start start, struct err *err)
{
    if (f->config.arch.has_no_unknown)
        never_say(f, ID_UNK);
    if (start.is_new)
        return add_token(f, err);
    if (!f->config.arch.start)
        clear_pad(f);
    return OK;
}

/* ---- weights ---- */

/* Where the output has a table of its own nothing is tied there, and the table of both
 * sides stands once more for each. */
static status put_untied(struct pour *p, struct fill_row rows[READERS_ROWS],
                         struct err *err)
{
    static const struct fill_row sides[] = {
        {PARAM_embed, "model.encoder.embed_tokens.weight", FILL_SOURCES, 0, 0},
        {PARAM_embed, "model.decoder.embed_tokens.weight", FILL_TARGETS, 0, 0}};

    BUG_ON(p->names.n_rows + 2 > READERS_ROWS);
    for (size_t i = 0; i < 2; i++) {
        struct fill_row *row = &rows[p->names.n_rows++];
        *row = sides[i];
        TRY(pour_row(p, row, err));
    }
    return OK;
}

static status write_weights(const struct writers_job *j, struct err *err)
{
    const struct foreign *f = j->model;
    const struct model_config *c = &f->config;
    struct fill_row rows[READERS_ROWS];
    RELEASED_BY(pour_release)
    struct pour p = {.names = foreign_huggingface_rows(rows, is_apart(c)),
                     .params = &f->params,
                     .flat = f->flat,
                     .type = j->type};
    const bool has_signal = has_table(c) && c->arch.positions != POSITIONS_LEARNED;

    TRY(pour_weights(&p, err));
    if (c->arch.tables == TABLES_INPUTS)
        TRY(put_untied(&p, rows, err));
    pour_as_row(&p, "final_logits_bias");
    for (size_t i = 0; has_signal && i < 2; i++)
        TRY(pour_positions(&p, foreign_huggingface_positions[i], c->arch.positions,
                           POSITIONS, (size_t)c->d_model, err));
    return writers_tensors(j, &p, TENSORS_SAFETENSORS, "model.safetensors", err);
}

/* ---- configuration ---- */

static json_t *generation(const struct model_config *c, struct start start)
{
    json_t *root = json_pack("{s:i, s:i, s:i, s:i, s:I, s:i}", "pad_token_id", ID_PAD,
                             "eos_token_id", ID_EOS, "forced_eos_token_id", ID_EOS,
                             "decoder_start_token_id", (int)start.id, "max_length",
                             (json_int_t)longest(c), "num_beams", 4);

    if (!c->arch.has_no_begin)
        json_object_set_new(root, "forced_bos_token_id", json_integer(ID_BOS));
    return root;
}

static void add_shape(json_t *root, const struct model_config *c)
{
    const struct {
        const char *encoder, *decoder;
        int64_t encoder_has, decoder_has;
    } rows[] = {
        {"encoder_layers", "decoder_layers", c->encoder_layers, c->decoder_layers},
        {"encoder_attention_heads", "decoder_attention_heads", c->heads, c->heads},
        {"encoder_ffn_dim", "decoder_ffn_dim", c->d_ff, c->d_ff}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_object_set_new(root, rows[i].encoder, json_integer(rows[i].encoder_has));
        json_object_set_new(root, rows[i].decoder, json_integer(rows[i].decoder_has));
    }
}

static status write_config(const struct writers_job *j, struct start start,
                           struct err *err)
{
    const struct model_config *c = &j->model->config;
    const bool is_tied = c->arch.tables == TABLES_ONE || c->arch.tables == TABLES_TARGET;
    json_t *root = json_pack(
        "{s:s, s:[s], s:s, s:s, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:b}", "model_type",
        is_pre(c) ? "blenderbot" : "marian", "architectures",
        is_pre(c) ? "BlenderbotForConditionalGeneration" : "MarianMTModel", "dtype",
        j->type->name, "activation_function",
        foreign_huggingface_activation(c->arch.activation), "d_model",
        (json_int_t)c->d_model, "vocab_size", (json_int_t)model_config_source_vocab(c),
        "decoder_vocab_size", (json_int_t)c->vocab_size, "max_position_embeddings",
        (json_int_t)n_positions(c), "is_encoder_decoder", 1, "scale_embedding",
        (int)!c->arch.is_unscaled, "tie_word_embeddings", (int)is_tied,
        "share_encoder_decoder_embeddings", (int)!is_apart(c));

    json_object_set_new(root, "bos_token_id", json_integer(ID_BOS));
    json_object_set_new(root, "encoder_no_repeat_ngram_size", json_integer(0));
    add_shape(root, c);
    json_object_update_new(root, generation(c, start));
    json_object_del(root, "max_length"); /* of generation alone */
    json_object_del(root, "num_beams");
    TRY(writers_json(j, "config.json", root, err));
    return writers_json(j, "generation_config.json", generation(c, start), err);
}

/* ---- words ---- */

static status write_words(const struct writers_job *j, enum writers_side side,
                          const char *file, struct start start, struct err *err)
{
    json_t *root = json_object();
    char name[WRITERS_NAME];

    for (size_t i = 0; i < writers_n_words(j, side); i++) {
        const bool is_start = start.is_new && i == start.id;
        json_object_set_new(root, is_start ? "<start>" : writers_word(j, side, i, name),
                            json_integer((json_int_t)i));
    }
    return writers_json(j, file, root, err);
}

/* Languages; and of a MarianMT which tokenizer it has. No tokenizer of transformers puts
 * <s> and </s> around the pieces of two SentencePiece models. */
static status write_tokenizer(const struct writers_job *j, struct err *err)
{
    const struct foreign *f = j->model;
    json_t *root =
        json_pack("{s:s, s:s}", "source_lang", f->source, "target_lang", f->target);

    if (!is_pre(&f->config))
        json_object_update_new(
            root,
            json_pack("{s:s, s:b, s:s, s:s, s:s, s:I}", "tokenizer_class",
                      "MarianTokenizer", "separate_vocabs", (int)is_apart(&f->config),
                      "eos_token", "</s>", "pad_token", "<pad>", "unk_token", "<unk>",
                      "model_max_length", (json_int_t)longest(&f->config)));
    return writers_json(j, "tokenizer_config.json", root, err);
}

static status write_vocabularies(const struct writers_job *j, struct start start,
                                 struct err *err)
{
    if (!is_apart(&j->model->config))
        return write_words(j, WRITERS_TARGET, "vocab.json", start, err);
    TRY(write_words(j, WRITERS_SOURCE, "vocab.json", start, err));
    return write_words(j, WRITERS_TARGET, "target_vocab.json", start, err);
}

/* ---- README.md ---- */

#define FILES                                                             \
    "`ferry translate` reads the directory as it is.\n\n"                 \
    "- `model.safetensors`, `config.json`: weights, and what they mean\n" \
    "- `generation_config.json`: how translations are searched for\n"     \
    "- `vocab.json`: the tokens by their numbers\n"                       \
    "- `source.spm`, `target.spm`: the SentencePiece models that cut text into them\n"

static const char marian_body[] =
    "With the packages `transformers`, `torch` and `sentencepiece`, in this directory, a "
    "sentence a line:\n\n"
    "```python\n"
    "import sys\n"
    "from transformers import MarianMTModel, MarianTokenizer\n"
    "\n"
    "tokenizer = MarianTokenizer.from_pretrained(\".\")\n"
    "model = MarianMTModel.from_pretrained(\".\")\n"
    "for line in sys.stdin:\n"
    "    batch = tokenizer([line.strip()], return_tensors=\"pt\")\n"
    "    found = model.generate(**batch)\n"
    "    print(tokenizer.batch_decode(found, skip_special_tokens=True)[0])\n"
    "```\n\n" FILES;

static const char blenderbot_body[] =
    "With the packages `transformers`, `torch` and `sentencepiece`, in this directory, a "
    "sentence a line:\n\n"
    "```python\n"
    "import sys\n"
    "import sentencepiece\n"
    "import torch\n"
    "from transformers import AutoModelForSeq2SeqLM\n"
    "\n"
    "source = sentencepiece.SentencePieceProcessor(model_file=\"source.spm\")\n"
    "target = sentencepiece.SentencePieceProcessor(model_file=\"target.spm\")\n"
    "model = AutoModelForSeq2SeqLM.from_pretrained(\".\")\n"
    "known = range(4, min(model.config.vocab_size, target.vocab_size()))\n"
    "for line in sys.stdin:\n"
    "    ids = source.encode(line.strip(), add_bos=%s, add_eos=True)\n"
    "    found = model.generate(torch.tensor([ids]))[0].tolist()\n"
    "    print(target.decode([i for i in found if i in known]))\n"
    "```\n\n" FILES;

static status write_readme(const struct writers_job *j, struct err *err)
{
    RELEASED_BY(str_release) struct str text = str_new(0);
    const struct model_config *c = &j->model->config;

    if (is_pre(c))
        str_printf(&text, blenderbot_body, c->arch.has_no_begin ? "False" : "True");
    else
        str_puts(&text, marian_body);
    TRY(str_check(&text, "README.md", err));
    return writers_readme(j, "Hugging Face's transformers", str_text(&text), err);
}

static void note(struct writers_job *j)
{
    if (is_pre(&j->model->config))
        str_puts(j->notes,
                 "MarianMT has norms behind sublayers alone; this is a Blenderbot, the "
                 "model of transformers that computes the same as this one.\n");
    else if (has_table(&j->model->config))
        str_puts(j->notes,
                 "MarianMT has a table of positions here, which transformers loads and "
                 "does not save: keep this directory.\n");
    writers_note_positions(j);
    writers_note_epsilon(j, "transformers", EPSILON);
}

static status write(struct writers_job *j, struct err *err)
{
    const struct start start = start_of(j);

    note(j);
    TRY(make_start(j->model, start, err));
    TRY(write_weights(j, err));
    TRY(write_config(j, start, err));
    TRY(write_vocabularies(j, start, err));
    TRY(write_tokenizer(j, err));
    TRY(writers_tokenizers(j, err));
    return write_readme(j, err);
}

const struct writers_format export_huggingface = {.name = "huggingface",
                                                  .has_biases = true,
                                                  .types = "float32|float16|bfloat16",
                                                  .check = check,
                                                  .write = write};

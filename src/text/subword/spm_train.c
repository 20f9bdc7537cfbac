#include "text/subword/spm_train.h"

#include <string.h>

#include "text/subword/bpe_learn.h"
#include "text/subword/spm_parts.h"

static status check_options(const struct spm_train_options *o, struct err *err)
{
    if (o->vocab_size <= ID_N_SPECIAL || o->vocab_size > SPM_VOCAB_MAX)
        return err_set(err, ERR_USAGE, "vocab_size = %zu: want %d to %d", o->vocab_size,
                       ID_N_SPECIAL + 1, SPM_VOCAB_MAX);
    return OK;
}

static status check_pieces(const struct spm_train_options *o, const struct bpe_learn *l,
                           struct err *err)
{
    const size_t n = l->n_pieces + ID_N_SPECIAL, least = l->n_chars + ID_N_SPECIAL;

    if (least > o->vocab_size)
        return err_set(err, ERR_USAGE,
                       "vocab_size = %zu: the text has so many different characters "
                       "that at least %zu pieces are needed",
                       o->vocab_size, least);
    if (n < o->vocab_size && !o->is_at_most)
        return err_set(err, ERR_USAGE,
                       "vocab_size = %zu: the text gives only %zu pieces; take at most "
                       "that many",
                       o->vocab_size, n);
    return OK;
}

static void put_specials(struct str *out)
{
    static const char *const name[ID_N_SPECIAL] = {
        [ID_PAD] = "<pad>", [ID_EOS] = "</s>", [ID_BOS] = "<s>", [ID_UNK] = "<unk>"};

    for (size_t i = 0; i < ID_N_SPECIAL; i++)
        spm_parts_put_piece(
            out, &(struct spm_parts_piece){.text = {name[i], strlen(name[i])},
                                           .kind = i == ID_UNK ? SPM_PARTS_UNKNOWN
                                                               : SPM_PARTS_CONTROL});
}

/* The model file: our pieces, and settings and rules as SentencePiece writes them. */
static status write_model(struct str *out, const struct spm_train_options *o,
                          const struct bpe_learn *l, const struct spm *blank,
                          struct err *err)
{
    const struct line rest = spm_bytes(blank);

    put_specials(out);
    for (size_t i = 0; i < l->n_pieces; i++)
        spm_parts_put_piece(out, &(struct spm_parts_piece){.text = bpe_learn_piece(l, i),
                                                           .score = -(float)i,
                                                           .kind = SPM_PARTS_NORMAL});
    return spm_parts_put_rest(out, rest.text, rest.n_bytes, l->n_pieces + ID_N_SPECIAL,
                              !o->is_at_most, err);
}

status spm_train_words(struct spm **spm, struct spm_train_options options,
                       const struct word_counts *words, struct err *err)
{
    struct bpe_learn l;
    struct str bytes = str_new(0);
    status s;

    *spm = NULL;
    TRY(check_options(&options, err));
    if (word_counts_size(words) == 0)
        return err_set(err, ERR_FORMAT, "there is no text to learn word pieces from");
    TRY(bpe_learn_run(&l, words, options.vocab_size - ID_N_SPECIAL, err));
    s = check_pieces(&options, &l, err);
    if (s == OK)
        s = write_model(&bytes, &options, &l, word_counts_rules(words), err);
    bpe_learn_release(&l);
    if (s == OK)
        s = spm_parse(spm, str_text(&bytes), bytes.len, err);
    str_release(&bytes);
    return s;
}

#include <sys/param.h>

#include "corpus/dataset.h"
#include "inspect/inspect.h"

/* What makes other words of the pairs; v is NULL where they stay. */
struct reader {
    const struct corpus *corpus;
    const struct spm *spm;
    struct variation *v;
};

static status add_side(json_t *row, const char *key, const struct spm *spm,
                       struct sentence s, uint32_t pair, struct err *err)
{
    RELEASED_BY(str_release) struct str text = str_new(0);

    for (size_t i = 0; i < s.len; i++) {
        if (s.token[i] >= spm_size(spm))
            return corpus_damaged(pair, err);
        str_printf(&text, "%s%s", i ? " " : "", spm_piece(spm, s.token[i]));
    }
    TRY(str_check(&text, "a sentence", err));
    inspect_page_text(row, key, str_text(&text));
    return OK;
}

static status add_pair(json_t *table, const struct reader *r, uint64_t epoch,
                       uint32_t pair, struct err *err)
{
    const struct sentence in[] = {corpus_source(r->corpus, pair),
                                  corpus_target(r->corpus, pair)};
    struct sentence out[] = {in[VARIED_SOURCE], in[VARIED_TARGET]};

    if (r->v)
        TRY(variation_make(r->v, epoch, pair, in, out, err));
    json_t *row = inspect_page_row(table);
    inspect_page_int(row, "pair", pair);
    inspect_page_int(row, "epoch", epoch);
    if (corpus_has_weights(r->corpus))
        inspect_page_real(row, "weight", (double)corpus_weight(r->corpus, pair));
    TRY(add_side(row, "source", r->spm, out[VARIED_SOURCE], pair, err));
    return add_side(row, "target", spm_target(r->spm), out[VARIED_TARGET], pair, err);
}

static status add_pairs(json_t *page, const struct dataset *d,
                        const struct inspect_config *c, const struct spm *spm,
                        struct err *err)
{
    const struct variation_rule rule = {&c->variation, (uint64_t)c->seed, SIZE_MAX};
    struct reader r = {.corpus = &d->train, .spm = spm};
    json_t *table = inspect_page_table(page, "train");
    const uint32_t n = (uint32_t)MIN((uint64_t)c->pairs, d->train.n_pairs);
    status result = variation_check(&c->variation, err);

    THEN(result, corpus_file_verify(&d->train, err));
    THEN(result, variation_open(&r.v, rule, spm, err));
    for (uint32_t pair = 0; pair < n; pair++)
        for (uint64_t epoch = 0; epoch < (uint64_t)c->epochs; epoch++)
            THEN(result, add_pair(table, &r, epoch, pair, err));
    variation_close(r.v);
    return result;
}

status inspect_varied(json_t *page, const char *dir, const struct inspect_config *c,
                      struct err *err)
{
    struct dataset d;
    struct spm *spm = NULL;

    TRY(dataset_open(&d, dir, err));
    status result =
        spm_load_both(&spm, d.tokenizer, d.target_tokenizer, d.n_source, d.n_target, err);
    THEN(result, add_pairs(page, &d, c, spm, err));
    spm_free(spm);
    dataset_close(&d);
    return result;
}

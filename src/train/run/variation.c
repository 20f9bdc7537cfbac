#include "train/run/variation.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "text/augment.h"
#include "text/subword/encoder.h"
#include "text/subword/spm_parts.h"
#include "text/subword/unigram_cut.h"
#include "text/unicode.h"

/* One side of the pairs. */
struct side {
    const char *name;
    const struct spm *spm;
    struct encoder *encoder;
    double dropout;
    struct unigram_cut *unigram; /* NULL unless pieces are drawn */
    struct str text, again;
    struct spm_ids ids;
    size_t n_marks;                  /* of the pair at hand, before the text */
    struct bpe_ids augmented, recut; /* what it became */
};

struct variation {
    struct augment_rates rates;
    uint64_t key;
    size_t most; /* ids of a side that fit */
    struct side side[VARIED_SIDES];
    struct str spare;
};

/* Words of an own encoder; 4 MiB hold some 80,000. */
static const size_t cache_bytes = (size_t)4 << 20;

static struct augment_rates rates_of(const struct variation_config *c)
{
#define X(kind) [AUGMENT_##kind] = c->augment_##kind,
    return (struct augment_rates){{AUGMENT_KINDS(X)}};
#undef X
}

static bool has_augment(const struct augment_rates *r)
{
    bool any = false;

    for (int k = 0; k < AUGMENT_N; k++)
        any |= r->of[k] > 0;
    return any;
}

bool variation_is_on(const struct variation_config *c)
{
    const struct augment_rates rates = rates_of(c);

    return c->bpe_dropout > 0 || c->subword_alpha > 0 || has_augment(&rates);
}

status variation_check(const struct variation_config *c, struct err *err)
{
    const double of_case = c->augment_upper + c->augment_title + c->augment_lower;

    if (of_case > 1)
        return err_set(err, ERR_USAGE,
                       "augment_upper, augment_title and augment_lower add up to %g; a "
                       "pair has one case, so they may add up to 1",
                       of_case);
    return OK;
}

void variation_describe(const struct variation_config *c, struct str *out)
{
    static const char *const names[] = {
#define X(kind) "augment_" #kind,
        AUGMENT_KINDS(X)
#undef X
    };
    const struct augment_rates rates = rates_of(c);
    const char *before = "";

    if (c->bpe_dropout > 0)
        str_printf(out, "bpe_dropout=%g ", c->bpe_dropout);
    if (c->subword_alpha > 0)
        str_printf(out, "subword_alpha=%g ", c->subword_alpha);
    if (c->bpe_dropout > 0 || c->subword_alpha > 0) {
        str_printf(out, "bpe_dropout_side=%s", c->bpe_dropout_side);
        before = " ";
    }
    for (int k = 0; k < AUGMENT_N; k++)
        if (rates.of[k] > 0) {
            str_printf(out, "%s%s=%g", before, names[k], rates.of[k]);
            before = " ";
        }
}

/* --- life --- */

/* Whether a piece has a letter that is not in lower case. */
static bool has_capitals(const struct spm *spm)
{
    for (int32_t id = ID_N_SPECIAL; (size_t)id < spm_known(spm); id++) {
        const char *s = spm_piece(spm, id);
        size_t left = strlen(s), n;
        for (; left; s += n, left -= n) {
            const uint32_t code = utf8_decode(s, left, &n);
            if (code != UTF8_BAD && unicode_lower(code) != code)
                return true;
        }
    }
    return false;
}

static bool is_varied(const struct variation_config *c, const struct side *s)
{
    return strcmp(c->bpe_dropout_side, "both") == 0 ||
           strcmp(c->bpe_dropout_side, s->name) == 0;
}

static status find_model(const struct spm *spm, enum spm_parts_model *model,
                         struct err *err)
{
    const struct line bytes = spm_bytes(spm);
    struct spm_parts parts;

    TRY(spm_parts_read(&parts, bytes.text, bytes.n_bytes, err));
    *model = parts.model;
    spm_parts_release(&parts);
    return OK;
}

static status open_dropout(struct side *s, double rate, struct err *err)
{
    enum spm_parts_model model;

    s->dropout = rate;
    if (encoder_is_own(s->encoder))
        return OK;
    TRY(find_model(s->spm, &model, err));
    if (model == SPM_PARTS_UNIGRAM)
        return err_set(err, ERR_USAGE,
                       "bpe_dropout = %g: the tokenizer of the %s is a unigram model, "
                       "which has no merges to skip; set subword_alpha instead",
                       rate, s->name);
    return err_set(err, ERR_USAGE,
                   "bpe_dropout = %g: the tokenizer of the %s is not BPE as ferry "
                   "prepare learns it, so its merges cannot be skipped; leave "
                   "bpe_dropout at 0",
                   rate, s->name);
}

static status open_unigram(struct side *s, double alpha, struct err *err)
{
    enum spm_parts_model model;

    TRY(find_model(s->spm, &model, err));
    if (model == SPM_PARTS_UNIGRAM)
        return unigram_cut_new(&s->unigram, s->spm, alpha, err);
    return err_set(err, ERR_USAGE,
                   "subword_alpha = %g: the tokenizer of the %s is not a unigram model, "
                   "so its pieces have no probabilities; %s",
                   alpha, s->name,
                   encoder_is_own(s->encoder) ? "it is BPE: set bpe_dropout instead"
                                              : "leave subword_alpha at 0");
}

static status open_side(struct side *s, const struct variation_config *c, struct err *err)
{
    const struct augment_rates rates = rates_of(c);

    s->text = s->again = str_new(0);
    TRY(encoder_new(&s->encoder, s->spm, has_augment(&rates) ? cache_bytes : 1, err));
    if (c->bpe_dropout > 0 && is_varied(c, s))
        TRY(open_dropout(s, c->bpe_dropout, err));
    if (c->subword_alpha > 0 && is_varied(c, s))
        TRY(open_unigram(s, c->subword_alpha, err));
    if (rates.of[AUGMENT_upper] + rates.of[AUGMENT_title] > 0 && !has_capitals(s->spm))
        return err_set(err, ERR_USAGE,
                       "augment_upper or augment_title: the vocabulary of the %s has no "
                       "capital letter; leave them at 0",
                       s->name);
    return OK;
}

status variation_open(struct variation **out, struct variation_rule rule,
                      const struct spm *spm, struct err *err)
{
    static const char *const names[] = {"source", "target"};
    const struct variation_config *c = rule.config;
    struct variation *v;
    status result = OK;

    *out = NULL;
    if (!variation_is_on(c))
        return OK;
    TRY(mem_alloc(&v, 1, sizeof *v, err));
    v->rates = rates_of(c);
    v->key = rng_key(rule.seed, "variation");
    v->most = rule.max_length - 2;
    v->spare = str_new(0);
    for (int s = 0; s < VARIED_SIDES; s++) {
        v->side[s] = (struct side){.name = names[s],
                                   .spm = s == VARIED_TARGET ? spm_target(spm) : spm};
        THEN(result, open_side(&v->side[s], c, err));
    }
    if (result == OK)
        *out = v;
    else
        variation_close(v);
    return result;
}

void variation_close(struct variation *v)
{
    if (!v)
        return;
    for (int i = 0; i < VARIED_SIDES; i++) {
        struct side *s = &v->side[i];
        encoder_free(s->encoder);
        unigram_cut_free(s->unigram);
        str_release(&s->text);
        str_release(&s->again);
        spm_ids_release(&s->ids);
        bpe_cut_ids_release(&s->augmented);
        bpe_cut_ids_release(&s->recut);
    }
    str_release(&v->spare);
    free(v);
}

/* --- a pair --- */

static status encode(struct side *s, struct err *err)
{
    s->ids.n = 0;
    TRY(str_check(&s->text, "a sentence", err));
    return encoder_encode(s->encoder, (struct line){str_text(&s->text), s->text.len},
                          &s->ids, err);
}

static bool same_ids(const struct spm_ids *a, struct sentence b)
{
    for (size_t i = 0; i < a->n && i < b.len; i++)
        if (a->id[i] != b.token[i])
            return false;
    return a->n == b.len;
}

/* How many ids say what is wanted and are no text: 0, or 1 where a mark begins. */
static size_t count_marks(const struct spm *spm, struct sentence in)
{
    size_t n;

    if (!in.len || in.token[0] >= spm_size(spm))
        return 0;
    const char *name = spm_piece(spm, in.token[0]);
    return spm_mark(spm, (struct line){name, strlen(name)}, &n) == in.token[0];
}

/* The text that the ids were made of; *is_exact unless it does not give them again, as
 * with unknown characters. */
static status regain(struct side *s, struct sentence in, bool *is_exact, struct err *err)
{
    s->n_marks = count_marks(s->spm, in);
    in.token += s->n_marks;
    in.len -= s->n_marks;
    *is_exact = true;
    s->ids.n = 0;
    str_reset(&s->text);
    for (size_t i = 0; i < in.len && *is_exact; i++) {
        *is_exact = in.token[i] < spm_size(s->spm);
        TRY(spm_ids_add(&s->ids, in.token[i], err));
    }
    if (!*is_exact)
        return OK;
    TRY(spm_decode(s->spm, s->ids.id, s->ids.n, &s->text, err));
    TRY(encode(s, err));
    *is_exact = same_ids(&s->ids, in);
    return OK;
}

/* The ids of the text behind the marks of `in`; *is_exact unless they spell another, or
 * are too many. */
static status respell(struct side *s, struct sentence in, size_t most, bool *is_exact,
                      struct err *err)
{
    struct bpe_ids *to = &s->augmented;

    TRY(encode(s, err));
    const size_t n = s->n_marks + s->ids.n;
    str_reset(&s->again);
    TRY(spm_decode(s->spm, s->ids.id, s->ids.n, &s->again, err));
    *is_exact = n <= most && s->again.len == s->text.len &&
                memcmp(str_text(&s->again), str_text(&s->text), s->text.len) == 0;
    TRY(mem_grow(&to->id, &to->cap, n, sizeof *to->id, err));
    for (to->n = 0; to->n < n; to->n++)
        to->id[to->n] = to->n < s->n_marks ? in.token[to->n]
                                           : (uint16_t)s->ids.id[to->n - s->n_marks];
    return OK;
}

/* Both sides change, or none. */
static status augment(struct variation *v, unsigned kinds, uint64_t key,
                      struct sentence pair[VARIED_SIDES], struct err *err)
{
    struct side *s = v->side;
    bool is_exact = true;

    for (int i = 0; i < VARIED_SIDES && is_exact; i++)
        TRY(regain(&s[i], pair[i], &is_exact, err));
    if (!is_exact)
        return OK;
    augment_pair(kinds, key, &s[VARIED_SOURCE].text, &s[VARIED_TARGET].text, &v->spare);
    for (int i = 0; i < VARIED_SIDES && is_exact; i++)
        TRY(respell(&s[i], pair[i], v->most, &is_exact, err));
    for (int i = 0; i < VARIED_SIDES && is_exact; i++)
        pair[i] = (struct sentence){s[i].augmented.id, s[i].augmented.n};
    return OK;
}

/* The same text in other pieces, unless they are too many. */
static status recut(struct side *s, uint64_t key, size_t most, struct sentence *text,
                    struct err *err)
{
    const struct bpe_dropout how = {s->dropout, key};

    s->recut.n = 0;
    if (s->unigram)
        TRY(unigram_cut_again(s->unigram, text->token, text->len, key, &s->recut, err));
    else
        TRY(encoder_recut(s->encoder, text->token, text->len, how, &s->recut, err));
    if (s->recut.n <= most)
        *text = (struct sentence){s->recut.id, s->recut.n};
    return OK;
}

status variation_make(void *ctx, uint64_t epoch, uint32_t pair,
                      const struct sentence in[VARIED_SIDES],
                      struct sentence out[VARIED_SIDES], struct err *err)
{
    struct variation *v = ctx;
    const uint64_t key = rng_hash(rng_hash(v->key, epoch), pair),
                   letters = rng_hash(key, VARIED_SIDES);
    const unsigned kinds = augment_draw(&v->rates, letters);

    for (int i = 0; i < VARIED_SIDES; i++)
        out[i] = in[i];
    if (kinds)
        TRY(augment(v, kinds, letters, out, err));
    for (int i = 0; i < VARIED_SIDES; i++)
        if (v->side[i].unigram || v->side[i].dropout > 0)
            TRY(recut(&v->side[i], rng_hash(key, (uint64_t)i), v->most, &out[i], err));
    return OK;
}

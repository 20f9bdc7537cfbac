#include "decode/translate.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "decode/device_search.h"
#include "decode/forced/links.h"
#include "decode/lines/segments.h"
#include "decode/steer/terms.h"

OPT_TABLE(translate_config_table, struct translate_config, TRANSLATE_OPTIONS);

static status check_alternatives(const struct translate_config *c, struct err *err)
{
    if (c->alternatives == 1)
        return OK;
    if (!c->prefix)
        return err_set(
            err, ERR_USAGE,
            "alternatives are those behind a given beginning; give prefix=true "
            "too, and lines of source, tab and beginning");
    if (c->sample || c->nbest > 1)
        return err_set(err, ERR_USAGE,
                       "alternatives and %s are at odds; leave one of them out",
                       c->sample ? "sample" : "nbest");
    return OK;
}

status translate_config_check(const struct translate_config *c, struct err *err)
{
    if (c->sample && c->greedy)
        return err_set(err, ERR_USAGE, "sample and greedy exclude each other");
    if (!c->sample && (c->temperature != 1 || c->top_k || c->top_p != 1 || c->seed != 1))
        return err_set(err, ERR_USAGE,
                       "%s is for samples; give sample=true too, or leave it out",
                       c->temperature != 1 ? "temperature"
                       : c->top_k          ? "top_k"
                       : c->top_p != 1     ? "top_p"
                                           : "seed");
    if (c->require[0] && (c->sample || c->greedy))
        return err_set(
            err, ERR_USAGE,
            "require needs a beam, which %s does without; leave one of them out",
            c->sample ? "sample" : "greedy");
    TRY(check_alternatives(c, err));
    if (!c->sample && c->nbest > c->beam)
        return err_set(err, ERR_USAGE,
                       "nbest = %lld: a beam of %lld finds at most as many; raise beam",
                       (long long)c->nbest, (long long)c->beam);
    return OK;
}

/* The token that config.mark names, with or without its signs. */
static status find_mark(struct translator *t, struct err *err)
{
    const char *name = t->config.mark;
    char text[OPT_TEXT_MAX + 8];
    size_t n;

    if (!*name)
        return OK;
    snprintf(text, sizeof text, str_begins(name, ">>") ? "%s" : ">>%s<<", name);
    const int32_t id = spm_mark(t->spm, (struct line){text, strlen(text)}, &n);
    if (id <= 0 || n != strlen(text))
        return err_set(err, ERR_USAGE,
                       "mark = %.100s: the model's tokenizer has no token %.100s; its "
                       "marks are those that `ferry prepare` was given",
                       name, text);
    t->mark = id;
    return OK;
}

/* With facts about the tokenizer that the caller has, or with its own. */
static status open_text(struct translator *t, struct pieces *pieces,
                        const struct spm *spm, const struct model_config *model,
                        const struct translate_config *c, struct err *err)
{
    const size_t vocab_size = (size_t)model->vocab_size;

    *t = (struct translator){.config = *c,
                             .spm = spm,
                             .lang = "",
                             .pieces = pieces,
                             .longest = architecture_longest(&model->arch)};
    if (c->greedy)
        t->config.beam = 1;
    if ((size_t)c->max_length > t->longest)
        t->config.max_length = (int64_t)t->longest;
    TRY(translate_config_check(&t->config, err));
    TRY(spm_check_special(spm, err));
    if (spm_known(spm_target(spm)) > vocab_size)
        return err_set(err, ERR_USAGE,
                       "the tokenizer has %zu pieces, the model a vocabulary of %zu; "
                       "they do not belong together",
                       spm_known(spm_target(spm)), vocab_size);
    if (!pieces) {
        TRY(pieces_open(&t->own, spm, 0, err));
        t->pieces = t->own;
    }
    return find_mark(t, err);
}

static struct search_rules rules_of(const struct translator *t)
{
    enum { PENDING = 2 }; /* hypotheses that what is forbidden may yet rule out */
    const struct translate_config *c = &t->config;
    const bool has_pending = (c->forbid[0] || c->alternatives > 1) && !c->sample;

    return (struct search_rules){
        .beam = {.width = (size_t)(c->sample ? c->nbest : c->beam),
                 .is_greedy = c->greedy,
                 .n_best = (size_t)c->nbest,
                 .alpha = c->alpha,
                 .min_length = (size_t)c->min_length,
                 .is_text = t->pieces->is_text,
                 .n_ids = t->pieces->n,
                 .n_extra = has_pending ? PENDING : 0},
        .max_repeats = (size_t)c->max_repeats,
        .batch_tokens = (size_t)c->batch_tokens,
        .wants_scores = c->scores,
        .has_guides = c->prefix || c->forbid[0] || c->require[0] || t->terms,
        .samples = c->sample,
        .sampling = {.temperature = c->temperature,
                     .top_k = (size_t)c->top_k,
                     .top_p = c->top_p},
        .seed = (uint64_t)c->seed};
}

/* What the search over a device does not do. */
static status check_device(const struct translate_config *c, struct err *err)
{
    const char *name = c->prefix       ? "prefix"
                       : c->sample     ? "sample"
                       : c->forbid[0]  ? "forbid"
                       : c->alignments ? "alignments"
                       : c->require[0] ? "require"
                                       : NULL;

    if (!name)
        return OK;
    return err_set(err, ERR_USAGE,
                   "%s works on the processor alone: leave it out, or give device=cpu",
                   name);
}

status translate_open(struct translator *t, struct model *m, const struct spm *spm,
                      const struct translate_config *c, struct err *err)
{
    *t = (struct translator){0};
    TRY(check_device(c, err));
    TRY(open_text(t, NULL, spm, &m->config, c, err));
    return device_search_open(&t->search, m, rules_of(t), err);
}

static status read_terms(struct glossary *g, struct pieces *pieces,
                         const struct phrases *forbidden, const char *path,
                         struct err *err)
{
    struct glossary_tools tools = {.spm = pieces->spm, .forbidden = forbidden};

    TRY(pieces_letters(pieces, &tools.letters, err));
    TRY(pieces_take_encoder(pieces, PIECES_TARGET, &tools.encoder, err));
    const status result = glossary_read(g, &tools, path, err);
    pieces_give_back(pieces, PIECES_TARGET, tools.encoder);
    return result;
}

status translate_read_terms(struct glossary *g, const struct translate_shared *s,
                            const char *path, struct err *err)
{
    return read_terms(g, s->pieces, NULL, path, err);
}

/* What the guides of sentences share. */
static status open_guides(struct translator *t, struct err *err)
{
    const struct translate_config *c = &t->config;

    if (!rules_of(t).has_guides)
        return OK;
    TRY(pieces_letters(t->pieces, &t->letters, err));
    if (c->forbid[0])
        TRY(terms_read_forbidden(&t->forbidden, spm_target(t->spm), c->forbid, err));
    if (!c->require[0])
        return OK;
    t->terms = &t->own_terms;
    return read_terms(&t->own_terms, t->pieces, &t->forbidden, c->require, err);
}

static status open_alignments(struct translator *t, const struct network *n,
                              const struct infer_kernels *kernels, size_t n_threads,
                              struct err *err)
{
    t->alignment_layer = links_usual_layer(n->decoder.n_layers);
    return t->config.alignments ? passes_open(&t->passes, n, kernels, n_threads, err)
                                : OK;
}

status translate_open_packed(struct translator *t, const struct network *n,
                             const struct spm *spm, const struct translate_config *c,
                             struct engine_options options, struct err *err)
{
    TRY(open_text(t, NULL, spm, &n->config, c, err));
    TRY(open_guides(t, err));
    TRY(open_alignments(t, n, options.kernels, options.n_threads, err));
    return engine_open(&t->search, n, rules_of(t), options, err);
}

status translate_open_shared(struct translator *t, const struct translate_shared *s,
                             const struct translate_config *c,
                             const atomic_bool *is_cancelled, struct err *err)
{
    struct search_rules rules;

    TRY(open_text(t, s->pieces, s->pieces->spm, &s->network->config, c, err));
    t->terms = s->terms;
    TRY(open_guides(t, err));
    TRY(open_alignments(t, s->network, s->kernels, 1, err));
    rules = rules_of(t);
    rules.shortlist = s->shortlist;
    return hub_search(&t->search, s->hub, rules, is_cancelled, err);
}

void translate_close(struct translator *t)
{
    if (t->search)
        t->search->close(t->search);
    passes_close(t->passes);
    pieces_close(t->own);
    phrases_release(&t->forbidden);
    glossary_release(&t->own_terms);
    *t = (struct translator){0};
}

/* ---- results ---- */

status translate_reserve(struct translations *t, size_t n_lines, size_t n_best,
                         struct err *err)
{
    size_t n_items;

    translate_release(t);
    t->text = str_new(SIZE_MAX / 2);
    TRY(mem_mul(&n_items, n_lines, n_best, err));
    TRY(mem_alloc(&t->item, n_items, sizeof *t->item, err));
    TRY(mem_alloc(&t->n_found, n_lines, sizeof *t->n_found, err));
    t->n_lines = n_lines;
    t->n_best = n_best;
    return OK;
}

void translate_release(struct translations *t)
{
    str_release(&t->text);
    free(t->item);
    free(t->n_found);
    free(t->link);
    *t = (struct translations){0};
}

status translate_add(struct translations *t, size_t line, size_t at, double score,
                     struct err *err)
{
    struct str *text = &t->text;

    BUG_ON(line >= t->n_lines || t->n_found[line] >= t->n_best);
    for (size_t i = at; i < text->len; i++)
        if (text->data[i] == '\n' || text->data[i] == '\r')
            text->data[i] = ' ';
    t->item[line * t->n_best + t->n_found[line]++] =
        (struct translation){.at = at,
                             .n_bytes = text->len - at,
                             .score = score,
                             .first_link = t->n_linked,
                             .n_links = t->n_links - t->n_linked};
    t->n_linked = t->n_links;
    str_putc(text, '\0');
    return str_check(text, "the translations", err);
}

status translate_add_link(struct translations *t, struct alignments_link link,
                          struct err *err)
{
    TRY(mem_grow(&t->link, &t->links_cap, t->n_links + 1, sizeof *t->link, err));
    t->link[t->n_links++] = link;
    return OK;
}

const char *translate_get(const struct translations *t, size_t line, size_t rank)
{
    BUG_ON(line >= t->n_lines || rank >= t->n_found[line]);
    return t->text.data + t->item[line * t->n_best + rank].at;
}

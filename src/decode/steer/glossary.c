#include "decode/steer/glossary.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "decode/steer/terms.h"
#include "text/subword/encoder.h"

void glossary_release(struct glossary *g)
{
    for (size_t i = 0; i < g->n; i++)
        required_close(&g->phrase[i]);
    free(g->phrase);
    free(g->term);
    phrases_release(&g->terms);
    phrases_release(&g->said);
    *g = (struct glossary){0};
}

struct reader {
    struct glossary *g;
    const struct glossary_tools *tools;
};

/* Does the phrase hold what must not be said? */
static bool is_forbidden(const struct phrases *forbidden, struct letters_text phrase)
{
    struct phrases_state s;

    phrases_begin(&s);
    for (size_t i = 0; i < phrase.n; i++) {
        phrases_read(forbidden, &s, phrase.code[i]);
        if (phrases_found(forbidden, &s, i + 1 < phrase.n ? phrase.code[i + 1] : ' '))
            return true;
    }
    return false;
}

/* The number of the phrase among all that are required. */
static status add_phrase(struct reader *r, struct line text, size_t *number,
                         struct err *err)
{
    struct glossary *g = r->g;
    const struct glossary_tools *t = r->tools;
    RELEASED_BY(mem_release) uint32_t *code = NULL;
    RELEASED_BY(spm_ids_release) struct spm_ids ids = {0};
    struct letters_text phrase;
    uint32_t said;

    TRY(terms_letters(spm_target(t->spm), text, &code, &phrase, err));
    if (t->forbidden && t->forbidden->n && is_forbidden(t->forbidden, phrase))
        return err_set(err, ERR_USAGE, "a phrase is required that forbid forbids");
    TRY(phrases_add(&g->said, phrase, &said, err));
    *number = said - 1;
    if (*number < g->n)
        return OK;
    TRY(encoder_encode(t->encoder, text, &ids, err));
    TRY(mem_grow(&g->phrase, &g->cap, g->n + 1, sizeof *g->phrase, err));
    TRY(required_open(&g->phrase[g->n], t->letters, phrase, ids.id, ids.n, err));
    g->n++;
    return OK;
}

static status take_line(void *ctx, struct line line, uint64_t number, struct err *err)
{
    struct reader *r = ctx;
    struct glossary *g = r->g;
    const char *tab = line.n_bytes ? memchr(line.text, '\t', line.n_bytes) : NULL;
    RELEASED_BY(mem_release) uint32_t *code = NULL;
    struct letters_text source;
    size_t phrase = 0;
    uint32_t term;

    if (!tab || memchr(tab + 1, '\t', line.n_bytes - (size_t)(tab + 1 - line.text)))
        return err_set(err, ERR_FORMAT,
                       "want a term of the source, one tab, and a phrase of the target");
    const size_t n_source = (size_t)(tab - line.text);
    const struct line target = {tab + 1, line.n_bytes - n_source - 1};
    TRY(terms_letters(r->tools->spm, (struct line){line.text, n_source}, &code, &source,
                      err));
    TRY(add_phrase(r, target, &phrase, err));
    const uint32_t n_terms = g->terms.n_phrases;
    TRY(phrases_add(&g->terms, source, &term, err));
    TRY(mem_grow(&g->term, &g->cap_terms, term, sizeof *g->term, err));
    if (term > n_terms)
        g->term[term - 1] = (struct glossary_term){phrase, number, source.n};
    if (g->term[term - 1].phrase == phrase)
        return OK;
    return err_set(err, ERR_FORMAT, "the term has another phrase in line %llu",
                   (unsigned long long)g->term[term - 1].number);
}

status glossary_read(struct glossary *g, const struct glossary_tools *tools,
                     const char *path, struct err *err)
{
    struct reader r = {g, tools};

    TRY(terms_read_lines(path, take_line, &r, err));
    return phrases_build(&g->terms, err);
}

/* ---- terms of a sentence ---- */

void glossary_release_hits(struct glossary_hits *h)
{
    free(h->hit);
    *h = (struct glossary_hits){0};
}

/* All terms that end before letter `end`, the longest being at this node. */
static status add_hits(const struct glossary *g, struct glossary_hits *h, size_t end,
                       uint32_t node, struct err *err)
{
    const struct phrases *p = &g->terms;

    for (; node; node = p->node[p->node[node].fail].ends) {
        const size_t term = p->node[node].phrase - 1, n = g->term[term].n;
        TRY(mem_grow(&h->hit, &h->cap, h->n + 1, sizeof *h->hit, err));
        h->hit[h->n++] = (struct glossary_hit){end - n, n, g->term[term].phrase};
    }
    return OK;
}

static int by_place(const void *a, const void *b)
{
    const struct glossary_hit *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->n < y->n) - (x->n > y->n);
}

/* Where every term stands. */
static status find_all(const struct glossary *g, const struct spm *spm,
                       struct line sentence, struct glossary_hits *h, struct err *err)
{
    RELEASED_BY(mem_release) uint32_t *code = NULL;
    struct phrases_state s;
    size_t n;

    TRY(letters_normalise(spm, sentence, &code, &n, err));
    h->n = 0;
    phrases_begin(&s);
    for (size_t i = 0; i <= n; i++) {
        const uint32_t next = i < n ? code[i] : ' ';
        TRY(add_hits(g, h, i, phrases_found(&g->terms, &s, next), err));
        phrases_read(&g->terms, &s, next);
    }
    if (h->n)
        qsort(h->hit, h->n, sizeof *h->hit, by_place);
    return OK;
}

status glossary_find(const struct glossary *g, const struct spm *spm,
                     struct line sentence, struct glossary_hits *h, struct err *err)
{
    size_t n = 0, end = 0;

    TRY(find_all(g, spm, sentence, h, err));
    for (size_t i = 0; i < h->n; i++) {
        const struct glossary_hit hit = h->hit[i];
        size_t k = 0;
        if (hit.at < end)
            continue;
        end = hit.at + hit.n;
        while (k < n && h->hit[k].phrase != hit.phrase)
            k++;
        if (k == n)
            h->hit[n++] = hit;
    }
    h->n = n;
    return OK;
}

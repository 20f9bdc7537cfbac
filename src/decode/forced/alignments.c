#include "decode/forced/alignments.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "decode/forced/links.h"

void alignments_release(struct alignments *a)
{
    spm_ids_release(&a->ids);
    free(a->item);
    free(a->link);
    *a = (struct alignments){0};
}

status alignments_add(struct alignments *a, const int32_t *token, size_t n,
                      struct err *err)
{
    const size_t at = a->ids.n;

    TRY(mem_grow(&a->item, &a->cap, a->n + 1, sizeof *a->item, err));
    for (size_t i = 0; i < n; i++)
        TRY(spm_ids_add(&a->ids, token[i], err));
    a->item[a->n++] = (struct alignments_item){.at = at, .n = n};
    return OK;
}

static status add_link(struct alignments *a, size_t item, struct words_range source,
                       struct words_range target, struct err *err)
{
    TRY(mem_grow(&a->link, &a->links_cap, a->n_links + 1, sizeof *a->link, err));
    if (!a->item[item].n_links++) /* those of an item stand together */
        a->item[item].first = a->n_links;
    a->link[a->n_links++] = (struct alignments_link){source, target};
    return OK;
}

/* ---- words by white space alone ---- */

/* The next word from *at on; false: there is none. */
static bool next_word(struct line text, size_t *at, struct words_range *word)
{
    size_t len = 0;

    for (; *at < text.n_bytes; *at += len)
        if (!utf8_is_space(utf8_decode(text.text + *at, text.n_bytes - *at, &len)))
            break;
    word->begin = *at;
    for (; *at < text.n_bytes; *at += len)
        if (utf8_is_space(utf8_decode(text.text + *at, text.n_bytes - *at, &len)))
            break;
    word->end = *at;
    return word->begin < word->end;
}

/* How many words begin before this byte. */
static size_t words_before(struct line text, size_t byte)
{
    struct words_range word;
    size_t n = 0;

    for (size_t at = 0; next_word(text, &at, &word) && word.begin < byte;)
        n++;
    return n;
}

/* Both texts word by word, as far as both have some. */
static status link_copy(struct alignments *a, size_t item, struct line source,
                        struct line target, struct err *err)
{
    struct words_range s, t;

    for (size_t i = 0, j = 0; next_word(source, &i, &s) && next_word(target, &j, &t);)
        TRY(add_link(a, item, s, t, err));
    return OK;
}

/* The word of `to` that has the number of the one of `from` that begins so. */
static bool same_word(struct line from, struct line to, struct words_range *word)
{
    const size_t n = words_before(from, word->begin + 1);
    size_t at = 0;

    for (size_t i = 0; i < n; i++)
        if (!next_word(to, &at, word))
            return false;
    return n > 0;
}

/* ---- by attention ---- */

struct run {
    struct alignments *a;
    const struct spm *spm;
    const struct alignments_pair *pair;
    struct passes_pair *given; /* [n] those that are not copied */
    size_t *item;              /* [n] which they are */
    size_t n;
    struct words source, target;
    struct links links;
    struct str text; /* what the tokens at hand decode to */
};

static status take_words(struct run *r, size_t item, const struct passes_pair *given,
                         struct err *err)
{
    const struct alignments_pair *pair = &r->pair[item];

    TRY(words_of_text(&r->source, r->spm, pair->source, given->n_source, err));
    str_reset(&r->text);
    return words_of_ids(&r->target, spm_target(r->spm), given->target, given->n_target,
                        &r->text, err);
}

static status keep(void *ctx, size_t n, struct passes_found found, struct err *err)
{
    struct run *r = ctx;
    const size_t item = r->item[n];
    const struct line want = r->pair[item].target;

    TRY(take_words(r, item, &r->given[n], err));
    TRY(links_find(&r->links, found.attention, &r->source, &r->target, err));
    const struct line said = {str_text(&r->text), r->text.len};
    const bool is_same =
        said.n_bytes == want.n_bytes && memcmp(said.text, want.text, want.n_bytes) == 0;
    for (size_t i = 0; i < r->links.n; i++) {
        const struct links_link link = r->links.link[i];
        struct words_range target = r->target.word[link.target];
        if (is_same || same_word(said, want, &target))
            TRY(add_link(r->a, item, r->source.word[link.source], target, err));
    }
    return OK;
}

static status run_passes(struct run *r, struct passes *passes, int layer, struct err *err)
{
    struct alignments *a = r->a;

    TRY(mem_alloc(&r->given, a->n, sizeof *r->given, err));
    TRY(mem_alloc(&r->item, a->n, sizeof *r->item, err));
    for (size_t i = 0; i < a->n; i++) {
        const struct alignments_item *item = &a->item[i];
        const struct alignments_pair *pair = &r->pair[i];
        if (!item->n) {
            TRY(link_copy(a, i, pair->source, pair->target, err));
            continue;
        }
        r->item[r->n] = i;
        r->given[r->n++] =
            (struct passes_pair){pair->id, a->ids.id + item->at, pair->n, item->n};
    }
    return passes_run(passes, r->given, r->n, layer, keep, r, err);
}

status alignments_run(struct alignments *a, struct passes *passes, int layer,
                      const struct spm *spm, const struct alignments_pair *pair,
                      struct err *err)
{
    struct run r = {.a = a, .spm = spm, .pair = pair, .text = str_new(0)};
    const status result = run_passes(&r, passes, layer, err);

    free(r.given);
    free(r.item);
    words_release(&r.source);
    words_release(&r.target);
    links_release(&r.links);
    str_release(&r.text);
    return result;
}

/* ---- in words ---- */

/* The number of the word that each byte belongs to, or of the next one. */
static status number_bytes(size_t **number, struct line text, struct err *err)
{
    struct words_range word;
    size_t at = 0, byte = 0, n = 0;

    TRY(mem_alloc(number, text.n_bytes + 1, sizeof **number, err));
    for (; next_word(text, &at, &word); n++)
        for (; byte < word.end; byte++)
            (*number)[byte] = n;
    for (; byte <= text.n_bytes; byte++)
        (*number)[byte] = n;
    return OK;
}

struct numbers {
    struct links_link *pair;
    size_t n, cap;
};

static int by_target(const void *a, const void *b)
{
    const struct links_link *x = a, *y = b;

    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    return (x->source > y->source) - (x->source < y->source);
}

/* Every word that one range touches with every one that the other does. */
static status add_numbers(struct numbers *l, const struct alignments_link *link,
                          const size_t *source, const size_t *target, struct err *err)
{
    const struct words_range s = link->source, t = link->target;

    for (size_t i = source[s.begin]; i <= source[s.end - 1]; i++)
        for (size_t j = target[t.begin]; j <= target[t.end - 1]; j++) {
            TRY(mem_grow(&l->pair, &l->cap, l->n + 1, sizeof *l->pair, err));
            l->pair[l->n++] = (struct links_link){i, j};
        }
    return OK;
}

status alignments_pharaoh(struct str *out, struct line source, struct line target,
                          const struct alignments_link *link, size_t n, struct err *err)
{
    RELEASED_BY(mem_release) size_t *of_source = NULL;
    RELEASED_BY(mem_release) size_t *of_target = NULL;
    struct numbers l = {0};
    status result = number_bytes(&of_source, source, err);

    THEN(result, number_bytes(&of_target, target, err));
    for (size_t i = 0; i < n && result == OK; i++)
        result = add_numbers(&l, &link[i], of_source, of_target, err);
    if (l.n)
        qsort(l.pair, l.n, sizeof *l.pair, by_target);
    for (size_t i = 0; i < l.n && result == OK; i++)
        if (!i || by_target(&l.pair[i - 1], &l.pair[i]) != 0)
            str_printf(out, "%s%zu-%zu", i ? " " : "", l.pair[i].source,
                       l.pair[i].target);
    free(l.pair);
    return result;
}

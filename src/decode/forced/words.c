#include "decode/forced/words.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/unicode.h"

void words_release(struct words *w)
{
    free(w->word);
    free(w->of);
    spm_spans_release(&w->spans);
    spm_ids_release(&w->pieces);
    *w = (struct words){0};
}

/* The span within the text, without white space around it. */
static struct words_range trimmed(struct line text, const struct spm_span *span)
{
    struct words_range r = {span->begin, span->end};
    size_t len;

    r.end = r.end < text.n_bytes ? r.end : text.n_bytes;
    r.begin = r.begin < r.end ? r.begin : r.end;
    for (; r.begin < r.end; r.begin += len)
        if (!utf8_is_space(utf8_decode(text.text + r.begin, r.end - r.begin, &len)))
            break;
    for (; r.begin < r.end; r.end -= len)
        if (!utf8_is_space(utf8_decode_last(text.text + r.begin, r.end - r.begin, &len)))
            break;
    return r;
}

static bool has_space(struct line text, size_t begin, size_t end)
{
    for (size_t len; begin < end; begin += len)
        if (utf8_is_space(utf8_decode(text.text + begin, end - begin, &len)))
            return true;
    return false;
}

/* Does what begins at r begin a word of its own, behind one that ends at `end`? */
static bool begins_word(struct line text, size_t end, struct words_range r)
{
    size_t len;

    if (r.begin < end)
        return false;
    return has_space(text, end, r.begin) ||
           unicode_is_unspaced(utf8_decode_last(text.text, end, &len)) ||
           unicode_is_unspaced(
               utf8_decode(text.text + r.begin, text.n_bytes - r.begin, &len));
}

static status add(struct words *w, struct line text, const struct spm_span *span,
                  size_t token, struct err *err)
{
    const struct words_range r = trimmed(text, span);
    struct words_range *last = w->n ? &w->word[w->n - 1] : NULL;

    if (r.begin == r.end)
        return OK;
    if (!last || begins_word(text, last->end, r)) {
        TRY(mem_grow(&w->word, &w->cap, w->n + 1, sizeof *w->word, err));
        w->word[w->n++] = r;
    } else if (r.end > last->end) {
        last->end = r.end;
    }
    w->of[token] = w->n - 1;
    return OK;
}

static status begin(struct words *w, size_t n_tokens, struct err *err)
{
    w->n = 0;
    w->n_tokens = n_tokens;
    TRY(mem_grow(&w->of, &w->tokens_cap, n_tokens, sizeof *w->of, err));
    for (size_t i = 0; i < n_tokens; i++)
        w->of[i] = WORDS_NONE;
    return OK;
}

/* Tokens with a piece, but without a text: [first, last] of all. */
static void lend(struct words *w, size_t first, size_t last)
{
    size_t next = w->n ? w->n - 1 : WORDS_NONE;

    for (size_t i = last + 1; i-- > first;)
        if (w->of[i] == WORDS_NONE)
            w->of[i] = next;
        else
            next = w->of[i];
}

status words_of_text(struct words *w, const struct spm *spm, struct line text, size_t n,
                     struct err *err)
{
    TRY(begin(w, n, err));
    TRY(spm_encode_spans(spm, text, &w->spans, err));
    /* before them S, and maybe a mark, which has no text */
    const size_t first = n > w->spans.n + 2 ? n - 1 - w->spans.n : 1;
    for (size_t i = 0; i < w->spans.n && first + i + 1 < n; i++)
        TRY(add(w, text, &w->spans.span[i], first + i, err));
    if (n > 2)
        lend(w, 1, n - 2);
    return OK;
}

static bool has_text(const struct spm *spm, int32_t id)
{
    return id >= ID_UNK && (size_t)id < spm_size(spm);
}

status words_of_ids(struct words *w, const struct spm *spm, const int32_t *id, size_t n,
                    struct str *text, struct err *err)
{
    size_t k = 0;

    TRY(begin(w, n, err));
    w->pieces.n = 0;
    for (size_t i = 0; i < n; i++)
        if (has_text(spm, id[i]))
            TRY(spm_ids_add(&w->pieces, id[i], err));
    if (!w->pieces.n)
        return OK;
    TRY(spm_decode(spm, w->pieces.id, w->pieces.n, text, err));
    TRY(spm_decode_spans(spm, w->pieces.id, w->pieces.n, &w->spans, err));
    const struct line said = {str_text(text), text->len};
    for (size_t i = 0; i < n && k < w->spans.n; i++)
        if (has_text(spm, id[i]))
            TRY(add(w, said, &w->spans.span[k++], i, err));
    for (size_t i = 0, first; i < n; i++) { /* runs between specials */
        for (first = i; i < n && has_text(spm, id[i]);)
            i++;
        if (i > first)
            lend(w, first, i - 1);
    }
    return OK;
}

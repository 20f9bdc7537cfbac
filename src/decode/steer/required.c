#include "decode/steer/required.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void required_close(struct required *r)
{
    free(r->code);
    free(r->fail);
    free(r->left);
    free(r->next);
    *r = (struct required){0};
}

/* One letter more behind k of the phrase and the letter `last`. */
static size_t go_on(const struct required *r, size_t k, uint32_t last, uint32_t code)
{
    while (k > 0 && (k == r->n || r->code[k] != code))
        k = r->fail[k];
    if (k > 0)
        return k + 1;
    return r->code[0] == code && letters_is_border(last, code) ? 1 : 0;
}

/* The longest part of the first i + 1 letters that ends them and begins the phrase, where
 * a word may begin. */
static void set_fails(struct required *r)
{
    for (size_t i = 1; i < r->n; i++) {
        size_t k = r->fail[i];
        while (k > 0 && r->code[k] != r->code[i])
            k = r->fail[k];
        if (k > 0)
            r->fail[i + 1] = (uint16_t)(k + 1);
        else if (r->code[0] == r->code[i] &&
                 letters_is_border(r->code[i - 1], r->code[i]))
            r->fail[i + 1] = 1;
    }
}

/* The tokenizer's own pieces, where they begin; the first has a blank that the phrase has
 * not, or is one alone. */
static void set_own(struct required *r, const struct letters *l, const int32_t *id,
                    size_t n_ids)
{
    size_t at = 0;

    for (size_t i = 0; i < n_ids && at < r->n; i++) {
        const struct letters_text piece = letters_of(l, id[i]);
        const bool has_blank = i == 0 && piece.n && piece.code[0] == ' ';
        r->is_apart |= has_blank && piece.n == 1;
        if (r->is_apart && i == 1)
            r->bare = id[i];
        else
            r->next[at] = id[i];
        at += piece.n - has_blank;
    }
}

/* The longest piece that fits from letter i on, and behind which others do. */
static int32_t longest(const struct required *r, const struct letters *l, size_t i)
{
    for (size_t n = r->n - i; n > 0; n--) {
        const int32_t id = letters_find(l, (struct letters_text){r->code + i, n});
        if (id >= 0 && (i + n == r->n || r->left[i + n]))
            return id;
    }
    return -1;
}

/* Tokens of the phrase from letter i on, if the first is this one; 0: it is none, or no
 * other follows. */
static size_t tokens_with(const struct required *r, const struct letters *l, size_t i,
                          int32_t id)
{
    const struct letters_text piece = letters_of(l, id);
    const size_t at = i + piece.n - (i == 0 && piece.n && piece.code[0] == ' ');

    if (id < 0)
        return 0;
    if (at >= r->n)
        return 1;
    return r->left[at] ? 1 + (size_t)r->left[at] : 0;
}

/* From the end to the beginning: the token from each letter on, and how many follow. */
static void set_ways(struct required *r, const struct letters *l)
{
    for (size_t i = r->n; i-- > 1;) {
        if (r->next[i] < 0)
            r->next[i] = longest(r, l, i);
        r->left[i] = (uint16_t)tokens_with(r, l, i, r->next[i]);
    }
    if (r->bare < 0)
        r->bare = longest(r, l, 0);
    if (r->next[0] < 0)
        r->next[0] = r->bare;
    const size_t n = tokens_with(r, l, 0, r->is_apart ? r->bare : r->next[0]);
    r->n_tokens = n + (n && r->is_apart);
    r->left[0] = (uint16_t)r->n_tokens;
}

static status open_parts(struct required *r, struct letters_text phrase, struct err *err)
{
    r->n = phrase.n;
    TRY(mem_alloc(&r->code, r->n, sizeof *r->code, err));
    TRY(mem_alloc(&r->fail, r->n + 1, sizeof *r->fail, err));
    TRY(mem_alloc(&r->left, r->n + 1, sizeof *r->left, err));
    TRY(mem_alloc(&r->next, r->n, sizeof *r->next, err));
    memcpy(r->code, phrase.code, r->n * sizeof *r->code);
    for (size_t i = 0; i < r->n; i++)
        r->next[i] = -1;
    r->bare = -1;
    return OK;
}

static status fill(struct required *r, const struct letters *l,
                   struct letters_text phrase, const int32_t *id, size_t n_ids,
                   struct err *err)
{
    TRY(open_parts(r, phrase, err));
    set_fails(r);
    for (size_t i = 0; i < n_ids; i++)
        if (id[i] == ID_UNK)
            return err_set(err, ERR_FORMAT,
                           "the tokenizer does not know all letters of the phrase; the "
                           "model cannot say it");
    if (n_ids > REQUIRED_TOKENS)
        return err_set(err, ERR_FORMAT, "the phrase has %zu pieces; at most %d are taken",
                       n_ids, REQUIRED_TOKENS);
    set_own(r, l, id, n_ids);
    set_ways(r, l);
    if (!r->n_tokens)
        return err_set(err, ERR_FORMAT,
                       "the pieces of the tokenizer cannot spell the "
                       "phrase");
    return OK;
}

status required_open(struct required *r, const struct letters *l,
                     struct letters_text phrase, const int32_t *id, size_t n_ids,
                     struct err *err)
{
    *r = (struct required){0};
    const status result = fill(r, l, phrase, id, n_ids, err);
    if (result != OK)
        required_close(r);
    return result;
}

uint16_t required_read(const struct required *r, uint16_t n, uint32_t last, uint32_t code)
{
    if (n == REQUIRED_MET || (n == r->n && letters_is_border(last, code)))
        return REQUIRED_MET;
    return (uint16_t)go_on(r, n, last, code);
}

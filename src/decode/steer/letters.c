#include "decode/steer/letters.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/unicode.h"

enum { BLANK = ' ', PIECE_BLANK = 0x2581, REPLACEMENT = 0xFFFD };

/* Append the text's code points. */
static status add_text(uint32_t **code, size_t *n, size_t *cap, struct line text,
                       struct err *err)
{
    TRY(mem_grow(code, cap, *n + text.n_bytes, sizeof **code, err));
    for (size_t at = 0, len; at < text.n_bytes; at += len) {
        const uint32_t c = utf8_decode(text.text + at, text.n_bytes - at, &len);
        (*code)[(*n)++] = c == UTF8_BAD ? REPLACEMENT : c;
    }
    return OK;
}

static status add_token(struct letters *l, struct line text, struct err *err)
{
    TRY(add_text(&l->code, &l->n, &l->cap, text, err));
    l->at[++l->n_ids] = l->n;
    return OK;
}

/* A piece behind which another shows its blank: text that begins a sentence has none. */
static status find_base(const struct spm *spm, int32_t *base, struct str *text,
                        struct err *err)
{
    for (*base = ID_N_SPECIAL; (size_t)*base < spm_size(spm); ++*base) {
        str_reset(text);
        TRY(spm_decode(spm, base, 1, text, err));
        if (text->len)
            return OK;
    }
    return err_set(err, ERR_FORMAT, "the tokenizer has no piece with text");
}

static status add_pieces(struct letters *l, const struct spm *spm, struct err *err)
{
    RELEASED_BY(str_release) struct str text = str_new(0);
    int32_t pair[2];

    TRY(find_base(spm, pair, &text, err));
    const size_t n_base = text.len;
    for (pair[1] = 0; (size_t)pair[1] < spm_size(spm); pair[1]++) {
        str_reset(&text);
        TRY(spm_decode(spm, pair, 2, &text, err));
        const bool is_text = pair[1] >= ID_UNK && text.len > n_base;
        TRY(add_token(
            l, (struct line){text.data + n_base, is_text ? text.len - n_base : 0}, err));
    }
    return OK;
}

status letters_open(struct letters *l, const struct spm *spm, struct err *err)
{
    *l = (struct letters){0};
    status result = mem_alloc(&l->at, spm_size(spm) + 1, sizeof *l->at, err);
    THEN(result, add_pieces(l, spm, err));
    if (result != OK)
        letters_close(l);
    return result;
}

status letters_open_texts(struct letters *l, const char *const *text, size_t n,
                          struct err *err)
{
    *l = (struct letters){0};
    status result = mem_alloc(&l->at, n + 1, sizeof *l->at, err);
    for (size_t i = 0; i < n && result == OK; i++) {
        size_t n_bytes = 0;
        while (text[i][n_bytes])
            n_bytes++;
        result = add_token(l, (struct line){text[i], n_bytes}, err);
    }
    if (result != OK)
        letters_close(l);
    return result;
}

void letters_close(struct letters *l)
{
    free(l->code);
    free(l->at);
    table_release(&l->by_text);
    *l = (struct letters){0};
}

static uint64_t hash_of(struct letters_text text)
{
    return table_hash((const char *)text.code, text.n * sizeof *text.code);
}

int32_t letters_find(const struct letters *l, struct letters_text text)
{
    struct table_search s = table_search(&l->by_text, hash_of(text));

    for (uint32_t i; (i = table_next(&s)) != TABLE_NONE;) {
        const struct letters_text t = letters_of(l, (int32_t)i);
        if (t.n == text.n && memcmp(t.code, text.code, t.n * sizeof *t.code) == 0)
            return (int32_t)i;
    }
    return -1;
}

status letters_index(struct letters *l, struct err *err)
{
    for (size_t i = 0; i < l->n_ids; i++) {
        const struct letters_text text = letters_of(l, (int32_t)i);
        if (text.n && letters_find(l, text) < 0)
            TRY(table_add(&l->by_text, hash_of(text), (uint32_t)i, err));
    }
    return OK;
}

/* The pieces of a text, without what joins them, are the text normalised. */
status letters_normalise(const struct spm *spm, struct line text, uint32_t **code,
                         size_t *n, struct err *err)
{
    RELEASED_BY(str_release) struct str pieces = str_new(0);
    size_t cap = 0, n_all = 0;

    *code = NULL;
    *n = 0;
    TRY(spm_pieces(spm, text, &pieces, err));
    TRY(add_text(code, &n_all, &cap, (struct line){pieces.data, pieces.len}, err));
    for (size_t i = 0; i < n_all; i++)
        if ((*code)[i] != BLANK)
            (*code)[(*n)++] = (*code)[i] == PIECE_BLANK ? BLANK : (*code)[i];
    return OK;
}

bool letters_is_word(uint32_t code)
{
    if (code < 0x80)
        return unicode_is_letter(code) || unicode_is_digit(code);
    return (unicode_is_letter(code) || unicode_is_digit(code) || unicode_is_mark(code)) &&
           !unicode_is_unspaced(code);
}

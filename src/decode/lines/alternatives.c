#include "decode/lines/alternatives.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

status alternatives_open(struct alternatives *a, size_t n_lines, size_t n_each,
                         struct err *err)
{
    size_t n;

    BUG_ON(n_each > NEXT_WORDS);
    *a = (struct alternatives){.n_lines = n_lines, .n_each = n_each};
    TRY(mem_mul(&n, n_lines, n_each, err));
    TRY(mem_alloc(&a->word, n, sizeof *a->word, err));
    return mem_alloc(&a->n_words, n_lines, sizeof *a->n_words, err);
}

void alternatives_close(struct alternatives *a)
{
    for (size_t i = 0; a->n_words && i < a->n_lines; i++)
        for (size_t k = 0; k < a->n_words[i]; k++)
            free((void *)a->word[i * a->n_each + k].code);
    free(a->word);
    free(a->n_words);
    *a = (struct alternatives){0};
}

static bool is_same(struct letters_text a, struct letters_text b)
{
    return a.n == b.n && (!a.n || memcmp(a.code, b.code, a.n * sizeof *a.code) == 0);
}

status alternatives_add(struct alternatives *a, size_t i, const struct guide *g,
                        const int32_t *token, size_t n, bool *is_new, struct err *err)
{
    struct letters_text *list = a->word + i * a->n_each;
    RELEASED_BY(mem_release) uint32_t *code = NULL;
    size_t n_codes = 0, cap = 0;

    BUG_ON(a->n_words[i] == a->n_each);
    TRY(guide_next_word(g, token, n, &code, &n_codes, &cap, err));
    const struct letters_text word = {code, n_codes};
    *is_new = true;
    for (size_t k = 0; k < a->n_words[i]; k++)
        *is_new &= !is_same(list[k], word);
    if (!*is_new)
        return OK;
    list[a->n_words[i]++] = word;
    code = NULL;
    return OK;
}

void alternatives_guide(const struct alternatives *a, size_t i, struct guide *g)
{
    g->refused = (struct next_refused){a->word + i * a->n_each, a->n_words[i]};
}

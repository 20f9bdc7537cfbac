#include "align/bitext.h"

#include <stdlib.h>

#include "base/mem.h"

/* Both sides as they are in the corpus. */
static struct bitext_pair whole_pair(const struct bitext *b, uint32_t i)
{
    const struct sentence first = corpus_source(b->corpus, i),
                          second = corpus_target(b->corpus, i);

    return b->is_reverse ? (struct bitext_pair){second, first}
                         : (struct bitext_pair){first, second};
}

struct bitext_pair bitext_pair(const struct bitext *b, uint32_t i)
{
    struct bitext_pair pair = whole_pair(b, i);
    const size_t S = pair.source.len, T = pair.target.len;

    if (S == 0 || T == 0 || S > BITEXT_LONGEST || T > BITEXT_LONGEST)
        pair.source.len = pair.target.len = 0;
    return pair;
}

/* Count the ids of a side; false when one is outside the vocabulary. */
static bool count_side(uint64_t *count, struct sentence side, uint32_t vocab)
{
    for (size_t k = 0; k < side.len; k++) {
        if (side.token[k] >= vocab)
            return false;
        count[side.token[k]]++;
    }
    return true;
}

static void count_pair(struct bitext_count *n, const struct bitext_pair *pair)
{
    const size_t S = pair->source.len, T = pair->target.len;

    if (S == 0 || T == 0)
        n->n_empty++;
    else if (S > BITEXT_LONGEST || T > BITEXT_LONGEST)
        n->n_long++;
    else
        n->n_tokens += T;
}

status bitext_count(struct bitext_count *n, const struct bitext *b, struct err *err)
{
    const uint32_t vocab = b->corpus->vocab;

    *n = (struct bitext_count){0};
    TRY(mem_alloc(&n->source, vocab, sizeof *n->source, err));
    TRY(mem_alloc(&n->target, vocab, sizeof *n->target, err));
    for (uint32_t i = 0; i < b->corpus->n_pairs; i++) {
        const struct bitext_pair pair = whole_pair(b, i);
        /* opening did not look at every pair */
        if (!corpus_has_pair(b->corpus, i) ||
            !count_side(n->source, pair.source, vocab) ||
            !count_side(n->target, pair.target, vocab))
            return err_set(err, ERR_FORMAT,
                           "the packed corpus is damaged at pair %u; run ferry prepare "
                           "again",
                           i);
        count_pair(n, &pair);
    }
    for (uint32_t f = 0; f < vocab; f++)
        n->n_targets += n->target[f] > 0;
    return OK;
}

void bitext_count_release(struct bitext_count *n)
{
    free(n->source);
    free(n->target);
    *n = (struct bitext_count){0};
}

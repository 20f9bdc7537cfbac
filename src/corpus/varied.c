#include "corpus/varied.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void varied_release(struct varied *v)
{
    free(v->pair);
    free(v->token);
    free(v->start);
    free(v->weight);
    *v = (struct varied){0};
}

static status add(struct varied *v, size_t *n_tokens, struct sentence s, struct err *err)
{
    TRY(mem_grow(&v->token, &v->cap_tokens, *n_tokens + s.len, sizeof *v->token, err));
    if (s.len)
        memcpy(v->token + *n_tokens, s.token, s.len * sizeof *s.token);
    *n_tokens += s.len;
    return OK;
}

status varied_make(struct varied *v, const struct corpus *from, const uint32_t *pair,
                   size_t n, uint64_t epoch, struct vary how, struct err *err)
{
    size_t n_tokens = 0;

    TRY(mem_grow(&v->pair, &v->cap_pairs, n, sizeof *v->pair, err));
    TRY(mem_grow(&v->start, &v->cap_starts, 2 * n + 1, sizeof *v->start, err));
    if (corpus_has_weights(from))
        TRY(mem_grow(&v->weight, &v->cap_weights, n, sizeof *v->weight, err));
    v->start[0] = 0;
    for (size_t i = 0; i < n; i++) {
        struct sentence out[VARIED_SIDES];
        if (!corpus_has_pair(from, pair[i]))
            return corpus_damaged(pair[i], err);
        const struct sentence in[] = {corpus_source(from, pair[i]),
                                      corpus_target(from, pair[i])};
        TRY(how.make(how.ctx, epoch, pair[i], in, out, err));
        for (size_t side = 0; side < VARIED_SIDES; side++) {
            TRY(add(v, &n_tokens, out[side], err));
            v->start[2 * i + side + 1] = n_tokens;
        }
        v->pair[i] = (uint32_t)i;
        if (corpus_has_weights(from))
            v->weight[i] = corpus_weight(from, pair[i]);
    }
    v->corpus = (struct corpus){.start = v->start,
                                .token = v->token,
                                .weight = corpus_has_weights(from) ? v->weight : NULL,
                                .n_tokens = n_tokens,
                                .n_pairs = (uint32_t)n,
                                .vocab = from->vocab,
                                .arch = from->arch,
                                .name = pair};
    return OK;
}

size_t varied_tgt(const struct varied *v, size_t max_length)
{
    size_t n = 0;

    for (uint32_t i = 0; i < v->corpus.n_pairs; i++)
        n += corpus_rows(&v->corpus, corpus_target(&v->corpus, i).len, max_length);
    return n;
}

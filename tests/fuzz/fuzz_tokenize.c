/* Any two lines as hypothesis and reference: the counts keep their order, a line equals
 * itself, and the words of a line stay its words. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "score/bleu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(struct line hyp, struct line ref, enum tokenize rule, bool is_lowercase)
{
    const struct bleu_options o = {
        .tokenize = rule, .is_effective_order = true, .is_lowercase = is_lowercase};
    struct bleu_stats s = {0};
    struct err err;

    if (bleu_add(&s, &o, hyp, &ref, 1, &err) != OK)
        return;
    for (size_t i = 0; i < BLEU_ORDER; i++)
        if (s.match[i] > s.total[i] || (i && s.match[i] > s.match[i - 1]))
            abort();
    const double score = bleu_score(&s, &o).score;
    if (!(score >= 0 && score < 100.0001))
        abort();
    if (hyp.text == ref.text && memcmp(s.match, s.total, sizeof s.match) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *text = (const char *)data;
    const char *cut = n ? memchr(text, '\xFF', n) : NULL;
    const size_t n_hyp = cut ? (size_t)(cut - text) : n;
    const struct line hyp = {text, n_hyp};
    const struct line ref = {cut ? cut + 1 : text, cut ? n - n_hyp - 1 : n};

    if (!utf8_valid(hyp.text, hyp.n_bytes) || !utf8_valid(ref.text, ref.n_bytes))
        return 0;
    for (unsigned rule = 0; rule < N_TOKENIZE; rule++) {
        check(hyp, ref, (enum tokenize)rule, false);
        check(hyp, ref, (enum tokenize)rule, true);
    }
    return 0;
}

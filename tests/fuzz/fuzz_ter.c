/* Any two lines as hypothesis and reference of TER: there are never more edits than words
 * of the longer one, and none between a line and itself. The first byte has the options.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/utf8.h"
#include "score/ter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static size_t count_words(const struct ter_options *o, struct line line, bool is_ref)
{
    struct str once = str_new(0), twice = str_new(0);
    struct err err;
    size_t n = 0;

    if (ter_cut(&once, o, line, &err) != OK ||
        ter_cut(&twice, o, (struct line){str_text(&once), once.len}, &err) != OK)
        abort();
    const struct str *words = is_ref ? &twice : &once;
    for (size_t i = 0; i < words->len; i++)
        n += words->data[i] == ' ';
    n += words->len > 0;
    str_release(&once);
    str_release(&twice);
    return n;
}

static void check(const struct ter_options *o, struct line hyp, struct line ref)
{
    const size_t n_hyp = count_words(o, hyp, false), n_ref = count_words(o, ref, true);
    struct ter_stats s = {0};
    struct err err;

    if (ter_add(&s, o, hyp, &ref, 1, &err) != OK)
        abort();
    if (s.n_edits > (double)MAX(n_hyp, n_ref) || s.ref_len != (double)n_ref)
        abort();
    if (n_hyp > n_ref ? s.n_edits < (double)(n_hyp - n_ref)
                      : s.n_edits < (double)(n_ref - n_hyp))
        abort();
    if (hyp.text == ref.text && !o->is_normalized && s.n_edits > 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0)
        return 0;
    const struct ter_options o = {.is_normalized = data[0] & 1,
                                  .without_punctuation = data[0] >> 1 & 1,
                                  .is_asian = data[0] >> 2 & 1,
                                  .is_case_sensitive = data[0] >> 3 & 1};
    const char *text = (const char *)data + 1;
    const char *cut = n > 1 ? memchr(text, '\xFF', n - 1) : NULL;
    const size_t n_hyp = cut ? (size_t)(cut - text) : n - 1;
    const struct line hyp = {text, n_hyp};
    const struct line ref = {cut ? cut + 1 : text, cut ? n - 2 - n_hyp : n - 1};

    if (utf8_valid(hyp.text, hyp.n_bytes) && utf8_valid(ref.text, ref.n_bytes))
        check(&o, hyp, ref);
    return 0;
}

/* Any bytes as HTML or text through translators that say anything: tags and placeholders
 * are there, tags are no less balanced, and a copy leaves the text as it is. */
#include <stdint.h>
#include <stdlib.h>

#include "any_translator.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* But for white space, of which long words may lose some. */
static bool is_copy(struct line a, struct line b)
{
    const char *const blanks = " \t\r\n\f\v";
    size_t i = 0, k = 0;

    for (;; i++, k++) {
        while (i < a.n_bytes && a.text[i] && strchr(blanks, a.text[i]))
            i++;
        while (k < b.n_bytes && b.text[k] && strchr(blanks, b.text[k]))
            k++;
        if (i == a.n_bytes || k == b.n_bytes || a.text[i] != b.text[k])
            return i == a.n_bytes && k == b.n_bytes;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const unsigned unrest[] = {0, 10, 60, 100};
    const struct line text = {(const char *)data, n};
    const enum markup_format format = n && data[0] & 1 ? MARKUP_TEXT : MARKUP_HTML;
    struct rng r = rng_open(n ? rng_hash(n, data[n / 2]) : 1);
    struct str out = str_new(0);
    size_t n_left = 0;

    for (size_t i = 0; i < sizeof unrest / sizeof *unrest; i++) {
        str_reset(&out);
        if (!any_holds(text, format, unrest[i], &r, &out, &n_left))
            abort();
        if (format == MARKUP_TEXT && unrest[i] == 0 &&
            !is_copy((struct line){str_text(&out), out.len}, text))
            abort();
    }
    str_release(&out);
    return 0;
}

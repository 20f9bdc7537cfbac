/* Any bytes as a line: its sentences add up to it, and cutting one ends with parts of the
 * length that was asked for. */
#include <stdint.h>
#include <stdlib.h>

#include "spans.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Parts are not empty, and longer than asked for only if they are one character. */
static void cut(const char *text, size_t n, size_t at_most)
{
    size_t len;

    while (n) {
        const size_t part = sentences_clause(text, n, at_most);
        if (part == 0 || part > n)
            abort();
        if (part > at_most) {
            utf8_decode(text, n, &len);
            if (part > len)
                abort();
        }
        text += part;
        n -= part;
        while (n && utf8_is_space(utf8_decode(text, n, &len))) {
            text += len;
            n -= len;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const langs[] = {"", "en", "de", "el", "ru", "ja", "fr-CA", "x"};
    const char *line = (const char *)data + 1;
    struct sentences s = {0};
    struct err err;

    if (n == 0)
        return 0;
    if (sentences_split(&s, line, n - 1, langs[data[0] % 8], &err) != OK ||
        !spans_add_up(line, n - 1, &s))
        abort();
    for (size_t i = 0; i < s.n; i++)
        cut(line + s.span[i].at, s.span[i].n_bytes, data[0] / 8);
    sentences_release(&s);
    return 0;
}

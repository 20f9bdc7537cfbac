/* Any text as a corpus: lines add up to the text, and what is kept has the form that the
 * rules promise. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "base/utf8.h"
#include "text/clean.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_side(const struct str *s)
{
    const char *text = str_text(s);

    if (s->len == 0 || text[0] == ' ' || text[s->len - 1] == ' ' ||
        memmem(text, s->len, "  ", 2) || !utf8_valid(text, s->len))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct lines l = lines_over(data, n);
    struct line a, b;
    struct clean c;
    enum clean_verdict verdict;
    struct err err;

    clean_init(&c, (struct clean_options){1, 80, 9, 1000});
    while (lines_next(&l, &a) && lines_next(&l, &b)) {
        if (clean_pair(&c, a, b, &verdict, &err) != OK)
            break;
        if (verdict == CLEAN_KEEP) {
            check_side(&c.side[0]);
            check_side(&c.side[1]);
        }
    }
    if (lines_count(&l) > n)
        abort();
    clean_release(&c);
    return 0;
}

/* Any bytes as a shortlist, for the vocabulary that they name themselves and for another:
 * refused with a sentence, or every list is sorted, inside the vocabulary and has the
 * specials. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "align/shortlist.h"
#include "format/le.h"
#include "recipe/special_ids.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void collect_all(const struct shortlist *s)
{
    static uint16_t out[SHORTLIST_MOST_IDS];
    int32_t source[5] = {-1, 0, 0, 0, INT32_MAX};

    for (uint32_t e = 0; e < s->vocab; e += 1 + e / 8) {
        source[1] = (int32_t)e;
        source[2] = (int32_t)(s->vocab - 1 - e);
        source[3] = (int32_t)e;
        const size_t n = shortlist_collect(s, source, 5, out, SHORTLIST_MOST_IDS);
        if (n < ID_N_SPECIAL || n > shortlist_most(s, 5) || out[n - 1] >= s->vocab)
            abort();
        for (size_t k = 0; k < n; k++)
            if (k < ID_N_SPECIAL ? out[k] != k : out[k] <= out[k - 1])
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const size_t vocab[] = {n >= 8 ? le_get32(data + 4) : 0, 6};
    unsigned char *copy = malloc(n ? n : 1); /* of its own: a sanitizer sees the end */
    struct shortlist s;
    struct err err;

    if (!copy)
        return 0;
    if (n)
        memcpy(copy, data, n);
    for (size_t k = 0; k < 2; k++) {
        err.msg[0] = '\0';
        if (shortlist_view(&s, copy, n, vocab[k], &err) == OK)
            collect_all(&s);
        else if (!err.msg[0])
            abort();
    }
    free(copy);
    return 0;
}

/* Any bytes as Translation files: stanzas within them, and pairs without line ends. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fetch/debian.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static status check(void *to, const char *const text[N_FETCH_SIDES], struct err *err)
{
    (void)to;
    (void)err;
    for (int s = 0; s < N_FETCH_SIDES; s++)
        if (text[s][0] == '\0' || strchr(text[s], '\n') || text[s][0] == ' ')
            abort();
    return OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct debian_text en = {0}, de = {0};
    struct debian_align_stats stats = {0};
    struct err err = {.code = OK};
    const char *bytes = (const char *)data;

    if (debian_text_add(&en, bytes, n, "en", &err) != OK ||
        debian_text_add(&de, bytes, n, "de", &err) != OK)
        abort();
    debian_text_sort(&en);
    debian_text_sort(&de);
    for (size_t i = 0; i < de.n; i++) {
        const struct debian_text_item *x = debian_text_find(&en, de.item[i].md5);
        if (de.item[i].text < bytes || de.item[i].text + de.item[i].n_text > bytes + n)
            abort();
        if (!x)
            continue;
        const char *const text[N_FETCH_SIDES] = {x->text, de.item[i].text};
        const size_t size[N_FETCH_SIDES] = {x->n_text, de.item[i].n_text};
        if (debian_align(text, size, &stats, check, NULL, &err) != OK)
            abort();
    }
    debian_text_release(&en);
    debian_text_release(&de);
    return 0;
}

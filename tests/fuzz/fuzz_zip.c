/* Any bytes as a zip archive: refused with a sentence, or every member can be unpacked
 * into as many bytes as it says, or is damaged. */
#include <stdint.h>
#include <stdlib.h>

#include "format/foreign/zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void unpack(const struct zip *z, const struct zip_member *m)
{
    struct err err = {0};
    unsigned char *to = malloc(m->n + 1);

    if (to && zip_unpack(z, m, to, &err) != OK && !err.msg[0])
        abort();
    free(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct zip z;
    struct err err = {0};
    uint64_t n_all = 0;

    if (zip_open(&z, data, n, &err) != OK) {
        if (!err.msg[0])
            abort();
        return 0;
    }
    for (size_t i = 0; i < z.n; i++) {
        n_all += z.member[i].n;
        if (zip_find(&z, z.member[i].name) != &z.member[i])
            abort();
        unpack(&z, &z.member[i]);
    }
    if (n_all > (uint64_t)ZIP_RATIO * n + (uint64_t)z.n * ZIP_SMALL)
        abort(); /* the promise of zip.h */
    zip_close(&z);
    return 0;
}

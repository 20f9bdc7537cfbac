/* Any bytes as a catalogue: refused with a sentence, or names that stay in a directory.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fetch/catalog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct catalog c;
    struct err err = {.code = OK};

    if (catalog_parse(&c, (const char *)data, n, "fuzz.corpus", &err) != OK) {
        if (err.code == OK || err.msg[0] == '\0')
            abort();
        return 0;
    }
    for (size_t i = 0; i < c.n_files; i++) {
        if (strchr(c.file[i].name, '/') || c.file[i].n_urls == 0)
            abort();
        for (size_t k = 0; k < c.file[i].n_members; k++)
            if (strchr(c.file[i].member[k].name, '/') || c.file[i].member[k].n == 0)
                abort();
    }
    catalog_close(&c);
    return 0;
}

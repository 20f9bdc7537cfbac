/* Any bytes as a tar archive: refused with a sentence, or members within the bytes. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct bytes {
    const uint8_t *at;
    size_t n;
};

static status give(void *from, void *buf, size_t n, size_t *got, struct err *err)
{
    struct bytes *b = from;

    (void)err;
    *got = n < b->n ? n : b->n;
    memcpy(buf, b->at, *got);
    b->at += *got;
    b->n -= *got;
    return OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct bytes b = {data, n};
    struct err err = {.code = OK};
    struct tar t;
    struct tar_entry e;
    unsigned char waste[100];
    size_t got, n_data = 0;
    bool has = true;
    status s = OK;

    tar_open(&t, give, &b, "fuzz.tar");
    while (s == OK && has) {
        s = tar_next(&t, &e, &has, &err);
        if (s == OK && has &&
            (e.path[0] == '/' || strncmp(e.path, "../", 3) == 0 ||
             strstr(e.path, "/../")))
            abort();
        for (got = 1; s == OK && has && got; n_data += got)
            s = tar_data(&t, waste, sizeof waste, &got, &err);
    }
    if (n_data > n || (s != OK && (err.code == OK || err.msg[0] == '\0')))
        abort();
    return 0;
}

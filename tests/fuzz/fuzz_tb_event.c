/* The input as a file of events, and framed as one record with right checksums. */
#include <stdlib.h>
#include <string.h>

#include "format/crc32c.h"
#include "format/le.h"
#include "format/tf/tb_event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void walk(const unsigned char *bytes, size_t n)
{
    struct tb_event_reader r;
    struct tb_event_point p;
    struct err err;
    bool more = true;

    tb_event_read_bytes(&r, bytes, n);
    while (more && tb_event_next(&r, &p, &more, &err) == OK)
        if (more && strlen(p.tag) > n)
            abort();
    tb_event_read_close(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    unsigned char *framed = malloc(n + 16);

    walk(data, n);
    if (!framed)
        return 0;
    le_put64(framed, n);
    le_put32(framed + 8, crc32c_mask(crc32c(0, framed, 8)));
    if (n)
        memcpy(framed + 12, data, n);
    le_put32(framed + 12 + n, crc32c_mask(crc32c(0, data, n)));
    walk(framed, n + 16);
    free(framed);
    return 0;
}

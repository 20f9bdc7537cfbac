/* Any bytes as the event file of another program, and any points framed as one: refused
 * in a sentence, or a log. */
#include <stdlib.h>
#include <string.h>

#include "format/crc32c.h"
#include "format/le.h"
#include "report/read/foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void retell(const void *bytes, size_t n)
{
    struct runlog log;
    struct err err = {.code = OK};

    if (foreign_events_bytes(&log, "events", bytes, n, &err) == OK)
        (void)runlog_end(&log);
    else if (err.code == OK || err.msg[0] == '\0')
        abort();
    runlog_close(&log);
}

/* Right checksums around payloads of a length that the byte before each tells. */
static size_t frame(unsigned char *out, const uint8_t *data, size_t n)
{
    size_t at = 0;

    for (size_t i = 0; i < n;) {
        const size_t wanted = data[i++], len = wanted < n - i ? wanted : n - i;
        le_put64(out + at, len);
        le_put32(out + at + 8, crc32c_mask(crc32c(0, out + at, 8)));
        memcpy(out + at + 12, data + i, len);
        le_put32(out + at + 12 + len, crc32c_mask(crc32c(0, data + i, len)));
        at += 16 + len;
        i += len;
    }
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    unsigned char *framed = malloc(17 * n + 1);

    retell(data, n);
    if (framed && n < (1 << 20))
        retell(framed, frame(framed, data, n));
    free(framed);
    return 0;
}

/* Any bytes as the head of an HTTP request: a route of ours, or a status that refuses. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "report/show/live.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct live_request r;

    if (!live_request_read(&r, (const char *)data, n, "host"))
        return 0;
    if ((r.status == 200) != (r.route != LIVE_NOTHING))
        abort();
    if (!live_request_reason(r.status)[0])
        abort();
    return 0;
}

/* Any bytes as a Host header: one of our names or not, and never more than its bytes. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *host = strndup((const char *)data, n);

    if (host && http_host_is_own(host, "host") && strlen(host) > 300)
        abort();
    free(host);
    return 0;
}

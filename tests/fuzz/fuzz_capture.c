/* Any bytes as a capture: refused in a sentence, or one whose shares are shares. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bytes_fd.h"
#include "report/read/capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static bool is_share(double x)
{
    return isnan(x) || (x >= 0 && x <= 1.01);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const int fd = bytes_fd(data, n);
    struct err err = {.code = OK};
    struct capture c;
    char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (capture_open(&c, path, &err) == OK) {
        if (!(c.n >= 1) || !is_share(c.cpu_busy))
            abort();
        for (size_t i = 0; i < c.n_gpu; i++)
            if (!is_share(c.gpu[i].busy) || !is_share(c.gpu[i].low_power) ||
                !(c.gpu[i].n <= c.gpu[i].n_all))
                abort();
        for (size_t i = 0; i < c.n_card; i++)
            if (c.card[i].received < 0 || !(c.card[i].n <= c.card[i].n_all))
                abort();
        capture_close(&c);
    } else if (err.code == OK || err.msg[0] == '\0') {
        abort();
    }
    close(fd);
    return 0;
}

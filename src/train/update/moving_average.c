#include "train/update/moving_average.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

status moving_average_open(struct moving_average *a, struct device *d, size_t n,
                           double decay, struct err *err)
{
    *a = (struct moving_average){.device = d, .decay = decay};
    return decay > 0 ? device_alloc_row(d, &a->mean, n, err) : OK;
}

void moving_average_close(struct moving_average *a)
{
    if (a->mean.mem)
        device_free(a->device, a->mean.mem);
    *a = (struct moving_average){0};
}

void moving_average_begin(struct moving_average *a, struct mat weights)
{
    if (a->mean.mem)
        a->device->k->average(a->device, a->mean, weights, 0);
}

/* The decay of one update grows with their number, so that early weights are forgotten.
 */
void moving_average_follow(struct moving_average *a, struct mat weights, int64_t step,
                           int64_t n_updates)
{
    const double n = (double)step, young = (1 + n) / (10 + n);
    const double decay = young < a->decay ? young : a->decay;

    if (a->mean.mem)
        a->device->k->average(a->device, a->mean, weights,
                              n_updates == 1 ? decay : pow(decay, (double)n_updates));
}

/* The bytes go through the host in pieces, so that no third copy is needed. */
status moving_average_swap(struct moving_average *a, struct mat weights, struct err *err)
{
    enum { PIECE = 1 << 20 };
    struct device *d = a->device;
    const size_t n = weights.cols, bytes = d->real_bytes;
    char *host;

    if (!a->mean.mem)
        return OK;
    TRY(mem_alloc(&host, (size_t)2 * PIECE, bytes, err));
    for (size_t at = 0; at < n; at += PIECE) {
        const size_t k = n - at < PIECE ? n - at : PIECE;
        const struct mat w = mat_cols(weights, at, k), v = mat_cols(a->mean, at, k);
        device_download(d, host, w);
        device_download(d, host + PIECE * bytes, v);
        device_upload(d, w, host + PIECE * bytes);
        device_upload(d, v, host);
    }
    free(host);
    return OK;
}

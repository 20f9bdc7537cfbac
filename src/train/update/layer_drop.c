#include "train/update/layer_drop.h"

#include "base/rng.h"

uint64_t layer_drop_mask(struct layer_drop drop, const char *stack, int64_t n)
{
    const uint64_t name = rng_hash(rng_key(drop.seed, "layer_drop"), drop.step);
    struct rng r = rng_open(rng_key(name, stack));
    uint64_t mask = 0;
    double most = -1;
    int64_t nearest = 0;

    for (int64_t l = 0; l < n; l++) {
        const double x = rng_unit(&r);
        if (x < drop.rate)
            mask |= UINT64_C(1) << l;
        if (x > most) {
            most = x;
            nearest = l;
        }
    }
    return mask & ~(UINT64_C(1) << nearest);
}

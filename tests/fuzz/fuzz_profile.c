/* Any bytes as profiles of languages, and as a text to detect with those that they hold.
 */
#include <stdint.h>
#include <stdlib.h>

#include "text/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct line bytes = {(const char *)data, n};
    struct profiles p = {0};
    struct err err;

    if (profile_read(&p, bytes, &err) == OK && p.n) {
        struct profile_guess *guess = calloc(p.n, sizeof *guess);
        profile_detect(&p, bytes, guess);
        if (!(guess[0].confidence >= 0 && guess[0].confidence <= 100.001))
            abort();
        free(guess);
    }
    profile_release(&p);
    return 0;
}

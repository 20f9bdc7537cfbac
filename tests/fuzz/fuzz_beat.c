/* Every message reader on any bytes, sealed and not: what is accepted is within bounds.
 */
#include "dist/watch/beat.h"

#include <string.h>

#include "dist/watch/pulse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const uint8_t token[BEAT_TOKEN] = "the key of this fuzz target....";
static const uint8_t nonce[BEAT_NONCE] = "its one number";

static void read_all(const uint8_t *in, const struct beat_key *key)
{
    uint8_t number[BEAT_NONCE];
    enum beat_answer answer;
    struct beat_join j;
    struct beat_ack a;
    struct beat b;

    (void)!beat_get_hello(number, in);
    if (beat_get_join(&j, in, token, nonce) && strnlen(j.host, BEAT_HOST) == BEAT_HOST)
        __builtin_trap();
    if (beat_get_welcome(&answer, in, key) && answer >= BEAT_N_ANSWERS)
        __builtin_trap();
    if (beat_get_beat(&b, in, key) && b.phase >= PULSE_N_PHASES)
        __builtin_trap();
    if (beat_get_ack(&a, in, key) && a.order >= BEAT_N_ORDERS)
        __builtin_trap();
}

/* The same with a true seal, as a rank with the token but without sense would make it. */
static void read_sealed(uint8_t *in, size_t n, const struct beat_key *key)
{
    sha256_hmac(in + n - SHA256_BYTES, key->bytes, SHA256_BYTES, in, n - SHA256_BYTES);
    read_all(in, key);
}

/* A rank that may say anything of itself: its name comes out fit for a terminal. */
static void join_as(const uint8_t *data, size_t n)
{
    uint8_t sealed[BEAT_JOIN_BYTES];
    struct beat_join j = {0};

    memcpy(&j, data, n < sizeof j ? n : sizeof j);
    beat_put_join(sealed, &j, token, nonce);
    if (!beat_get_join(&j, sealed, token, nonce) ||
        strnlen(j.host, BEAT_HOST) == BEAT_HOST)
        __builtin_trap();
    for (const char *p = j.host; *p; p++)
        if (*p <= ' ' || *p > '~')
            __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct beat_key key = beat_session(token, nonce, nonce);
    uint8_t in[BEAT_MAX_BYTES] = {0};

    memcpy(in, data, n < sizeof in ? n : sizeof in);
    read_all(in, &key);
    read_sealed(in, BEAT_WELCOME_BYTES, &key);
    read_sealed(in, BEAT_BEAT_BYTES, &key);
    read_sealed(in, BEAT_ACK_BYTES, &key);
    join_as(data, n);
    return 0;
}

/* Every message reader on any bytes, sealed and not: what is accepted is within bounds.
 */
#include "dist/watch/channel.h"

#include <string.h>

#include "dist/watch/phase.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const uint8_t token[CHANNEL_TOKEN] = "the key of this fuzz target....";
static const uint8_t nonce[CHANNEL_NONCE] = "its one number";

static void read_all(const uint8_t *in, const struct channel_key *key)
{
    uint8_t number[CHANNEL_NONCE];
    enum channel_answer answer;
    struct channel_join j;
    struct channel_ack a;
    struct channel_beat b;

    (void)!channel_get_hello(number, in);
    if (channel_get_join(&j, in, token, nonce) &&
        strnlen(j.host, CHANNEL_HOST) == CHANNEL_HOST)
        __builtin_trap();
    if (channel_get_welcome(&answer, in, key) && answer >= CHANNEL_N_ANSWERS)
        __builtin_trap();
    if (channel_get_beat(&b, in, key) && b.phase >= N_PHASES)
        __builtin_trap();
    if (channel_get_ack(&a, in, key) && a.order >= CHANNEL_N_ORDERS)
        __builtin_trap();
}

/* The same with a true seal, as a rank with the token but without sense would make it. */
static void read_sealed(uint8_t *in, size_t n, const struct channel_key *key)
{
    sha256_hmac(in + n - SHA256_BYTES, key->bytes, SHA256_BYTES, in, n - SHA256_BYTES);
    read_all(in, key);
}

/* A rank that may say anything of itself: its name comes out fit for a terminal. */
static void join_as(const uint8_t *data, size_t n)
{
    uint8_t sealed[CHANNEL_JOIN_BYTES];
    struct channel_join j = {0};

    memcpy(&j, data, n < sizeof j ? n : sizeof j);
    channel_put_join(sealed, &j, token, nonce);
    if (!channel_get_join(&j, sealed, token, nonce) ||
        strnlen(j.host, CHANNEL_HOST) == CHANNEL_HOST)
        __builtin_trap();
    for (const char *p = j.host; *p; p++)
        if (*p <= ' ' || *p > '~')
            __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct channel_key key = channel_session(token, nonce, nonce);
    uint8_t in[CHANNEL_MAX_BYTES] = {0};

    memcpy(in, data, n < sizeof in ? n : sizeof in);
    read_all(in, &key);
    read_sealed(in, CHANNEL_WELCOME_BYTES, &key);
    read_sealed(in, CHANNEL_BEAT_BYTES, &key);
    read_sealed(in, CHANNEL_ACK_BYTES, &key);
    join_as(data, n);
    return 0;
}

#include "dist/watch/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "dist/watch/phase.h"
#include "format/le.h"

enum { VERSION = 2, MARK = 4, GONE = 255 };

/* The first four bytes of each message; the version of all of them stands in HELLO. */
static const char mark_hello[] = "FryH", mark_join[] = "FryJ", mark_welcome[] = "FryW",
                  mark_beat[] = "FryB", mark_ack[] = "FryA";

/* The MAC of a message fills its last bytes and covers all before them. */
static void seal(uint8_t *out, size_t n, const uint8_t *key)
{
    sha256_hmac(out + n - SHA256_BYTES, key, SHA256_BYTES, out, n - SHA256_BYTES);
}

static bool is_valid(const uint8_t *in, size_t n, const char *mark, const uint8_t *key)
{
    uint8_t mac[SHA256_BYTES];

    sha256_hmac(mac, key, SHA256_BYTES, in, n - SHA256_BYTES);
    return memcmp(in, mark, MARK) == 0 && sha256_equal(mac, in + n - SHA256_BYTES);
}

/* A key for one purpose: the MAC of a word and the random numbers under the token. */
static struct channel_key derive(const uint8_t *token, const char word[MARK],
                                 const uint8_t *hello, const uint8_t *join)
{
    uint8_t text[MARK + 2 * CHANNEL_NONCE] = {0};
    struct channel_key key;

    memcpy(text, word, MARK);
    memcpy(text + MARK, hello, CHANNEL_NONCE);
    if (join)
        memcpy(text + MARK + CHANNEL_NONCE, join, CHANNEL_NONCE);
    sha256_hmac(key.bytes, token, CHANNEL_TOKEN, text, sizeof text);
    return key;
}

void channel_put_hello(uint8_t out[CHANNEL_HELLO_BYTES],
                       const uint8_t nonce[CHANNEL_NONCE])
{
    memcpy(out, mark_hello, MARK);
    le_put32(out + 4, VERSION);
    memcpy(out + 8, nonce, CHANNEL_NONCE);
}

bool channel_get_hello(uint8_t nonce[CHANNEL_NONCE],
                       const uint8_t in[CHANNEL_HELLO_BYTES])
{
    if (memcmp(in, mark_hello, MARK) != 0 || le_get32(in + 4) != VERSION)
        return false;
    memcpy(nonce, in + 8, CHANNEL_NONCE);
    return true;
}

void channel_put_join(uint8_t out[CHANNEL_JOIN_BYTES], const struct channel_join *j,
                      const uint8_t token[CHANNEL_TOKEN],
                      const uint8_t hello[CHANNEL_NONCE])
{
    memset(out, 0, CHANNEL_JOIN_BYTES);
    memcpy(out, mark_join, MARK);
    le_put32(out + 4, j->rank);
    le_put32(out + 8, j->n_ranks);
    memcpy(out + 12, j->nonce, CHANNEL_NONCE);
    memcpy(out + 28, j->host, strnlen(j->host, CHANNEL_HOST - 1));
    seal(out, CHANNEL_JOIN_BYTES, derive(token, mark_join, hello, NULL).bytes);
}

/* Host names end up on terminals: whatever is not a letter of a name becomes '?'. */
static void clean_host(char host[CHANNEL_HOST])
{
    host[CHANNEL_HOST - 1] = '\0';
    for (char *p = host; *p; p++)
        if (*p <= ' ' || *p > '~')
            *p = '?';
}

bool channel_get_join(struct channel_join *j, const uint8_t in[CHANNEL_JOIN_BYTES],
                      const uint8_t token[CHANNEL_TOKEN],
                      const uint8_t hello[CHANNEL_NONCE])
{
    if (!is_valid(in, CHANNEL_JOIN_BYTES, mark_join,
                  derive(token, mark_join, hello, NULL).bytes))
        return false;
    j->rank = le_get32(in + 4);
    j->n_ranks = le_get32(in + 8);
    memcpy(j->nonce, in + 12, CHANNEL_NONCE);
    memcpy(j->host, in + 28, CHANNEL_HOST);
    clean_host(j->host);
    return true;
}

struct channel_key channel_session(const uint8_t token[CHANNEL_TOKEN],
                                   const uint8_t hello[CHANNEL_NONCE],
                                   const uint8_t join[CHANNEL_NONCE])
{
    return derive(token, mark_beat, hello, join);
}

void channel_put_welcome(uint8_t out[CHANNEL_WELCOME_BYTES], enum channel_answer answer,
                         const struct channel_key *key)
{
    memcpy(out, mark_welcome, MARK);
    le_put32(out + 4, (uint32_t)answer);
    seal(out, CHANNEL_WELCOME_BYTES, key->bytes);
}

bool channel_get_welcome(enum channel_answer *answer,
                         const uint8_t in[CHANNEL_WELCOME_BYTES],
                         const struct channel_key *key)
{
    const uint32_t value = le_get32(in + 4);

    if (!is_valid(in, CHANNEL_WELCOME_BYTES, mark_welcome, key->bytes) ||
        value >= CHANNEL_N_ANSWERS)
        return false;
    *answer = (enum channel_answer)value;
    return true;
}

void channel_put_beat(uint8_t out[CHANNEL_BEAT_BYTES], const struct channel_beat *b,
                      const struct channel_key *key)
{
    const uint32_t last = b->is_last ? 1 + (uint32_t)b->result + (b->fault << 8) : 0;

    memcpy(out, mark_beat, MARK);
    le_put32(out + 4, b->is_gone ? GONE : last);
    le_put64(out + 8, b->seq);
    le_put64(out + 16, b->step);
    le_put32(out + 24, b->phase);
    le_put32(out + 28, b->age_ms);
    le_put32(out + 32, b->waited_ms);
    le_put32(out + 36, b->span_ms);
    le_put32(out + 40, b->rank);
    seal(out, CHANNEL_BEAT_BYTES, key->bytes);
}

bool channel_get_beat(struct channel_beat *b, const uint8_t in[CHANNEL_BEAT_BYTES],
                      const struct channel_key *key)
{
    const uint32_t last = le_get32(in + 4) & 0xFF;
    const bool is_last = last > 0 && last <= 1 + ERR_LOST;

    if (!is_valid(in, CHANNEL_BEAT_BYTES, mark_beat, key->bytes) ||
        (last && !is_last && last != GONE) || le_get32(in + 24) >= N_PHASES)
        return false;
    *b = (struct channel_beat){.seq = le_get64(in + 8),
                               .step = le_get64(in + 16),
                               .phase = le_get32(in + 24),
                               .age_ms = le_get32(in + 28),
                               .waited_ms = le_get32(in + 32),
                               .span_ms = le_get32(in + 36),
                               .rank = le_get32(in + 40),
                               .is_last = is_last,
                               .is_gone = last == GONE,
                               .result = is_last ? (status)(last - 1) : OK,
                               .fault = le_get32(in + 4) >> 8};
    return true;
}

void channel_put_ack(uint8_t out[CHANNEL_ACK_BYTES], const struct channel_ack *a,
                     const struct channel_key *key)
{
    memcpy(out, mark_ack, MARK);
    le_put32(out + 4, (uint32_t)a->order);
    le_put64(out + 8, a->seq);
    seal(out, CHANNEL_ACK_BYTES, key->bytes);
}

bool channel_get_ack(struct channel_ack *a, const uint8_t in[CHANNEL_ACK_BYTES],
                     const struct channel_key *key)
{
    const uint32_t order = le_get32(in + 4);

    if (!is_valid(in, CHANNEL_ACK_BYTES, mark_ack, key->bytes) ||
        order >= CHANNEL_N_ORDERS)
        return false;
    *a = (struct channel_ack){le_get64(in + 8), (enum channel_order)order};
    return true;
}

enum channel_receipt channel_receive(struct channel_inbox *in, int fd, size_t want)
{
    BUG_ON(want > sizeof in->bytes);
    while (in->n < want) {
        const ssize_t got = recv(fd, in->bytes + in->n, want - in->n, MSG_DONTWAIT);
        if (got > 0)
            in->n += (size_t)got;
        else if (got < 0 && errno == EINTR)
            continue;
        else
            return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? CHANNEL_PARTIAL
                                                                        : CHANNEL_CLOSED;
    }
    return CHANNEL_WHOLE;
}

bool channel_send(int fd, const void *bytes, size_t n)
{
    ssize_t sent;

    do {
        sent = send(fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)n;
}

bool channel_random(void *out, size_t n)
{
    return getrandom(out, n, 0) == (ssize_t)n;
}

/*
 * channel - the messages of the control channel, byte for byte (docs/formats/control.md).
 *
 * Five messages of fixed sizes, in a fixed order:
 *
 *     server  HELLO    a fresh random number
 *     rank    JOIN     who it is, a random number of its own, MAC under the job's token
 *     server  WELCOME  accepted or why not, MAC: the server knows the token too
 *     rank    BEAT     every second: step, phase, age; MAC under the session's key; a
 *                      leader's own comes behind those of the ranks it speaks for
 *     server  ACK      the beat's number and an order; MAC under the session's key
 *
 * The token never travels. A recorded message is not valid in another session (both
 * random numbers are in the key) nor twice in one (numbers only grow). A reader checks
 * size, mark and MAC before it uses a field.
 *
 * Owns nothing. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "format/sha256.h"

enum {
    CHANNEL_RANKS_MAX = (1 << 24) - 1,
    CHANNEL_TOKEN = 32,
    CHANNEL_NONCE = 16,
    CHANNEL_HOST = 64, /* bytes of a host's name with its NUL; longer names are cut */
    CHANNEL_HELLO_BYTES = 24,
    CHANNEL_JOIN_BYTES = 124,
    CHANNEL_WELCOME_BYTES = 40,
    CHANNEL_BEAT_BYTES = 76,
    CHANNEL_ACK_BYTES = 48,
    CHANNEL_MAX_BYTES = CHANNEL_JOIN_BYTES,
};

struct channel_join {
    uint32_t rank, n_ranks;
    char host[CHANNEL_HOST];
    uint8_t nonce[CHANNEL_NONCE];
};

/* The server's answer to a rank that knows the token. */
enum channel_answer {
    CHANNEL_ACCEPTED,
    CHANNEL_WRONG_SIZE,
    CHANNEL_WRONG_RANK,
    CHANNEL_N_ANSWERS
};

struct channel_beat {
    uint64_t seq;  /* 1, 2, 3... within a session */
    uint32_t rank; /* of whom it speaks */
    uint64_t step; /* finished updates */
    uint32_t phase;
    uint32_t age_ms;    /* of the phase */
    uint32_t waited_ms; /* time spent waiting for others since the beat before */
    uint32_t span_ms;   /* all of the time since then */
    bool is_last;       /* goodbye: the rank ends regularly */
    bool is_gone;       /* a leader's word: the rank hung up without goodbye */
    status result;      /* of is_last: how it ended */
    uint32_t fault; /* of a bad result: 1 + the rank whose host is at fault; 0: none */
};

/* STOP: save and end. LEAVE: the job is lost, end at once. */
enum channel_order { CHANNEL_GO, CHANNEL_STOP, CHANNEL_LEAVE, CHANNEL_N_ORDERS };

struct channel_ack {
    uint64_t seq;
    enum channel_order order;
};

/* Of a session: known to both sides once a rank has joined. */
struct channel_key {
    uint8_t bytes[SHA256_BYTES];
};

void channel_put_hello(uint8_t out[CHANNEL_HELLO_BYTES],
                       const uint8_t nonce[CHANNEL_NONCE]);
bool channel_get_hello(uint8_t nonce[CHANNEL_NONCE],
                       const uint8_t in[CHANNEL_HELLO_BYTES]);

void channel_put_join(uint8_t out[CHANNEL_JOIN_BYTES], const struct channel_join *j,
                      const uint8_t token[CHANNEL_TOKEN],
                      const uint8_t hello[CHANNEL_NONCE]);
bool channel_get_join(struct channel_join *j, const uint8_t in[CHANNEL_JOIN_BYTES],
                      const uint8_t token[CHANNEL_TOKEN],
                      const uint8_t hello[CHANNEL_NONCE]);

/* The session's key, from the token and the random numbers of both sides. */
struct channel_key channel_session(const uint8_t token[CHANNEL_TOKEN],
                                   const uint8_t hello[CHANNEL_NONCE],
                                   const uint8_t join[CHANNEL_NONCE]);

void channel_put_welcome(uint8_t out[CHANNEL_WELCOME_BYTES], enum channel_answer answer,
                         const struct channel_key *key);
bool channel_get_welcome(enum channel_answer *answer,
                         const uint8_t in[CHANNEL_WELCOME_BYTES],
                         const struct channel_key *key);

void channel_put_beat(uint8_t out[CHANNEL_BEAT_BYTES], const struct channel_beat *b,
                      const struct channel_key *key);
bool channel_get_beat(struct channel_beat *b, const uint8_t in[CHANNEL_BEAT_BYTES],
                      const struct channel_key *key);

void channel_put_ack(uint8_t out[CHANNEL_ACK_BYTES], const struct channel_ack *a,
                     const struct channel_key *key);
bool channel_get_ack(struct channel_ack *a, const uint8_t in[CHANNEL_ACK_BYTES],
                     const struct channel_key *key);

/* Bytes of one message as they come in over a non-blocking socket. */
struct channel_inbox {
    uint8_t bytes[CHANNEL_MAX_BYTES];
    size_t n;
};

enum channel_receipt { CHANNEL_WHOLE, CHANNEL_PARTIAL, CHANNEL_CLOSED };

/* Read until `want` bytes are there; the caller then sets n = 0. */
enum channel_receipt channel_receive(struct channel_inbox *in, int fd, size_t want);
/* False unless all n bytes fit into the send buffer at once. */
bool channel_send(int fd, const void *bytes, size_t n);

/* Random bytes from the kernel; false when it has none. */
bool channel_random(void *out, size_t n);

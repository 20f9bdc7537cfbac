/*
 * beat - the messages of the control channel, byte for byte (docs/formats/control.md).
 *
 * Five messages of fixed sizes, in a fixed order:
 *
 *     server  HELLO    a fresh random number
 *     rank    JOIN     who it is, a random number of its own, MAC under the job's token
 *     server  WELCOME  accepted or why not, MAC: the server knows the token too
 *     rank    BEAT     every second: step, phase, age; MAC under the session's key
 *     server  ACK      the beat's number and an order; MAC under the session's key
 *
 * The token never travels. A recorded message is worth nothing in another session (both
 * random numbers are in the key) or twice in one (numbers only grow). A reader checks the
 * size, the mark and the MAC before it believes a field.
 *
 * Owns nothing. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sha256.h"

enum {
    BEAT_TOKEN = 32,
    BEAT_NONCE = 16,
    BEAT_HOST = 64, /* bytes of a host's name with its NUL; longer names are cut */
    BEAT_HELLO_BYTES = 24,
    BEAT_JOIN_BYTES = 128,
    BEAT_WELCOME_BYTES = 40,
    BEAT_BEAT_BYTES = 72,
    BEAT_ACK_BYTES = 48,
    BEAT_MAX_BYTES = BEAT_JOIN_BYTES,
};

struct beat_join {
    uint32_t rank, n_ranks, pid;
    char host[BEAT_HOST];
    uint8_t nonce[BEAT_NONCE];
};

/* What the server says to a rank that proved itself. */
enum beat_answer { BEAT_ACCEPTED, BEAT_WRONG_SIZE, BEAT_WRONG_RANK, BEAT_N_ANSWERS };

struct beat {
    uint64_t seq;  /* 1, 2, 3... within a session */
    uint64_t step; /* finished updates */
    uint32_t phase;
    uint32_t age_ms;    /* of the phase */
    uint32_t waited_ms; /* of the time since the beat before: spent waiting for others */
    uint32_t span_ms;   /* that time */
    bool is_last;       /* the rank ends as it should: silence from here on is fine */
    status result;      /* of the last: how it ended */
};

/* STOP: save and end. LEAVE: the job is lost, end at once. */
enum beat_order { BEAT_GO, BEAT_STOP, BEAT_LEAVE, BEAT_N_ORDERS };

struct beat_ack {
    uint64_t seq;
    enum beat_order order;
};

/* What both sides know once a rank has joined. */
struct beat_key {
    uint8_t bytes[SHA256_BYTES];
};

void beat_put_hello(uint8_t out[BEAT_HELLO_BYTES], const uint8_t nonce[BEAT_NONCE]);
bool beat_get_hello(uint8_t nonce[BEAT_NONCE], const uint8_t in[BEAT_HELLO_BYTES]);

void beat_put_join(uint8_t out[BEAT_JOIN_BYTES], const struct beat_join *j,
                   const uint8_t token[BEAT_TOKEN], const uint8_t hello[BEAT_NONCE]);
bool beat_get_join(struct beat_join *j, const uint8_t in[BEAT_JOIN_BYTES],
                   const uint8_t token[BEAT_TOKEN], const uint8_t hello[BEAT_NONCE]);

/* The session's key, from the token and the random numbers of both sides. */
struct beat_key beat_session(const uint8_t token[BEAT_TOKEN],
                             const uint8_t hello[BEAT_NONCE],
                             const uint8_t join[BEAT_NONCE]);

void beat_put_welcome(uint8_t out[BEAT_WELCOME_BYTES], enum beat_answer answer,
                      const struct beat_key *key);
bool beat_get_welcome(enum beat_answer *answer, const uint8_t in[BEAT_WELCOME_BYTES],
                      const struct beat_key *key);

void beat_put_beat(uint8_t out[BEAT_BEAT_BYTES], const struct beat *b,
                   const struct beat_key *key);
bool beat_get_beat(struct beat *b, const uint8_t in[BEAT_BEAT_BYTES],
                   const struct beat_key *key);

void beat_put_ack(uint8_t out[BEAT_ACK_BYTES], const struct beat_ack *a,
                  const struct beat_key *key);
bool beat_get_ack(struct beat_ack *a, const uint8_t in[BEAT_ACK_BYTES],
                  const struct beat_key *key);

/* Bytes of one message as they come in over a non-blocking socket. */
struct beat_inbox {
    uint8_t bytes[BEAT_MAX_BYTES];
    size_t n;
};

enum beat_receipt { BEAT_WHOLE, BEAT_PARTIAL, BEAT_CLOSED };

/* Read on until `want` bytes are there; the caller empties the box (n = 0) when whole. */
enum beat_receipt beat_receive(struct beat_inbox *in, int fd, size_t want);
/* All n bytes or false: a peer that leaves some dozen bytes unread is no peer. */
bool beat_send(int fd, const void *bytes, size_t n);

/* Random bytes from the kernel; false when it has none. */
bool beat_random(void *out, size_t n);

#include "dist/watch/beat.h"

#include <sys/socket.h>
#include <unistd.h>

#include "dist/watch/pulse.h"
#include "test.h"

static const uint8_t token[BEAT_TOKEN] = "a token of thirty-two bytes....";
static const uint8_t other[BEAT_TOKEN] = "another one of the same length..";
static const uint8_t hello[BEAT_NONCE] = "server's number";
static const uint8_t mine[BEAT_NONCE] = "client's number";

static struct beat_join some_join(void)
{
    struct beat_join j = {.rank = 3, .n_ranks = 4, .pid = 77, .host = "n2"};

    memcpy(j.nonce, mine, sizeof mine);
    return j;
}

static const struct beat some_beat = {.seq = 5,
                                      .step = 123456789012,
                                      .phase = PULSE_EXCHANGE,
                                      .age_ms = 1500,
                                      .waited_ms = 300,
                                      .span_ms = 1001};

TEST(a_join_survives_the_way_and_names_its_rank)
{
    const struct beat_join j = some_join();
    uint8_t wire[BEAT_JOIN_BYTES];
    struct beat_join got;

    beat_put_join(wire, &j, token, hello);
    CHECK(beat_get_join(&got, wire, token, hello));
    CHECK(got.rank == 3 && got.n_ranks == 4 && got.pid == 77);
    CHECK_STR(got.host, "n2");
    CHECK(memcmp(got.nonce, mine, sizeof mine) == 0);
}

TEST(the_token_is_not_on_the_wire)
{
    const struct beat_join j = some_join();
    uint8_t wire[BEAT_JOIN_BYTES];

    beat_put_join(wire, &j, token, hello);
    for (size_t i = 0; i + 8 <= sizeof wire; i++)
        CHECK(memcmp(wire + i, token, 8) != 0);
}

TEST(a_join_under_another_token_or_for_another_hello_is_refused)
{
    const struct beat_join j = some_join();
    uint8_t wire[BEAT_JOIN_BYTES];
    struct beat_join got;

    beat_put_join(wire, &j, token, hello);
    CHECK(!beat_get_join(&got, wire, other, hello));
    CHECK(!beat_get_join(&got, wire, token, mine)); /* replayed to another session */
}

TEST(a_flipped_bit_anywhere_makes_every_message_void)
{
    const struct beat_key key = beat_session(token, hello, mine);
    const struct beat_join j = some_join();
    const struct beat_ack a = {9, BEAT_STOP};
    uint8_t join[BEAT_JOIN_BYTES], beat[BEAT_BEAT_BYTES], ack[BEAT_ACK_BYTES],
        welcome[BEAT_WELCOME_BYTES];
    enum beat_answer answer;
    struct beat_join gj;
    struct beat_ack ga;
    struct beat gb;

    beat_put_join(join, &j, token, hello);
    beat_put_beat(beat, &some_beat, &key);
    beat_put_ack(ack, &a, &key);
    beat_put_welcome(welcome, BEAT_ACCEPTED, &key);
    for (size_t bit = 0; bit < 8 * sizeof join; bit++) {
        const uint8_t flip = (uint8_t)(1 << bit % 8);
        join[bit / 8] ^= flip;
        CHECK(!beat_get_join(&gj, join, token, hello));
        join[bit / 8] ^= flip;
        if (bit / 8 < sizeof beat) {
            beat[bit / 8] ^= flip;
            CHECK(!beat_get_beat(&gb, beat, &key));
            beat[bit / 8] ^= flip;
        }
        if (bit / 8 < sizeof ack) {
            ack[bit / 8] ^= flip;
            CHECK(!beat_get_ack(&ga, ack, &key));
            ack[bit / 8] ^= flip;
        }
        if (bit / 8 < sizeof welcome) {
            welcome[bit / 8] ^= flip;
            CHECK(!beat_get_welcome(&answer, welcome, &key));
            welcome[bit / 8] ^= flip;
        }
    }
}

TEST(a_beat_survives_the_way)
{
    const struct beat_key key = beat_session(token, hello, mine);
    uint8_t wire[BEAT_BEAT_BYTES];
    struct beat got;

    beat_put_beat(wire, &some_beat, &key);
    CHECK(beat_get_beat(&got, wire, &key));
    CHECK(got.seq == 5 && got.step == 123456789012 && got.phase == PULSE_EXCHANGE);
    CHECK(got.age_ms == 1500 && got.waited_ms == 300 && got.span_ms == 1001);
    CHECK(!got.is_last);
    const struct beat last = {.seq = 6, .is_last = true, .result = ERR_LOST};
    beat_put_beat(wire, &last, &key);
    CHECK(beat_get_beat(&got, wire, &key) && got.is_last && got.result == ERR_LOST);
}

TEST(a_beat_of_another_session_is_refused)
{
    const struct beat_key key = beat_session(token, hello, mine);
    const struct beat_key later = beat_session(token, mine, mine);
    uint8_t wire[BEAT_BEAT_BYTES];
    struct beat got;

    beat_put_beat(wire, &some_beat, &key);
    CHECK(!beat_get_beat(&got, wire, &later));
}

TEST(a_sealed_message_with_impossible_fields_is_refused)
{
    const struct beat_key key = beat_session(token, hello, mine);
    struct beat b = some_beat;
    uint8_t wire[BEAT_BEAT_BYTES], ack[BEAT_ACK_BYTES], welcome[BEAT_WELCOME_BYTES];
    const struct beat_ack bad = {1, (enum beat_order)BEAT_N_ORDERS};
    enum beat_answer answer;
    struct beat_ack got;

    b.phase = PULSE_N_PHASES;
    beat_put_beat(wire, &b, &key);
    CHECK(!beat_get_beat(&b, wire, &key));
    beat_put_ack(ack, &bad, &key);
    CHECK(!beat_get_ack(&got, ack, &key));
    beat_put_welcome(welcome, (enum beat_answer)BEAT_N_ANSWERS, &key);
    CHECK(!beat_get_welcome(&answer, welcome, &key));
}

TEST(an_ack_of_one_kind_is_not_taken_for_a_welcome)
{
    const struct beat_key key = beat_session(token, hello, mine);
    const struct beat_ack a = {0, BEAT_GO};
    uint8_t ack[BEAT_ACK_BYTES];
    enum beat_answer answer;

    beat_put_ack(ack, &a, &key);
    CHECK(!beat_get_welcome(&answer, ack, &key));
}

TEST(host_names_come_out_fit_for_a_terminal_and_ended)
{
    struct beat_join j = some_join(), got;
    uint8_t wire[BEAT_JOIN_BYTES];

    memset(j.host, '\033', sizeof j.host);
    beat_put_join(wire, &j, token, hello);
    CHECK(beat_get_join(&got, wire, token, hello));
    CHECK(strlen(got.host) == BEAT_HOST - 1);
    CHECK(got.host[0] == '?');
}

TEST(a_message_is_whole_only_with_its_last_byte_and_an_end_is_seen)
{
    struct beat_inbox in = {{0}, 0};
    int pair[2];

    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    for (int i = 0; i < 9; i++) {
        CHECK(beat_receive(&in, pair[0], 10) == BEAT_PARTIAL);
        CHECK(beat_send(pair[1], "x", 1));
    }
    CHECK(beat_receive(&in, pair[0], 10) == BEAT_PARTIAL);
    CHECK(beat_send(pair[1], "yz", 2));
    CHECK(beat_receive(&in, pair[0], 10) == BEAT_WHOLE);
    CHECK(in.bytes[9] == 'y');
    in.n = 0;
    close(pair[1]);
    CHECK(beat_receive(&in, pair[0], 10) == BEAT_CLOSED); /* one byte, then the end */
    close(pair[0]);
}

#include "dist/watch/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include "dist/watch/phase.h"
#include "test.h"

static const uint8_t token[CHANNEL_TOKEN] = "a token of thirty-two bytes....";
static const uint8_t other[CHANNEL_TOKEN] = "another one of the same length..";
static const uint8_t hello[CHANNEL_NONCE] = "server's number";
static const uint8_t mine[CHANNEL_NONCE] = "client's number";

static struct channel_join some_join(void)
{
    struct channel_join j = {.rank = 3, .n_ranks = 4, .host = "n2"};

    memcpy(j.nonce, mine, sizeof mine);
    return j;
}

static const struct channel_beat some_beat = {.seq = 5,
                                              .rank = 70000,
                                              .step = 123456789012,
                                              .phase = PHASE_EXCHANGE,
                                              .age_ms = 1500,
                                              .waited_ms = 300,
                                              .span_ms = 1001};

TEST(a_join_survives_the_way_and_names_its_rank)
{
    const struct channel_join j = some_join();
    uint8_t wire[CHANNEL_JOIN_BYTES];
    struct channel_join got;

    channel_put_join(wire, &j, token, hello);
    CHECK(channel_get_join(&got, wire, token, hello));
    CHECK(got.rank == 3 && got.n_ranks == 4);
    CHECK_STR(got.host, "n2");
    CHECK(memcmp(got.nonce, mine, sizeof mine) == 0);
}

TEST(the_token_is_not_on_the_wire)
{
    const struct channel_join j = some_join();
    uint8_t wire[CHANNEL_JOIN_BYTES];

    channel_put_join(wire, &j, token, hello);
    for (size_t i = 0; i + 8 <= sizeof wire; i++)
        CHECK(memcmp(wire + i, token, 8) != 0);
}

TEST(a_join_under_another_token_or_for_another_hello_is_refused)
{
    const struct channel_join j = some_join();
    uint8_t wire[CHANNEL_JOIN_BYTES];
    struct channel_join got;

    channel_put_join(wire, &j, token, hello);
    CHECK(!channel_get_join(&got, wire, other, hello));
    CHECK(!channel_get_join(&got, wire, token, mine)); /* replayed to another session */
}

TEST(a_flipped_bit_anywhere_makes_every_message_void)
{
    const struct channel_key key = channel_session(token, hello, mine);
    const struct channel_join j = some_join();
    const struct channel_ack a = {9, CHANNEL_STOP};
    uint8_t join[CHANNEL_JOIN_BYTES], beat[CHANNEL_BEAT_BYTES], ack[CHANNEL_ACK_BYTES],
        welcome[CHANNEL_WELCOME_BYTES];
    enum channel_answer answer;
    struct channel_join gj;
    struct channel_ack ga;
    struct channel_beat gb;

    channel_put_join(join, &j, token, hello);
    channel_put_beat(beat, &some_beat, &key);
    channel_put_ack(ack, &a, &key);
    channel_put_welcome(welcome, CHANNEL_ACCEPTED, &key);
    for (size_t bit = 0; bit < 8 * sizeof join; bit++) {
        const uint8_t flip = (uint8_t)(1 << bit % 8);
        join[bit / 8] ^= flip;
        CHECK(!channel_get_join(&gj, join, token, hello));
        join[bit / 8] ^= flip;
        if (bit / 8 < sizeof beat) {
            beat[bit / 8] ^= flip;
            CHECK(!channel_get_beat(&gb, beat, &key));
            beat[bit / 8] ^= flip;
        }
        if (bit / 8 < sizeof ack) {
            ack[bit / 8] ^= flip;
            CHECK(!channel_get_ack(&ga, ack, &key));
            ack[bit / 8] ^= flip;
        }
        if (bit / 8 < sizeof welcome) {
            welcome[bit / 8] ^= flip;
            CHECK(!channel_get_welcome(&answer, welcome, &key));
            welcome[bit / 8] ^= flip;
        }
    }
}

TEST(a_beat_survives_the_way)
{
    const struct channel_key key = channel_session(token, hello, mine);
    uint8_t wire[CHANNEL_BEAT_BYTES];
    struct channel_beat got;

    channel_put_beat(wire, &some_beat, &key);
    CHECK(channel_get_beat(&got, wire, &key));
    CHECK(got.seq == 5 && got.step == 123456789012 && got.phase == PHASE_EXCHANGE);
    CHECK(got.age_ms == 1500 && got.waited_ms == 300 && got.span_ms == 1001);
    CHECK(got.rank == 70000 && !got.is_last && !got.is_gone);
    const struct channel_beat last = {.seq = 6, .is_last = true, .result = ERR_LOST};
    channel_put_beat(wire, &last, &key);
    CHECK(channel_get_beat(&got, wire, &key) && got.is_last && got.result == ERR_LOST);
    const struct channel_beat gone = {.seq = 7, .rank = 2, .is_gone = true};
    channel_put_beat(wire, &gone, &key);
    CHECK(channel_get_beat(&got, wire, &key) && got.is_gone && !got.is_last);
    CHECK(got.rank == 2 && got.result == OK);
}

TEST(a_beat_of_another_session_is_refused)
{
    const struct channel_key key = channel_session(token, hello, mine);
    const struct channel_key later = channel_session(token, mine, mine);
    uint8_t wire[CHANNEL_BEAT_BYTES];
    struct channel_beat got;

    channel_put_beat(wire, &some_beat, &key);
    CHECK(!channel_get_beat(&got, wire, &later));
}

TEST(a_sealed_message_with_impossible_fields_is_refused)
{
    const struct channel_key key = channel_session(token, hello, mine);
    struct channel_beat b = some_beat;
    uint8_t wire[CHANNEL_BEAT_BYTES], ack[CHANNEL_ACK_BYTES],
        welcome[CHANNEL_WELCOME_BYTES];
    const struct channel_ack bad = {1, (enum channel_order)CHANNEL_N_ORDERS};
    enum channel_answer answer;
    struct channel_ack got;

    b.phase = N_PHASES;
    channel_put_beat(wire, &b, &key);
    CHECK(!channel_get_beat(&b, wire, &key));
    channel_put_ack(ack, &bad, &key);
    CHECK(!channel_get_ack(&got, ack, &key));
    channel_put_welcome(welcome, (enum channel_answer)CHANNEL_N_ANSWERS, &key);
    CHECK(!channel_get_welcome(&answer, welcome, &key));
}

TEST(an_ack_of_one_kind_is_not_taken_for_a_welcome)
{
    const struct channel_key key = channel_session(token, hello, mine);
    const struct channel_ack a = {0, CHANNEL_GO};
    uint8_t ack[CHANNEL_ACK_BYTES];
    enum channel_answer answer;

    channel_put_ack(ack, &a, &key);
    CHECK(!channel_get_welcome(&answer, ack, &key));
}

TEST(host_names_come_out_fit_for_a_terminal_and_ended)
{
    struct channel_join j = some_join(), got;
    uint8_t wire[CHANNEL_JOIN_BYTES];

    memset(j.host, '\033', sizeof j.host);
    channel_put_join(wire, &j, token, hello);
    CHECK(channel_get_join(&got, wire, token, hello));
    CHECK(strlen(got.host) == CHANNEL_HOST - 1);
    CHECK(got.host[0] == '?');
}

TEST(a_message_is_whole_only_with_its_last_byte_and_an_end_is_seen)
{
    struct channel_inbox in = {{0}, 0};
    int pair[2];

    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    for (int i = 0; i < 9; i++) {
        CHECK(channel_receive(&in, pair[0], 10) == CHANNEL_PARTIAL);
        CHECK(channel_send(pair[1], "x", 1));
    }
    CHECK(channel_receive(&in, pair[0], 10) == CHANNEL_PARTIAL);
    CHECK(channel_send(pair[1], "yz", 2));
    CHECK(channel_receive(&in, pair[0], 10) == CHANNEL_WHOLE);
    CHECK(in.bytes[9] == 'y');
    in.n = 0;
    close(pair[1]);
    CHECK(channel_receive(&in, pair[0], 10) ==
          CHANNEL_CLOSED); /* one byte, then the end */
    close(pair[0]);
}

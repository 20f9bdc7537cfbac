/*
 * Clients of the control channel that say anything. The first byte chooses how many
 * strangers there are, its highest bit whether a rank that proved itself is among them,
 * the next one whether the server is a leader's relay, the second byte the size of
 * portions that are dealt to them in turn. Who proved nothing must change nothing; a rank
 * may say what it likes of itself, to a relay of nobody else.
 */
#include "dist/watch/control_server.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "dist/watch/phase.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const uint8_t token[CHANNEL_TOKEN] = "unknown to whoever writes these";

static int dial(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* ---- a rank that proved itself ---- */

struct insider {
    int fd; /* -1: there is none */
    struct channel_key key;
};

static bool hear(struct control_server *s, int fd, void *out, size_t n)
{
    control_server_turn(s, 0);
    return recv(fd, out, n, MSG_DONTWAIT) == (ssize_t)n;
}

static struct insider join(struct control_server *s)
{
    uint8_t hello[CHANNEL_HELLO_BYTES], out[CHANNEL_JOIN_BYTES],
        welcome[CHANNEL_WELCOME_BYTES];
    struct channel_join j = {.rank = 0, .n_ranks = 2, .host = "inside"};
    struct insider in = {.fd = dial(s->port)};
    uint8_t nonce[CHANNEL_NONCE];

    if (in.fd < 0)
        return in;
    if (!hear(s, in.fd, hello, sizeof hello) || !channel_get_hello(nonce, hello))
        __builtin_trap();
    channel_put_join(out, &j, token, nonce);
    in.key = channel_session(token, nonce, j.nonce);
    if (!channel_send(in.fd, out, sizeof out) ||
        !hear(s, in.fd, welcome, sizeof welcome) || !s->liveness.rank[0].has_joined)
        __builtin_trap();
    return in;
}

/* Its portion as a beat, under a true seal. */
static void say(const struct insider *in, const uint8_t *data, size_t n)
{
    enum { SAID = CHANNEL_BEAT_BYTES - SHA256_BYTES };
    uint8_t out[CHANNEL_BEAT_BYTES];
    const struct channel_beat empty = {0};

    channel_put_beat(out, &empty, &in->key); /* its mark */
    memcpy(out + 4, data, n < SAID - 4 ? n : SAID - 4);
    sha256_hmac(out + SAID, in->key.bytes, SHA256_BYTES, out, SAID);
    (void)!send(in->fd, out, sizeof out, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* ---- all ---- */

static void check_ranks(struct control_server *s, bool has_insider)
{
    char text[256];

    const struct liveness_rank *rank = s->liveness.rank;

    if ((rank[1].has_joined && (s->is_relay || !has_insider)) ||
        rank[0].has_joined != has_insider || rank[0].last.phase >= N_PHASES ||
        rank[1].last.phase >= N_PHASES || s->n_connected > has_insider)
        __builtin_trap();
    for (double late = 0; late < 100; late += 1) {
        const struct liveness_event e = liveness_judge(&s->liveness, clock_now() + late);
        if (e.verdict != LIVENESS_NOTHING)
            liveness_say(&s->liveness, e, text, sizeof text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct control_server s;
    struct insider in = {.fd = -1};
    struct err err;
    int fd[4];

    if (n < 2 || control_server_open(&s, "127.0.0.1", 0, 2, token,
                                     liveness_limits_default, &err) != OK)
        return 0;
    const size_t n_clients = 1 + (data[0] & 63) % 4, portion = 1 + data[1];
    struct channel_beat news[2];

    s.is_relay = data[0] & 64;
    if (data[0] & 128)
        in = join(&s);
    for (size_t i = 0; i < n_clients; i++)
        fd[i] = dial(s.port);
    for (size_t at = 2, i = 0; at < n; at += portion, i++) {
        const size_t most = n - at < portion ? n - at : portion;
        control_server_turn(&s, 0);
        if (in.fd >= 0 && i % 2 == 0)
            say(&in, data + at, most);
        else if (fd[i % n_clients] >= 0)
            (void)!send(fd[i % n_clients], data + at, most, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    for (size_t i = 0; i < n_clients; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    control_server_turn(&s, 0);
    if (control_server_collect(&s, data[0] & 1, news) > 2)
        __builtin_trap();
    control_server_confirm(&s);
    control_server_order(&s, CHANNEL_STOP);
    check_ranks(&s, in.fd >= 0);
    if (in.fd >= 0)
        close(in.fd);
    control_server_close(&s);
    return 0;
}

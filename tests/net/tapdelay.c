/*
 * usage: tapdelay IFA IFB DELAY_MS [LOSS_PERCENT]
 *
 * Joins two TAP interfaces by a fixed delay each way, with random loss: what sch_netem
 * does on kernels that have it. Frames of 64 KiB, as offloading makes them, pass whole,
 * so that it keeps up with gigabits. Ends when killed; the interfaces vanish with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

enum {
    FRAME_MAX = 65536 + 64,
    QUEUE_BYTES = 96 << 20, /* in flight, each way: 10 ms of 10 Gb/s are 12.5 MB */
    BURST = 64,             /* frames taken in before some are let out */
};

/* A frame that waits: this head, then its bytes, the whole in multiples of 16. */
struct frame {
    double t_due;
    size_t n_bytes;
};

/* A ring of frames; none straddles the end, where `wrap` marks how far the bytes go. */
struct queue {
    unsigned char *ring;
    size_t head, tail, used, wrap;
};

static size_t room_of(size_t n_bytes)
{
    return (sizeof(struct frame) + n_bytes + 15) / 16 * 16;
}

/* False when the queue is full: the frame is lost, as on any wire. */
static bool queue_put(struct queue *q, const void *bytes, size_t n_bytes, double t_due)
{
    const struct frame frame = {t_due, n_bytes};
    const size_t need = room_of(n_bytes), left = QUEUE_BYTES - q->tail;
    const bool wraps = left < need;

    if (q->used + need + (wraps ? left : 0) > QUEUE_BYTES)
        return false;
    if (wraps) {
        q->wrap = q->tail;
        q->used += left;
        q->tail = 0;
    }
    memcpy(q->ring + q->tail, &frame, sizeof frame);
    memcpy(q->ring + q->tail + sizeof frame, bytes, n_bytes);
    q->tail += need;
    q->used += need;
    return true;
}

static bool queue_peek(struct queue *q, struct frame *frame)
{
    if (q->used && q->wrap && q->head == q->wrap) {
        q->used -= QUEUE_BYTES - q->wrap;
        q->head = q->wrap = 0;
    }
    if (!q->used)
        return false;
    memcpy(frame, q->ring + q->head, sizeof *frame);
    return true;
}

static void queue_pop(struct queue *q, const struct frame *frame)
{
    q->head += room_of(frame->n_bytes);
    q->used -= room_of(frame->n_bytes);
}

static int open_tap(const char *name)
{
    const unsigned offload = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6;
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
    const int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0 ||
        ioctl(fd, TUNSETOFFLOAD, offload) < 0) {
        fprintf(stderr, "tapdelay: %s: %s\n", name, strerror(errno));
        exit(1);
    }
    return fd;
}

static void take_in(struct queue *q, int fd, double t_delay, double loss)
{
    static unsigned char bytes[FRAME_MAX];
    static unsigned seed = 1;

    for (int i = 0; i < BURST; i++) {
        const ssize_t n = read(fd, bytes, sizeof bytes);
        if (n <= 0)
            return;
        if (loss > 0 && rand_r(&seed) < loss * RAND_MAX)
            continue;
        queue_put(q, bytes, (size_t)n, clock_now() + t_delay);
    }
}

/* Everything that is due; *t_next becomes the time of the first that is not. */
static void let_out(struct queue *q, int fd, double *t_next)
{
    struct frame frame;

    while (queue_peek(q, &frame)) {
        if (frame.t_due > clock_now()) {
            *t_next = frame.t_due < *t_next ? frame.t_due : *t_next;
            return;
        }
        const void *bytes = q->ring + q->head + sizeof frame;
        if (write(fd, bytes, frame.n_bytes) < 0 && (errno == EAGAIN || errno == ENOBUFS))
            return;
        queue_pop(q, &frame);
    }
}

int main(int argc, char **argv)
{
    struct queue queue[2] = {0};

    if (argc < 4) {
        fputs("usage: tapdelay IFA IFB DELAY_MS [LOSS_PERCENT]\n", stderr);
        return 2;
    }
    const int fd[2] = {open_tap(argv[1]), open_tap(argv[2])};
    const double t_delay = strtod(argv[3], NULL) * 1e-3;
    const double loss = argc > 4 ? strtod(argv[4], NULL) / 100 : 0;
    for (int side = 0; side < 2; side++)
        if (!(queue[side].ring = malloc(QUEUE_BYTES)))
            return 1;
    for (;;) {
        struct pollfd p[2] = {{fd[0], POLLIN, 0}, {fd[1], POLLIN, 0}};
        double t_next = clock_now() + 1;
        for (int side = 0; side < 2; side++)
            let_out(&queue[side], fd[1 - side], &t_next);
        const double t = t_next - clock_now();
        const struct timespec wait = {0, t > 0 ? (long)(t * 0.999e9) : 0};
        ppoll(p, 2, &wait, NULL);
        for (int side = 0; side < 2; side++)
            take_in(&queue[side], fd[side], t_delay, loss);
    }
}

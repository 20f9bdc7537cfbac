#include "dist/comm/comm_leave.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "dist/comm/comm.h"

struct closing {
    struct comm *comm;
    atomic_bool is_done;
};

static void *close_comm(void *arg)
{
    struct closing *c = arg;

    comm_close(c->comm);
    c->is_done = true;
    return NULL;
}

bool comm_leave(struct comm *c, double seconds)
{
    static struct closing closing; /* the thread may outlive this call */
    const double t_end = clock_now() + seconds;
    pthread_t thread;

    closing.comm = c;
    closing.is_done = false;
    if (c->size <= 1 || pthread_create(&thread, NULL, close_comm, &closing) != 0) {
        comm_close(c);
        return true;
    }
    while (!closing.is_done && clock_now() < t_end)
        poll(NULL, 0, 5);
    if (closing.is_done)
        pthread_join(thread, NULL);
    return closing.is_done;
}

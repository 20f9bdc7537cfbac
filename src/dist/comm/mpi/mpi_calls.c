/*
 * Nothing but point-to-point messages: every collective is written above, so no tuning
 * of a library changes the order of a sum or the number of bytes, and none of its
 * collective modules can be slow or broken.
 *
 * Waiting means polling, because neither library moves data while nobody calls it. A
 * blocking wait would spin and take a core from those who compute; so we poll while polls
 * move something, which shows in the time they take, and then sleep, a little longer each
 * time up to poll_us. Socket buffers hold what arrives meanwhile.
 */
#include "dist/comm/mpi_calls.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CHUNK = 1 << 30,   /* a count is an int */
    EAGER_POLLS = 200, /* short messages come before the first sleep */
    IDLE_POLLS = 4,    /* one after the other that moved nothing: time to sleep */
    IDLE_NS = 3000,    /* a poll that takes longer has copied something */
    SLEEP_US = 20      /* the first */
};

static MPI_Request *requests;
static size_t n_requests, cap_requests;

static bool check(int code, const char *what, char why[MPI_CALLS_WHY])
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n = 0;

    if (code == MPI_SUCCESS)
        return true;
    MPI_Error_string(code, text, &n);
    snprintf(why, MPI_CALLS_WHY, "%.60s: %.440s", what, text);
    return false;
}

static bool calls_open(int *rank, int *size, char why[MPI_CALLS_WHY])
{
    int provided;

    if (!check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided),
               "MPI_Init_thread", why))
        return false;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (provided < MPI_THREAD_FUNNELED) {
        snprintf(why, MPI_CALLS_WHY, "this MPI library does not support threads at all");
        return false;
    }
    return check(MPI_Comm_rank(MPI_COMM_WORLD, rank), "MPI_Comm_rank", why) &&
           check(MPI_Comm_size(MPI_COMM_WORLD, size), "MPI_Comm_size", why);
}

static bool next_request(MPI_Request **request, char why[MPI_CALLS_WHY])
{
    if (n_requests == cap_requests) {
        const size_t cap = cap_requests ? 2 * cap_requests : 64;
        MPI_Request *more = realloc(requests, cap * sizeof(MPI_Request));
        if (!more) {
            snprintf(why, MPI_CALLS_WHY, "no memory for %zu messages", cap);
            return false;
        }
        requests = more;
        cap_requests = cap;
    }
    *request = &requests[n_requests];
    return true;
}

static bool post(const struct comm_msg *m, bool is_send, char why[MPI_CALLS_WHY])
{
    char *data = m->data;
    size_t left = m->n_bytes;

    do {
        const int n = left < CHUNK ? (int)left : CHUNK;
        MPI_Request *request;
        if (!next_request(&request, why))
            return false;
        const int code =
            is_send ? MPI_Isend(data, n, MPI_BYTE, m->peer, 0, MPI_COMM_WORLD, request)
                    : MPI_Irecv(data, n, MPI_BYTE, m->peer, 0, MPI_COMM_WORLD, request);
        if (!check(code, is_send ? "MPI_Isend" : "MPI_Irecv", why))
            return false;
        n_requests++;
        data += n;
        left -= (size_t)n;
    } while (left > 0);
    return true;
}

static long now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* Poll until all is done or the last n_idle polls moved nothing. */
static bool poll_all(int n_idle, int *is_done, char why[MPI_CALLS_WHY])
{
    long before = now_ns();

    for (int idle = 0; idle < n_idle && !*is_done;) {
        if (!check(MPI_Testall((int)n_requests, requests, is_done, MPI_STATUSES_IGNORE),
                   "MPI_Testall", why))
            return false;
        const long after = now_ns();
        idle = after - before > IDLE_NS ? 0 : idle + 1;
        before = after;
    }
    return true;
}

static bool wait_all(int poll_us, char why[MPI_CALLS_WHY])
{
    const long most_us = poll_us < 999999 ? poll_us : 999999; /* below a second */
    long sleep_us = SLEEP_US < most_us ? SLEEP_US : most_us;
    int is_done = 0;

    if (poll_us == 0)
        return check(MPI_Waitall((int)n_requests, requests, MPI_STATUSES_IGNORE),
                     "MPI_Waitall", why);
    if (!poll_all(EAGER_POLLS, &is_done, why))
        return false;
    while (!is_done) {
        const struct timespec nap = {.tv_nsec = 1000 * sleep_us};
        nanosleep(&nap, NULL);
        sleep_us = 2 * sleep_us < most_us ? 2 * sleep_us : most_us;
        if (!poll_all(IDLE_POLLS, &is_done, why))
            return false;
    }
    return true;
}

static bool calls_swap(const struct comm_msg *send, size_t n_send,
                       const struct comm_msg *recv, size_t n_recv, int poll_us,
                       char why[MPI_CALLS_WHY])
{
    n_requests = 0;
    for (size_t i = 0; i < n_recv; i++)
        if (!post(&recv[i], false, why))
            return false;
    for (size_t i = 0; i < n_send; i++)
        if (!post(&send[i], true, why))
            return false;
    return wait_all(poll_us, why);
}

static void calls_close(void)
{
    free(requests);
    requests = NULL;
    cap_requests = 0;
    MPI_Finalize();
}

/* The first line of a text that may be a page long. */
static const char *calls_library(void)
{
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int n = 0;

    MPI_Get_library_version(text, &n);
    text[strcspn(text, ",\n")] = '\0';
    for (char *p = text; *p; p++)
        if (*p == '\t')
            *p = ' ';
    return text;
}

extern const struct mpi_calls mpi_calls_table;
const struct mpi_calls mpi_calls_table = {.version = MPI_CALLS_VERSION,
                                          .open = calls_open,
                                          .swap = calls_swap,
                                          .close = calls_close,
                                          .library = calls_library};

/* The backend of a run of one rank: there is nobody to talk to. */
#include "base/host.h"
#include "dist/comm/comm_backend.h"

static status self_connect(void *self, int *rank, int *size, struct err *err)
{
    (void)self;
    (void)err;
    *rank = 0;
    *size = 1;
    return OK;
}

static status self_swap(void *self, const struct comm_msg *send, size_t n_send,
                        const struct comm_msg *recv, size_t n_recv, struct err *err)
{
    (void)self;
    (void)send;
    (void)recv;
    BUG_ON(n_send || n_recv);
    (void)err;
    return OK;
}

static void self_node_key(void *self, char key[COMM_KEY_MAX], char host[COMM_HOST_MAX])
{
    (void)self;
    key[0] = '\0';
    host_name(host, COMM_HOST_MAX);
}

static status self_window(void *self, const struct comm *c, size_t n_bytes, void **memory,
                          struct err *err)
{
    (void)self;
    (void)c;
    (void)n_bytes;
    (void)memory;
    return err_set(err, ERR_COMM, "one rank shares no memory");
}

static status self_meet(void *self, const struct comm *c, struct err *err)
{
    (void)self;
    (void)c;
    (void)err;
    return OK;
}

static void self_disconnect(void *self, bool is_clean)
{
    (void)self;
    (void)is_clean;
}

static void self_nothing(void *self)
{
    (void)self;
}

static void self_wait(void *self, comm_ready_fn *ready, void *arg)
{
    (void)self;
    BUG_ON(!ready(arg)); /* nobody else could make it true */
}

static const char *self_setting(void *self, size_t i)
{
    (void)self;
    (void)i;
    return NULL;
}

static const char *self_library(void *self)
{
    (void)self;
    return "";
}

const struct comm_backend comm_self_backend = {.name = "self",
                                               .connect = self_connect,
                                               .swap = self_swap,
                                               .node_key = self_node_key,
                                               .window = self_window,
                                               .meet = self_meet,
                                               .disconnect = self_disconnect,
                                               .lock = self_nothing,
                                               .unlock = self_nothing,
                                               .wait = self_wait,
                                               .setting = self_setting,
                                               .library = self_library,
                                               .release = self_nothing};

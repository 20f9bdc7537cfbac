/*
 * MPI as a backend: which library, which settings; and the shared memory and barrier of
 * the ranks of a node, which do not use MPI.
 *
 * Shared memory is a POSIX object made by the first rank of the node; its name goes to
 * the others once and is removed as soon as all have it, so that a crash leaves nothing
 * behind. Its first page holds the barrier of the node.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "dist/comm/comm_backend.h"
#include "dist/comm/mpi_calls.h"
#include "dist/comm/mpi_module.h"

enum { PAGE = 4096, SETTING_MAX = 128, N_SETTINGS_MAX = 16 };

struct mpi {
    void *module;
    uint64_t hash; /* of the module */
    const struct mpi_calls *calls;
    int poll_us;
    bool is_connected;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_barrier_t *barrier; /* in the first page of the window */
    size_t window_bytes;        /* that page included */
    int n_windows;
    char setting[N_SETTINGS_MAX][SETTING_MAX];
    const char *settings[N_SETTINGS_MAX + 1]; /* the same, and NULL */
    size_t n_settings;
};

/* ------------------------------------------------------------ which library */

/* library, a variable that its launchers set */
static const struct mark {
    const char *library, *variable;
} marks[] = {
    {"openmpi", "OMPI_COMM_WORLD_SIZE"}, /* Open MPI's mpirun */
    {"openmpi", "PMIX_RANK"},            /* prun; srun --mpi=pmix */
    {"mpich", "PMI_RANK"},               /* MPICH's mpiexec; srun --mpi=pmi2 */
};

static const char *library_of_launcher(void)
{
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (getenv(marks[i].variable))
            return marks[i].library;
    return NULL;
}

/* Tasks that srun started. Without MPI's variables in the environment each would train as
 * if it were the only one. */
static long srun_tasks(void)
{
    const char *text = getenv("SLURM_STEP_NUM_TASKS");

    return text ? strtol(text, NULL, 10) : 1;
}

bool comm_mpi_is_wanted(void)
{
    return library_of_launcher() || srun_tasks() > 1;
}

static status open_module(struct mpi *m, const char *library, struct err *err)
{
    TRY(mpi_module_open(&m->module, &m->hash, library, err));
    m->calls = dlsym(m->module, MPI_CALLS_SYMBOL);
    if (!m->calls || m->calls->version != MPI_CALLS_VERSION)
        return err_set(err, ERR_USAGE,
                       "the module for MPI belongs to another version of ferry: build "
                       "again, or unset FERRY_MPI_MODULE");
    return OK;
}

status comm_library(char *out, size_t n, const char *kind, struct err *err)
{
    struct mpi m = {0};

    TRY(open_module(&m, kind, err));
    snprintf(out, n, "%s", m.calls->library());
    return OK;
}

/* ------------------------------------------------------------ settings */

/* library, variable, value; why is in docs/distributed.md */
static const struct choice {
    const char *library, *name, *value;
} choices[] = {
    {"openmpi", "OMPI_MCA_btl_tcp_flags", "1"},
    {"openmpi", "OMPI_MCA_pml_ob1_send_pipeline_depth", "32"},
    {"openmpi", "OMPI_MCA_mpi_yield_when_idle", "1"},
    {"openmpi", "OMPI_MCA_btl_vader_single_copy_mechanism", "none"},
    {"", "UCX_ERROR_SIGNALS", ""},
};

/* What the user set stays. Called before any thread of ours exists. */
static void choose_settings(struct mpi *m, const char *library)
{
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const struct choice *c = &choices[i];
        if (c->library[0] && strcmp(c->library, library) != 0)
            continue;
        const char *given = getenv(c->name);
        if (!given)
            setenv(c->name, c->value, 1);
        m->settings[m->n_settings] = m->setting[m->n_settings];
        snprintf(m->setting[m->n_settings++], SETTING_MAX, "%s=%s%s", c->name,
                 given ? given : c->value, given ? " (as given)" : "");
    }
}

/* ------------------------------------------------------------ messages */

static status mpi_connect(void *self, int *rank, int *size, struct err *err)
{
    struct mpi *m = self;
    char why[MPI_CALLS_WHY] = "";

    if (!m->calls->open(rank, size, why))
        return err_set(err, ERR_COMM, "MPI did not start: %s", why);
    m->is_connected = true;
    return OK;
}

static status mpi_swap(void *self, const struct comm_msg *send, size_t n_send,
                       const struct comm_msg *recv, size_t n_recv, struct err *err)
{
    struct mpi *m = self;
    char why[MPI_CALLS_WHY] = "";

    if (m->calls->swap(send, n_send, recv, n_recv, m->poll_us, why))
        return OK;
    return err_set(err, ERR_COMM, "messages to other ranks failed: %s", why);
}

/* ------------------------------------------------------------ nodes */

/* Ranks share memory when they see the same /dev/shm of the same running system.
 * FERRY_NODE tells ranks of one machine apart, for tests. */
static void mpi_node_key(void *self, char key[COMM_KEY_MAX], char host[COMM_HOST_MAX])
{
    const char *given = getenv("FERRY_NODE");
    char boot[40] = "";
    struct stat st = {0};

    (void)self, (void)host;
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f) {
        if (!fgets(boot, sizeof boot, f))
            boot[0] = '\0';
        fclose(f);
    }
    boot[strcspn(boot, "\n")] = '\0';
    (void)stat("/dev/shm", &st);
    snprintf(key, COMM_KEY_MAX, "%s/%llx/%.60s", boot, (unsigned long long)st.st_dev,
             given ? given : "");
}

static status mpi_barrier(void *self, const struct comm *c, struct err *err)
{
    (void)c, (void)err;
    pthread_barrier_wait(((struct mpi *)self)->barrier);
    return OK;
}

static void drop_window(struct mpi *m)
{
    if (m->barrier)
        munmap(m->barrier, m->window_bytes);
    m->barrier = NULL;
}

/* Takes fd, which may be the -1 of a failed shm_open. */
static status map_object(struct mpi *m, const char *name, int fd, struct err *err)
{
    if (fd < 0)
        return err_set(err, ERR_IO, "shared memory %s: %s", name, strerror(errno));
    void *memory = mmap(NULL, m->window_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED)
        return err_set(err, ERR_MEMORY, "%zu MiB of shared memory: %s",
                       m->window_bytes >> 20, strerror(errno));
    m->barrier = memory;
    return OK;
}

/* A new object whose pages are allocated now: a full /dev/shm is an error here, and not a
 * signal in the middle of a sum. */
static status make_object(struct mpi *m, const char *name, int n_ranks, struct err *err)
{
    const int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    const int code = fd < 0 ? 0 : posix_fallocate(fd, 0, (off_t)m->window_bytes);
    pthread_barrierattr_t attr;

    if (map_object(m, name, fd, err) == OK && code != 0)
        (void)err_set(
            err, ERR_IO,
            "the ranks of a node share %zu MiB in /dev/shm, and it has no room for "
            "them (%s): make it larger, or choose a smaller bucket_mib",
            m->window_bytes >> 20, strerror(code));
    if (!m->barrier || code != 0) {
        if (fd >= 0)
            shm_unlink(name);
        return err->code;
    }
    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(m->barrier, &attr, (unsigned)n_ranks);
    pthread_barrierattr_destroy(&attr);
    return OK;
}

enum { NAME_MAX_BYTES = 64 };

/* The same bytes from the leader to every rank of its node, or (not is_down) a reply. */
static status tell_node(struct mpi *m, const struct comm *c, void *data, size_t n_bytes,
                        bool is_down, struct err *err)
{
    struct comm_msg with = {c->leader[c->node], data, n_bytes};

    for (int r = 0; r < c->size; r++) {
        if (c->peer[r].node != c->node || (c->local_rank == 0) == (r == c->rank))
            continue; /* the leader deals with all others, the others with it */
        with.peer = c->local_rank == 0 ? r : with.peer;
        const bool is_sender = is_down == (c->local_rank == 0);
        TRY(is_sender ? mpi_swap(m, &with, 1, NULL, 0, err)
                      : mpi_swap(m, NULL, 0, &with, 1, err));
    }
    return OK;
}

/* The leader creates and names the object, the others open it; then it loses its name. An
 * empty name says that there is none. */
static status mpi_window(void *self, const struct comm *c, size_t n_bytes, void **memory,
                         struct err *err)
{
    struct mpi *m = self;
    const bool is_leader = c->local_rank == 0;
    char name[NAME_MAX_BYTES] = "", reply = 0;
    struct err later = {0};
    status result = OK;

    drop_window(m);
    m->window_bytes = PAGE + n_bytes;
    if (is_leader) {
        snprintf(name, sizeof name, "/ferry-%ld-%d-%d", (long)getpid(), c->rank,
                 m->n_windows++);
        result = make_object(m, name, c->local_size, err);
        if (result != OK)
            name[0] = '\0';
    }
    const status sent = tell_node(m, c, name, sizeof name, true, &later);
    if (!is_leader && sent == OK)
        result = name[0] ? map_object(m, name, shm_open(name, O_RDWR, 0600), err)
                         : err_set(err, ERR_IO,
                                   "the first rank of host %s found no shared memory",
                                   c->peer[c->rank].host);
    const status met = sent == OK ? tell_node(m, c, &reply, 1, false, &later) : sent;
    if (is_leader && name[0])
        shm_unlink(name);
    if (result == OK && met != OK)
        *err = later;
    else if (result == OK)
        *memory = (char *)m->barrier + PAGE;
    return result != OK ? result : met;
}

/* ------------------------------------------------------------ the rest */

static void mpi_disconnect(void *self, bool is_clean)
{
    struct mpi *m = self;

    drop_window(m);
    if (is_clean && m->is_connected)
        m->calls->close();
}

static void mpi_lock(void *self)
{
    pthread_mutex_lock(&((struct mpi *)self)->lock);
}

static void mpi_unlock(void *self)
{
    pthread_cond_broadcast(&((struct mpi *)self)->wake);
    pthread_mutex_unlock(&((struct mpi *)self)->lock);
}

static void mpi_wait(void *self, comm_ready_fn *ready, void *arg)
{
    struct mpi *m = self;

    while (!ready(arg))
        pthread_cond_wait(&m->wake, &m->lock);
}

/* The module stays open: libraries leave threads and handlers behind. */
static void mpi_release(void *self)
{
    struct mpi *m = self;

    pthread_cond_destroy(&m->wake);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static const struct comm_backend mpi_backend = {.name = "mpi",
                                                .connect = mpi_connect,
                                                .swap = mpi_swap,
                                                .node_key = mpi_node_key,
                                                .window = mpi_window,
                                                .barrier = mpi_barrier,
                                                .disconnect = mpi_disconnect,
                                                .lock = mpi_lock,
                                                .unlock = mpi_unlock,
                                                .wait = mpi_wait,
                                                .release = mpi_release};

status comm_mpi_start(struct comm *c, struct comm_options o, struct err *err)
{
    const char *library = library_of_launcher();
    struct mpi *m;

    if (!library && srun_tasks() > 1)
        return err_set(err, ERR_USAGE,
                       "srun started %ld tasks without telling them of each other: add "
                       "--mpi=pmix (or pmi2), or say comm=self",
                       srun_tasks());
    if (!library)
        library = "openmpi"; /* one rank, but through MPI, as requested */
    TRY(mem_alloc(&m, 1, sizeof *m, err));
    m->poll_us = o.poll_us;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->wake, NULL);
    choose_settings(m, library); /* some are read while the module is being loaded */
    if (open_module(m, library, err) != OK) {
        mpi_release(m);
        return err->code;
    }
    TRY(comm_start(c, &mpi_backend, m, err));
    c->library = m->calls->library();
    c->module = m->hash;
    c->setting = m->settings;
    return OK;
}

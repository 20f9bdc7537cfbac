#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/progress.h"
#include "recipe/pulse.h"
#include "train/run/peers.h"

enum { NAME_MAX_BYTES = 48 };

/* A rank of `ferry launch` waits so long for its predecessor to be gone, and for those of
 * a launcher that was killed, which end themselves after 8 s of silence; any other one
 * for a reader that looks whether the lock is held (report/read/holder.c). */
static const double t_predecessor = 2, t_others = 12, t_reader = 0.5;

/* Whether the file of this descriptor still is the one at `path`. */
static bool is_current(int fd, const char *path)
{
    struct stat mine, there;

    return fstat(fd, &mine) == 0 && lstat(path, &there) == 0 &&
           mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

/* One attempt: *has_it, or somebody else. A disk that knows no locks gives them to all.
 */
static status try_lock(struct run_dir *h, const char *path, bool *has_it, struct err *err)
{
    run_dir_close(h);
    TRY(file_open_regular(&h->lock, path, O_RDWR | O_CREAT, err));
    *has_it = (flock(h->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
              is_current(h->lock, path);
    return OK;
}

/* Does a rank of an earlier start of the same `ferry launch` hold it? The launcher has
 * given that one up; where its host is frozen or cut off, it keeps the lock forever. */
static bool is_predecessor(const struct run_dir *h, const char *job)
{
    char holder[CONTROL_JOB + 1] = "";

    return job[0] && pread(h->lock, holder, CONTROL_JOB, 0) == CONTROL_JOB &&
           strncmp(holder, job, CONTROL_LAUNCHER) == 0 && strcmp(holder, job) != 0;
}

/* Until it is free; a predecessor's is taken by putting a new file in its place. */
static status wait_for_lock(struct run_dir *h, const char *path, const char *job,
                            struct progress *console, struct err *err)
{
    const double t_begin = clock_now(), t_limit = job[0] ? t_others : t_reader;
    bool has_it, is_said = false;

    for (;;) {
        TRY(try_lock(h, path, &has_it, err));
        if (has_it)
            return OK;
        const double t = clock_now() - t_begin;
        if (t > t_predecessor && is_predecessor(h, job))
            unlink(path);
        else if (t >= t_limit)
            return err_set(err, ERR_IO,
                           "%s: another process is training in this directory", path);
        if (!is_said && job[0])
            progress_note(console, "waiting for the process that trained here before");
        is_said = true;
        poll(NULL, 0, 100);
    }
}

/* Two trainings in one directory would overwrite each other's checkpoints. */
static status take_lock(struct run_dir *h, const char *dir, struct progress *console,
                        struct err *err)
{
    char pulse[FILE_PATH_MAX], job[CONTROL_JOB + 1];

    control_job(job);
    TRY(file_join(h->path, sizeof h->path, dir, PULSE_LOCK, err));
    TRY(file_join(pulse, sizeof pulse, dir, PULSE_FILE, err));
    TRY(wait_for_lock(h, h->path, job, console, err));
    file_close_to_others(h->lock);
    unlink(pulse); /* of a process that was killed */
    /* Who cannot be recognised later cannot be replaced: no reason not to train. */
    if (ftruncate(h->lock, 0) == 0 && job[0])
        (void)!pwrite(h->lock, job, strlen(job), 0);
    return OK;
}

static void choose_name(char name[NAME_MAX_BYTES])
{
    uint64_t x = 0;

    if (getrandom(&x, sizeof x, 0) != sizeof x)
        x = (uint64_t)(clock_wall() * 1e6) ^ (uint64_t)getpid();
    snprintf(name, NAME_MAX_BYTES, ".ranks-%016llx", (unsigned long long)x);
}

/* The first rank's part, before the others look. */
static status put_mark(struct run_dir *h, const char *dir, const char *name,
                       struct progress *console, struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(take_lock(h, dir, console, err));
    TRY(file_join(path, sizeof path, dir, name, err));
    return file_write(path, "", 0, err);
}

/* The lowest rank of each node among those that do not see the first rank's disk, and
 * the first rank itself. */
static bool may_write(const struct comm *c, const char *sees, int rank)
{
    if (rank == 0)
        return true;
    for (int r = 1; r < rank; r++)
        if (!sees[r] && c->peer[r].node == c->peer[rank].node)
            return false;
    return !sees[rank];
}

static status second_mark(char *path, const char *dir, const char *name, int rank,
                          struct err *err)
{
    char own[NAME_MAX_BYTES + 16];

    snprintf(own, sizeof own, "%s-%d", name, rank);
    return file_join(path, FILE_PATH_MAX, dir, own, err);
}

/* Nodes beside the first may share a disk with each other: of those, one writes. Each
 * that may leaves a mark, and gives way where it sees that of a lower one. */
static status give_way(struct comm *c, const char *dir, const char *name, char *writes,
                       struct err *err)
{
    char path[FILE_PATH_MAX], other[FILE_PATH_MAX], mine = writes[c->rank];
    const bool marks = mine && c->rank > 0;

    status result = second_mark(path, dir, name, c->rank, err);
    if (result == OK && marks)
        result = file_write(path, "", 0, err);
    TRY(comm_agree(c, result, err));
    for (int r = 1; r < c->rank; r++)
        if (writes[r] && second_mark(other, dir, name, r, err) == OK &&
            file_exists(other))
            mine = false;
    result = comm_allgather(c, writes, &mine, 1, err);
    if (marks)
        unlink(path);
    return result;
}

static status find_writers(struct run_dir *h, struct comm *c, const char *dir,
                           const char *name, struct err *err)
{
    char path[FILE_PATH_MAX], *sees, *writes;
    const size_t n = (size_t)c->size;

    TRY(file_join(path, sizeof path, dir, name, err));
    const char mine = (char)file_exists(path);
    TRY(mem_alloc(&sees, 2 * n, 1, err));
    status result = comm_allgather(c, sees, &mine, 1, err);
    writes = sees + n;
    for (int r = 0; result == OK && r < c->size; r++)
        writes[r] = (char)may_write(c, sees, r);
    THEN(result, give_way(c, dir, name, writes, err));
    h->is_writer = result == OK && writes[c->rank];
    for (int r = 0; r < c->size; r++)
        h->n_writers += writes[r];
    free(sees);
    if (c->rank == 0)
        unlink(path);
    return result;
}

status run_dir_open(struct run_dir *h, struct comm *c, const char *dir,
                    struct progress *console, struct err *err)
{
    char name[NAME_MAX_BYTES] = "";

    *h = (struct run_dir){.lock = -1, .is_writer = true, .n_writers = 1};
    status mine = file_make_dirs(dir, err);
    if (c->size == 1)
        return mine == OK ? take_lock(h, dir, console, err) : mine;
    choose_name(name);
    if (mine == OK && c->rank == 0)
        mine = put_mark(h, dir, name, console, err);
    TRY(comm_agree(c, mine, err));
    TRY(comm_bcast(c, name, sizeof name, 0, err));
    h->n_writers = 0;
    TRY(find_writers(h, c, dir, name, err));
    mine = h->is_writer && c->rank != 0 ? take_lock(h, dir, console, err) : OK;
    return comm_agree(c, mine, err);
}

void run_dir_close(struct run_dir *h)
{
    if (h->lock >= 0)
        close(h->lock);
    h->lock = -1;
}

/* A disk that does not answer is not a directory that is gone. */
static bool is_gone(const struct run_dir *h)
{
    return h->lock >= 0 && !is_current(h->lock, h->path) &&
           (file_exists(h->path) || errno == ENOENT || errno == ENOTDIR);
}

status run_dir_check(const struct run_dir *h, struct err *err)
{
    if (!is_gone(h))
        return OK;
    return err_set(err, ERR_IO,
                   "%s is not the lock of this training any more: the run directory was "
                   "removed, renamed or replaced, and nothing more is saved; where it "
                   "was renamed, run=NEWNAME goes on from its last checkpoint",
                   h->path);
}

bool run_dir_is_lost(struct run_dir *h)
{
    const double t = clock_now();

    if (!h->is_lost && t - h->t_looked >= 1) {
        h->is_lost = is_gone(h);
        h->t_looked = t;
    }
    return h->is_lost;
}

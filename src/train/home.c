#include "train/home.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "dist/comm.h"
#include "train/checkpoint.h"

enum { NAME_MAX_BYTES = 48 };

/* Two trainings in one directory would overwrite each other's checkpoints. */
static status take_lock(struct home *h, const char *dir, struct err *err)
{
    char best[FILE_PATH_MAX];

    h->lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (h->lock < 0)
        return err_set(err, ERR_IO, "%s: %s", dir, strerror(errno));
    if (flock(h->lock, LOCK_EX | LOCK_NB) != 0)
        return err_set(err, ERR_IO, "%s: another process is training in this directory",
                       dir);
    TRY(file_join(best, sizeof best, dir, "best_models", err));
    checkpoint_sweep(dir);
    checkpoint_sweep(best);
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
static status put_mark(struct home *h, const char *dir, const char *name, struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(take_lock(h, dir, err));
    TRY(file_join(path, sizeof path, dir, name, err));
    return file_write(path, "", 0, err);
}

/* The lowest rank of each node among those that do not see the first rank's disk, and
 * the first rank itself. */
static bool writes(const struct comm *c, const char *sees, int rank)
{
    if (rank == 0)
        return true;
    for (int r = 1; r < rank; r++)
        if (!sees[r] && c->peer[r].node == c->peer[rank].node)
            return false;
    return !sees[rank];
}

static status find_writers(struct home *h, struct comm *c, const char *dir,
                           const char *name, struct err *err)
{
    char path[FILE_PATH_MAX], *sees;

    TRY(file_join(path, sizeof path, dir, name, err));
    const char mine = (char)file_exists(path);
    TRY(mem_alloc(&sees, (size_t)c->size, 1, err));
    const status result = comm_allgather(c, sees, &mine, 1, err);
    h->is_shared = mine;
    h->is_writer = result == OK && writes(c, sees, c->rank);
    for (int r = 0; result == OK && r < c->size; r++)
        h->n_writers += writes(c, sees, r);
    free(sees);
    if (c->rank == 0)
        unlink(path);
    return result;
}

status home_open(struct home *h, struct comm *c, const char *dir, struct err *err)
{
    char name[NAME_MAX_BYTES] = "";

    *h = (struct home){.lock = -1, .is_writer = true, .n_writers = 1, .is_shared = true};
    status mine = file_make_dirs(dir, err);
    if (c->size == 1)
        return mine == OK ? take_lock(h, dir, err) : mine;
    choose_name(name);
    if (mine == OK && c->rank == 0)
        mine = put_mark(h, dir, name, err);
    TRY(comm_agree(c, mine, err));
    TRY(comm_bcast(c, name, sizeof name, 0, err));
    h->n_writers = 0;
    TRY(find_writers(h, c, dir, name, err));
    mine = h->is_writer && c->rank != 0 ? take_lock(h, dir, err) : OK;
    return comm_agree(c, mine, err);
}

void home_close(struct home *h)
{
    if (h->lock >= 0)
        close(h->lock);
    h->lock = -1;
}

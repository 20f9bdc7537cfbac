/*
 * usage: worker DIR STEPS STEP_MS SAVE_EVERY [END]
 *
 * A rank that only pretends: it reports steps over the control channel as training does,
 * and the first rank keeps DIR/state, from which the next start goes on. What it computes
 * is a chain of hashes, so that DIR/final tells whether a step was lost or done twice.
 * Used to test `ferry launch` itself, without the time that a model takes.
 *
 * END: `hang` or `fail` once goodbye was said, as MPI_Finalize may; `refuse` to begin,
 * all ranks with the same status.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/rng.h"
#include "dist/watch/control.h"

struct worker {
    const char *dir, *end;
    uint64_t n_steps, step, chain, save_every;
    useconds_t step_us;
    uint32_t rank, n_ranks;
};

static volatile sig_atomic_t is_stopped;

static void on_term(int number)
{
    (void)number;
    is_stopped = 1;
}

static uint32_t number_of(const char *name, const char *other)
{
    const char *text = getenv(name) ? getenv(name) : getenv(other);

    return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

static status read_state(struct worker *w, struct err *err)
{
    struct file_map map = {0};
    char path[FILE_PATH_MAX], text[64] = {0};

    TRY(file_join(path, sizeof path, w->dir, "state", err));
    if (!file_exists(path))
        return OK;
    TRY(file_map_open(&map, path, err));
    memcpy(text, map.data, map.n_bytes < 63 ? map.n_bytes : 63);
    file_map_close(&map);
    unsigned long long step, chain;
    if (sscanf(text, "%llu %llx", &step, &chain) != 2)
        return err_set(err, ERR_FORMAT, "%s is no state", path);
    w->step = step;
    w->chain = chain;
    return OK;
}

static status write_state(const struct worker *w, const char *name, struct err *err)
{
    char path[FILE_PATH_MAX], text[64];

    if (w->rank != 0)
        return OK;
    const int n = snprintf(text, sizeof text, "%llu %016llx\n",
                           (unsigned long long)w->step, (unsigned long long)w->chain);
    TRY(file_join(path, sizeof path, w->dir, name, err));
    return file_write(path, text, (size_t)n, err);
}

static status work(struct worker *w, struct control *c, struct err *err)
{
    while (w->step < w->n_steps && !is_stopped) {
        phase_set(&c->phase, w->step, PHASE_COMPUTE);
        usleep(w->step_us);
        w->chain = rng_hash(w->chain, w->step++);
        phase_set(&c->phase, w->step, PHASE_UPDATE);
        if (w->step % w->save_every == 0 && control_is_current(c))
            TRY(write_state(w, "state", err));
    }
    TRY(write_state(w, "state", err));
    return w->step == w->n_steps ? write_state(w, "final", err) : OK;
}

static status run(struct worker *w, struct err *err)
{
    struct control c;

    TRY(read_state(w, err));
    TRY(control_join(&c, w->rank, w->n_ranks, stderr, err));
    if (w->rank == 0)
        fprintf(stderr, "worker: from step %llu\n", (unsigned long long)w->step);
    status result = strcmp(w->end, "refuse") == 0
                        ? err_set(err, ERR_IO, "it is told to refuse")
                        : work(w, &c, err);
    control_close(&c, result);
    while (strcmp(w->end, "hang") == 0)
        pause();
    if (strcmp(w->end, "fail") == 0)
        result = err_set(err, ERR_CHECK, "it is told to fail at the end");
    return result;
}

int main(int argc, char **argv)
{
    struct err err;

    if (argc < 5 || argc > 6)
        return ERR_USAGE;
    struct worker w = {
        .dir = argv[1],
        .end = argc > 5 ? argv[5] : "",
        .n_steps = strtoull(argv[2], NULL, 10),
        .step_us = (useconds_t)(1000 * strtoul(argv[3], NULL, 10)),
        .save_every = strtoull(argv[4], NULL, 10),
        .rank = number_of("OMPI_COMM_WORLD_RANK", "PMI_RANK"),
        .n_ranks = number_of("OMPI_COMM_WORLD_SIZE", "PMI_SIZE"),
    };
    signal(SIGTERM, on_term);
    const status result = run(&w, &err);
    if (result != OK)
        fprintf(stderr, "worker: %s\n", err.msg);
    return (int)result;
}

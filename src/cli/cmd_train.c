#include "cli/cmd.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/config_name.h"
#include "corpus/dataset.h"
#include "dist/comm/comm.h"
#include "dist/watch/control.h"
#include "train/run/config.h"
#include "train/run/preflight.h"
#include "train/trainer.h"

bool cmd_has_peers;

/* The file to read when none is named: config.yaml of the run directory, so that
 * `ferry train run=DIR` resumes; for a new run what `ferry prepare` proposed. "": none.
 */
static status find_config(char path[FILE_PATH_MAX], const struct train_config *c,
                          struct err *err)
{
    struct train_config *old;

    TRY(file_join(path, FILE_PATH_MAX, c->run, "config.yaml", err));
    TRY(train_config_read(&old, c->run, err)); /* which looks at its checksum */
    free(old);
    if (file_exists(path))
        return OK;
    TRY(file_join(path, FILE_PATH_MAX, c->data, DATASET_PROPOSAL, err));
    if (!*c->data || !file_exists(path))
        path[0] = '\0';
    return OK;
}

/* Defaults, then the file, then the command line. */
static status read_config(struct train_config *c, int argc, char **argv, size_t *n_words,
                          char path[FILE_PATH_MAX], struct err *err)
{
    struct opt_words words = {.max = 1};

    TRY(opt_read(train_config_table, c, &words, argc, argv, err));
    *n_words = words.n;
    if (words.n)
        TRY(config_name_find(path, words.word[0], err));
    else
        TRY(find_config(path, c, err));
    if (!path[0])
        return OK;
    TRY(train_config_defaults(c, err));
    TRY(opt_file(train_config_table, c, path, OPT_REFUSE_UNKNOWN, err));
    words.n = 0;
    return opt_parse(train_config_table, c, &words, argc, argv, err);
}

/* The run directory's config.yaml exists only on hosts that share the first rank's disk;
 * the other ranks take the first rank's options. Their programs are equal by now, and so
 * is the layout of the struct. */
static status share_config(struct comm *comm, struct train_config *c, struct err *err)
{
    struct train_config *first;

    TRY(mem_alloc(&first, 1, sizeof *first, err));
    *first = *c;
    const status result = comm_bcast(comm, first, sizeof *first, 0, err);
    char path[FILE_PATH_MAX];
    if (result == OK && file_join(path, sizeof path, c->run, "config.yaml", err) == OK &&
        !file_exists(path))
        *c = *first;
    free(first);
    return result;
}

/*
 * The ranks of a job have the same command line; all of them find a mistake in it, and
 * the first one reports it.
 */
static status join_ranks(struct comm *comm, struct train_config *c, status parsed,
                         size_t words, struct err *err)
{
    const struct comm_options o = {.kind = parsed == OK ? c->comm : "auto",
                                   .poll_us = parsed == OK ? (int)c->comm_poll_us : 50};
    struct err why = *err;

    TRY(comm_open(comm, o, err));
    TRY(preflight_programs(comm, err));
    *err = why;
    TRY(comm_agree(comm, parsed, err));
    return words ? OK : share_config(comm, c, err);
}

/* Train among the ranks of a job, watched when there are any. */
static status train(const struct train_config *c, struct comm *comm, const char *note,
                    bool *is_agreed, struct err *err)
{
    struct train_host host = {.comm = comm, .console = stderr, .note = note};
    struct control control = {0};

    *is_agreed = false;
    TRY(control_open(&control, comm, stderr, err));
    host.control = &control;
    const status result = train_run(c, &host, err);
    *is_agreed = host.is_agreed;
    control.fault = (uint32_t)(host.is_agreed ? comm->fault : 1 + comm->rank);
    if (result == OK || host.is_agreed)
        control_close(&control, result);
    else if (result != ERR_COMM) /* which the one that was lost has caused */
        control_fail(&control, result);
    return result;
}

/* The watcher in the first rank may take 10 s before that rank calls MPI_Finalize. */
static const double t_leave = 20;

status cmd_train(int argc, char **argv, struct err *err)
{
    static struct comm comm; /* outlives us when MPI does not end */
    struct train_config *c;
    bool is_agreed = true;
    size_t n_words = 0;
    char path[FILE_PATH_MAX] = "", note[FILE_PATH_MAX + 64];

    /* A reader that left (`| head`, a `tee` that died) ends no training. */
    signal(SIGPIPE, SIG_IGN);
    TRY(mem_alloc(&c, 1, sizeof *c, err));
    const status parsed = read_config(c, argc, argv, &n_words, path, err);
    status result = join_ranks(&comm, c, parsed, n_words, err);
    cmd_has_peers = comm.size > 1;
    if (result == OK && comm.rank == 0 && !n_words && str_ends(path, DATASET_PROPOSAL))
        fprintf(stderr, "configuration: %s\n", path);
    snprintf(note, sizeof note,
             "no " DATASET_PROPOSAL " in %s: the default options are taken", c->data);
    THEN(result, train(c, &comm, path[0] ? NULL : note, &is_agreed, err));
    free(c);
    char name[COMM_NAME_MAX];
    if (result != OK && !is_agreed && comm.size > 1) /* the others wait: main ends it */
        return err_wrap(err, "%s", comm_name(&comm, comm.rank, name));
    if (result != OK && comm.rank != 0)
        result = OK; /* the first rank has the same failure and says so for all */
    cmd_has_peers = !comm_leave(&comm, t_leave);
    return result;
}

/*
 * launch_config - everything `ferry launch` can be told. One line is one option.
 */
#pragma once

#include "base/opt.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define LAUNCH_OPTIONS(X)                                                                       \
    X(STR, hosts, "", "hosts and ranks on each, like a:2,b:2; -H for short", ANY)               \
    X(STR, hostfile, "", "file with a host a line: a slots=2, or a:2", ANY)                     \
    X(INT, ranks, "0", "ranks in all; 0: as listed; -n for short", RANGE(0, 65536))             \
    X(INT, restarts, "5", "starts after losses in a row that gained no step", RANGE(0, 1e6))    \
    X(INT, min_ranks, "1", "fewer ranks are not started", RANGE(1, 65536))                      \
    X(REAL, wait, "60", "seconds for so many to answer at a restart", RANGE(0, 1e6))            \
    X(BOOL, dry_run, "false", "print the commands, start nothing", ANY)                         \
    X(STR, interface, "", "network of the ranks: eth0, or 10.0.0.0/24", ANY)                    \
    X(STR, address, "", "this machine as the hosts reach it; default: by route", ANY)           \
    X(INT, port, "0", "of the control channel; 0: any that is free", RANGE(0, 65535))           \
    X(STR, ports, "", "range of MPI's ports, like 20000-20999; default: any", ANY)              \
    X(INT, cores, "0", "cores a rank is bound to; 0: its share of the host's", RANGE(0, 4096))  \
    X(BOOL, bind, "true", "keep every rank on cores of its own", ANY)                           \
    X(STR, env, "", "variables that the ranks get, like OMP_NUM_THREADS,LANG", ANY)             \
    X(STR, directory, "", "where the ranks run on every host; default: here", ANY)              \
    X(STR, program, "", "what the ranks run; default: this ferry", ANY)                         \
    X(STR, agent, "ssh", "runs a command on a host", ANY)                                       \
    X(CHOICE, mpi, "auto", "whose mpirun it is", ONE_OF("auto|openmpi|mpich"))                  \
    X(STR, mpirun, "", "the program that starts ranks; default: by mpi", ANY)                   \
    X(STR, mpirun_args, "", "more words for it, divided by spaces", ANY)                        \
    X(REAL, start_limit, "60", "seconds until every rank must report", RANGE(1, 1e6))           \
    X(REAL, stall_limit, "0", "seconds of all ranks waiting that restart; 0: none", RANGE(0, 1e6))
/* clang-format on */

struct launch_config {
    LAUNCH_OPTIONS(OPT_FIELD)
};

extern const struct opt_table launch_config_table;

/* What no single row can say. */
status launch_config_check(const struct launch_config *c, struct err *err) MUST_CHECK;

/* First and last of `ports`; false when it is empty. Checked before. */
bool launch_config_ports(const struct launch_config *c, int *first, int *last);

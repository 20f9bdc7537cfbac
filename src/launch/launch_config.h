/*
 * launch_config - everything `ferry launch` can be told. One line is one option.
 */
#pragma once

#include "base/opt.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define LAUNCH_OPTIONS(X)                                                                             \
    X(STR, hosts, "", "hosts and ranks on each, like a:2,b:2; -H for short", ANY)                     \
    X(STR, hostfile, "", "file with one host per line: a slots=2, or a:2", ANY)                       \
    X(INT, ranks, "0", "total number of ranks; 0: as listed; -n for short", RANGE(0, 65536))          \
    X(INT, restarts, "5", "consecutive restarts without progress before giving up", RANGE(0, 1e6))    \
    X(INT, min_ranks, "1", "fewest ranks to start with when hosts are missing", RANGE(1, 65536))      \
    X(REAL, wait, "60", "seconds to wait at a restart until min_ranks have a host", RANGE(0, 1e6))    \
    X(BOOL, dry_run, "false", "print the commands and start nothing", ANY)                            \
    X(STR, interface, "", "network between the ranks: eth0, or 10.0.0.0/24", ANY)                     \
    X(STR, address, "", "address at which the hosts reach this machine; default: by route", ANY)      \
    X(INT, port, "0", "port of the control channel; 0: any free one", RANGE(0, 65535))                \
    X(STR, ports, "", "range of ports for MPI, like 20000-20999; default: any", ANY)                  \
    X(INT, cores, "0", "cores per rank; 0: an equal share of the host's", RANGE(0, 4096))             \
    X(BOOL, bind, "true", "bind every rank to cores of its own", ANY)                                 \
    X(STR, env, "", "variables passed to the ranks, like OMP_NUM_THREADS,LANG", ANY)                  \
    X(STR, directory, "", "directory in which the ranks run on every host; default: this one", ANY)   \
    X(STR, program, "", "program that the ranks run; default: this ferry", ANY)                       \
    X(STR, agent, "ssh", "remote shell that runs a command on a host", ANY)                           \
    X(CHOICE, mpi, "auto", "MPI library that mpirun belongs to", ONE_OF("auto|openmpi|mpich"))        \
    X(STR, mpirun, "", "program that starts the ranks; default: by mpi", ANY)                         \
    X(STR, mpirun_args, "", "further arguments for mpirun, separated by spaces", ANY)                 \
    X(REAL, start_limit, "60", "seconds for ranks to report after a start; more if many share a core", RANGE(1, 1e6)) \
    X(REAL, stall_limit, "0", "restart when all ranks waited this many seconds; 0: never", RANGE(0, 1e6))
/* clang-format on */

struct launch_config {
    LAUNCH_OPTIONS(OPT_FIELD)
};

extern const struct opt_table launch_config_table;

/* What no single row can say. */
status launch_config_check(const struct launch_config *c, struct err *err);

/* First and last of `ports`; false when it is empty. Checked before. */
bool launch_config_ports(const struct launch_config *c, int *first, int *last);

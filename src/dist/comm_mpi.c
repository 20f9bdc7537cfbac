/* Whether somebody started this process as one of many. */
#include <stdlib.h>

#include "dist/comm_backend.h"

bool comm_mpi_is_wanted(void)
{
    /* Open MPI's mpirun; MPICH's Hydra and srun with PMI; srun and prun with PMIx */
    static const char *const marks[] = {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK"};

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (getenv(marks[i]))
            return true;
    return false;
}

status comm_mpi_start(struct comm *c, struct comm_options o, struct err *err)
{
    (void)c;
    return err_set(err, ERR_USAGE,
                   "comm = %s: this ferry was built without MPI; install what Debian "
                   "calls libopenmpi-dev and build again",
                   o.kind);
}

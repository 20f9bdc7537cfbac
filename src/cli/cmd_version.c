/* Which Ferry this is, what was compiled in, and what it finds here. The texts of the
 * build come from cmake/version.cmake. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/cmd.h"
#include "cli/config_name.h"
#include "device/device.h"
#include "dist/comm/comm.h"
#include "dist/comm/comm_nccl.h"

/* clang-format off */
#define VERSION_OPTIONS(X)                                                                             \
    X(CHOICE, mpi, "none", "print only the MPI library that ranks load here", ONE_OF("none|openmpi|mpich"))
/* clang-format on */

struct version_config {
    VERSION_OPTIONS(OPT_FIELD)
};
OPT_TABLE(cmd_version_options, struct version_config, VERSION_OPTIONS);

extern const char commit_text[]; /* made by cmake/commit.cmake */

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

status cmd_version(int argc, char **argv, struct err *err)
{
    struct opt_words words = {0};
    struct str found = str_new(0);
    struct version_config c;
    char library[128];

    TRY(opt_read(cmd_version_options, &c, &words, argc, argv, err));
    if (strcmp(c.mpi, "none") != 0) {
        TRY(comm_library(library, sizeof library, c.mpi, err));
        puts(library);
        return OK;
    }
    printf("ferry " FERRY_VERSION "\n"
           "commit     %s\n"
           "build      " VERSION_BUILD ", " COMPILER "\n"
           "CPU        " VERSION_CPU "\n"
           "int8       " VERSION_INT8 "\n"
           "CUDA       " VERSION_CUDA "\n"
           "OpenCL     " VERSION_OPENCL "\n"
           "MPI        " VERSION_MPI "\n"
           "downloads  " VERSION_CURL "\n"
           "built with " VERSION_LIBRARIES "\n"
           "\nfound here\n",
           commit_text);
    device_describe(&found);
    comm_nccl_describe(&found);
    config_name_describe(&found);
    fputs(str_text(&found), stdout);
    str_release(&found);
    return OK;
}

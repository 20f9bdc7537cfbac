#include "base/host.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

void host_name(char *out, size_t n)
{
    char name[HOST_NAME_MAX + 1] = "";

    /* a name that was cut need not be ended */
    if (gethostname(name, sizeof name - 1) != 0 || !name[0])
        snprintf(name, sizeof name, "localhost");
    snprintf(out, n, "%s", name);
}

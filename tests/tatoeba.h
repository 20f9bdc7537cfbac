/* tatoeba - where the real text is, if it is anywhere: FERRY_DATA names the folder of
 * tatoeba/, ../shared/data beside the tree is the default. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test.h"

/* Its path, from the folder of the tests' data; without it the test is skipped, so
 * nothing may be held yet. */
static inline const char *tatoeba_path(const char *test_data)
{
    static char path[4096];
    const char *data = getenv("FERRY_DATA");

    snprintf(path, sizeof path, "%s%s/tatoeba/tatoeba-2018-05-13.de-en.tsv.gz",
             data ? data : test_data, data ? "" : "/../../../shared/data");
    if (access(path, R_OK) != 0)
        test_skip("Tatoeba is not here: FERRY_DATA does not name the folder of tatoeba/");
    return path;
}

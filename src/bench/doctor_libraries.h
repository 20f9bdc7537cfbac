/* doctor_libraries - which of the libraries that are opened at run time are open, from
 * which files, whose names have the versions of most. */
#pragma once

#include <stdio.h>

void doctor_libraries(FILE *out);

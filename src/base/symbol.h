/* symbol - functions of libraries that are opened at run time. */
#pragma once

#include <stdbool.h>

/* The function `name` of the library `so` into the function pointer that `to` points at;
 * false, and NULL there, when the library is NULL or has none. */
bool symbol_load(void *so, const char *name, void *to);

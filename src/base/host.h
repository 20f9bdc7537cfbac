/* host - what this machine calls itself. */
#pragma once

#include <stddef.h>

/* Its name in out[0..n), cut to fit and always ended; "localhost" when it has none. */
void host_name(char *out, size_t n);

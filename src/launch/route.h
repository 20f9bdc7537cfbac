/*
 * route - under which address another host reaches this machine.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* Numeric address of the interface from which `host` is reached; nothing is sent. */
status route_to(char *out, size_t n, const char *host, struct err *err) MUST_CHECK;

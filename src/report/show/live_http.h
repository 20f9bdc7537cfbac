/*
 * live_http - the live page over HTTP, read-only.
 *
 * GET and HEAD of three fixed pages; every string on them is escaped and the
 * Content-Security-Policy allows nothing but our own style sheet. Listens on the
 * loopback unless given an address. A connection has 8 KB and five seconds for its
 * request and half a minute to take the answer, and is then closed; a fixed number is
 * served at once. It reads the run's files and knows no other process: it cannot disturb
 * training.
 *
 * Owns: its sockets and buffers. Threads: one.
 */
#pragma once

#include <signal.h>
#include <stddef.h>

#include "base/err.h"

struct live_http;

/* `address` "" is the loopback, IPv4 and IPv6; port 0 lets the system choose. */
status live_http_open(struct live_http **s, const char *run, const char *address,
                      int port, double every, struct err *err) MUST_CHECK;
int live_http_port(const struct live_http *s);
/* Serve until *stop. If the run cannot be read, the browser is shown why and serving
 * continues. */
status live_http_serve(struct live_http *s, const volatile sig_atomic_t *stop,
                       struct err *err) MUST_CHECK;
void live_http_close(struct live_http *s);

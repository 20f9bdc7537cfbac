/*
 * mhd_library - libmicrohttpd, opened when a server begins: it brings GnuTLS and seven
 * more libraries, which no other command should wait for, or need.
 *
 * MHD_LIBRARY_LIST has every function that is used; the prototypes are the library's own.
 * Threads: any.
 */
#pragma once

#include <microhttpd.h>

#include "base/err.h"

#define MHD_LIBRARY_LIST(F)          \
    F(start_daemon)                  \
    F(stop_daemon)                   \
    F(get_daemon_info)               \
    F(get_timeout)                   \
    F(run)                           \
    F(add_connection)                \
    F(get_connection_info)           \
    F(get_connection_values)         \
    F(lookup_connection_value)       \
    F(suspend_connection)            \
    F(resume_connection)             \
    F(create_post_processor)         \
    F(post_process)                  \
    F(destroy_post_processor)        \
    F(create_response_from_buffer)   \
    F(create_response_from_callback) \
    F(add_response_header)           \
    F(queue_response)                \
    F(destroy_response)

struct mhd_library {
#define MHD_LIBRARY_MEMBER(name) __typeof__(MHD_##name) *name;
    MHD_LIBRARY_LIST(MHD_LIBRARY_MEMBER)
};

/* ERR_USAGE, and what to install, when it is not here. Open for good then. */
status mhd_library_open(const struct mhd_library **lib, struct err *err);

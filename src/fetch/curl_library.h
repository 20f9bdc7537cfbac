/*
 * curl_library - libcurl, opened when the first download begins: it brings some thirty
 * other libraries, which no other command should wait for.
 *
 * CURL_LIBRARY_LIST has every function that is used; the prototypes are curl's own.
 * Threads: one at a time.
 */
#pragma once

#include <curl/curl.h>

#include "base/err.h"

#define CURL_LIBRARY_LIST(F) \
    F(easy_init)             \
    F(easy_setopt)           \
    F(easy_getinfo)          \
    F(easy_perform)          \
    F(easy_header)           \
    F(easy_strerror)         \
    F(easy_reset)            \
    F(easy_cleanup)          \
    F(slist_append)          \
    F(slist_free_all)

struct curl_library {
#define CURL_LIBRARY_MEMBER(name) __typeof__(curl_##name) *name;
    CURL_LIBRARY_LIST(CURL_LIBRARY_MEMBER)
};

/* ERR_USAGE, and what to install, when it is not here. Open for good then. */
status curl_library_open(const struct curl_library **lib, struct err *err);

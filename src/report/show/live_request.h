/*
 * live_request - the head of an HTTP request, judged: which of our few pages it asks for,
 * or the status that refuses it.
 *
 * Nothing of a request is ever used as a path. A Host that is neither an address nor one
 * of our own names is refused: a page elsewhere whose name was made to point here (DNS
 * rebinding) reads nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { LIVE_REQUEST_MAX = 8192 };

enum live_route { LIVE_NOTHING, LIVE_NOW, LIVE_REPORT, LIVE_JSON };

struct live_request {
    int status; /* 200, or why not: 400, 403, 404, 405, 431, 505 */
    enum live_route route;
    bool is_head; /* HEAD: headers only */
};

/* True once the n bytes hold a whole head, or can never become a good one. `own_name` is
 * a name of this host that is accepted beside localhost and addresses; or NULL. */
bool live_request_read(struct live_request *r, const char *bytes, size_t n,
                       const char *own_name);

const char *live_request_reason(int status); /* "Not Found" */

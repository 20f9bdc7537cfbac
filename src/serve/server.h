/* server - what the files of this room share: the parts of a server. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "http/http.h"
#include "serve/keys.h"
#include "serve/metrics.h"
#include "serve/models.h"
#include "serve/serve.h"
#include "serve/work.h"

struct server {
    struct serve_config config;
    struct models *models;
    struct http *http;
    struct work *work;
    struct keys *keys;
    struct metrics metrics;
    FILE *console;
    int log_fd; /* -1: none */
};

/* An answer with the headers that every answer has. */
struct http_answer serve_answer(unsigned code);
/* The same with a value as its body, which is given away. */
struct http_answer serve_json(unsigned code, json_t *value);
/* {"error": ...} */
void serve_refuse(struct http_request *r, unsigned code, const char *fmt, ...)
    PRINTF(3, 4);

/* Text for JSON: what is no UTF-8 becomes U+FFFD. */
json_t *serve_text(struct line text);

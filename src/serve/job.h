/*
 * job - a request for translations, from its values to its answer.
 *
 * The HTTP thread makes one of a request that was checked, holds the request and puts the
 * job into the queue (serve/work.h); a request thread runs it, which answers the request
 * and ends the job. What its answer looks like is its face's business: LibreTranslate's
 * (serve/libre.h) or the plain one (serve/plain.h).
 *
 * Owns: its texts and beginning, of the request's values; of the rest a client may send
 * megabytes, which need not wait with it. Threads: one at a time.
 */
#pragma once

#include <jansson.h>

#include "http/http.h"
#include "serve/detect.h"
#include "serve/models.h"
#include "serve/text_links.h"
#include "serve/work.h"

struct server;

struct job_text {
    struct line text;
    const char *source; /* one of the models' languages, or what was detected */
    double confidence;  /* of a language that was detected; 0: it was not */
    struct detect_guesses guesses; /* that was the best of these */
    struct str best;
    struct str *alternative; /* [n_alternatives of the job] */
    size_t n_alternatives;   /* that were found */
    struct text_links links; /* of the best, if they were asked for */
};

struct job {
    struct work_link link; /* first: see work.h */
    struct server *server;
    struct http_request *request;
    json_t *values; /* a list of those that it uses */
    struct job_text *text;
    size_t n;
    bool is_list;      /* the texts came as one */
    bool is_auto;      /* their languages are to be detected */
    bool is_detection; /* and that is all */
    bool is_stream;
    bool is_html; /* then there are no alternatives, and no links */
    bool has_links;
    const char *beginning; /* of the only text's translation; NULL: any */
    const char *target;
    size_t n_alternatives;
    size_t n_chars;
    double t_begin, deadline;
    json_t *(*answer)(const struct job *j); /* a done job's */
    status result;                          /* when it has run */
    struct err err;
};

/* An empty job of a request; NULL: no memory. */
struct job *job_new(struct server *s, struct http_request *r);
/* Its texts: those of a string or a list of strings. ERR_USAGE when it is neither. */
status job_take_texts(struct job *j, json_t *q, struct err *err);
/* Keep a value that it uses, until it ends. */
status job_keep(struct job *j, json_t *value, struct err *err);
void job_free(struct job *j);

/* A list of a text's alternatives, for an answer. */
json_t *job_alternatives(const struct job_text *t);

/* Put it into the queue, or refuse its request and end it. */
void job_put(struct job *j);

/* For work.h. */
void job_run(struct job *j, const struct work_seat *seat);
bool job_is_over(const struct job *j);
void job_end(struct job *j, const struct work_seat *seat);

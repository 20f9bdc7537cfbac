/*
 * notes - RUN/adapt.json: what an adaptation was begun with and how far it is, so that
 * the same command goes on where it was stopped, and another one is refused
 * (docs/formats/adapt.md).
 *
 * Owns: the JSON. Threads: one.
 */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "base/file.h"
#include "base/opt.h"

enum { NOTES_VERSION = 1 };

struct notes {
    char path[FILE_PATH_MAX];
    json_t *root;
    bool is_old; /* the adaptation was begun before */
};

/* Those of the directory, or empty ones that are not written yet. ERR_USAGE for a
 * directory in which another command has begun to train. */
status notes_open(struct notes *n, const char *run, struct err *err);
void notes_close(struct notes *n);

/* What a new adaptation is begun with; of an old one ERR_USAGE names the first option, or
 * the model, that was another. Options named in `others`, which ends in NULL, may be. */
status notes_begin(struct notes *n, struct opt_table table, const void *config,
                   const char *const *others, const char *model, struct err *err);

/* The member `key` of the member `group`, which is made if need be; takes the value, NULL
 * leaves all as it is. */
void notes_set(struct notes *n, const char *group, const char *key, json_t *value);
const json_t *notes_get(const struct notes *n, const char *group, const char *key);

status notes_write(const struct notes *n, struct err *err);

/*
 * catalog - which files make a corpus, where they are and how long they must be.
 *
 * A catalogue is a text of a few lines (configs/corpora says how they read), built into
 * the program by name or a file of the user's own.
 *
 * Owns: its files and strings. Threads: any may read.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { CATALOG_URLS = 8, CATALOG_MEMBERS = 8, CATALOG_FILES = 64, CATALOG_WORD = 512 };

enum catalog_unit { CATALOG_LINES, CATALOG_SEGMENTS };

struct catalog_member {
    char set[32];            /* "train.en": what part of the corpus it is */
    char name[CATALOG_WORD]; /* last part of its name in the archive, and on disk */
    uint64_t n;
    enum catalog_unit unit;
};

struct catalog_file {
    char name[CATALOG_WORD];
    char url[CATALOG_URLS][CATALOG_WORD];
    size_t n_urls;
    struct catalog_member member[CATALOG_MEMBERS];
    size_t n_members;
};

struct catalog {
    char name[64];
    struct catalog_file *file;
    size_t n_files;
};

/* Generated from configs/corpora; ends with an empty name. */
struct catalog_text {
    const char *name, *text;
};
extern const struct catalog_text catalog_texts[];

/* The catalogue of a corpus built in, or of a file when `name` has a slash or ends in
 * ".corpus". */
status catalog_open(struct catalog *c, const char *name, struct err *err);
/* From n bytes that messages call `where`. On failure *c is closed. */
status catalog_parse(struct catalog *c, const char *text, size_t n, const char *where,
                     struct err *err);
void catalog_close(struct catalog *c); /* safe on a zeroed one */

/* Bytes that a member may have, by its lines or segments, and all that an archive may
 * unpack to: sizes beyond any corpus, which a bomb passes at once. */
uint64_t catalog_member_max(const struct catalog_member *m);
uint64_t catalog_file_max(const struct catalog_file *f);

const char *catalog_unit_name(enum catalog_unit unit);

/*
 * place - where the files of a model are: a directory, or a zip archive as models are
 * handed on in.
 *
 * Readers ask for files by name and get their bytes: mapped or read, or unpacked into
 * memory, of which an archive can want at most ZIP_RATIO times its size
 * (format/foreign/zip.h). Nothing is written to disk. Of an archive whose members are all
 * in one folder that folder is the place.
 *
 * Owns: the archive. Outlives: every file read from it. Threads: any, once open.
 */
#pragma once

#include <stdbool.h>

#include "base/file.h"
#include "format/foreign/zip.h"

struct place {
    char path[FILE_PATH_MAX]; /* of the directory or the archive */
    bool is_zip, in_memory;
    struct file_map map;
    struct zip zip;
    size_t n_folder; /* bytes that the names of all members begin with */
};

/* in_memory: files are read, not mapped, so that it does not matter what becomes of them.
 * On failure *p is closed. */
status place_open(struct place *p, const char *path, bool in_memory, struct err *err);
/* Of an archive at hand, which outlives it. */
status place_over(struct place *p, const void *bytes, size_t n, struct err *err);
void place_close(struct place *p);

bool place_has(const struct place *p, const char *name);
/* The first of n names that is there; NULL: none. */
const char *place_find(const struct place *p, const char *const *names, size_t n);
/* Every file that is there. */
void place_each(const struct place *p, void (*see)(void *ctx, const char *name),
                void *ctx);

/* The bytes of a file. Zeroed = closed. */
struct place_file {
    const unsigned char *data;
    size_t n_bytes;
    struct file_map map;
    unsigned char *own;
};

/* ERR_IO names what is missing, ERR_FORMAT what is damaged. */
status place_read(const struct place *p, const char *name, struct place_file *f,
                  struct err *err);
void place_file_close(struct place_file *f);

/* Put place and file before a message about it. */
status place_wrap(const struct place *p, const char *name, struct err *err);

/*
 * workdir - the directory in which preparation keeps what its stages have done so far.
 *
 *   OUT/prepare.work/stage-NAME   mark of a finished stage
 *   OUT/prepare.work/...          what later stages need
 *   OUT/prepare.work/final/...    files of the data directory, moved there at the end
 *
 * A mark holds the hash of everything that the result depends on, the statistics so far,
 * and size and checksum of each file that the stage made: it counts only when all of it
 * still holds. It is written after those files, so that a stage which was interrupted at
 * any moment is either done or not begun.
 *
 * Owns: a lock on the directory; a second preparation of it is refused. Threads: one.
 */
#pragma once

#include "base/file.h"
#include "prepare/prepare.h"

struct workdir {
    bool is_open;
    int lock;
    uint64_t config;
    char out[FILE_PATH_MAX], dir[FILE_PATH_MAX], final[FILE_PATH_MAX];
    char (*made)[96]; /* files of the present stage: "name", or "final/name" */
    size_t n_made, cap_made;
};

/* Whether an earlier run left something behind in `out`. */
bool workdir_exists(const char *out);

/* Make or reopen the directory; what was half-written is removed. */
status workdir_open(struct workdir *w, const char *out, uint64_t config, struct err *err);
void workdir_close(struct workdir *w);

/* Whether the stage was done; then *stats is what it left. */
status workdir_load(const struct workdir *w, enum prepare_stage stage,
                    struct prepare_stats *stats, bool *is_done, struct err *err);

/* List a file that the present stage makes. */
status workdir_add(struct workdir *w, struct err *err, const char *fmt, ...) PRINTF(3, 4);
/* List it and begin to write it. */
status workdir_create(struct workdir *w, struct file_writer *to, struct err *err,
                      const char *fmt, ...) PRINTF(4, 5);
/* List it and write it. */
status workdir_write(struct workdir *w, const char *name, const void *bytes, size_t n,
                     struct err *err);

/* Mark the stage as done, with the files listed; the next stage begins without any. */
status workdir_save(struct workdir *w, enum prepare_stage stage,
                    const struct prepare_stats *stats, struct err *err);

/* Path of a file of the directory, or of "final/...", wherever that is by now. */
status workdir_path(const struct workdir *w, char path[FILE_PATH_MAX], const char *name,
                    struct err *err);

/* Move every final file into the data directory. */
status workdir_publish(const struct workdir *w, struct err *err);

/* Remove everything, the directory as well; closes *w. */
status workdir_remove(struct workdir *w, struct err *err);
/* Remove every file, so that the first stage is the next one. */
status workdir_wipe(const struct workdir *w, struct err *err);

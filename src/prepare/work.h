/*
 * work - the place where preparation keeps what its stages have done so far.
 *
 *   OUT/prepare.work/stage-NAME   mark of a finished stage
 *   OUT/prepare.work/...          what later stages need
 *   OUT/prepare.work/final/...    files of the data directory, moved there at the end
 *
 * A mark holds the hash of everything that the result depends on, the statistics so far,
 * and size and checksum of each file that the stage made: it counts only when all of it
 * still holds. It is written after those files, so that a kill at any moment leaves the
 * stage done or not begun.
 *
 * Owns: a lock on the directory; a second preparation of it is refused. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "prepare/prepare_stats.h"

struct work {
    bool is_open;
    int lock;
    uint64_t config;
    char out[FILE_PATH_MAX], dir[FILE_PATH_MAX], final[FILE_PATH_MAX];
};

/* Whether an earlier run left something behind in `out`. */
bool work_is_there(const char *out);

/* Make or reopen the directory; what was half-written is removed. */
status work_open(struct work *w, const char *out, uint64_t config,
                 struct err *err) MUST_CHECK;
void work_close(struct work *w);

/* Whether the stage was done; then *stats is what it left. */
status work_load(const struct work *w, enum prepare_stage stage,
                 struct prepare_stats *stats, bool *is_done, struct err *err) MUST_CHECK;

/* Files that a stage made: "name" in the directory, "final/name" of the data. */
struct work_files {
    char (*name)[96];
    size_t n, cap;
};
status work_add(struct work_files *f, struct err *err, const char *fmt, ...)
    PRINTF(3, 4) MUST_CHECK;
void work_release(struct work_files *f);

/* Mark the stage as done. */
status work_save(const struct work *w, enum prepare_stage stage,
                 const struct prepare_stats *stats, const struct work_files *files,
                 struct err *err) MUST_CHECK;

/* Path of a file of the directory, or of "final/...", wherever that is by now. */
status work_path(const struct work *w, char path[FILE_PATH_MAX], const char *name,
                 struct err *err) MUST_CHECK;

/* Remove one file; one that is not there is fine. */
status work_forget(const struct work *w, const char *name, struct err *err) MUST_CHECK;

/* Move every final file into the data directory. */
status work_publish(const struct work *w, struct err *err) MUST_CHECK;

/* Remove everything, the directory as well; closes *w. */
status work_remove(struct work *w, struct err *err) MUST_CHECK;
/* Remove every file, so that the first stage is the next one. */
status work_wipe(const struct work *w, struct err *err) MUST_CHECK;

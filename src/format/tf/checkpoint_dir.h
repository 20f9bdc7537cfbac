/*
 * checkpoint_dir - which checkpoints a directory holds, and which of them to use.
 *
 * The pointer file `checkpoint` decides, as in TensorFlow: first the checkpoint that
 * model_checkpoint_path names, then the others of its list, newest first. Behind them
 * come those that lie in the directory and are not listed; where the pointer file is
 * gone, empty or unreadable, they are all there is.
 *
 * Names are plain names inside the directory. A path in a pointer file stands for its
 * last part if its directory is this one, or was before the run was moved; nothing else
 * outside is ever opened.
 *
 * A training may save and remove checkpoints meanwhile: who wants the files opens them
 * here, looks again when the directory has changed, and keeps them open.
 *
 * Owns its strings. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "format/tf/tensor_bundle.h"

#define CHECKPOINT_DIR_POINTER "checkpoint"

/* The tokenizer beside them of targets that are cut otherwise than sources. */
#define CHECKPOINT_DIR_TARGET "vocab.target.model"

struct checkpoint_dir {
    char **name; /* in the order in which to try them */
    size_t n, cap;
    size_t n_listed;  /* the first so many are named by the pointer file */
    bool has_pointer; /* there is such a file, whatever is in it */
    bool has_list;    /* and it names more than the one to use */
    char note[400];   /* why the pointer file did not decide; "": it did */
};

/* ERR_FORMAT when the pointer file points out of the directory. A directory without any
 * checkpoint gives none. */
status checkpoint_dir_list(struct checkpoint_dir *c, const char *dir, struct err *err);
void checkpoint_dir_release(struct checkpoint_dir *c);

/* Is there a checkpoint or a pointer file, be it of use or not? */
bool checkpoint_dir_has_any(const char *dir);

/* Have checkpoints come or gone since they were listed? A training may save faster than
 * a reader opens: it looks again at most so often. */
bool checkpoint_dir_has_changed(const struct checkpoint_dir *c, const char *dir);
enum { CHECKPOINT_DIR_LOOKS = 100 };

/* The number that a name ends with, as in model.ckpt-200; -1: none. */
int64_t checkpoint_dir_step(const char *name);

/* A checkpoint of a directory, its files open. */
struct checkpoint_choice {
    struct tensor_bundle bundle;
    char prefix[FILE_PATH_MAX];
    char note[512];    /* what a user must know of this choice; "": nothing */
    struct err damage; /* of the one to use, if another had to be taken */
};

/* The first whole one. ERR_IO when there is none, ERR_FORMAT when none is whole. */
status checkpoint_dir_open(struct checkpoint_choice *c, const char *dir, struct err *err);

/*
 * foreign - a model of another program as one of ours: its configuration and
 * architecture, its weights in the layout of our parameters, its tokenizers.
 *
 * What is read:
 *
 *   Hugging Face  MarianMT: config.json, vocab.json, source.spm, target.spm, and
 *                 model.safetensors or pytorch_model.bin
 *   Marian        a model .npz, with vocabularies beside it (a decoder.yml names them):
 *                 what OPUS-MT hands out, and models that Marian has trained
 *   CTranslate2   model.bin of such an architecture, its vocabulary, and the
 *                 SentencePiece models of its text
 *   safetensors   with our names, or names that a map turns into ours
 *
 * A directory has these files, or a zip archive of them. What another program computes
 * and ours does not is refused with the reason. Nothing in a file is executed.
 * docs/models.md has the list.
 *
 * Owns: all of it. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/file.h"
#include "recipe/model_config.h"
#include "recipe/params.h"
#include "text/subword/spm.h"

struct foreign {
    const char *kind; /* "Hugging Face MarianMT" */
    struct model_config config;
    struct params params;
    float *flat;
    struct spm *spm;             /* of sources, that knows the one of targets */
    char source[16], target[16]; /* languages, as in "de"; "": not said */
};

/* Does the path look like one of these? */
bool foreign_is(const char *path);

/* Does it name a file with weights, beside which the other files of the model stand? */
bool foreign_is_weights(const char *path);
/* The directory of such a file; of anything else the path itself. */
status foreign_directory(char dir[FILE_PATH_MAX], const char *path, struct err *err);
/* May a reader look at a file of this name in a directory? */
bool foreign_is_part(const char *name);

/* On failure *f is closed. */
status foreign_open(struct foreign *f, const char *path, struct err *err);
/* The same of a safetensors file, or its directory, whose tensors have the names that the
 * YAML file `map` gives ours; "": they have ours. ERR_USAGE for other kinds. */
status foreign_open_mapped(struct foreign *f, const char *path, const char *map,
                           struct err *err);
/* foreign_open() with the files read, not mapped: of a mapping that somebody cuts short
 * the pages behind the new end are a SIGBUS. Memory holds the largest file meanwhile. */
status foreign_open_in_memory(struct foreign *f, const char *path, struct err *err);
void foreign_close(struct foreign *f);

/* The weights alone, once they are elsewhere. */
void foreign_drop_weights(struct foreign *f);

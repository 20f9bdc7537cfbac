/*
 * foreign - a model of another program as one of ours: its configuration and
 * architecture, its weights in the layout of our parameters, its tokenizers.
 *
 * What is read:
 *
 *   Hugging Face  a directory of MarianMT: config.json, vocab.json, source.spm,
 *                 target.spm and model.safetensors
 *   Marian        a model .npz, with vocabularies beside it (a decoder.yml names them):
 *                 OPUS-MT's directories, and models that Marian has trained
 *   CTranslate2   a directory with model.bin of such an architecture, its vocabulary, and
 *                 the SentencePiece models of its text
 *
 * What another program computes and ours does not is refused with the reason. Nothing in
 * a file is executed. docs/models.md has the list.
 *
 * Owns: all of it. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
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

/* On failure *f is closed. */
status foreign_open(struct foreign *f, const char *path, struct err *err);
void foreign_close(struct foreign *f);

/* The weights alone, once they are elsewhere. */
void foreign_drop_weights(struct foreign *f);

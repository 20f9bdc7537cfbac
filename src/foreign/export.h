/*
 * export - a model of ours as a directory that another program loads: its weights under
 * that program's names, its tokenizers, and a README.md with a snippet that translates.
 *
 *   ctranslate2   model.bin of version 6, config.json, vocabularies, source.spm,
 * target.spm marian        model.npz, vocabularies, decoder.yml, source.spm, target.spm
 *   huggingface   model.safetensors, config.json, vocab.json, source.spm, target.spm; a
 *                 MarianMT, or a Blenderbot where norms stand before sublayers
 *   safetensors   model.safetensors under our own names, config.json, vocab.model
 *   tensorflow    a checkpoint of three files, config.yaml, vocab.model: a run directory
 *
 * What a format cannot say is refused with the reason, before anything is written.
 * docs/export.md has what differs where. The directory appears whole or not at all.
 *
 * Threads: one at a time.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "foreign/foreign.h"
#include "foreign/pour.h"

#define EXPORT_FORMATS "ctranslate2|marian|huggingface|safetensors|tensorflow"

struct export_options {
    const char *to;      /* of EXPORT_FORMATS */
    const char *type;    /* of POUR_TYPE_NAMES */
    const char *made_by; /* which program */
    int64_t step;        /* updates behind the weights; -1: unknown */
    struct line licence; /* text that goes with the model; may be empty */
};

/*
 * The model is *f from then on as the format has it: biases that it must have are there,
 * zeros. What the user should know is added to `notes`, a sentence a line.
 */
status export_write(struct foreign *f, const struct export_options *o, const char *out,
                    struct str *notes, struct err *err);

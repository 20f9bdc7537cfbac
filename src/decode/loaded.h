/*
 * loaded - a model that is ready to translate, wherever it came from and where it runs.
 *
 * It is a run directory, a checkpoint of one, a packed file, or a model of another
 * program (foreign/foreign.h). On a processor the weights are packed (infer/network.h),
 * if they are not in the file, when it is loaded; on a GPU they are a model on a device.
 * Whoever translates need not know.
 *
 * It may be an ensemble (infer/ensemble.h): a model and others of the same tokenizer,
 * in any precision, on a processor.
 *
 * Owns: tokenizer, weights, and the device of a model on one. Outlives: every translator
 * opened on it. Threads: one at a time to open and close; a packed model is read by any,
 * and translators of a shared one are opened by any.
 */
#pragma once

#include "decode/model_dir.h"
#include "decode/packed_model.h"
#include "decode/translate.h"
#include "device/device.h"
#include "foreign/foreign.h"
#include "infer/network.h"
#include "model/model.h"

struct loaded_options {
    const char *checkpoint; /* as model_dir_open() takes it */
    bool average;           /* the moving average of the weights, if there is one */
    const char *device;     /* as device_open() takes it */
    size_t n_threads;       /* 0: one a core */
    size_t n_workers;       /* 0: whatever is faster */
    bool has_shortlist;     /* use the file's, if it has one; not in an ensemble */
    const char *ensemble; /* paths of more models, a comma between them; NULL, "": none */
    bool in_memory; /* other programs' files are read, not mapped: they may change */
    bool is_shared; /* translators of many threads join the same batches (decode/hub.h);
                       on the processor alone */
};

enum { LOADED_MOST = 16 }; /* models of an ensemble beside the first */

struct loaded {
    struct loaded_options options;
    const struct spm *spm;
    struct model_dir_languages lang;
    const char
        *note; /* why not the checkpoint that was asked for was taken; "": it was */
    const struct infer_kernels *kernels; /* NULL: on a device */
    const struct network *network;       /* with kernels */
    struct model_dir dir;                /* of a run directory */
    struct network own;                  /* packed from it */
    struct packed_model file;            /* of a packed file */
    struct foreign foreign;              /* of another program */
    struct device device;                /* without kernels */
    struct model model;
    struct loaded *more;         /* [n_more] of an ensemble */
    const struct network **nets; /* theirs */
    size_t n_more;
    struct translate_shared shared; /* of a shared one */
};

status loaded_open(struct loaded *l, const char *path, struct loaded_options options,
                   struct err *err);
void loaded_close(struct loaded *l);

/* A translator over it, which knows the source's language. On a processor:
 * soon after the flag became true translation ends with ERR_CANCELLED; NULL: never. */
status loaded_translator(const struct loaded *l, struct translator *t,
                         const struct translate_config *c,
                         const atomic_bool *is_cancelled, struct err *err);

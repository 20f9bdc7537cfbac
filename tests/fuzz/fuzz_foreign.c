/* Any bytes as the files of a model of another program: refused with a sentence, or a
 * model whose weights are numbers.
 *
 * An input is a row of files: a number that names it, its length in three bytes, and its
 * bytes. They are put into an archive with checksums that hold, so that what is behind
 * these is reached. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "../made_zip.h"
#include "foreign/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *const names[] = {"config.json",
                                    "vocab.json",
                                    "target_vocab.json",
                                    "source.spm",
                                    "target.spm",
                                    "model.safetensors",
                                    "model.bin",
                                    "pytorch_model.bin",
                                    "shared_vocabulary.json",
                                    "decoder.yml",
                                    "model.npz",
                                    "source_vocabulary.json",
                                    "vocab.yml",
                                    "target_vocabulary.json",
                                    "tokenizer_config.json",
                                    "vocab.spm",
                                    "en.spm",
                                    "de.spm",
                                    "vocab.model"};
enum { N_NAMES = sizeof names / sizeof *names, HEAD = 4 };

static void make(struct made_zip *z, const uint8_t *data, size_t n)
{
    for (size_t at = 0, size; at + HEAD <= n; at += HEAD + size) {
        size = data[at + 1] | (size_t)data[at + 2] << 8 | (size_t)data[at + 3] << 16;
        if (size > n - at - HEAD)
            size = n - at - HEAD;
        made_zip_add(z, names[data[at] % N_NAMES], data + at + HEAD, size);
    }
    made_zip_end(z);
}

static void use(const struct foreign *f)
{
    for (size_t i = 0; i < f->params.n_flat; i++)
        if (!isfinite(f->flat[i]))
            abort();
    if (spm_known(f->spm) > (size_t)model_config_source_vocab(&f->config))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct made_zip a = made_zip();
    struct place p;
    struct foreign f;
    struct err err = {0};

    make(&a, data, n);
    if (place_over(&p, a.bytes.data, a.bytes.len, &err) == OK) {
        if (foreign_open_place(&f, &p, NULL, "", &err) == OK) {
            use(&f);
            foreign_close(&f);
        } else if (!err.msg[0]) {
            abort();
        }
        place_close(&p);
    } else if (!err.msg[0]) {
        abort();
    }
    made_zip_release(&a);
    return 0;
}

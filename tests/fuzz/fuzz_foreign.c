/* Any bytes as the files of a model of another program: refused with a sentence, or a
 * model whose weights are numbers.
 *
 * An input is a row of files: a number that names it, its length in three bytes, and its
 * bytes. They are put into an archive with checksums that hold, so that what is behind
 * these is reached; a map of names is a file beside it. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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
                                    "vocab.model",
                                    "target.model",
                                    "source.vocab.yml",
                                    "target.vocab.yml",
                                    "shared_vocabulary.txt",
                                    "source_vocabulary.txt",
                                    "target_vocabulary.txt",
                                    "map"};
enum { N_NAMES = sizeof names / sizeof *names, MAP = N_NAMES - 1, HEAD = 4 };

/* A file in memory with the bytes; its path. */
static const char *make_map(const uint8_t *data, size_t n)
{
    static char path[32];
    static int fd = -1;

    if (fd < 0)
        fd = memfd_create("map", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, n, 0) != (ssize_t)n)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

/* The archive, and the path of the map where there is one. */
static const char *make(struct made_zip *z, const uint8_t *data, size_t n)
{
    const char *map = "";

    for (size_t at = 0, size; at + HEAD <= n; at += HEAD + size) {
        size = data[at + 1] | (size_t)data[at + 2] << 8 | (size_t)data[at + 3] << 16;
        if (size > n - at - HEAD)
            size = n - at - HEAD;
        if (data[at] % N_NAMES == MAP)
            map = make_map(data + at + HEAD, size);
        else
            made_zip_add(z, names[data[at] % N_NAMES], data + at + HEAD, size);
    }
    made_zip_end(z);
    return map;
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

    const char *map = make(&a, data, n);
    if (place_over(&p, a.bytes.data, a.bytes.len, &err) == OK) {
        if (foreign_open_place(&f, &p, NULL, map, &err) == OK) {
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

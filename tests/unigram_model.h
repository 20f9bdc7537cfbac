/* unigram_model - the pieces of a BPE model as a unigram model, for tests: Ferry learns
 * none. The earlier a piece was learned, the more probable it is. */
#pragma once

#include <math.h>

#include "text/subword/spm.h"
#include "text/subword/spm_parts.h"

#include "test.h"

/* The bytes of the model. More pieces may be appended to them. */
static inline struct str unigram_bytes(const struct spm *bpe)
{
    const struct line bytes = spm_bytes(bpe);
    struct str out = str_new(0);
    struct spm_parts p;
    struct err err = {0};

    CHECK_OK(spm_parts_read(&p, bytes.text, bytes.n_bytes, &err), &err);
    for (size_t i = 0; i < p.n_pieces; i++) {
        if (i >= ID_N_SPECIAL)
            p.piece[i].score = (float)(-1 - log((double)i));
        spm_parts_put_piece(&out, &p.piece[i]);
    }
    CHECK_OK(spm_parts_put_rest(&out, bytes.text, bytes.n_bytes, 100, false, &err), &err);
    str_add(&out, "\x12\x02\x18\x01", 4); /* of two settings the last one counts: 1 */
    spm_parts_release(&p);
    return out;
}

static inline struct spm *unigram_of(const struct spm *bpe)
{
    struct str bytes = unigram_bytes(bpe);
    struct spm *spm;
    struct err err = {0};

    CHECK_OK(spm_parse(&spm, bytes.data, bytes.len, &err), &err);
    str_release(&bytes);
    return spm;
}

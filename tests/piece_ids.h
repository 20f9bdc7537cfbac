/* Ids of pieces in 16 bits, as the corpus has them, for tests that cut words anew. */
#pragma once

#include <string.h>

#include "base/mem.h"
#include "test.h"
#include "text/subword/bpe_cut.h"
#include "text/subword/spm.h"

/* What an encoder gave; releases `ids`. */
static void narrow_ids(struct spm_ids *ids, struct bpe_ids *out)
{
    struct err err = {0};

    CHECK_OK(mem_grow(&out->id, &out->cap, ids->n, sizeof *out->id, &err), &err);
    for (out->n = 0; out->n < ids->n; out->n++)
        out->id[out->n] = (uint16_t)ids->id[out->n];
    spm_ids_release(ids);
}

static void text_of(const struct spm *spm, const struct bpe_ids *ids, struct str *out)
{
    struct spm_ids wide = {0};
    struct err err = {0};

    for (size_t i = 0; i < ids->n; i++)
        CHECK_OK(spm_ids_add(&wide, ids->id[i], &err), &err);
    str_reset(out);
    CHECK_OK(spm_decode(spm, wide.id, wide.n, out, &err), &err);
    spm_ids_release(&wide);
}

static bool same_ids(const struct bpe_ids *a, const struct bpe_ids *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->id, b->id, a->n * sizeof *a->id) == 0);
}

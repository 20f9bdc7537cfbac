/* hostile_model - BPE models that have seen hostile text, for tests. */
#pragma once

#include "base/rng.h"
#include "text/subword/spm_parts.h"
#include "train_lines.h"

#include "hostile.h"
#include "test.h"

/* A tokenizer that has seen hostile text, so that its pieces meet it again. */
struct hostile_teacher {
    struct str line;
    uint64_t at, n;
};

static inline bool hostile_next(void *ctx, struct line *line)
{
    struct hostile_teacher *t = ctx;

    if (t->at == t->n)
        return false;
    hostile_line(&t->line, rng_key(1, "teacher"), t->at++);
    *line = (struct line){str_text(&t->line), t->line.len};
    return true;
}

static inline struct spm *learned_model(void)
{
    struct hostile_teacher t = {.line = str_new(0), .n = 1500};
    const struct spm_train_options o = {.vocab_size = 20000, .is_at_most = true};
    struct spm *spm;
    struct err err = {0};

    CHECK_OK(train_lines(&spm, o, hostile_next, &t, NULL, &err), &err);
    str_release(&t.line);
    return spm;
}

/* Every second piece of the characters is gone: many are unknown, some inside pieces. */
static inline struct spm *holed_model(const struct spm *spm)
{
    const struct line bytes = spm_bytes(spm);
    struct spm_parts p;
    struct str out = str_new(0);
    struct spm *holed;
    struct err err = {0};

    CHECK_OK(spm_parts_read(&p, bytes.text, bytes.n_bytes, &err), &err);
    for (size_t i = 0; i < p.n_pieces; i++)
        if (i < ID_N_SPECIAL || i % 3)
            spm_parts_put_piece(&out, &p.piece[i]);
    CHECK_OK(spm_parts_put_rest(&out, bytes.text, bytes.n_bytes, 100, true, &err), &err);
    CHECK_OK(spm_parse(&holed, out.data, out.len, &err), &err);
    spm_parts_release(&p);
    str_release(&out);
    return holed;
}

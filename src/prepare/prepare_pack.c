#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "prepare/packer.h"
#include "prepare/prepare_bins.h"
#include "prepare/prepare_stages.h"
#include "prepare/shuffle.h"

struct packing {
    struct prepare *p;
    struct packer packer;
    struct prepare_tok tok; /* with reference_names */
    struct spm_ids ids[PAIRS_SIDES];
    uint64_t n;
};

static status widen(struct spm_ids *ids, const unsigned char *narrow, size_t n,
                    struct err *err)
{
    uint16_t id;

    TRY(mem_grow(&ids->id, &ids->cap, n, sizeof *ids->id, err));
    for (ids->n = 0; ids->n < n; ids->n++) {
        memcpy(&id, narrow + ids->n * sizeof id, sizeof id);
        ids->id[ids->n] = id;
    }
    return OK;
}

static status pack_record(void *ctx, const unsigned char *bytes, size_t n,
                          struct err *err)
{
    struct packing *k = ctx;
    struct prepare_record r;

    BUG_ON(n < sizeof r);
    memcpy(&r, bytes, sizeof r);
    const unsigned char *ids = bytes + sizeof r;
    const char *text = (const char *)ids + 2 * ((size_t)r.n_ids[0] + r.n_ids[1]);
    BUG_ON(n != (size_t)(text - (const char *)bytes) + r.n_bytes[0] + r.n_bytes[1]);
    TRY(widen(&k->ids[0], ids, r.n_ids[0], err));
    TRY(widen(&k->ids[1], ids + 2 * (size_t)r.n_ids[0], r.n_ids[1], err));
    TRY(packer_add(&k->packer, k->ids, err));
    progress_update(k->p->progress, ++k->n);
    if (!k->p->config->reference_names)
        return OK;
    const struct line line[PAIRS_SIDES] = {{text, r.n_bytes[0]},
                                           {text + r.n_bytes[0], r.n_bytes[1]}};
    return prepare_tok_add(&k->tok, k->ids, line, err);
}

static status pack(struct packing *k, struct err *err)
{
    struct prepare *p = k->p;
    char path[FILE_PATH_MAX];

    TRY(file_join(path, sizeof path, p->work.final, "train.bin", err));
    p->stats->set[PREPARE_TRAIN] = (struct prepare_set_stats){0};
    TRY(packer_open(&k->packer, path, p->spm, p->stats->tokenizer_hash,
                    &p->stats->set[PREPARE_TRAIN], err));
    if (p->config->reference_names)
        TRY(prepare_tok_open(&k->tok, p, err));
    TRY(shuffle_emit(p->work.dir, PREPARE_BINS, (size_t)p->stats->n_bins, pack_record, k,
                     err));
    if (p->config->reference_names)
        TRY(prepare_tok_commit(&k->tok, p, err));
    TRY(packer_commit(&k->packer, err));
    return work_add(&p->made, err, "final/train.bin");
}

status prepare_stage_pack(struct prepare *p, struct err *err)
{
    struct prepare_stage_stats *s = &p->stats->stage[PREPARE_PACK];
    struct packing k = {.p = p};

    s->before = p->stats->stage[PREPARE_ENCODE].after;
    progress_begin(p->progress, "packing", "pairs", s->before.n_pairs);
    const status result = pack(&k, err);
    if (result == OK)
        progress_end(p->progress, k.n);
    s->after = s->before;
    prepare_tok_abort(&k.tok);
    packer_release(&k.packer);
    spm_ids_release(&k.ids[0]);
    spm_ids_release(&k.ids[1]);
    return result;
}

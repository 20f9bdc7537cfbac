#include "corpus/packer.h"

#include <stdio.h>

#include "corpus/corpus.h"

status packer_open(struct packer *k, const char *path, const struct spm *spm,
                   uint64_t tokenizer_hash, struct prepare_set_stats *stats,
                   struct err *err)
{
    *k = (struct packer){.spm = spm, .stats = stats};
    snprintf(k->path, sizeof k->path, "%s", path);
    return corpus_file_create(&k->corpus, path, spm_size(spm), tokenizer_hash, err);
}

status packer_encode(struct packer *k, const struct line side[PAIRS_SIDES],
                     struct err *err)
{
    for (int s = 0; s < PAIRS_SIDES; s++) {
        k->ids[s].n = 0;
        TRY(spm_encode(k->spm, side[s], &k->ids[s], err));
    }
    return OK;
}

bool packer_has_text(const struct packer *k)
{
    return k->ids[PAIRS_SOURCE].n && k->ids[PAIRS_TARGET].n;
}

status packer_add(struct packer *k, struct err *err)
{
    struct corpus_file_side side[PAIRS_SIDES];

    for (int s = 0; s < PAIRS_SIDES; s++) {
        side[s] = (struct corpus_file_side){k->ids[s].id, k->ids[s].n};
        prepare_stats_side(&k->stats->side[s], side[s].id, side[s].n);
    }
    k->stats->n_pairs++;
    return corpus_file_add(&k->corpus, side[PAIRS_SOURCE], side[PAIRS_TARGET], err);
}

/* Read the file back: what training will open is what was meant. */
status packer_commit(struct packer *k, struct err *err)
{
    struct corpus c;

    TRY(corpus_file_commit(&k->corpus, err));
    TRY(corpus_open(&c, k->path, err));
    k->stats->n_bytes = c.map.n_bytes;
    k->stats->checksum = c.checksum;
    corpus_close(&c);
    return OK;
}

void packer_release(struct packer *k)
{
    corpus_file_abort(&k->corpus);
    for (int s = 0; s < PAIRS_SIDES; s++)
        spm_ids_release(&k->ids[s]);
}

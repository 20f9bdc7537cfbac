#include "prepare/packer.h"

#include <stdio.h>

#include "corpus/corpus.h"

status packer_open(struct packer *k, const char *path, const struct spm *spm,
                   uint64_t tokenizer_hash, struct prepare_set_stats *stats,
                   struct err *err)
{
    *k = (struct packer){.stats = stats};
    snprintf(k->path, sizeof k->path, "%s", path);
    return corpus_file_create(&k->corpus, path, spm_size(spm), tokenizer_hash, err);
}

status packer_add(struct packer *k, const struct spm_ids ids[PAIRS_SIDES],
                  struct err *err)
{
    struct corpus_file_side side[PAIRS_SIDES];

    for (int s = 0; s < PAIRS_SIDES; s++) {
        side[s] = (struct corpus_file_side){ids[s].id, ids[s].n};
        prepare_stats_side(&k->stats->side[s], side[s].id, side[s].n);
    }
    k->stats->n_pairs++;
    return corpus_file_add(&k->corpus, side[PAIRS_SOURCE], side[PAIRS_TARGET], err);
}

/* What training will open is what was meant. */
status packer_commit(struct packer *k, struct err *err)
{
    struct corpus c;

    TRY(corpus_file_commit(&k->corpus, err));
    TRY(corpus_file_read_back(k->path, err));
    TRY(corpus_open(&c, k->path, err));
    k->stats->n_bytes = c.n_bytes;
    k->stats->checksum = c.checksum;
    corpus_close(&c);
    return OK;
}

void packer_release(struct packer *k)
{
    corpus_file_abort(&k->corpus);
}

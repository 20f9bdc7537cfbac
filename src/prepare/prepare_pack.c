#include <string.h>

#include "base/mem.h"
#include "prepare/bin_sort.h"
#include "prepare/prepare_stages.h"

status prepare_pack_open(struct prepare_pack *k, struct prepare *p, enum prepare_set set,
                         struct err *err)
{
    const char *name = prepare_stats_set_names[set];

    *k = (struct prepare_pack){.stats = &p->stats->set[set]};
    *k->stats = (struct prepare_set_stats){0};
    TRY(workdir_add(&p->work, err, "final/%s.bin", name));
    TRY(file_path(k->path, err, "%s/%s.bin", p->work.final, name));
    const size_t source = spm_known(p->spm), target = spm_known(spm_target(p->spm));
    const size_t vocab = source > target ? source : target;
    if (set == PREPARE_TRAIN && p->stats->has_weights)
        return corpus_file_create_weighted(&k->corpus, k->path, vocab,
                                           p->stats->tokenizer_hash, err);
    return corpus_file_create(&k->corpus, k->path, vocab, p->stats->tokenizer_hash, err);
}

/* Count one encoded side of a set. */
static void count_side(struct prepare_side_stats *s, const struct spm_ids *ids)
{
    s->n_tokens += ids->n;
    s->longest = ids->n > s->longest ? ids->n : s->longest;
    for (size_t i = 0; i < ids->n; i++)
        s->n_unknown += ids->id[i] == ID_UNK;
}

static void count_weight(struct prepare_set_stats *s, float weight)
{
    struct prepare_weights *w = &s->weights;
    const double x = (double)weight;

    w->n_other += x != 1;
    w->sum += x;
    w->least = s->n_pairs && w->least < x ? w->least : x;
    w->most = s->n_pairs && w->most > x ? w->most : x;
    s->n_pairs++;
}

status prepare_pack_add(struct prepare_pack *k, const struct spm_ids ids[PAIRS_SIDES],
                        float weight, struct err *err)
{
    struct corpus_file_side side[PAIRS_SIDES];

    for (int s = 0; s < PAIRS_SIDES; s++) {
        side[s] = (struct corpus_file_side){ids[s].id, ids[s].n};
        count_side(&k->stats->side[s], &ids[s]);
    }
    count_weight(k->stats, weight);
    return corpus_file_add_weighted(&k->corpus, side[PAIRS_SOURCE], side[PAIRS_TARGET],
                                    weight, err);
}

status prepare_pack_commit(struct prepare_pack *k, struct err *err)
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

/* The stage: records of the bins, in their random order, to train.bin. */
struct packing {
    struct prepare *p;
    struct prepare_pack pack;
    struct prepare_reference reference; /* with reference_names */
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
    TRY(prepare_pack_add(&k->pack, k->ids, r.weight, err));
    progress_update(k->p->progress, ++k->n);
    if (!k->p->config->reference_names)
        return OK;
    const struct line line[PAIRS_SIDES] = {{text, r.n_bytes[0]},
                                           {text + r.n_bytes[0], r.n_bytes[1]}};
    return prepare_reference_add(&k->reference, k->p->spm, k->ids, line, err);
}

static void close_packing(struct packing *k)
{
    prepare_reference_abort(&k->reference);
    corpus_file_abort(&k->pack.corpus);
    spm_ids_release(&k->ids[0]);
    spm_ids_release(&k->ids[1]);
}

status prepare_stage_pack(struct prepare *p, struct err *err)
{
    struct prepare_stage_stats *s = &p->stats->stage[PREPARE_PACK];
    const bool with_reference = p->config->reference_names;
    RELEASED_BY(close_packing) struct packing k = {.p = p};

    s->before = s->after = p->stats->stage[PREPARE_ENCODE].after;
    progress_begin(p->progress, "packing", "pairs", s->before.n_pairs);
    TRY(prepare_pack_open(&k.pack, p, PREPARE_TRAIN, err));
    if (with_reference)
        TRY(prepare_reference_open(&k.reference, p, err));
    TRY(bin_sort_emit(p->work.dir, PREPARE_BINS, (size_t)p->stats->n_bins, pack_record,
                      &k, err));
    if (with_reference)
        TRY(prepare_reference_commit(&k.reference, p, err));
    TRY(prepare_pack_commit(&k.pack, err));
    progress_end(p->progress, k.n);
    return OK;
}

/*
 * training_data - the data directories of a run: its sets, its tokenizer, and the batches
 * that a rank takes from them.
 *
 * Every node may have a copy of its own. The first rank of a node reads all of it once,
 * beside the first steps; damage in one copy ends the run of all ranks, by its name.
 *
 * Owns: all of it. Threads: one at a time; prefetching and the check have their own.
 */
#pragma once

#include "base/err.h"
#include "corpus/dataset.h"
#include "corpus/prefetch.h"
#include "text/subword/spm.h"
#include "train/run/config.h"
#include "train/run/data_list.h"
#include "train/run/peers.h"

struct training_data {
    struct dataset sets; /* of data; its training pairs are followed by also_data's */
    struct mix mix;      /* of these */
    struct data_list valid_list; /* also_valid */
    struct dataset also_valid[DATA_LIST_MAX];
    struct dataset_check check;
    struct spm *spm;
    struct variation *variation; /* NULL: the text stays as it is stored */
    struct prefetch *prefetch;
};

/* c->model.vocab_size 0 becomes the tokenizer's, languages "" the data's. is_checked: by
 * a thread, from now on. Close it in any case. */
status training_data_open(struct training_data *d, struct train_config *c,
                          bool is_checked, struct err *err);
void training_data_close(struct training_data *d);

/* A checksum of all validation sets; 0: there are none. */
uint64_t training_data_valid_hash(const struct training_data *d);

/* For messages about a run that is resumed: " (data = DIR)" when it began with another
 * directory than c->data, "" when not. */
enum { TRAINING_DATA_BEFORE = FILE_PATH_MAX + 16 };
const char *training_data_before(char text[TRAINING_DATA_BEFORE],
                                 const struct train_config *c);
/* The sentence about a vocabulary that is not the run's. */
status training_data_refuse_vocabulary(const struct train_config *c, struct err *err);

/* Start to prefetch batches of this rank from `from` on. */
status training_data_prefetch(struct training_data *d, const struct train_config *c,
                              const struct peers *p, struct batch_limit limit,
                              struct order_cursor from, struct err *err);

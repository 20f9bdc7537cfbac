/*
 * special_ids - ids of the vocabulary that spell nothing: tokenizer, corpus, training and
 * decoding must agree on them. They are the reference's.
 */
#pragma once

enum { ID_PAD = 0, ID_EOS = 1, ID_BOS = 2, ID_UNK = 3, ID_N_SPECIAL = 4 };

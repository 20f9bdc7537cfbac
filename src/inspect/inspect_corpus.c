#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "corpus/corpus.h"
#include "inspect/inspect.h"

/* The lengths of one side, sorted. */
struct lengths {
    const char *side;
    uint64_t *n_tokens; /* [n] */
    size_t n;
    uint64_t sum;
};

static int by_size(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static status lengths_open(struct lengths *l, const struct corpus *c, const char *side,
                           struct sentence (*get)(const struct corpus *, uint32_t),
                           struct err *err)
{
    *l = (struct lengths){.side = side, .n = c->n_pairs};
    TRY(mem_alloc(&l->n_tokens, l->n, sizeof *l->n_tokens, err));
    for (uint32_t i = 0; i < c->n_pairs; i++) {
        l->n_tokens[i] = get(c, i).len;
        l->sum += l->n_tokens[i];
    }
    qsort(l->n_tokens, l->n, sizeof *l->n_tokens, by_size);
    return OK;
}

/* The least length that at least the share q of the sentences does not pass. */
static uint64_t quantile(const struct lengths *l, double q)
{
    size_t at = (size_t)(q * (double)l->n);

    at = at < l->n ? at : l->n - 1;
    return l->n_tokens[at];
}

static void add_lengths(json_t *table, const struct lengths *l)
{
    json_t *row = inspect_page_row(table);

    inspect_page_text(row, "tokens_a_sentence", l->side);
    inspect_page_real(row, "mean", (double)l->sum / (double)l->n);
    inspect_page_int(row, "least", l->n_tokens[0]);
    inspect_page_int(row, "median", quantile(l, 0.5));
    inspect_page_int(row, "p90", quantile(l, 0.9));
    inspect_page_int(row, "p99", quantile(l, 0.99));
    inspect_page_int(row, "most", l->n_tokens[l->n - 1]);
}

/* Sentences of lo to hi tokens. */
static uint64_t count_between(const struct lengths *l, uint64_t lo, uint64_t hi)
{
    uint64_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        n += l->n_tokens[i] >= lo && l->n_tokens[i] <= hi;
    return n;
}

static void add_bucket(json_t *table, const struct lengths side[2], uint64_t lo,
                       uint64_t hi)
{
    json_t *row = inspect_page_row(table);
    char range[48];

    snprintf(range, sizeof range, lo == hi ? "%" PRIu64 : "%" PRIu64 " to %" PRIu64, lo,
             hi);
    inspect_page_text(row, "sentences_of_tokens", range);
    inspect_page_int(row, "source", count_between(&side[0], lo, hi));
    inspect_page_int(row, "target", count_between(&side[1], lo, hi));
}

/* 0, 1 to 4, 5 to 8, 9 to 16, ... up to the longest sentence. */
static void add_distribution(json_t *page, const struct lengths side[2])
{
    json_t *table = inspect_page_table(page, "distribution");
    const uint64_t a = quantile(&side[0], 1), b = quantile(&side[1], 1);
    const uint64_t longest = a > b ? a : b;

    if (count_between(&side[0], 0, 0) + count_between(&side[1], 0, 0))
        add_bucket(table, side, 0, 0);
    for (uint64_t lo = 1, hi = 4; lo <= longest; lo = hi + 1, hi *= 2)
        add_bucket(table, side, lo, hi);
}

static status describe(json_t *page, const struct corpus *c, struct lengths side[2],
                       struct err *err)
{
    TRY(lengths_open(&side[0], c, "source", corpus_source, err));
    TRY(lengths_open(&side[1], c, "target", corpus_target, err));
    inspect_page_int(page, "bytes", c->map.n_bytes);
    inspect_page_int(page, "pairs", c->n_pairs);
    inspect_page_int(page, "tokens", c->n_tokens);
    inspect_page_int(page, "source_tokens", side[0].sum);
    inspect_page_int(page, "target_tokens", side[1].sum);
    inspect_page_int(page, "vocabulary", c->vocab);
    inspect_page_hash(page, "tokenizer", c->tokenizer_hash);
    inspect_page_hash(page, "checksum", c->checksum);
    if (!c->n_pairs)
        return OK;
    json_t *table = inspect_page_table(page, "lengths");
    add_lengths(table, &side[0]);
    add_lengths(table, &side[1]);
    add_distribution(page, side);
    return OK;
}

status inspect_corpus(json_t *page, const char *path, const struct inspect_config *c,
                      struct err *err)
{
    struct lengths side[2] = {0};
    struct corpus corpus;

    (void)c; /* all of it is read in any case, so that it is always verified */
    TRY(corpus_open(&corpus, path, err));
    inspect_page_text(page, "corpus", path);
    status result = corpus_file_verify(&corpus, err);
    if (result == OK)
        result = describe(page, &corpus, side, err);
    else
        (void)err_wrap(err, "%s", path);
    free(side[0].n_tokens);
    free(side[1].n_tokens);
    corpus_close(&corpus);
    return result;
}

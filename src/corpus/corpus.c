#include "corpus/corpus.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define END_MAGIC "FERRYEND"

enum { VOCAB_MIN = 4, VOCAB_MAX = 1 << 16 };

struct head {
    char magic[8];
    uint32_t version, vocab;
    uint64_t tokenizer_hash, reserved;
};

struct foot {
    uint64_t n_pairs, n_tokens;
    uint64_t checksum; /* of every byte before this field */
    uint64_t ends;     /* checksum of the head and the three fields above */
    char magic[8];
};

_Static_assert(sizeof(struct head) == CORPUS_FILE_HEAD, "head has no padding");
_Static_assert(sizeof(struct foot) == CORPUS_FILE_FOOT, "foot has no padding");

static uint64_t sum_of_ends(const struct head *head, const struct foot *foot)
{
    struct checksum c = checksum_start();

    checksum_add(&c, head, sizeof *head);
    checksum_add(&c, foot, offsetof(struct foot, ends));
    return checksum_value(&c);
}

/* Zero bytes behind so many, up to where the next array can begin. */
static size_t gap_after(uint64_t n_bytes)
{
    return (size_t)(-n_bytes % 8);
}

static bool has_weights(const struct head *head)
{
    return head->version != CORPUS_FILE_PLAIN;
}

/* Bytes of n weights, with the gap behind them. */
static uint64_t weight_bytes(uint64_t n)
{
    return n * sizeof(float) + gap_after(n * sizeof(float));
}

static status check_ends(const struct head *head, const struct foot *foot,
                         struct err *err)
{
    if (memcmp(head->magic, CORPUS_FILE_MAGIC, 8) != 0)
        return err_set(err, ERR_FORMAT, "not a packed corpus");
    if (head->version > CORPUS_FILE_VERSION)
        return err_set(err, ERR_FORMAT,
                       "a packed corpus by a newer ferry (version %u, up to %d can be "
                       "read); use that one, or prepare the text once more with this one",
                       head->version, CORPUS_FILE_VERSION);
    if (head->version < CORPUS_FILE_PLAIN)
        return err_set(err, ERR_FORMAT,
                       "a packed corpus of version %u, this program reads versions %d "
                       "and %d; run ferry prepare again",
                       head->version, CORPUS_FILE_PLAIN, CORPUS_FILE_VERSION);
    if (memcmp(foot->magic, END_MAGIC, 8) != 0)
        return err_set(err, ERR_FORMAT,
                       "the packed corpus was cut short; run ferry prepare again");
    if (sum_of_ends(head, foot) != foot->ends)
        return err_set(err, ERR_FORMAT,
                       "the head or the end of the packed corpus is damaged; run ferry "
                       "prepare again");
    if (head->vocab < VOCAB_MIN || head->vocab > VOCAB_MAX)
        return err_set(err, ERR_FORMAT, "a vocabulary of %u tokens is not possible",
                       head->vocab);
    return OK;
}

/* The counts must fill the file exactly; the bounds keep the sum from overflowing. */
static status check_size(const struct head *head, const struct foot *foot, size_t n,
                         struct err *err)
{
    const uint64_t pairs = foot->n_pairs, tokens = foot->n_tokens;

    if (pairs <= INT32_MAX && tokens <= n / 2 &&
        CORPUS_FILE_HEAD + tokens * 2 + gap_after(tokens * 2) + (2 * pairs + 1) * 8 +
                (has_weights(head) ? weight_bytes(pairs) : 0) + CORPUS_FILE_FOOT ==
            n)
        return OK;
    return err_set(err, ERR_FORMAT,
                   "%llu pairs with %llu tokens do not make a file of %zu bytes",
                   (unsigned long long)pairs, (unsigned long long)tokens, n);
}

status corpus_file_parse(struct corpus *c, const unsigned char *data, size_t n,
                         struct err *err)
{
    struct head head;
    struct foot foot;

    if (n < CORPUS_FILE_HEAD + CORPUS_FILE_FOOT)
        return err_set(err, ERR_FORMAT, "%zu bytes are too few for a packed corpus", n);
    memcpy(&head, data, sizeof head);
    memcpy(&foot, data + n - sizeof foot, sizeof foot);
    TRY(check_ends(&head, &foot, err));
    TRY(check_size(&head, &foot, n, err));
    *c = (struct corpus){
        .data = data,
        .n_bytes = n,
        .token = (const uint16_t *)(const void *)(data + sizeof head),
        .n_tokens = foot.n_tokens,
        .n_pairs = (uint32_t)foot.n_pairs,
        .vocab = head.vocab,
        .tokenizer_hash = head.tokenizer_hash,
        .checksum = foot.checksum,
    };
    c->start = (const uint64_t *)(const void *)(data + sizeof head + c->n_tokens * 2 +
                                                gap_after(c->n_tokens * 2));
    if (has_weights(&head))
        c->weight = (const float *)(const void *)(c->start + 2 * (size_t)c->n_pairs + 1);
    return OK;
}

status corpus_open(struct corpus *c, const char *path, struct err *err)
{
    struct file_map map;

    *c = (struct corpus){0};
    TRY(file_map_open(&map, path, err));
    if (corpus_file_parse(c, map.data, map.n_bytes, err) != OK) {
        file_map_close(&map);
        *c = (struct corpus){0};
        return err_wrap(err, "%s", path);
    }
    c->map = map;
    return OK;
}

void corpus_close(struct corpus *c)
{
    for (size_t i = 0; i < c->n_parts; i++)
        file_map_close(&c->part[i].map);
    free(c->part);
    file_map_close(&c->map);
    *c = (struct corpus){0};
}

/* The numbers of all parts, in those of the whole. */
static void sum_parts(struct corpus *c)
{
    struct checksum sum = checksum_start();

    c->n_pairs = 0;
    c->n_tokens = c->n_bytes = 0;
    for (size_t i = 0; i < c->n_parts; i++) {
        const struct corpus *p = &c->part[i];
        c->n_pairs += p->n_pairs;
        c->n_tokens += p->n_tokens;
        c->n_bytes += p->n_bytes;
        c->vocab = p->vocab > c->vocab ? p->vocab : c->vocab;
        checksum_add(&sum, &p->checksum, sizeof p->checksum);
    }
    c->checksum = checksum_value(&sum);
}

status corpus_append(struct corpus *c, struct corpus *more, struct err *err)
{
    const size_t n = c->n_parts ? c->n_parts : 1;
    struct corpus *part;

    BUG_ON(more->part);
    if ((uint64_t)c->n_pairs + more->n_pairs > INT32_MAX)
        return err_set(err, ERR_USAGE, "the corpora have more than %d pairs together",
                       INT32_MAX);
    TRY(mem_alloc(&part, n + 1, sizeof *part, err));
    if (c->n_parts) {
        memcpy(part, c->part, n * sizeof *part);
        free(c->part);
    } else {
        part[0] = *c;
        *c = (struct corpus){
            .vocab = c->vocab, .tokenizer_hash = c->tokenizer_hash, .arch = c->arch};
    }
    part[n] = *more;
    *more = (struct corpus){0};
    c->part = part;
    c->n_parts = n + 1;
    sum_parts(c);
    return OK;
}

/* The file that pair *i is in, of which *i becomes the number there. */
static const struct corpus *file_of(const struct corpus *c, uint32_t *i)
{
    const struct corpus *p = c->part;

    if (!p)
        return c;
    for (; *i >= p->n_pairs; p++)
        *i -= p->n_pairs;
    return p;
}

static struct sentence side(const struct corpus *c, size_t i)
{
    const uint64_t at = c->start[i], end = c->start[i + 1];

    if (at > end || end > c->n_tokens)
        return (struct sentence){c->token, 0};
    return (struct sentence){c->token + at, (size_t)(end - at)};
}

bool corpus_has_pair(const struct corpus *c, uint32_t i)
{
    const struct corpus *file = file_of(c, &i);
    const uint64_t *at = file->start + 2 * (size_t)i;

    return at[0] <= at[1] && at[1] <= at[2] && at[2] <= file->n_tokens &&
           (!file->weight || corpus_is_weight(file->weight[i]));
}

float corpus_weight(const struct corpus *c, uint32_t i)
{
    assert(i < c->n_pairs);
    const struct corpus *file = file_of(c, &i);
    return file->weight ? file->weight[i] : 1;
}

bool corpus_has_weights(const struct corpus *c)
{
    for (size_t i = 0; i < c->n_parts; i++)
        if (c->part[i].weight)
            return true;
    return c->weight;
}

status corpus_damaged(uint32_t pair, struct err *err)
{
    return err_set(err, ERR_FORMAT,
                   "the packed corpus is damaged at pair %u; run ferry prepare again",
                   pair);
}

struct sentence corpus_source(const struct corpus *c, uint32_t i)
{
    assert(i < c->n_pairs);
    const struct corpus *file = file_of(c, &i);
    return side(file, 2 * (size_t)i);
}

struct sentence corpus_target(const struct corpus *c, uint32_t i)
{
    assert(i < c->n_pairs);
    const struct corpus *file = file_of(c, &i);
    return side(file, 2 * (size_t)i + 1);
}

size_t corpus_clip(size_t len, size_t max_length)
{
    assert(max_length >= CORPUS_MIN_LENGTH);
    len = len ? len : 1;
    return (len < max_length - 2 ? len : max_length - 2) + 2;
}

void corpus_read_as(struct corpus *c, const struct architecture *a)
{
    c->arch = *a;
}

size_t corpus_rows(const struct corpus *c, size_t len, size_t max_length)
{
    return corpus_clip(len, max_length) - c->arch.has_no_begin;
}

static status check_offsets(const struct corpus *c, struct err *err)
{
    const size_t n_sides = 2 * (size_t)c->n_pairs;

    if (c->start[0] != 0 || c->start[n_sides] != c->n_tokens)
        return err_set(err, ERR_FORMAT, "offsets span %llu tokens, the file holds %llu",
                       (unsigned long long)c->start[n_sides],
                       (unsigned long long)c->n_tokens);
    for (size_t i = 0; i < n_sides; i++)
        if (c->start[i] > c->start[i + 1])
            return err_set(err, ERR_FORMAT, "pair %zu ends before it starts", i / 2);
    return OK;
}

static status verify_file(const struct corpus *c, struct err *err)
{
    const size_t sum_at =
        c->n_bytes - sizeof(struct foot) + offsetof(struct foot, checksum);
    uint16_t top = 0;

    if (checksum_of(c->data, sum_at) != c->checksum)
        return err_set(err, ERR_FORMAT,
                       "the packed corpus is damaged (its checksum does not match); run "
                       "ferry prepare again");
    TRY(check_offsets(c, err));
    for (uint64_t i = 0; i < c->n_tokens; i++)
        top = c->token[i] > top ? c->token[i] : top;
    if (top >= c->vocab)
        return err_set(err, ERR_FORMAT, "token %u in a vocabulary of %u", top, c->vocab);
    for (uint32_t i = 0; c->weight && i < c->n_pairs; i++)
        if (!corpus_is_weight(c->weight[i]))
            return err_set(err, ERR_FORMAT, "pair %u has the weight %g", i,
                           (double)c->weight[i]);
    return OK;
}

status corpus_file_verify(const struct corpus *c, struct err *err)
{
    if (!c->part)
        return verify_file(c, err);
    for (size_t i = 0; i < c->n_parts; i++)
        if (verify_file(&c->part[i], err) != OK)
            return err_wrap(err, "corpus %zu of %zu", i + 1, c->n_parts);
    return OK;
}

status corpus_file_read_back(const char *path, struct err *err)
{
    struct corpus c;
    uint64_t sum;

    TRY(corpus_open(&c, path, err));
    const uint64_t n = c.n_bytes - sizeof(struct foot) + offsetof(struct foot, checksum);
    const uint64_t want = c.checksum;
    corpus_close(&c);
    TRY(checksum_of_part(&sum, path, n, err));
    if (sum == want)
        return OK;
    return err_set(
        err, ERR_FORMAT,
        "%s is damaged: its checksum does not match what was written; check the disk",
        path);
}

static struct head head_of(const struct corpus_file_writer *w)
{
    return (struct head){.magic = CORPUS_FILE_MAGIC,
                         .version = w->weights ? CORPUS_FILE_VERSION : CORPUS_FILE_PLAIN,
                         .vocab = w->vocab,
                         .tokenizer_hash = w->hash};
}

static status put(struct corpus_file_writer *w, const void *data, size_t n,
                  struct err *err)
{
    checksum_add(&w->checksum, data, n);
    return file_writer_add(&w->file, data, n, err);
}

static status add_offset(struct corpus_file_writer *w, struct err *err)
{
    if (fwrite(&w->n_tokens, sizeof w->n_tokens, 1, w->offsets) == 1)
        return OK;
    return file_error(err, w->file.path);
}

static status open_nameless(FILE **f, const char *path, struct err *err)
{
    int fd;

    TRY(file_nameless_beside(&fd, path, err));
    *f = fdopen(fd, "w+");
    if (*f)
        return OK;
    close(fd);
    return err_set(err, ERR_MEMORY, "%s: no memory to write it", path);
}

/* Offsets and weights wait in files without a name until the last token is written. */
static status begin_file(struct corpus_file_writer *w, const char *path, bool is_weighted,
                         struct err *err)
{
    TRY(file_writer_open(&w->file, path, err));
    TRY(open_nameless(&w->offsets, path, err));
    if (is_weighted)
        TRY(open_nameless(&w->weights, path, err));
    const struct head head = head_of(w);
    TRY(put(w, &head, sizeof head, err));
    return add_offset(w, err);
}

static status create(struct corpus_file_writer *w, const char *path, size_t vocab,
                     uint64_t tokenizer_hash, bool is_weighted, struct err *err)
{
    *w = (struct corpus_file_writer){
        .checksum = checksum_start(), .vocab = (uint32_t)vocab, .hash = tokenizer_hash};
    if (vocab < VOCAB_MIN || vocab > VOCAB_MAX)
        return err_set(err, ERR_USAGE,
                       "%s: a vocabulary of %zu pieces; a packed corpus takes %d to %d",
                       path, vocab, VOCAB_MIN, VOCAB_MAX);
    if (begin_file(w, path, is_weighted, err) == OK)
        return OK;
    corpus_file_abort(w);
    return err->code;
}

status corpus_file_create(struct corpus_file_writer *w, const char *path, size_t vocab,
                          uint64_t tokenizer_hash, struct err *err)
{
    return create(w, path, vocab, tokenizer_hash, false, err);
}

status corpus_file_create_weighted(struct corpus_file_writer *w, const char *path,
                                   size_t vocab, uint64_t tokenizer_hash, struct err *err)
{
    return create(w, path, vocab, tokenizer_hash, true, err);
}

static status add_side(struct corpus_file_writer *w, struct corpus_file_side side,
                       struct err *err)
{
    TRY(mem_grow(&w->token, &w->token_cap, side.n, sizeof *w->token, err));
    for (size_t i = 0; i < side.n; i++) {
        BUG_ON(side.id[i] < 0 || (uint32_t)side.id[i] >= w->vocab);
        w->token[i] = (uint16_t)side.id[i];
    }
    w->n_tokens += side.n;
    w->n_sides++;
    TRY(add_offset(w, err));
    return put(w, w->token, side.n * sizeof *w->token, err);
}

status corpus_file_add_weighted(struct corpus_file_writer *w,
                                struct corpus_file_side source,
                                struct corpus_file_side target, float weight,
                                struct err *err)
{
    if (w->n_sides / 2 == INT32_MAX)
        return err_set(err, ERR_USAGE, "%s: more than %d pairs do not fit one corpus",
                       w->file.path, INT32_MAX);
    BUG_ON(w->weights ? !corpus_is_weight(weight) : weight != 1);
    TRY(add_side(w, source, err));
    TRY(add_side(w, target, err));
    if (w->weights && fwrite(&weight, sizeof weight, 1, w->weights) != 1)
        return file_error(err, w->file.path);
    return OK;
}

status corpus_file_add(struct corpus_file_writer *w, struct corpus_file_side source,
                       struct corpus_file_side target, struct err *err)
{
    return corpus_file_add_weighted(w, source, target, 1, err);
}

static status copy_from(struct corpus_file_writer *w, FILE *waiting, struct err *err)
{
    unsigned char block[1 << 14];
    const bool is_good = fseek(waiting, 0, SEEK_SET) == 0; /* writes what is buffered */
    size_t n;

    while (is_good && (n = fread(block, 1, sizeof block, waiting)) > 0)
        TRY(put(w, block, n, err));
    if (!is_good || ferror(waiting))
        return file_error(err, w->file.path);
    return OK;
}

static status finish(struct corpus_file_writer *w, struct err *err)
{
    static const unsigned char zeros[8];
    const struct head head = head_of(w);
    struct foot foot = {
        .n_pairs = w->n_sides / 2, .n_tokens = w->n_tokens, .magic = END_MAGIC};

    TRY(put(w, zeros, gap_after(foot.n_tokens * 2), err));
    TRY(copy_from(w, w->offsets, err));
    if (w->weights) {
        TRY(copy_from(w, w->weights, err));
        TRY(put(w, zeros, gap_after(foot.n_pairs * sizeof(float)), err));
    }
    TRY(put(w, &foot, offsetof(struct foot, checksum), err));
    foot.checksum = checksum_value(&w->checksum);
    foot.ends = sum_of_ends(&head, &foot);
    TRY(file_writer_add(&w->file, &foot.checksum,
                        sizeof foot - offsetof(struct foot, checksum), err));
    return file_writer_commit(&w->file, err);
}

status corpus_file_commit(struct corpus_file_writer *w, struct err *err)
{
    const status result = finish(w, err);

    corpus_file_abort(w);
    return result;
}

void corpus_file_abort(struct corpus_file_writer *w)
{
    if (w->offsets)
        fclose(w->offsets);
    if (w->weights)
        fclose(w->weights);
    file_writer_abort(&w->file);
    free(w->token);
    *w = (struct corpus_file_writer){0};
}

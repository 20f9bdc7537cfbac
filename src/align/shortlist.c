#include "align/shortlist.h"

#include "format/le.h"
#include "recipe/special_ids.h"

static uint16_t id_at(const unsigned char *ids, size_t k)
{
    return le_get16(ids + 2 * k);
}

static uint32_t offset_at(const struct shortlist *s, size_t e)
{
    return le_get32(s->offset + 4 * e);
}

static status damaged(struct err *err)
{
    return err_set(err, ERR_FORMAT, "the shortlist of the model is damaged");
}

/* The head, and that its counts fill n bytes exactly. */
static status check_head(struct shortlist *s, const unsigned char *head, size_t n,
                         size_t vocab, struct err *err)
{
    if (n < SHORTLIST_HEAD)
        return err_set(err, ERR_FORMAT, "%zu bytes are too few for a shortlist", n);
    if (le_get32(head) != SHORTLIST_VERSION)
        return err_set(err, ERR_FORMAT,
                       "a shortlist of version %u, this program reads version %d",
                       le_get32(head), SHORTLIST_VERSION);
    s->vocab = le_get32(head + 4);
    s->n_frequent = le_get32(head + 8);
    s->n_best = le_get32(head + 12);
    const uint64_t n_ids = le_get32(head + 16);
    if (s->vocab != vocab)
        return err_set(err, ERR_FORMAT,
                       "a shortlist for %u ids, but the vocabulary has %zu", s->vocab,
                       vocab);
    if (vocab < ID_N_SPECIAL || vocab > SHORTLIST_MOST_IDS || s->n_frequent > vocab ||
        s->n_best > vocab || le_get32(head + 20) != 0 ||
        SHORTLIST_HEAD + 4 * ((uint64_t)vocab + 1) + 2 * (n_ids + s->n_frequent) != n)
        return damaged(err);
    s->offset = head + SHORTLIST_HEAD;
    s->best = s->offset + 4 * (vocab + 1);
    s->frequent = s->best + 2 * n_ids;
    if (offset_at(s, 0) != 0 || offset_at(s, vocab) != n_ids)
        return damaged(err);
    return OK;
}

/* Whether ids ascend and are of the vocabulary. */
static int is_sorted(const unsigned char *ids, size_t first, size_t end, uint32_t vocab)
{
    for (size_t k = first; k < end; k++)
        if (id_at(ids, k) >= vocab || (k > first && id_at(ids, k) <= id_at(ids, k - 1)))
            return 0;
    return 1;
}

/* All offsets come first: only when they ascend to the last, which is known to be right,
 * may any of them be followed. */
status shortlist_view(struct shortlist *s, const void *bytes, size_t n, size_t vocab,
                      struct err *err)
{
    *s = (struct shortlist){0};
    TRY(check_head(s, bytes, n, vocab, err));
    for (size_t e = 0; e < vocab; e++)
        if (offset_at(s, e) > offset_at(s, e + 1) ||
            offset_at(s, e + 1) - offset_at(s, e) > s->n_best)
            return damaged(err);
    for (size_t e = 0; e < vocab; e++)
        if (!is_sorted(s->best, offset_at(s, e), offset_at(s, e + 1), s->vocab))
            return damaged(err);
    if (!is_sorted(s->frequent, 0, s->n_frequent, s->vocab))
        return damaged(err);
    return OK;
}

size_t shortlist_most(const struct shortlist *s, size_t n)
{
    const uint64_t rest = s->vocab - ID_N_SPECIAL;

    if (s->n_frequent >= rest || (s->n_best && n > (rest - s->n_frequent) / s->n_best))
        return s->vocab;
    return ID_N_SPECIAL + s->n_frequent + n * s->n_best;
}

/* A set of ids, a bit for each: what makes their union sorted and linear. */
struct id_set {
    uint64_t word[SHORTLIST_MOST_IDS / 64];
};

static void add_ids(struct id_set *set, const unsigned char *ids, size_t first,
                    size_t end)
{
    for (size_t k = first; k < end; k++)
        set->word[id_at(ids, k) / 64] |= (uint64_t)1 << id_at(ids, k) % 64;
}

static size_t list_ids(const struct id_set *set, size_t n_words, uint16_t *out,
                       size_t cap)
{
    size_t n = 0;

    for (size_t w = 0; w < n_words; w++)
        for (uint64_t left = set->word[w]; left; left &= left - 1, n++)
            if (n < cap)
                out[n] = (uint16_t)(64 * w + (size_t)__builtin_ctzll(left));
    return n;
}

size_t shortlist_collect(const struct shortlist *s, const int32_t *source_ids, size_t n,
                         uint16_t *out, size_t cap)
{
    const size_t n_words = ((size_t)s->vocab + 63) / 64;
    struct id_set set;

    for (size_t w = 0; w < n_words; w++)
        set.word[w] = 0;
    set.word[0] = ((uint64_t)1 << ID_N_SPECIAL) - 1; /* they are the first ids */
    add_ids(&set, s->frequent, 0, s->n_frequent);
    for (size_t k = 0; k < n; k++) {
        const int32_t e = source_ids[k];
        if (e >= 0 && (uint32_t)e < s->vocab)
            add_ids(&set, s->best, offset_at(s, (size_t)e), offset_at(s, (size_t)e + 1));
    }
    return list_ids(&set, n_words, out, cap);
}

#include "corpus/mix.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A piece of the text, without blanks at its ends. */
struct piece {
    const char *at;
    size_t n;
};

static struct piece trimmed(const char *at, size_t n)
{
    while (n && at[0] == ' ') {
        at++;
        n--;
    }
    while (n && at[n - 1] == ' ')
        n--;
    return (struct piece){at, n};
}

/* *first becomes what stands before the first `sign` of *rest, which moves behind it;
 * false when there is no such sign. */
static bool cut(struct piece *first, struct piece *rest, char sign)
{
    const char *found = memchr(rest->at, sign, rest->n);
    const size_t n = found ? (size_t)(found - rest->at) : rest->n;

    *first = trimmed(rest->at, n);
    if (found)
        *rest = (struct piece){found + 1, rest->n - n - 1};
    return found;
}

static bool number_of(struct piece p, double *value)
{
    char text[40], *end;

    if (!p.n || p.n >= sizeof text || !strchr("0123456789.", p.at[0]))
        return false;
    memcpy(text, p.at, p.n);
    text[p.n] = '\0';
    *value = strtod(text, &end);
    return !*end && isfinite(*value);
}

/* ---- a stage ---- */

static status find_corpus(size_t *corpus, struct piece p, const char *const *name,
                          size_t n, struct err *err)
{
    for (*corpus = 0; *corpus < n; ++*corpus)
        if (strlen(name[*corpus]) == p.n && strncmp(name[*corpus], p.at, p.n) == 0)
            return OK;
    return err_set(
        err, ERR_USAGE,
        "mix: no corpus is called '%.*s'; data and also_data are called by the "
        "last part of their paths, such as %s",
        (int)p.n, p.at, name[0]);
}

static status add_part(struct mix_stage *s, struct piece text, const char *const *name,
                       size_t n, struct err *err)
{
    const size_t n_text = text.n;
    const char *at = text.at;
    struct mix_part part;
    size_t i = n_text;

    while (i > 0 && at[i - 1] != ':') /* a name may hold one too */
        i--;
    if (!i || !number_of(trimmed(at + i, n_text - i), &part.share) || !(part.share > 0))
        return err_set(err, ERR_USAGE,
                       "mix: '%.*s' is not NAME:SHARE with a share above 0; leave out a "
                       "corpus that a stage does not use",
                       (int)n_text, at);
    TRY(find_corpus(&part.corpus, trimmed(at, i - 1), name, n, err));
    for (size_t k = 0; k < s->n; k++)
        if (s->part[k].corpus == part.corpus)
            return err_set(err, ERR_USAGE, "mix: a stage names %s twice",
                           name[part.corpus]);
    BUG_ON(s->n == MIX_CORPORA); /* each once, and there are no more */
    s->part[s->n++] = part;
    return OK;
}

/* The shares without "until N", of which *end becomes N. */
static status cut_end(struct piece *text, double *end, struct err *err)
{
    static const char word[] = " until ";
    const size_t n_word = sizeof word - 1;

    *end = INFINITY;
    for (size_t i = 0; i + n_word <= text->n; i++)
        if (memcmp(text->at + i, word, n_word) == 0) {
            const struct piece number =
                trimmed(text->at + i + n_word, text->n - i - n_word);
            if (!number_of(number, end) || *end != floor(*end) || *end > 1e9)
                return err_set(err, ERR_USAGE,
                               "mix: until '%.*s' is not the number of an epoch",
                               (int)number.n, number.at);
            *text = trimmed(text->at, i);
            return OK;
        }
    return OK;
}

static status read_stage(struct mix_stage *s, struct piece text, const char *const *name,
                         size_t n, struct err *err)
{
    struct piece part;
    bool has_more;
    double end;

    TRY(cut_end(&text, &end, err));
    s->end = isfinite(end) ? (uint64_t)end : UINT64_MAX;
    do {
        has_more = cut(&part, &text, ',');
        TRY(add_part(s, part, name, n, err));
    } while (has_more);
    return OK;
}

/* Stages end one after the other, and the last one never. */
static status check_ends(const struct mix *m, struct err *err)
{
    uint64_t before = 0;

    for (size_t i = 0; i + 1 < m->n; i++) {
        if (m->stage[i].end == UINT64_MAX)
            return err_set(err, ERR_USAGE,
                           "mix: stage %zu of %zu needs `until EPOCH`; only the last one "
                           "has none",
                           i + 1, m->n);
        if (m->stage[i].end <= before)
            return err_set(err, ERR_USAGE,
                           "mix: stage %zu ends with epoch %llu, before it has begun",
                           i + 1, (unsigned long long)m->stage[i].end);
        before = m->stage[i].end;
    }
    if (m->n && m->stage[m->n - 1].end != UINT64_MAX)
        return err_set(
            err, ERR_USAGE,
            "mix: nothing is said of the epochs after %llu; leave out the last "
            "`until`, or add a stage",
            (unsigned long long)m->stage[m->n - 1].end);
    return OK;
}

status mix_read(struct mix *m, const char *text, const char *const *name, size_t n,
                struct err *err)
{
    struct piece stage, rest = trimmed(text, strlen(text));
    bool has_more = rest.n;

    BUG_ON(n > MIX_CORPORA);
    *m = (struct mix){0};
    while (has_more) {
        if (m->n == MIX_STAGES)
            return err_set(err, ERR_USAGE, "mix: more than %d stages", MIX_STAGES);
        has_more = cut(&stage, &rest, ';');
        TRY(read_stage(&m->stage[m->n++], stage, name, n, err));
    }
    return check_ends(m, err);
}

/* ---- what follows from it ---- */

const struct mix_stage *mix_stage_of(const struct mix *m, uint64_t epoch)
{
    const struct mix_stage *s = m->stage;

    while (epoch >= s->end && s->end != UINT64_MAX)
        s++;
    return s;
}

size_t mix_count(const struct mix_stage *s, size_t i, const size_t *n_pairs)
{
    const double whole = (double)n_pairs[s->part[0].corpus];
    const double n = floor(whole * s->part[i].share / s->part[0].share + 0.5);

    if (i == 0)
        return n_pairs[s->part[0].corpus];
    return n < 1 ? 1 : n > INT32_MAX ? INT32_MAX : (size_t)n;
}

uint64_t mix_used(const struct mix *m, size_t corpus, uint64_t epoch,
                  const size_t *n_pairs)
{
    uint64_t used = 0, begin = 0;

    for (const struct mix_stage *s = m->stage; begin < epoch; begin = s++->end) {
        const uint64_t n_epochs = (epoch < s->end ? epoch : s->end) - begin;
        for (size_t i = 0; i < s->n; i++)
            if (s->part[i].corpus == corpus)
                used += n_epochs * mix_count(s, i, n_pairs);
    }
    return used;
}

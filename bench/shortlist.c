/*
 * usage: bench_shortlist TRAIN.bin HELDOUT.bin [OPTION=VALUE]...
 *
 * Learns a translation table from one packed corpus and prints what it took; then, for
 * several sizes of shortlists, the share of the target tokens of another corpus that the
 * list of their own sentence has, the share of sentences that have all of theirs, and the
 * mean size of the lists. Options: threads, iterations, alpha, p_null, lambda,
 * memory_mib.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "align/shortlist.h"
#include "align/ttable.h"
#include "align/viterbi.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/progress.h"
#include "base/str.h"
#include "corpus/corpus.h"

struct coverage {
    uint64_t n_tokens, n_inside, n_sentences, n_whole, n_listed;
};

/* A sentence is at most 64 Ki tokens here; the rest of a longer one is not looked at. */
enum { LONGEST = 1 << 16 };

static void cover_pair(struct coverage *c, const struct shortlist *s, uint16_t *list,
                       struct sentence source, struct sentence target)
{
    static int32_t id[LONGEST];
    static unsigned char is_listed[SHORTLIST_MOST_IDS];
    const size_t S = source.len < LONGEST ? source.len : LONGEST;
    size_t n_inside = 0;

    for (size_t i = 0; i < S; i++)
        id[i] = source.token[i];
    const size_t n = shortlist_collect(s, id, S, list, SHORTLIST_MOST_IDS);
    for (size_t k = 0; k < n; k++)
        is_listed[list[k]] = 1;
    for (size_t j = 0; j < target.len; j++)
        n_inside += is_listed[target.token[j]];
    for (size_t k = 0; k < n; k++)
        is_listed[list[k]] = 0;
    c->n_tokens += target.len;
    c->n_inside += n_inside;
    c->n_sentences++;
    c->n_whole += n_inside == target.len;
    c->n_listed += n;
}

static status cover(const struct ttable *t, const struct corpus *c, size_t n_frequent,
                    size_t n_best, struct err *err)
{
    static uint16_t list[SHORTLIST_MOST_IDS];
    RELEASED_BY(str_release) struct str blob = str_new(0);
    struct coverage sum = {0};
    struct shortlist s;

    TRY(shortlist_make(&blob, t, n_frequent, n_best, c->vocab, err));
    TRY(shortlist_view(&s, blob.data, blob.len, c->vocab, err));
    const double begin = clock_now();
    for (uint32_t i = 0; i < c->n_pairs; i++)
        cover_pair(&sum, &s, list, corpus_source(c, i), corpus_target(c, i));
    printf("| %zu | %zu | %.2f %% | %.1f %% | %.0f | %zu | %.1f |\n", n_frequent, n_best,
           100 * (double)sum.n_inside / (double)sum.n_tokens,
           100 * (double)sum.n_whole / (double)sum.n_sentences,
           (double)sum.n_listed / (double)sum.n_sentences, blob.len >> 10,
           1e6 * (clock_now() - begin) / (double)sum.n_sentences);
    return OK;
}

static status cover_sizes(const struct ttable *t, const struct corpus *c, struct err *err)
{
    static const size_t frequent[] = {50, 100, 200}, best[] = {10, 20, 50};

    printf("| frequent | best | tokens inside | whole sentences | ids | KiB | us |\n"
           "|--:|--:|--:|--:|--:|--:|--:|\n");
    for (size_t a = 0; a < 3; a++)
        for (size_t b = 0; b < 3; b++)
            TRY(cover(t, c, frequent[a], best[b], err));
    return OK;
}

/* Pairs with a side longer than this are not aligned. */
enum { ALIGNED = 1024 };

struct agreement {
    uint64_t n_forward, n_backward, n_both, n_grown;
};

static void agree_pair(struct agreement *n, const struct ttable *there,
                       const struct ttable *back, struct sentence e, struct sentence f)
{
    static unsigned char link[ALIGNED * ALIGNED];
    int32_t forward[ALIGNED], backward[ALIGNED];

    if (e.len > ALIGNED || f.len > ALIGNED)
        return;
    viterbi_align(forward, there, e.token, e.len, f.token, f.len);
    viterbi_align(backward, back, f.token, f.len, e.token, e.len);
    for (size_t j = 0; j < f.len; j++)
        n->n_forward += forward[j] != VITERBI_NULL;
    for (size_t i = 0; i < e.len; i++)
        n->n_backward += backward[i] != VITERBI_NULL;
    viterbi_intersect(link, forward, backward, e.len, f.len);
    for (size_t k = 0; k < e.len * f.len; k++)
        n->n_both += link[k];
    viterbi_grow(link, forward, backward, e.len, f.len);
    for (size_t k = 0; k < e.len * f.len; k++)
        n->n_grown += link[k];
}

static status agree(const struct ttable *there, const struct corpus *train,
                    const struct corpus *c, struct ttable_options o, struct err *err)
{
    RELEASED_BY(ttable_release) struct ttable back = {0};
    struct agreement n = {0};

    o.is_reverse = true;
    TRY(ttable_learn(&back, train, &o, err));
    for (uint32_t i = 0; i < c->n_pairs; i++)
        agree_pair(&n, there, &back, corpus_source(c, i), corpus_target(c, i));
    printf("%llu links forward, %llu backward, %llu in both (%.1f %%), %llu grown\n",
           (unsigned long long)n.n_forward, (unsigned long long)n.n_backward,
           (unsigned long long)n.n_both,
           200 * (double)n.n_both / (double)(n.n_forward + n.n_backward),
           (unsigned long long)n.n_grown);
    return OK;
}

static void print_learnt(const struct ttable *t, double seconds)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    const double busy = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                        1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    printf("learnt in %.2f s, %.2f s of processor time, process at most %ld MiB\n"
           "%llu cells, %zu kept, lambda %.3f\n",
           seconds, busy, used.ru_maxrss >> 10, (unsigned long long)t->n_cells,
           t->row_at[t->vocab + 1], t->lambda);
    printf("nats per target token:");
    for (int k = 0; k < t->n_iterations; k++)
        printf(" %.4f", -t->log_prob[k] / (double)t->n_tokens);
    printf("\n%s\n", t->note);
}

static status measure(const char *train, const char *held_out,
                      const struct ttable_options *o, bool is_agreement, struct err *err)
{
    RELEASED_BY(corpus_close) struct corpus a = {0};
    RELEASED_BY(corpus_close) struct corpus b = {0};
    RELEASED_BY(ttable_release) struct ttable t = {0};

    TRY(corpus_open(&a, train, err));
    TRY(corpus_open(&b, held_out, err));
    printf("%u pairs, %llu tokens, vocabulary of %u\n", a.n_pairs,
           (unsigned long long)a.n_tokens, a.vocab);
    const double begin = clock_now();
    TRY(ttable_learn(&t, &a, o, err));
    print_learnt(&t, clock_now() - begin);
    return is_agreement ? agree(&t, &a, &b, *o, err) : cover_sizes(&t, &b, err);
}

static bool set(struct ttable_options *o, size_t *threads, bool *is_agreement,
                const char *word)
{
    const char *is = strchr(word, '=');
    const double value = is ? strtod(is + 1, NULL) : 0;

    if (str_begins(word, "threads="))
        *threads = (size_t)value;
    else if (str_begins(word, "iterations="))
        o->iterations = (int)value;
    else if (str_begins(word, "alpha="))
        o->alpha = value;
    else if (str_begins(word, "p_null="))
        o->p_null = value;
    else if (str_begins(word, "lambda="))
        o->lambda = value;
    else if (str_begins(word, "agree="))
        *is_agreement = value > 0;
    else if (str_begins(word, "memory_mib="))
        o->memory_bytes = (size_t)value << 20;
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    struct progress progress = progress_to(stderr);
    struct ttable_options o = ttable_defaults();
    size_t threads = 0;
    struct err err = {0};
    bool is_good = argc >= 3, is_agreement = false;

    for (int k = 3; k < argc; k++)
        is_good &= set(&o, &threads, &is_agreement, argv[k]);
    if (!is_good) {
        fprintf(stderr, "usage: %s TRAIN.bin HELDOUT.bin [OPTION=VALUE]...\n", argv[0]);
        return 2;
    }
    o.progress = &progress;
    status result = pool_open(&o.pool, threads, false, &err);
    THEN(result, measure(argv[1], argv[2], &o, is_agreement, &err));
    pool_close(o.pool);
    if (result != OK)
        fprintf(stderr, "%s\n", err.msg);
    return (int)result;
}

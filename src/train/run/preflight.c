#include "train/run/preflight.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/mem.h"
#include "corpus/checksum.h"
#include "corpus/dataset.h"
#include "device/device.h"
#include "dist/comm/comm.h"
#include "dist/exchange/exchange.h"
#include "train/run/config.h"

/* Where things are may differ between hosts; what they are may not. */
static uint64_t hash_config(const struct train_config *config)
{
    struct train_config c = *config;
    struct str text = str_new(0);

    c.run[0] = c.data[0] = c.init_from[0] = '\0';
    c.also_data[0] = c.also_valid[0] = '\0';
    opt_dump(train_config_written(&c), &c, &text);
    const uint64_t hash = checksum_of(str_text(&text), text.len);
    str_release(&text);
    return hash;
}

static uint64_t hash_program(void)
{
    struct err ignored;
    uint64_t hash;

    if (checksum_of_file(&hash, "/proc/self/exe", &ignored) != OK)
        return 0; /* no /proc: nothing to compare */
    return hash;
}

static double disk_mib(const char *dir)
{
    struct statvfs v;

    if (statvfs(dir, &v) != 0)
        return NAN;
    return (double)v.f_bavail * (double)v.f_frsize / 1048576;
}

/* ---- the judgement ---- */

/* Something that all ranks must have alike, n_bytes at `at` of what each rank gave; where
 * 0 is not known, nothing is compared with it. */
struct alike {
    const char *what, *fix;
    size_t at, n_bytes;
    bool is_known;
};

/* What all[size], n_each bytes of each rank, are, and who is at fault. */
struct comparison {
    const struct comm *comm;
    const void *all;
    size_t n_each;
    int *fault;
};

static const uint8_t *value_of(const struct comparison *x, const struct alike *a, int r)
{
    return (const uint8_t *)x->all + (size_t)r * x->n_each + a->at;
}

static bool is_other(const struct comparison *x, const struct alike *a, int r, int other)
{
    static const uint8_t none[sizeof(uint64_t)] = {0};
    const uint8_t *mine = value_of(x, a, r), *theirs = value_of(x, a, other);

    if (!a->is_known &&
        (memcmp(mine, none, sizeof none) == 0 || memcmp(theirs, none, sizeof none) == 0))
        return false;
    return memcmp(mine, theirs, a->n_bytes) != 0;
}

/* The first of the ranks whose value most of them have. */
static int most_usual(const struct comparison *x, const struct alike *a)
{
    int usual = 0, n_usual = 0;

    for (int r = 0; r < x->comm->size && 2 * n_usual <= x->comm->size; r++) {
        int n = 0;
        for (int k = 0; k < x->comm->size; k++)
            n += !is_other(x, a, k, r);
        usual = n > n_usual ? r : usual;
        n_usual = MAX(n, n_usual);
    }
    return usual;
}

/* Who has another value than most is at fault; of two halves it cannot be told. */
static status check_alike(const struct comparison *x, const struct alike *a,
                          struct err *err)
{
    char name[COMM_NAME_MAX], other[COMM_NAME_MAX];
    const int usual = most_usual(x, a), size = x->comm->size;
    int n_odd = 0, first = 0;

    for (int r = size - 1; r >= 0; r--)
        if (is_other(x, a, r, usual)) {
            first = r;
            n_odd++;
        }
    if (!n_odd)
        return OK;
    *x->fault = 2 * n_odd < size ? 1 + first : -1;
    return err_set(err, ERR_USAGE, "%s has another %s than %s; %s",
                   comm_name(x->comm, first, name), a->what,
                   comm_name(x->comm, usual, other), a->fix);
}

#define ALIKE(type, field, what, fix, is_known)                                \
    {                                                                          \
        what, fix, offsetof(type, field), sizeof(((type *)0)->field), is_known \
    }

status preflight_judge_programs(const struct comm *c, const struct preflight_program *all,
                                struct err *err)
{
    static const struct alike
        program = ALIKE(struct preflight_program, program, "ferry program",
                        "copy one build to all hosts", false),
        library = ALIKE(struct preflight_program, library, "MPI library", "", true),
        module = ALIKE(struct preflight_program, module, "module for MPI",
                       "unset FERRY_MPI_MODULE, or copy the file that it names to all "
                       "hosts",
                       false);
    int fault = 0; /* nobody watches yet, who could be told */
    const struct comparison x = {c, all, sizeof *all, &fault};
    char name[COMM_NAME_MAX], other[COMM_NAME_MAX];

    TRY(check_alike(&x, &program, err));
    const int usual = most_usual(&x, &library);
    for (int r = 0; r < c->size; r++)
        if (is_other(&x, &library, r, usual))
            return err_set(err, ERR_USAGE,
                           "%s has loaded %s, %s %s; install or load the same version of "
                           "MPI on all hosts",
                           comm_name(c, r, name), all[r].library,
                           comm_name(c, usual, other), all[usual].library);
    return check_alike(&x, &module, err);
}

status preflight_programs(struct comm *c, struct err *err)
{
    struct preflight_program mine = {.module = c->module}, *all;

    if (c->size == 1)
        return OK;
    mine.program = hash_program();
    snprintf(mine.library, sizeof mine.library, "%s", c->library);
    TRY(mem_alloc(&all, (size_t)c->size, sizeof *all, err));
    status result = comm_allgather(c, all, &mine, sizeof mine, err);
    THEN(result, preflight_judge_programs(c, all, err));
    free(all);
    return result;
}

static status compare(struct preflight *p, const struct comm *c,
                      const struct preflight_facts *all, struct err *err)
{
    static const char copy[] = "copy one data directory to all hosts";
    static const struct alike of_facts[] = {
        ALIKE(struct preflight_facts, config, "configuration",
              "copy one file to all hosts", true),
        ALIKE(struct preflight_facts, kind, "kind of device",
              "say device = cpu, or cuda or opencl where all have it", true),
        ALIKE(struct preflight_facts, tokenizer, "tokenizer", copy, true),
        ALIKE(struct preflight_facts, corpus, "corpus", copy, true),
        ALIKE(struct preflight_facts, valid, "corpus", copy, true)};
    const struct comparison x = {c, all, sizeof *all, &p->fault};

    for (size_t i = 0; i < sizeof of_facts / sizeof *of_facts; i++)
        TRY(check_alike(&x, &of_facts[i], err));
    return OK;
}

/* A disk that all share is written by one rank: its host is not to blame. */
static status check_disks(struct preflight *p, const struct comm *c,
                          const struct preflight_facts *all, struct preflight_options o,
                          struct err *err)
{
    char name[COMM_NAME_MAX];
    int first = -1, n_good = 0;

    for (int r = c->size - 1; r >= 0; r--) {
        first = all[r].disk_mib < o.checkpoint_mib ? r : first;
        n_good += all[r].disk_mib >= o.checkpoint_mib;
    }
    if (first < 0)
        return OK;
    p->fault = n_good ? 1 + first : -1;
    return err_set(
        err, ERR_IO,
        "%s: the disk of %s has %.0f MiB left, one checkpoint needs %.0f; make "
        "room or choose another run directory",
        o.config->run, comm_name(c, first, name), all[first].disk_mib, o.checkpoint_mib);
}

static int ranks_on(const struct comm *c, const char *host)
{
    int n = 0;

    for (int r = 0; r < c->size; r++)
        n += strcmp(c->peer[r].host, host) == 0;
    return n;
}

/* The ranks of a host share what is left there. */
static status check_memory(struct preflight *p, const struct comm *c,
                           const struct preflight_facts *all, double each_mib,
                           struct err *err)
{
    int first = -1, n = 0, n_bad = 0;

    for (int r = c->size - 1; r >= 0; r--)
        if (all[r].free_mib < ranks_on(c, c->peer[r].host) * each_mib) {
            first = r;
            n = ranks_on(c, c->peer[r].host);
            n_bad++;
        }
    if (first < 0)
        return OK;
    p->fault = n_bad < c->size ? 1 + first : -1;
    return err_set(err, ERR_MEMORY,
                   "host %s has %.0f MiB of memory left, its %d rank%s need at least "
                   "%.0f; end other programs, start fewer ranks there or choose a "
                   "smaller model",
                   c->peer[first].host, all[first].free_mib, n, n == 1 ? "" : "s",
                   n * each_mib);
}

/* Ranks of this node on one card share its memory; those without a card share the node's.
 */
static int count_sharing(const struct comm *c, const struct preflight_facts *all)
{
    int n = 0;

    for (int r = 0; r < c->size; r++)
        n += c->peer[r].node == c->node && all[r].card == all[c->rank].card;
    return n;
}

/* How far a rank's clock is from those of all nodes, added up. A node has one clock,
 * however many ranks look at it. */
static double distance(const struct comm *c, const struct preflight_facts *all, int rank)
{
    double sum = 0;

    for (int n = 0; n < c->n_nodes; n++)
        sum += fabs(all[c->leader[n]].clock - all[rank].clock);
    return sum;
}

/* Who is too far from `usual`, `most` above all, is at fault if more than half of the
 * nodes are not. */
static int blame_clocks(const struct comm *c, const struct preflight_facts *all,
                        int usual, int most, double limit)
{
    int n_far = 0;

    for (int n = 0; n < c->n_nodes; n++)
        n_far += fabs(all[c->leader[n]].clock - all[usual].clock) > limit;
    return 2 * n_far < c->n_nodes ? 1 + most : -1;
}

/* The node furthest from the others, and one that is among them; of equals it is rather
 * a later one that is wrong. */
static status check_clocks(struct preflight *p, const struct comm *c,
                           const struct preflight_facts *all, double limit,
                           struct err *err)
{
    char odd[COMM_NAME_MAX], usual[COMM_NAME_MAX];
    int most = c->leader[0], least = c->leader[0];
    double first = all[most].clock, last = all[most].clock;

    for (int n = 1; n < c->n_nodes; n++) {
        const int r = c->leader[n];
        most = distance(c, all, r) >= distance(c, all, most) ? r : most;
        least = distance(c, all, r) < distance(c, all, least) ? r : least;
        first = fmin(first, all[r].clock);
        last = fmax(last, all[r].clock);
    }
    p->clock_spread = last - first;
    p->clock_rank = most;
    const double ahead = all[most].clock - all[least].clock;
    if (limit <= 0 || fabs(ahead) <= limit)
        return OK;
    p->fault = blame_clocks(c, all, least, most, limit);
    return err_set(err, ERR_USAGE,
                   "the clock of %s is %.0f s %s that of %s; set it (chronyd or "
                   "systemd-timesyncd keeps it right), or raise clock_limit = %g",
                   comm_name(c, most, odd), fabs(ahead),
                   ahead > 0 ? "ahead of" : "behind", comm_name(c, least, usual), limit);
}

status preflight_judge(struct preflight *p, const struct comm *c,
                       const struct preflight_facts *all, struct preflight_options o,
                       struct err *err)
{
    *p = (struct preflight){.t_latency = NAN,
                            .mb_per_s = NAN,
                            .free_mib = all->free_mib,
                            .disk_mib = all->disk_mib,
                            .n_sharing = count_sharing(c, all)};
    for (int r = 1; r < c->size; r++) {
        p->free_mib = fmin(p->free_mib, all[r].free_mib);
        p->disk_mib = fmin(p->disk_mib, all[r].disk_mib);
    }
    TRY(compare(p, c, all, err));
    TRY(check_memory(p, c, all, o.memory_mib, err));
    TRY(check_disks(p, c, all, o, err));
    return check_clocks(p, c, all, o.config->clock_limit, err);
}

/* ---- the network ---- */

enum { FEW = 16 };

struct trial {
    struct exchange exchange;
    float *x;
    size_t n;
};

static status sum_job(struct comm *c, void *ctx, struct err *err)
{
    struct trial *t = ctx;

    (void)c;
    return exchange_allreduce(&t->exchange, t->x, t->n, WIRE_FP32, NULL, err);
}

/* The best of some exchanges of n elements, the slowest rank's time of each. */
static status time_sum(struct comm *c, struct trial *t, size_t n, double *best,
                       struct err *err)
{
    const double t_begin = clock_now();
    double t_all = 0;

    *best = INFINITY;
    t->n = n;
    for (int i = 0; i < 5 && t_all < 1; i++) {
        struct comm_job job = {.run = sum_job, .ctx = t};
        TRY(comm_barrier(c, err));
        comm_submit(c, &job);
        TRY(comm_wait(c, &job, err));
        double took[2] = {job.t_end - job.t_begin, clock_now() - t_begin};
        TRY(comm_allreduce(c, COMM_MAX, took, 2, err));
        *best = fmin(*best, took[0]);
        t_all = took[1];
    }
    return OK;
}

/* The best of some all-reduces over the tree, the slowest rank's time of each. */
static status time_tree(struct comm *c, double *best, struct err *err)
{
    *best = INFINITY;
    for (int i = 0; i < 5; i++) {
        TRY(comm_barrier(c, err));
        const double t_begin = clock_now();
        TRY(comm_barrier(c, err));
        double took = clock_now() - t_begin;
        TRY(comm_allreduce(c, COMM_MAX, &took, 1, err));
        *best = fmin(*best, took);
    }
    return OK;
}

/* What a message costs: every node sends a small one to every other. */
static status measure_link(struct preflight *p, struct comm *c, struct trial *t,
                           struct grid_times *g, struct err *err)
{
    const size_t n = (size_t)c->n_nodes * WIRE_ALIGN;

    if (c->n_nodes < GRID_NODES)
        return OK;
    g->small_bytes = (double)wire_segment_bytes(WIRE_FP32, n);
    TRY(time_sum(c, t, n, &g->small, err));
    TRY(time_tree(c, &g->tree, err));
    p->link = grid_solve((size_t)c->n_nodes, *g);
    return OK;
}

/* As many bytes as outweigh their messages, however many nodes there are. */
static size_t large_sum(size_t n_nodes)
{
    enum { MANY = 1 << 18, UNITS = 8 };

    return MAX(MANY, UNITS * n_nodes * WIRE_ALIGN);
}

static status measure(struct preflight *p, struct comm *c, struct err *err)
{
    const size_t n_many = large_sum((size_t)c->n_nodes);
    const double bytes = wire_step_bytes(n_many, WIRE_FP32, (size_t)c->n_nodes, false);
    struct grid_times g = {.large_bytes = (double)wire_segment_bytes(WIRE_FP32, n_many)};
    struct trial t = {0};

    TRY(mem_alloc(&t.x, n_many, sizeof *t.x, err));
    status result =
        exchange_open(&t.exchange, c, (struct exchange_options){.n_max = n_many}, err);
    THEN(result, time_sum(c, &t, FEW, &p->t_latency, err));
    THEN(result, time_sum(c, &t, n_many, &g.large, err));
    if (result == OK && c->n_nodes > 1)
        p->mb_per_s = bytes * 1e-6 / g.large;
    THEN(result, measure_link(p, c, &t, &g, err));
    exchange_close(&t.exchange);
    free(t.x);
    return result;
}

static struct preflight_facts own_facts(struct preflight_options o)
{
    const struct dataset *d = o.data;
    const size_t free_bytes = mem_free_bytes();
    struct preflight_facts f = {
        .config = hash_config(o.config),
        .tokenizer = d->tokenizer_hash,
        .card = o.device->card,
        .corpus = d->train.checksum,
        .valid = o.valid,
        .free_mib = free_bytes ? (double)free_bytes / 1048576 : (double)NAN,
        .disk_mib = o.is_writer ? disk_mib(o.config->run) : (double)NAN};

    snprintf(f.kind, sizeof f.kind, "%s", o.device->kind);
    return f;
}

status preflight_run(struct preflight *p, struct comm *c, struct preflight_options o,
                     struct err *err)
{
    struct preflight_facts mine = own_facts(o), *all;

    TRY(comm_barrier(c, err));
    mine.clock = clock_wall();
    TRY(mem_alloc(&all, (size_t)c->size, sizeof *all, err));
    status result = comm_allgather(c, all, &mine, sizeof mine, err);
    THEN(result, preflight_judge(p, c, all, o, err));
    c->fault = result != OK && p->fault > 0 ? p->fault : 0;
    free(all);
    return result == OK && c->size > 1 ? measure(p, c, err) : result;
}

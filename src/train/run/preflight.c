#include "train/run/preflight.h"

#include <math.h>
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
    opt_dump(train_config_table, &c, &text);
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

static status refuse(const struct comm *c, int rank, const char *what, const char *fix,
                     struct err *err)
{
    char name[COMM_NAME_MAX];

    return err_set(err, ERR_USAGE, "%s has another %s than rank 0 on host %s; %s",
                   comm_name(c, rank, name), what, c->peer[0].host, fix);
}

static bool is_other(uint64_t a, uint64_t b)
{
    return a && b && a != b;
}

status preflight_judge_programs(const struct comm *c, const struct preflight_program *all,
                                struct err *err)
{
    char name[COMM_NAME_MAX];

    for (int r = 1; r < c->size; r++) {
        if (is_other(all[r].program, all->program))
            return refuse(c, r, "ferry program", "copy one build to all hosts", err);
        if (strcmp(all[r].library, all->library) != 0)
            return err_set(err, ERR_USAGE,
                           "%s has loaded %s, rank 0 on host %s %s; install or load the "
                           "same version of MPI on all hosts",
                           comm_name(c, r, name), all[r].library, c->peer[0].host,
                           all->library);
        if (is_other(all[r].module, all->module))
            return refuse(c, r, "module for MPI",
                          "unset FERRY_MPI_MODULE, or copy the file that it names to all "
                          "hosts",
                          err);
    }
    return OK;
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

static status compare(const struct comm *c, const struct preflight_facts *all,
                      struct err *err)
{
    for (int r = 1; r < c->size; r++) {
        const struct preflight_facts *f = &all[r];
        if (f->config != all->config)
            return refuse(c, r, "configuration", "copy one file to all hosts", err);
        if (strcmp(f->kind, all->kind) != 0)
            return refuse(c, r, "kind of device",
                          "say device = cpu, or cuda or opencl where all have it", err);
        if (f->tokenizer != all->tokenizer)
            return refuse(c, r, "tokenizer", "copy one data directory to all hosts", err);
        if (f->corpus != all->corpus || f->valid != all->valid)
            return refuse(c, r, "corpus", "copy one data directory to all hosts", err);
    }
    return OK;
}

/* Rank r is at fault, unless a rank of another host was, too. */
static void blame(struct preflight *p, const struct comm *c, int r)
{
    if (!p->fault)
        p->fault = 1 + r;
    else if (p->fault > 0 && strcmp(c->peer[r].host, c->peer[p->fault - 1].host) != 0)
        p->fault = -1;
}

static status check_disks(struct preflight *p, const struct comm *c,
                          const struct preflight_facts *all, struct preflight_options o,
                          struct err *err)
{
    char name[COMM_NAME_MAX];

    for (int r = 0; r < c->size; r++)
        if (all[r].disk_mib < o.checkpoint_mib)
            blame(p, c, r);
    for (int r = 0; r < c->size; r++)
        if (all[r].disk_mib < o.checkpoint_mib)
            return err_set(err, ERR_IO,
                           "%s: the disk of %s has %.0f MiB left, one checkpoint needs "
                           "%.0f; make room or choose another run directory",
                           o.config->run, comm_name(c, r, name), all[r].disk_mib,
                           o.checkpoint_mib);
    return OK;
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
    int first = -1, n = 0;

    for (int r = c->size - 1; r >= 0; r--)
        if (all[r].free_mib < ranks_on(c, c->peer[r].host) * each_mib) {
            blame(p, c, r);
            first = r;
            n = ranks_on(c, c->peer[r].host);
        }
    if (first < 0)
        return OK;
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

/* Who is too far from `usual` is at fault if more than half of the nodes are not. */
static void blame_clocks(struct preflight *p, const struct comm *c,
                         const struct preflight_facts *all, int usual, double limit)
{
    int n_far = 0;

    for (int n = 0; n < c->n_nodes; n++)
        if (fabs(all[c->leader[n]].clock - all[usual].clock) > limit) {
            blame(p, c, c->leader[n]);
            n_far++;
        }
    if (2 * n_far >= c->n_nodes)
        p->fault = -1;
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
    blame_clocks(p, c, all, least, limit);
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
    TRY(compare(c, all, err));
    TRY(check_memory(p, c, all, o.memory_mib, err));
    TRY(check_disks(p, c, all, o, err));
    return check_clocks(p, c, all, o.config->clock_limit, err);
}

/* ---- the network ---- */

enum { FEW = 16, MANY = 1 << 18 };

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

/* What a message costs: every node sends a small one to every other. */
static status measure_link(struct preflight *p, struct comm *c, struct trial *t,
                           struct err *err)
{
    const size_t n_nodes = (size_t)c->n_nodes;
    const double bytes = (double)wire_segment_bytes(WIRE_FP32, WIRE_ALIGN);
    double t_each;

    if (n_nodes < GRID_NODES)
        return OK;
    TRY(time_sum(c, t, n_nodes * WIRE_ALIGN, &t_each, err));
    p->link = (struct grid_link){.latency = p->t_latency / 2, .rate = 1e6 * p->mb_per_s};
    p->link.message = fmax(0, (t_each - p->t_latency) / 2 / ((double)n_nodes - 2) -
                                  bytes / p->link.rate);
    return OK;
}

static status measure(struct preflight *p, struct comm *c, struct err *err)
{
    const size_t n_many = MAX(MANY, (size_t)c->n_nodes * WIRE_ALIGN);
    const double bytes = wire_step_bytes(n_many, WIRE_FP32, (size_t)c->n_nodes, false);
    struct trial t = {0};
    double t_many = 0;

    TRY(mem_alloc(&t.x, n_many, sizeof *t.x, err));
    status result =
        exchange_open(&t.exchange, c, (struct exchange_options){.n_max = n_many}, err);
    THEN(result, time_sum(c, &t, FEW, &p->t_latency, err));
    THEN(result, time_sum(c, &t, n_many, &t_many, err));
    if (result == OK && c->n_nodes > 1)
        p->mb_per_s = bytes * 1e-6 / t_many;
    THEN(result, measure_link(p, c, &t, err));
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
        .valid = d->valid.is_there ? d->valid.corpus.checksum : 0,
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

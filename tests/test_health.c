/* Every finding: there when it should be, alone, with its evidence and what to do; not
 * there when the run only comes near it. */
#include "test.h"

#include "judged.h"
#include "report/judge/judgement.h"

enum { CASES = 3 };

/* Seconds that all steps of a run take. */
static double stepping(const struct made_run *m)
{
    return m->steps * (m->compute + m->update + m->data);
}

/* Each makes a run sick, or (`is_sick` false) brings it near that. */
static void make_died(struct made_run *m, bool is_sick)
{
    m->steps = 3000;
    m->has_no_end = is_sick;
}

static void make_lost(struct made_run *m, bool is_sick)
{
    m->resume_from[0] = 1000;
    m->resume_at[0] = is_sick ? 1600 : 1400;
}

/* Of four ranks one is lost, and comes back; or the same four go on. */
static void make_fewer(struct made_run *m, bool is_sick)
{
    made_distributed(m);
    m->resume_from[0] = m->resume_at[0] = 1000;
    m->resume_from[1] = m->resume_at[1] = 1500;
    m->resume_ranks[0] = is_sick ? 3 : 4;
    m->resume_ranks[1] = 4;
}

static void make_diverged(struct made_run *m, bool is_sick)
{
    m->blows_up_at = is_sick ? 3700 : 3960;
}

static void make_spikes(struct made_run *m, bool is_sick)
{
    m->spike_at = 2000;
    m->spike_by = is_sick ? 1.5 : 1.08;
}

static void make_skipped(struct made_run *m, bool is_sick)
{
    m->skip_every = is_sick ? 100 : 800;
}

static void make_rate_scale(struct made_run *m, bool is_sick)
{
    m->rate_is = is_sick ? 1.1 : 1.005;
}

static void make_short_of_warmup(struct made_run *m, bool is_sick)
{
    m->warmup = is_sick ? 16000 : 7000;
}

static void make_unlearnt(struct made_run *m, bool is_sick)
{
    m->learns_nothing = is_sick;
}

static void make_disagree(struct made_run *m, bool is_sick)
{
    m->bleu_falls = is_sick ? 9 : 0.3;
}

static void make_repeating(struct made_run *m, bool is_sick)
{
    m->length_ratio = 1.1;
    m->repeating = is_sick ? 0.025 : 0.015;
}

static void make_short(struct made_run *m, bool is_sick)
{
    m->length_ratio = is_sick ? 0.8 : 0.9;
}

static void make_long(struct made_run *m, bool is_sick)
{
    m->length_ratio = is_sick ? 1.2 : 1.1;
}

static void make_straggler(struct made_run *m, bool is_sick)
{
    made_distributed(m);
    m->slow_rank = 2;
    m->slow_by = is_sick ? 0.3 : 0.06;
}

static void make_link_errors(struct made_run *m, bool is_sick)
{
    made_distributed(m);
    m->errors_of = 1;
    m->errors = is_sick ? 3 : 0;
}

static void make_slow_port(struct made_run *m, bool is_sick)
{
    made_distributed(m);
    m->link_mb_per_s = is_sick ? 11.8 : 14;
}

static void make_clocks(struct made_run *m, bool is_sick)
{
    made_distributed(m);
    m->clock_spread = is_sick ? 7 : 4;
}

static void make_crowded(struct made_run *m, bool is_sick)
{
    made_distributed(m);
    m->processors = is_sick ? 1 : 2;
}

static void make_crowded_alone(struct made_run *m, bool is_sick)
{
    m->processors = is_sick ? 1 : 2;
}

static void make_crowded_by_others(struct made_run *m, bool is_sick)
{
    made_distributed(m);
    m->cores = is_sick ? 0.9 : 1.5;
}

static void make_crowded_thread(struct made_run *m, bool is_sick)
{
    made_distributed(m);
    m->threads = 1;
    m->cores = is_sick ? 0.3 : 0.8;
}

static void make_starved(struct made_run *m, bool is_sick)
{
    m->data = (is_sick ? 0.3 : 0.08) * m->compute;
}

static void make_evaluation(struct made_run *m, bool is_sick)
{
    m->eval_seconds = (is_sick ? 0.5 : 0.25) * stepping(m) / 20;
}

static void make_checkpoints(struct made_run *m, bool is_sick)
{
    m->save_every = 200;
    m->save_seconds = (is_sick ? 0.12 : 0.03) * stepping(m) / 20;
}

static void make_memory(struct made_run *m, bool is_sick)
{
    m->grows = 0;
    m->grows_by = is_sick ? 0.1 : 0.01;
}

static void make_memory_of_a_rank(struct made_run *m, bool is_sick)
{
    made_distributed(m);
    m->grows = 2;
    m->grows_by = is_sick ? 0.1 : 0.01;
}

static const struct {
    int finding;
    void (*make)(struct made_run *m, bool is_sick);
    const char *seen, *todo; /* parts of the evidence and of the advice */
} cases[] = {
    {HEALTH_died, make_died, "ends at step 3,000", "goes on from the newest checkpoint"},
    {HEALTH_lost, make_lost, "600 of 4,600 steps", "save_every"},
    {HEALTH_fewer_ranks, make_fewer, "Steps 1,001 to 1,500 were trained on 3 of 4 ranks.",
     "pairs_hash"},
    {HEALTH_diverged, make_diverged, "had come down to", "smaller learning_rate"},
    {HEALTH_spikes, make_spikes, "at step 2,000", "max_grad_norm"},
    {HEALTH_skipped, make_skipped, "40 of 4,000 updates", "loss scale"},
    {HEALTH_rate_scale, make_rate_scale, "by up to 10.0\u00a0%", "config.yaml"},
    {HEALTH_rate_scale, make_short_of_warmup, "a warm-up of 16,000", "warmup_steps"},
    {HEALTH_rate_scale, make_unlearnt, "After 4,000 steps", "learning_rate"},
    {HEALTH_disagree, make_disagree, "loss falls while BLEU falls", "translations"},
    {HEALTH_repeating, make_repeating, "2.5\u00a0% of the validation translations",
     "train longer"},
    {HEALTH_lengths, make_short, "much too short", "raise alpha"},
    {HEALTH_lengths, make_long, "much too long", "lower alpha"},
    {HEALTH_straggler, make_straggler, "Rank 2 on n2", "ferry bench gemm"},
    {HEALTH_link_errors, make_link_errors, "The cards of n1 counted", "ethtool -S"},
    {HEALTH_slow_port, make_slow_port, "94.4 Mb/s", "ethtool"},
    {HEALTH_clocks, make_clocks, "7.00\u00a0s apart", "chrony"},
    {HEALTH_oversubscribed, make_crowded, "1 rank of 2 threads on 1 proc", "threads"},
    {HEALTH_oversubscribed, make_crowded_alone, "2 threads run on 1 proc", "threads"},
    {HEALTH_oversubscribed, make_crowded_by_others, "was given 0.9", "what else"},
    {HEALTH_oversubscribed, make_crowded_thread, "has 1 thread and", "what else"},
    {HEALTH_starved, make_starved, "waits 2", "local disk"},
    {HEALTH_evaluation, make_evaluation, "20 evaluations took", "eval_every"},
    {HEALTH_checkpoints, make_checkpoints, "in 20 saves", "save_every"},
    {HEALTH_memory, make_memory, "a process grew from", "report it"},
    {HEALTH_memory, make_memory_of_a_rank, "rank 2 on n2 grew from", "report it"},
};

static const char *const ids[] = {
#define H(id, fn, title) #id,
    HEALTH_LIST(H)
#undef H
};

static void check_part(const char *id, const struct str *text, const char *part)
{
    if (!strstr(str_text(text), part))
        test_fail(__FILE__, __LINE__, "%s says '%s', which lacks '%s'", id,
                  str_text(text), part);
}

TEST(every_finding_is_found_alone_with_its_evidence_and_what_to_do)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 1; seed <= CASES; seed++) {
            struct made_run m = made_healthy(100 * i + seed);
            cases[i].make(&m, true);
            struct judgement *t = judged_open(&m);
            const char *id = ids[cases[i].finding];
            judged_findings(t, id, 100 * i + seed);
            check_part(id, &t->health.found[0].evidence, cases[i].seen);
            check_part(id, &t->health.found[0].advice, cases[i].todo);
            judged_close(t);
        }
}

TEST(what_only_comes_near_is_no_finding)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 1; seed <= CASES; seed++) {
            struct made_run m = made_healthy(100 * i + seed);
            cases[i].make(&m, false);
            struct judgement *t = judged_open(&m);
            judged_findings(t, "", 100 * i + seed);
            judged_close(t);
        }
}

TEST(no_finding_is_without_a_case)
{
    for (int f = 0; f < HEALTH_N; f++) {
        /* of logs of other programs: test_foreign.c */
        bool has_case = f == HEALTH_errors || f == HEALTH_early_end;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            has_case |= cases[i].finding == f;
        if (!has_case)
            test_fail(__FILE__, __LINE__, "no made-up run has '%s'", ids[f]);
    }
}

/* Findings about logs of other programs: errors in them, and ends that are none. */
#include <math.h>
#include <string.h>

#include "page/fmt.h"
#include "report/judge/health.h"
#include "report/judge/run.h"

/* What to do about each kind of problem. */
static const char *advice_of(enum runlog_problem_kind kind)
{
    switch (kind) {
    case RUNLOG_PROBLEM_START:
        return "Run it from the folder that it names, on hosts that mpirun reaches by "
               "ssh without a password, with the same paths on each.";
    case RUNLOG_PROBLEM_CARD:
        return "Look at nvidia-smi -q and dmesg (Xid) for faults of the card; restart "
               "the host, and leave the card out if it fails again.";
    case RUNLOG_PROBLEM_GPU_MEMORY:
        return "Make batches smaller (batch_size_per_gpu, max_length), and look with "
               "nvidia-smi whether another program holds memory of the card.";
    case RUNLOG_PROBLEM_HOST_MEMORY:
        return "Give the host more memory, or let the data layer keep less of it "
               "(shuffle_buffer_size); dmesg tells which process was too large.";
    case RUNLOG_PROBLEM_DISK:
        return "Free space where checkpoints and logs are written (df -h), and keep "
               "fewer checkpoints.";
    case RUNLOG_PROBLEM_NAN_LOSS:
        return "Lower the learning rate or lengthen its warm-up, and go on from a "
               "checkpoint before it.";
    case RUNLOG_PROBLEM_KILLED:
        return "Most often the system did it because memory ran out: dmesg tells.";
    case RUNLOG_PROBLEM_CRASHED:
        return "Look for a core dump, and at dmesg for errors of the card (Xid).";
    case RUNLOG_PROBLEM_STALLED:
        return "Look at the ranks that it names: one of them ended, hangs in reading "
               "data, or computes another graph.";
    case RUNLOG_PROBLEM_NCCL:
        return "Set NCCL_DEBUG=INFO, name the right card (NCCL_SOCKET_IFNAME), and see "
               "that the hosts reach each other on all ports.";
    case RUNLOG_PROBLEM_MPI:
        return "Look above it for the first rank that failed: MPI ends the others.";
    case RUNLOG_PROBLEM_INTERRUPT:
        return "Nothing is wrong; it goes on from its newest checkpoint with "
               "--continue_learning.";
    default:
        return "Its last line names the cause.";
    }
}

/* Errors that training survived are told where they mean waiting: stalls. */
void health_log_errors(struct health_finding *f, const struct run *run)
{
    bool has_advice = false;

    for (int i = 0; i < RUNLOG_PROBLEMS_N; i++) {
        const struct runlog_problem *p = &run->log.foreign.problem[i];
        if (!p->n || (p->is_survived && i != RUNLOG_PROBLEM_STALLED))
            continue;
        health_found(
            f, has_advice ? "" : advice_of((enum runlog_problem_kind)i),
            "%s%s, line %s: \u201c%s\u201d%s", runlog_problems[i],
            isfinite(p->step) ? fmt_printf(" after step %s", fmt_count(p->step).s).s : "",
            fmt_count((double)p->line).s, p->text,
            p->n > 1
                ? fmt_printf(", and %s more of the kind.", fmt_count((double)p->n - 1).s)
                      .s
                : ".");
        has_advice = true;
    }
}

/* The reference's evaluation ends with its data, which training takes for its own end. */
void health_log_early_end(struct health_finding *f, const struct run *run)
{
    const struct runlog_stop *stop = runlog_end(&run->log);

    if (!stop || !stop->reason || strcmp(stop->reason, "early_end") != 0)
        return;
    health_found(f,
                 "Set repeat to True in the evaluation's data layer: with several "
                 "workers each reads only its part, and the end of that part ends "
                 "training.",
                 "It says that training finished, at step %s of %s.",
                 fmt_count(stop->step).s, fmt_count(run->max_steps).s);
}

/* Errors in a console log: of TensorFlow, Python, NCCL, MPI, Horovod and the system. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "report/read/foreign_parts.h"

/* What a line that holds the mark tells; the first match counts. */
static const struct mark {
    const char *mark;
    enum runlog_problem_kind kind;
} marks[] = {
    {"can't open file", RUNLOG_PROBLEM_START},
    {"Could not resolve hostname", RUNLOG_PROBLEM_START},
    {"ORTE was unable to reliably start", RUNLOG_PROBLEM_START},
    {"An ORTE daemon has unexpectedly failed", RUNLOG_PROBLEM_START},
    {"There are not enough slots available", RUNLOG_PROBLEM_START},
    {"Permission denied (publickey", RUNLOG_PROBLEM_START},
    {"command not found", RUNLOG_PROBLEM_START},
    {"ResourceExhaustedError", RUNLOG_PROBLEM_GPU_MEMORY},
    {"OOM when allocating", RUNLOG_PROBLEM_GPU_MEMORY},
    {"CUDA_ERROR_OUT_OF_MEMORY", RUNLOG_PROBLEM_GPU_MEMORY},
    {"ran out of memory trying to allocate", RUNLOG_PROBLEM_GPU_MEMORY},
    {"No space left on device", RUNLOG_PROBLEM_DISK},
    {"Disk quota exceeded", RUNLOG_PROBLEM_DISK},
    {"std::bad_alloc", RUNLOG_PROBLEM_HOST_MEMORY},
    {"MemoryError", RUNLOG_PROBLEM_HOST_MEMORY},
    {"Cannot allocate memory", RUNLOG_PROBLEM_HOST_MEMORY},
    {"Out of memory: Kill", RUNLOG_PROBLEM_HOST_MEMORY},
    {"oom-killer", RUNLOG_PROBLEM_HOST_MEMORY},
    {"NanLossDuringTrainingError", RUNLOG_PROBLEM_NAN_LOSS},
    {"Model diverged with loss = NaN", RUNLOG_PROBLEM_NAN_LOSS},
    {"KeyboardInterrupt", RUNLOG_PROBLEM_INTERRUPT},
    {"CUDA_ERROR_", RUNLOG_PROBLEM_CARD},
    {"illegal memory access", RUNLOG_PROBLEM_CARD},
    {"CUDNN_STATUS_", RUNLOG_PROBLEM_CARD},
    {"CUBLAS_STATUS_", RUNLOG_PROBLEM_CARD},
    {"uncorrectable ECC error", RUNLOG_PROBLEM_CARD},
    {"exited on signal 9 (Killed)", RUNLOG_PROBLEM_KILLED},
    {"Signal: Killed", RUNLOG_PROBLEM_KILLED},
    {"exited on signal ", RUNLOG_PROBLEM_CRASHED},
    {"Segmentation fault", RUNLOG_PROBLEM_CRASHED},
    {"Bus error", RUNLOG_PROBLEM_CRASHED},
    {"core dumped", RUNLOG_PROBLEM_CRASHED},
    {"Stalled ops", RUNLOG_PROBLEM_STALLED},
    {"are waiting for remainder of ranks", RUNLOG_PROBLEM_STALLED},
    {"NCCL WARN", RUNLOG_PROBLEM_NCCL},
    {"ncclUnhandledCudaError", RUNLOG_PROBLEM_NCCL},
    {"ncclSystemError", RUNLOG_PROBLEM_NCCL},
    {"ncclInternalError", RUNLOG_PROBLEM_NCCL},
    {"ncclAllReduce failed", RUNLOG_PROBLEM_NCCL},
    {"unhandled system error", RUNLOG_PROBLEM_NCCL},
    {"unhandled cuda error", RUNLOG_PROBLEM_NCCL},
    {"MPI_ABORT was invoked", RUNLOG_PROBLEM_MPI},
    {"mpirun noticed that process rank", RUNLOG_PROBLEM_MPI},
    {"mpirun detected that one or more processes exited", RUNLOG_PROBLEM_MPI},
    {"Primary job  terminated normally, but", RUNLOG_PROBLEM_MPI},
    {"ORTE has lost communication", RUNLOG_PROBLEM_MPI},
    {"BAD TERMINATION OF ONE OF YOUR APPLICATION", RUNLOG_PROBLEM_MPI},
};

static const struct mark *find_mark(const char *line)
{
    if (strcmp(line, "Killed") == 0) {
        static const struct mark killed = {"Killed", RUNLOG_PROBLEM_KILLED};
        return &killed;
    }
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strstr(line, marks[i].mark))
            return &marks[i];
    return NULL;
}

/* The first line of a kind is quoted, or the last of a traceback, which names the cause.
 */
static void note(struct runlog_foreign *f, enum runlog_problem_kind kind,
                 const char *line, size_t number, double step, bool is_cause)
{
    struct runlog_problem *p = &f->problem[kind];

    line += strspn(line, " \t");
    if (!p->n || p->is_survived || is_cause) {
        p->line = number;
        p->step = step;
        snprintf(p->text, sizeof p->text, "%s", line);
    }
    p->n++;
    p->is_survived = false;
}

/* "tensorflow.python.framework.errors_impl.InternalError: ...", "KeyError: 'x'", "Abort"
 */
static bool ends_traceback(const char *line)
{
    const size_t n = strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789_.");

    return n > 2 && isalpha((unsigned char)line[0]) && (line[n] == ':' || !line[n]);
}

void foreign_trouble_line(struct foreign_trouble *t, struct runlog_foreign *f,
                          const char *line, size_t number, double step)
{
    if (strstr(line, "Traceback (most recent call last)")) {
        t->in_traceback = true;
        return;
    }
    const struct mark *m = find_mark(line);
    const bool is_cause = t->in_traceback && ends_traceback(line);
    if (m || is_cause)
        note(f, m ? m->kind : RUNLOG_PROBLEM_TRACEBACK, line, number, step, is_cause);
    t->in_traceback &= !is_cause;
}

void foreign_trouble_survived(struct runlog_foreign *f)
{
    for (int i = 0; i < RUNLOG_PROBLEMS_N; i++)
        f->problem[i].is_survived = true;
}

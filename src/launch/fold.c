#include "launch/fold.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

enum { RULE_MIN = 70 };

/* What the first line of a box holds if it is about an end. */
static const char *const boxes[] = {
    " noticed that process rank ",
    " noticed that the job aborted",
    " has exited due to process rank ",
    "Primary job  terminated normally, but",
    " detected that one or more processes exited with non-zero status",
    "MPI_ABORT was invoked on rank ",
    "ORTE has lost communication with a remote daemon",
    "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
};

/* Behind "[host:pid] ". */
static const char *const tagged[] = {
    "PMIX ERROR",
    "*** An error occurred in ",
    "*** reported by process ",
    "*** on communicator ",
    "*** on a NULL communicator",
    "*** Unknown error",
    "*** MPI_ERR",
    "*** and potentially your MPI job)",
    "Set MCA parameter \"orte_base_help_aggregate\"",
};

/* Behind a box of MPICH's. */
static const char *const tails[] = {
    "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: ",
    "This typically refers to a problem with your application.",
    "Please see the FAQ page for debugging suggestions",
};

/* Lines that say most, the best first. */
static const char *const telling[] = {
    "execvp error ", " exited on signal ",    "EXIT STRING: ",      "EXIT CODE: ",
    "Exit code: ",   "MPI_ABORT was invoked", "lost communication", "Signal: "};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static bool begins_with_one(const char *line, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_begins(line, list[i]))
            return true;
    return false;
}

static bool is_rule(const char *line, char of)
{
    const size_t n = strlen(line);

    return n >= RULE_MIN && n <= FOLD_RULE && strspn(line, (char[]){of, '\0'}) == n;
}

/* Behind "[name:digits] ", or NULL. */
static const char *behind_tag(const char *line)
{
    const size_t n_name = *line == '[' ? strcspn(line + 1, ":][ \t") : 0;
    const char *number = line + 1 + n_name + 1;

    if (!n_name || line[1 + n_name] != ':')
        return NULL;
    const size_t n_digits = strspn(number, "0123456789");
    return n_digits && str_begins(number + n_digits, "] ") ? number + n_digits + 2 : NULL;
}

/* From "*** Process received signal ***" to "*** End of error message ***". */
static bool is_of_stack(struct fold *f, const char *text)
{
    static const char *const lines[] = {
        "Signal: ", "Signal code: ", "Failing at address: ", "[ "};

    if (str_begins(text, "*** Process received signal ***"))
        return f->is_stack = true;
    if (!f->is_stack)
        return false;
    f->is_stack = !str_begins(text, "*** End of error message ***");
    return !f->is_stack || begins_with_one(text, lines, COUNT(lines)) ||
           (text[0] == '[' && strspn(text + 1, "0123456789") > 0);
}

/* "2 more processes have sent help message help-..." */
static bool is_aggregate(const char *text)
{
    const size_t n_digits = strspn(text, "0123456789");

    return n_digits && str_begins(text + n_digits, " more process") &&
           strstr(text, " sent help message ");
}

/* "[host][[job,1],rank][file.c:line:function] ..." of Open MPI's transports, and
 * "[mpiexec@host] ..." or "[proxy:0:0@host] ..." of MPICH's launcher. */
static bool is_place(const char *line)
{
    const char *close = *line == '[' ? strchr(line, ']') : NULL;

    if (!close)
        return false;
    if (str_begins(line, "[mpiexec@") || str_begins(line, "[proxy:"))
        return true;
    const char *file = str_begins(close, "][[") ? strstr(close, "],") : NULL;
    return file && strstr(file, "][") && strstr(file, ".c:");
}

static bool is_single(struct fold *f, const char *line)
{
    const char *text = behind_tag(line);

    if (text)
        return begins_with_one(text, tagged, COUNT(tagged)) || is_aggregate(text) ||
               is_of_stack(f, text) ||
               (str_begins(text, "[[") && strstr(text, "] ORTE_ERROR_LOG: "));
    return is_place(line) || (f->is_mpich && begins_with_one(line, tails, COUNT(tails)));
}

static bool begins_box(const char *line)
{
    for (size_t i = 0; i < COUNT(boxes); i++)
        if (strstr(line, boxes[i]))
            return true;
    return false;
}

/* The first line that was kept, until one says more. */
static void note_telling(struct fold *f, const char *line)
{
    int rank = 0;

    while (rank < (int)COUNT(telling) && !strstr(line, telling[rank]))
        rank++;
    if (f->telling[0] && rank >= f->telling_rank)
        return;
    f->telling_rank = rank;
    snprintf(f->telling, sizeof f->telling, "%s", line + strspn(line, "= "));
}

/* As main() prints it. */
static void note_said(struct fold *f, const char *line)
{
    static const char mark[] = "ferry train: ";

    if (!f->said[0] && str_begins(line, mark))
        snprintf(f->said, sizeof f->said, "%s", line + sizeof mark - 1);
}

static void give(struct fold *f, const char *text, size_t n, bool is_trace)
{
    if (is_trace && f->sink.keep(f->sink.ctx, text, n))
        f->n_kept++;
    else
        f->sink.pass(f->sink.ctx, text, n);
}

/* An empty line before the rule is a part of MPICH's boxes only. */
static void release_held(struct fold *f, bool is_trace)
{
    const size_t n_empty = f->n_held && f->held[0] == '\n' ? 1 : 0;
    const size_t n_rule = f->n_held - n_empty;

    if (n_empty)
        give(f, f->held, n_empty, is_trace && f->rule == '=');
    if (n_rule)
        give(f, f->held + n_empty, n_rule, is_trace);
    f->n_held = 0;
}

static void hold(struct fold *f, size_t n)
{
    const bool is_behind_empty = f->n_held == 1 && n > 1;

    if (!is_behind_empty)
        release_held(f, false);
    memcpy(f->held + f->n_held, f->line, n);
    f->n_held += n;
}

/* Is this whole line a part of a trace? Enters and leaves boxes. */
static bool judge(struct fold *f, const char *line)
{
    const char last = f->n_held > 1 ? f->held[f->n_held - 2] : 0;

    if (f->rule) {
        if (is_rule(line, f->rule))
            f->rule = 0;
        return true;
    }
    if (last && begins_box(line)) {
        f->rule = last;
        f->is_mpich |= last == '=';
        release_held(f, true);
        return true;
    }
    release_held(f, false);
    return is_single(f, line);
}

/* f->line, n bytes before its newline. */
static void take_line(struct fold *f)
{
    const size_t n = f->n_line;

    f->line[n] = '\0';
    const bool may_begin =
        !f->rule && (!n || is_rule(f->line, '-') || is_rule(f->line, '='));
    const bool is_trace = !may_begin && judge(f, f->line);
    if (is_trace)
        note_telling(f, f->line);
    else
        note_said(f, f->line);
    f->line[n] = '\n';
    if (may_begin)
        hold(f, n + 1);
    else
        give(f, f->line, n + 1, is_trace);
    f->n_line = 0;
}

void fold_feed(struct fold *f, const char *text, size_t n)
{
    for (; n; n--, text++) {
        if (*text == '\n')
            take_line(f);
        else
            f->line[f->n_line++] = *text;
        if (f->n_line == FOLD_LINE)
            fold_idle(f);
    }
}

void fold_idle(struct fold *f)
{
    release_held(f, false);
    f->rule = 0;
    if (f->n_line)
        f->sink.pass(f->sink.ctx, f->line, f->n_line);
    f->n_line = 0;
}

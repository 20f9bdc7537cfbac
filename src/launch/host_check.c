#include "launch/host_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "format/sha256.h"
#include "launch/subprocess.h"

/* A line, without what a terminal would obey. */
static void copy_line(char *out, size_t n, const char *line)
{
    snprintf(out, n, "%.*s", (int)strcspn(line, "\r\n"), line);
    for (char *p = out; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7F)
            *p = '?';
}

/* The last line that says something. */
static void last_line(char *out, size_t n, const char *text)
{
    const char *begin = text, *end = text + strlen(text);

    while (end > text && (end[-1] == '\n' || end[-1] == '\r' || end[-1] == ' '))
        end--;
    for (const char *p = text; p < end; p++)
        if (*p == '\n')
            begin = p + 1;
    copy_line(out, n, begin);
}

/* The rest of the line that begins with `word`, or NULL: a login may print others. */
static const char *line_with(const char *text, const char *word)
{
    const size_t n = strlen(word);

    for (const char *p = text; p && *p; p = strchr(p, '\n')) {
        p += *p == '\n';
        if (strncmp(p, word, n) == 0)
            return p + n;
    }
    return NULL;
}

void host_check_read(struct host_check *p, const char *text, int code, const char *hash,
                     double t_sent, double t_heard)
{
    const char *good = line_with(text, "ferry-host "),
               *bad = line_with(text, "ferry-bad ");
    char theirs[SHA256_HEX];
    double seconds;
    unsigned cores;

    *p = (struct host_check){.is_good = false};
    if (bad) {
        copy_line(p->reason, sizeof p->reason, bad);
        return;
    }
    if (!good || sscanf(good, "%64s %lf %u", theirs, &seconds, &cores) != 3) {
        char last[220];
        last_line(last, sizeof last, text);
        snprintf(p->reason, sizeof p->reason, "does not answer (%s, status %d)",
                 last[0] ? last : "silence", code);
        return;
    }
    p->skew = seconds - (t_sent + t_heard) / 2;
    p->n_cores = cores;
    p->is_good = strcmp(theirs, hash) == 0;
    if (!p->is_good)
        snprintf(p->reason, sizeof p->reason,
                 "has another program (hash %.12s..., here %.12s...)", theirs, hash);
    const char *mpi = line_with(text, "ferry-mpi "),
               *failed = line_with(text, "ferry version: ");
    if (mpi) {
        copy_line(p->mpi, sizeof p->mpi, mpi);
    } else if (failed && p->is_good) {
        snprintf(p->reason, sizeof p->reason, "ferry version: ");
        const size_t n = strlen(p->reason);
        copy_line(p->reason + n, sizeof p->reason - n, failed);
        p->is_good = false;
    }
}

/* Whose library most of the good hosts load; of equally many rather that of the
 * launcher's own host, or the first. hosts->n: nobody's is known. */
static size_t most_usual(const struct host_check *p, const struct hosts *hosts)
{
    size_t usual = hosts->n, n_usual = 0;
    bool is_own = false;

    for (size_t i = 0; i < hosts->n; i++) {
        const bool is_local = hosts_is_local(hosts->host[i].name);
        size_t n = 0;
        for (size_t k = 0; p[i].is_good && p[i].mpi[0] && k < hosts->n; k++)
            n += p[k].is_good && strcmp(p[k].mpi, p[i].mpi) == 0;
        if (n > n_usual || (n && n == n_usual && is_local && !is_own)) {
            usual = i;
            n_usual = n;
            is_own = is_local;
        }
    }
    return usual;
}

void host_check_compare(struct host_check *p, const struct hosts *hosts)
{
    const size_t usual = most_usual(p, hosts);

    for (size_t i = 0; usual < hosts->n && i < hosts->n; i++) {
        if (!p[i].is_good || !p[i].mpi[0] || strcmp(p[i].mpi, p[usual].mpi) == 0)
            continue;
        p[i].is_good = false;
        snprintf(p[i].reason, sizeof p[i].reason,
                 "loads %.80s where host %.60s loads %.80s; install or load the same "
                 "version of MPI on all hosts",
                 p[i].mpi, hosts->host[usual].name, p[usual].mpi);
    }
}

typedef void command_fn(struct argv *out, const struct command_plan *p, const char *host);

/* The same command on all hosts, as many at once as leave descriptors for the rest. */
static status ask_all(struct subprocess *c, const struct command_plan *p, command_fn *fn,
                      const char *input, double t, struct err *err)
{
    enum { WAVE = 64 };
    status result = OK;

    for (size_t first = 0; first < p->hosts->n && result == OK; first += WAVE) {
        size_t n = first;
        for (; n < p->hosts->n && n < first + WAVE && result == OK; n++) {
            struct argv w = {0};
            fn(&w, p, p->hosts->host[n].name);
            result = subprocess_ask(&c[n], &w, input, err);
            argv_release(&w);
        }
        subprocess_gather(c + first, n - first, t);
    }
    return result;
}

status host_check_run(struct host_check *out, const struct command_plan *p,
                      const char *hash, const char *token, double t, struct err *err)
{
    const double offset = clock_wall() - clock_now();
    struct subprocess *c;

    TRY(mem_alloc(&c, p->hosts->n, sizeof *c, err));
    const status result = ask_all(c, p, command_check, token, t, err);
    for (size_t i = 0; result == OK && i < p->hosts->n; i++)
        host_check_read(&out[i], c[i].text, subprocess_code(&c[i]), hash,
                        c[i].t_start + offset, c[i].t_end + offset);
    if (result == OK)
        host_check_compare(out, p->hosts);
    free(c);
    return result;
}

void host_check_forget(const struct command_plan *p, double t)
{
    struct subprocess *c;
    struct err err;

    if (mem_alloc(&c, p->hosts->n, sizeof *c, &err) != OK)
        return;
    /* a token that stays is of no use to anybody: its job is over */
    (void)ask_all(c, p, command_forget, "", t, &err);
    free(c);
}

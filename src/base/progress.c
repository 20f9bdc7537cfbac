#include "base/progress.h"

#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"

struct progress progress_to(FILE *out)
{
    return (struct progress){.out = out, .is_terminal = out && isatty(fileno(out))};
}

const char *progress_duration(char *buf, double seconds)
{
    const uint64_t s = seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds + 0.5) : 0;

    if (s >= 3600)
        snprintf(buf, 24, "%" PRIu64 ":%02d:%02d", s / 3600, (int)(s / 60 % 60),
                 (int)(s % 60));
    else
        snprintf(buf, 24, "%d:%02d", (int)(s / 60), (int)(s % 60));
    return buf;
}

void progress_begin(struct progress *p, const char *label, const char *unit,
                    uint64_t total)
{
    p->label = label;
    p->unit = unit;
    p->total = total;
    p->t_start = p->t_shown = clock_now();
}

bool progress_due(struct progress *p)
{
    const double now = clock_now();

    if (!p->out || now - p->t_shown < (p->is_terminal ? 0.1 : 10))
        return false;
    p->t_shown = now;
    return true;
}

/* Bytes of `text` that fit on one line of the terminal: a longer one would scroll instead
 * of being redrawn. */
static int fitting_bytes(const struct progress *p, const char *text)
{
    struct winsize size;
    size_t n = strlen(text);

    if (ioctl(fileno(p->out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return (int)n;
    while (utf8_count(text, n) >= size.ws_col)
        n--;
    return (int)n;
}

void progress_line(struct progress *p, const char *text)
{
    if (!p->out)
        return;
    if (p->is_terminal)
        fprintf(p->out, "\r%.*s\033[K", fitting_bytes(p, text), text);
    else
        fprintf(p->out, "%s\n", text);
    p->is_open = p->is_terminal;
    fflush(p->out);
}

void progress_note(struct progress *p, const char *text)
{
    char shown[4096];

    if (!p->out)
        return;
    utf8_spell(shown, sizeof shown, text);
    fprintf(p->out, p->is_open ? "\r%s\033[K\n" : "%s\n", shown);
    p->is_open = false;
    fflush(p->out);
}

static void describe(const struct progress *p, uint64_t done, char *line, size_t n)
{
    const double t = clock_now() - p->t_start, rate = t > 0 ? (double)done / t : 0;
    char eta[24], share[48] = "";

    if (p->total && rate > 0 && done < p->total)
        snprintf(share, sizeof share, "  %3.0f %%  ETA %s",
                 100 * (double)done / (double)p->total,
                 progress_duration(eta, (double)(p->total - done) / rate));
    snprintf(line, n, "%-10s %" PRIu64 " %s  %.*f %s/s%s", p->label, done, p->unit,
             rate < 99.95, rate, p->unit, share);
}

void progress_update(struct progress *p, uint64_t done)
{
    char line[200];

    if (!progress_due(p))
        return;
    describe(p, done, line, sizeof line);
    progress_line(p, line);
}

void progress_end(struct progress *p, uint64_t done)
{
    char line[240], took[24];

    if (!p->out)
        return;
    describe(p, done, line, sizeof line - 40);
    const size_t n = strlen(line);
    snprintf(line + n, sizeof line - n, "  in %s",
             progress_duration(took, clock_now() - p->t_start));
    progress_note(p, line);
}

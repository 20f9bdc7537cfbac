#include "report/read/capture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "report/read/capture_reader.h"
#include "text/line_reader.h"

#define UNPACKED_MAX ((uint64_t)4 << 30) /* a week of nmon, a sample a second */

enum { SNIFFED_LINES = 8, SNIFFED_BYTES = 1 << 14 };

/* ---- text to numbers, names and times ---- */

size_t capture_cells(char *line, const char *separator, char *cell[CAPTURE_CELLS_MAX])
{
    size_t n = 0;

    for (char *at; n < CAPTURE_CELLS_MAX && (at = strsep(&line, separator));) {
        at += strspn(at, " \t");
        size_t len = strlen(at);
        while (len && strchr(" \t", at[len - 1]))
            len--;
        at[len] = '\0';
        cell[n++] = at;
    }
    return n;
}

double capture_number(const char *text)
{
    enum { MOST = 1000000000 };

    if (!strchr(".0123456789", text[0]) || !text[0])
        return NAN;
    const double x = strtod(text, NULL);
    return x >= 0 && x <= (double)MOST * MOST ? x : NAN;
}

void capture_name(char *to, size_t n_to, const char *text)
{
    size_t n = 0;

    for (; text[n] && n + 1 < n_to; n++)
        to[n] = text[n];
    to[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if (to[i] < ' ' || to[i] > '~')
            to[i] = '?';
}

/* 1 to 12, or 0. */
static int month_of(const char *text)
{
    static const char names[][4] = {"jan", "feb", "mar", "apr", "may", "jun",
                                    "jul", "aug", "sep", "oct", "nov", "dec"};
    const double number = capture_number(text);

    for (int i = 0; i < 12; i++)
        if (number == i + 1 || strncasecmp(text, names[i], 3) == 0)
            return i + 1;
    return 0;
}

void capture_time(struct capture_reader *r, const char *year, const char *month,
                  const char *day, const char *clock)
{
    const double y = capture_number(year), d = capture_number(day);
    const int m = month_of(month);
    struct tm tm = {0};

    if (r->pass != CAPTURE_LEVELS || !m || !(y >= 1970 && y <= 9999) ||
        !(d >= 1 && d <= 31) ||
        sscanf(clock, "%2d:%2d:%2d", &tm.tm_hour, &tm.tm_min, &tm.tm_sec) != 3)
        return;
    tm.tm_year = (int)y - 1900;
    tm.tm_mon = m - 1;
    tm.tm_mday = (int)d;
    const double t = (double)timegm(&tm);
    r->out->t_first = fmin(r->out->t_first, t); /* fmin of a NAN is the other */
    r->out->t_last = fmax(r->out->t_last, t);
}

/* ---- sums ---- */

void capture_mean_add(struct capture_mean *m, double x)
{
    if (isnan(x))
        return;
    m->n++;
    m->sum += x;
    m->max = fmax(m->max, x);
}

static double mean_of(const struct capture_mean *m)
{
    return m->n > 0 ? m->sum / m->n : NAN;
}

static double max_of(const struct capture_mean *m)
{
    return m->n > 0 ? m->max : NAN;
}

struct capture_gpu_sums *capture_gpu_find(struct capture_reader *r, const char *key)
{
    char name[sizeof r->gpu->key];

    capture_name(name, sizeof name, key);
    for (size_t i = 0; i < r->n_gpu; i++)
        if (strcmp(r->gpu[i].key, name) == 0)
            return &r->gpu[i];
    if (r->pass != CAPTURE_LEVELS || r->n_gpu == CAPTURE_GPUS_MAX)
        return NULL;
    struct capture_gpu_sums *g = &r->gpu[r->n_gpu++];
    g->index = NAN;
    memcpy(g->key, name, sizeof name);
    return g;
}

bool capture_gpu_add(struct capture_reader *r, struct capture_gpu_sums *g,
                     enum capture_field field, double x)
{
    const uint64_t i = g->at[field]++;

    if (field == CAPTURE_BUSY && x > 100)
        x = NAN;
    if (r->pass == CAPTURE_LEVELS && field <= CAPTURE_POWER)
        capture_stretch_level(&g->stretch[field], x);
    if (r->pass == CAPTURE_STRETCHES && field == g->by)
        capture_stretch_look(&g->stretch[field], x);
    if (r->pass != CAPTURE_SUMS || !capture_stretch_holds(&g->stretch[g->by], i))
        return false;
    capture_mean_add(&g->mean[field], x);
    return true;
}

/* ---- three passes ---- */

/* Idle GPUs draw a tenth of their power and more, so that half of it tells. */
static void cut(struct capture_reader *r)
{
    double most = -1;

    for (size_t i = 0; i < r->n_gpu; i++) {
        struct capture_gpu_sums *g = &r->gpu[i];
        g->by = g->stretch[CAPTURE_BUSY].n_known ? CAPTURE_BUSY : CAPTURE_POWER;
        capture_stretch_cut(&g->stretch[CAPTURE_BUSY], 0.1);
        capture_stretch_cut(&g->stretch[CAPTURE_POWER], 0.5);
    }
    for (size_t i = 0; i < r->n_card; i++) {
        const bool is_loop =
            str_begins(r->card[i].name, "lo") &&
            strspn(r->card[i].name + 2, "0123456789") + 2 == strlen(r->card[i].name);
        const double total = is_loop ? -0.5 : r->card[i].total;
        if (total > most) {
            most = total;
            r->busiest = i;
        }
        capture_stretch_cut(&r->card[i].stretch, 0.1);
    }
    capture_stretch_cut(&r->cpu_stretch, 0.1);
}

static void begin(struct capture_reader *r, enum capture_pass pass)
{
    if (pass == CAPTURE_STRETCHES)
        cut(r);
    r->pass = pass;
    for (size_t i = 0; i < r->n_gpu; i++)
        memset(r->gpu[i].at, 0, sizeof r->gpu[i].at);
    r->nmon = (struct capture_nmon){0};
    for (size_t i = 0; i < CAPTURE_CELLS_MAX; i++)
        r->nmon.net[i].card = -1;
    r->smi = (struct capture_smi){0};
}

/* The next line as a string in *text; *has is false at the end. */
static status next_line(struct line_reader *f, struct str *text, const char *path,
                        bool *has, struct err *err)
{
    struct line line;

    TRY(line_reader_next(f, &line, has, err));
    if (*has && f->is_cut)
        return err_set(err, ERR_FORMAT, "%s: line %llu is longer than %zu bytes", path,
                       (unsigned long long)f->n_lines, f->max_line);
    if (f->in.n_out > UNPACKED_MAX)
        return err_set(err, ERR_FORMAT,
                       "%s: more than %llu bytes, too many for a capture", path,
                       (unsigned long long)UNPACKED_MAX);
    str_reset(text);
    if (*has)
        str_add(text, line.text, line.n_bytes);
    str_putc(text, '\0');
    return str_check(text, path, err);
}

static status read_lines(struct capture_reader *r, const char *path, struct err *err)
{
    struct str text = str_new(0);
    struct line_reader f;

    TRY(line_reader_open(&f, path, path, err));
    status result = OK;
    for (bool has = true; has && result == OK;) {
        result = next_line(&f, &text, path, &has, err);
        if (result != OK || !has)
            break;
        if (r->out->kind == CAPTURE_NMON)
            capture_nmon_line(r, text.data);
        else
            capture_smi_line(r, text.data);
    }
    str_release(&text);
    line_reader_close(&f);
    return result;
}

/* ---- results ---- */

static struct capture_gpu gpu_of(const struct capture_gpu_sums *g)
{
    const struct capture_mean *m = g->mean;
    const enum capture_field limit =
        m[CAPTURE_ENFORCED].n > 0 ? CAPTURE_ENFORCED : CAPTURE_LIMIT;
    struct capture_gpu gpu = {
        .index = g->index,
        .n = capture_stretch_length(&g->stretch[g->by]),
        .n_all = (double)g->stretch[g->by].n,
        .busy = mean_of(&m[CAPTURE_BUSY]) / 100,
        .power_w = mean_of(&m[CAPTURE_POWER]),
        .power_max_w = max_of(&m[CAPTURE_POWER]),
        .power_limit_w = mean_of(&m[limit]),
        .low_power = mean_of(&g->low_power),
        .clock_mhz = mean_of(&m[CAPTURE_CLOCK]),
        .clock_max_mhz = max_of(&m[CAPTURE_CLOCK_MAX]),
        .memory_mib = mean_of(&m[CAPTURE_MEMORY]),
        .memory_all_mib = max_of(&m[CAPTURE_MEMORY_ALL]),
        .temperature_c = mean_of(&m[CAPTURE_TEMPERATURE]),
    };

    memcpy(gpu.name, g->name, sizeof gpu.name);
    return gpu;
}

static struct capture_card card_of(const struct capture_reader *r,
                                   const struct capture_card_sums *s)
{
    struct capture_card card = {
        .n = capture_stretch_length(&r->card[r->busiest].stretch),
        .n_all = (double)r->nmon.n_net,
        .received = mean_of(&s->received),
        .sent = mean_of(&s->sent),
        .received_max = max_of(&s->received),
        .sent_max = max_of(&s->sent),
    };

    memcpy(card.name, s->name, sizeof card.name);
    return card;
}

static status finish(const struct capture_reader *r, struct err *err)
{
    struct capture *c = r->out;

    TRY(mem_alloc(&c->gpu, r->n_gpu, sizeof *c->gpu, err));
    TRY(mem_alloc(&c->card, r->n_card, sizeof *c->card, err));
    for (size_t i = 0; i < r->n_gpu; i++) {
        bool is_known = false;
        for (int f = 0; f < CAPTURE_FIELDS; f++)
            is_known |= r->gpu[i].mean[f].n > 0;
        if (is_known)
            c->gpu[c->n_gpu++] = gpu_of(&r->gpu[i]);
        c->n = fmax(c->n, (double)r->gpu[i].stretch[r->gpu[i].by].n);
    }
    for (size_t i = 0; r->nmon.n_net && i < r->n_card; i++) {
        const size_t other = i == 0 ? r->busiest : i == r->busiest ? 0 : i;
        c->card[c->n_card++] = card_of(r, &r->card[other]);
    }
    c->n = fmax(c->n, fmax((double)r->nmon.n_cpu, (double)r->nmon.n_net));
    c->cpu_busy = mean_of(&r->cpu);
    return OK;
}

static status read_all(struct capture *c, const char *path, struct err *err)
{
    struct capture_reader *r;

    TRY(mem_alloc(&r, 1, sizeof *r, err));
    r->out = c;
    status result = OK;
    for (int pass = 0; result == OK && pass < CAPTURE_PASSES; pass++) {
        begin(r, (enum capture_pass)pass);
        result = read_lines(r, path, err);
    }
    THEN(result, finish(r, err));
    free(r);
    if (result == OK && !c->n_gpu && !c->n_card && isnan(c->cpu_busy))
        result =
            err_set(err, ERR_FORMAT, "%s: %s without one whole sample", path,
                    c->kind == CAPTURE_NMON ? "a file of nmon" : "nvidia-smi's text");
    return result;
}

/* ---- which kind ---- */

static bool is_table(const char *line)
{
    line += strspn(line, " \t");
    return *line == '|' && strstr(line, "NVIDIA-SMI");
}

static status sniff(enum capture_kind *kind, const char *path, struct err *err)
{
    struct str text = str_new(0);
    struct line_reader f;
    bool has = true;

    *kind = CAPTURE_NONE;
    if (file_exists(path) && file_bytes(path) < 0)
        return err_set(err, ERR_IO, "%s: not a regular file", path);
    TRY(line_reader_open(&f, path, path, err));
    f.max_line = SNIFFED_BYTES;
    status result = OK;
    for (int i = 0; i < SNIFFED_LINES && has && *kind == CAPTURE_NONE; i++) {
        result = next_line(&f, &text, path, &has, err);
        if (f.is_cut)
            result = OK; /* none of ours begins with such lines */
        if (result != OK || f.is_cut)
            break;
        if (str_begins(text.data, "AAA,"))
            *kind = CAPTURE_NMON;
        else if (is_table(text.data) || capture_smi_is_header(text.data))
            *kind = CAPTURE_GPU;
    }
    str_release(&text);
    line_reader_close(&f);
    return result;
}

enum capture_kind capture_sniff(const char *path)
{
    enum capture_kind kind;
    struct err ignored;

    return sniff(&kind, path, &ignored) == OK ? kind : CAPTURE_NONE;
}

status capture_open(struct capture *c, const char *path, struct err *err)
{
    *c = (struct capture){.t_first = NAN, .t_last = NAN, .cpu_busy = NAN, .cpus = NAN};
    TRY(sniff(&c->kind, path, err));
    if (c->kind == CAPTURE_NONE)
        return err_set(err, ERR_FORMAT,
                       "%s: neither a file of nmon nor what nvidia-smi printed", path);
    const status result = read_all(c, path, err);
    if (result != OK)
        capture_close(c);
    return result;
}

void capture_close(struct capture *c)
{
    free(c->gpu);
    free(c->card);
    *c = (struct capture){0};
}

/* The lines of nmon -f: SECTION,T0001,values, each section with a header before it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "report/read/capture_reader.h"

/* "T0001": a sample, not the header of its section. */
static bool is_sample(const char *cell)
{
    return cell[0] == 'T' && cell[1] &&
           strspn(cell + 1, "0123456789") == strlen(cell + 1);
}

/* ---- network: NET,Network I/O host,lo-read-KB/s,eth0-read-KB/s,...,lo-write-KB/s ----
 */

static int card_of(struct capture_reader *r, const char *text)
{
    char name[sizeof r->card->name];

    capture_name(name, sizeof name, text);
    for (size_t i = 0; i < r->n_card; i++)
        if (strcmp(r->card[i].name, name) == 0)
            return (int)i;
    if (r->pass != CAPTURE_LEVELS || r->n_card == CAPTURE_CARDS_MAX)
        return -1;
    memcpy(r->card[r->n_card].name, name, sizeof name);
    return (int)r->n_card++;
}

static void net_header(struct capture_reader *r, char **cell, size_t n)
{
    static const char *const ends[] = {"-read-KB/s", "-write-KB/s"};

    for (size_t i = 0; i < CAPTURE_CELLS_MAX; i++)
        r->nmon.net[i].card = -1;
    for (size_t i = 2; i < n; i++)
        for (int sent = 0; sent < 2; sent++) {
            if (!str_ends(cell[i], ends[sent]))
                continue;
            cell[i][strlen(cell[i]) - strlen(ends[sent])] = '\0';
            r->nmon.net[i].card = card_of(r, cell[i]);
            r->nmon.net[i].is_sent = sent;
        }
}

/* Both directions of a card, or what is known of them. */
static double traffic(const struct capture_card_sums *c)
{
    if (isnan(c->received_now) || isnan(c->sent_now))
        return fmax(c->received_now, c->sent_now);
    return c->received_now + c->sent_now;
}

static void net_sums(struct capture_reader *r)
{
    struct capture_card_sums *busiest = &r->card[r->busiest];
    const uint64_t i = r->nmon.n_net++;

    if (r->pass == CAPTURE_STRETCHES && r->n_card)
        capture_stretch_look(&busiest->stretch, traffic(busiest));
    for (size_t k = 0; k < r->n_card; k++) {
        struct capture_card_sums *c = &r->card[k];
        const double both = traffic(c);
        if (r->pass == CAPTURE_LEVELS) {
            capture_stretch_level(&c->stretch, both);
            c->total += isnan(both) ? 0 : both;
        }
        if (r->pass == CAPTURE_SUMS && capture_stretch_holds(&busiest->stretch, i)) {
            capture_mean_add(&c->received, c->received_now);
            capture_mean_add(&c->sent, c->sent_now);
        }
    }
}

/* nmon divides bytes by 1024 and calls the result KB. */
static void net_sample(struct capture_reader *r, char **cell, size_t n)
{
    for (size_t k = 0; k < r->n_card; k++)
        r->card[k].received_now = r->card[k].sent_now = NAN;
    for (size_t i = 2; i < n; i++) {
        const struct capture_nmon_column *column = &r->nmon.net[i];
        if (column->card < 0)
            continue;
        struct capture_card_sums *c = &r->card[column->card];
        *(column->is_sent ? &c->sent_now : &c->received_now) =
            1024 * capture_number(cell[i]);
    }
    net_sums(r);
}

static void net(struct capture_reader *r, char **cell, size_t n)
{
    if (is_sample(cell[1]))
        net_sample(r, cell, n);
    else
        net_header(r, cell, n);
}

/* ---- processors: CPU_ALL,CPU Total host,User%,Sys%,Wait%,Idle%,Steal%,Busy,CPUs ---- */

static size_t column_of(char **cell, size_t n, const char *name)
{
    for (size_t i = 2; i < n; i++)
        if (strcmp(cell[i], name) == 0)
            return i;
    return 0;
}

static void cpu_sample(struct capture_reader *r, char **cell, size_t n)
{
    const struct capture_nmon *m = &r->nmon;
    double busy = NAN;

    if (m->user && m->user < n && m->sys && m->sys < n)
        busy = (capture_number(cell[m->user]) + capture_number(cell[m->sys])) / 100;
    if (busy > 1.01) /* each of the two is rounded */
        busy = NAN;
    if (m->cpus && m->cpus < n && capture_number(cell[m->cpus]) > 0)
        r->out->cpus = capture_number(cell[m->cpus]);
    const uint64_t i = r->nmon.n_cpu++;
    if (r->pass == CAPTURE_LEVELS)
        capture_stretch_level(&r->cpu_stretch, busy);
    else if (r->pass == CAPTURE_STRETCHES)
        capture_stretch_look(&r->cpu_stretch, busy);
    else if (capture_stretch_holds(&r->cpu_stretch, i))
        capture_mean_add(&r->cpu, busy);
}

static void cpu(struct capture_reader *r, char **cell, size_t n)
{
    if (is_sample(cell[1])) {
        cpu_sample(r, cell, n);
        return;
    }
    r->nmon.user = column_of(cell, n, "User%");
    r->nmon.sys = column_of(cell, n, "Sys%");
    r->nmon.cpus = column_of(cell, n, "CPUs");
}

/* ---- GPUs: GPU_UTIL,GPU Utilization Percent,GPU1,GPU2; one line a field ---- */

static void gpu_sample(struct capture_reader *r, enum capture_field field, char **cell,
                       size_t n)
{
    for (size_t i = 2; i < n && i < 2 + CAPTURE_GPUS_MAX; i++) {
        char key[16];
        snprintf(key, sizeof key, "GPU%zu", i - 1);
        struct capture_gpu_sums *g = capture_gpu_find(r, key);
        if (!g)
            continue;
        g->index = (double)(i - 2);
        capture_gpu_add(r, g, field, capture_number(cell[i]));
    }
}

static void gpu(struct capture_reader *r, char **cell, size_t n)
{
    static const struct {
        const char *section;
        enum capture_field field;
    } list[] = {{"GPU_UTIL", CAPTURE_BUSY},
                {"GPU_WATTS", CAPTURE_POWER},
                {"GPU_MHZ", CAPTURE_CLOCK},
                {"GPU_MEM", CAPTURE_MEMORY},
                {"GPU_TEMP", CAPTURE_TEMPERATURE}};
    const bool is_memory = strcmp(cell[0], "GPU_MEM") == 0;

    if (!is_sample(cell[1])) {
        if (is_memory)
            r->nmon.is_memory_mib = str_ends(cell[1], "MB");
        return;
    }
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (strcmp(cell[0], list[i].section) == 0 &&
            (!is_memory || r->nmon.is_memory_mib))
            gpu_sample(r, list[i].field, cell, n);
}

/* ---- the rest ---- */

/* ZZZZ,T0001,19:52:17,25-FEB-2020; the oldest versions leave the date to AAA,date. */
static void stamp(struct capture_reader *r, char **cell, size_t n)
{
    char text[32], *part[CAPTURE_CELLS_MAX];

    if (n < 3)
        return;
    snprintf(text, sizeof text, "%s", n > 3 ? cell[3] : r->nmon.date);
    if (capture_cells(text, "-", part) == 3)
        capture_time(r, part[2], part[1], part[0], cell[2]);
}

static void about(struct capture_reader *r, char **cell, size_t n)
{
    if (n > 2 && strcmp(cell[1], "host") == 0)
        capture_name(r->out->host, sizeof r->out->host, cell[2]);
    else if (n > 2 && strcmp(cell[1], "date") == 0)
        capture_name(r->nmon.date, sizeof r->nmon.date, cell[2]);
}

void capture_nmon_line(struct capture_reader *r, char *line)
{
    static const struct {
        const char *beginning;
        void (*read)(struct capture_reader *r, char **cell, size_t n);
    } list[] = {{"NET,", net},
                {"CPU_ALL,", cpu},
                {"GPU_", gpu},
                {"ZZZZ,", stamp},
                {"AAA,", about}};
    char *cell[CAPTURE_CELLS_MAX];

    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (!str_begins(line, list[i].beginning))
            continue;
        const size_t n = capture_cells(line, ",", cell);
        if (n > 1)
            list[i].read(r, cell, n);
        return;
    }
}

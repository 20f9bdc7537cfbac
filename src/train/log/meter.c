#include "train/log/meter.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

static uint64_t read_number(const char *dir, const char *card, const char *counter)
{
    char path[512];
    uint64_t x = 0;

    snprintf(path, sizeof path, "%s/%s/statistics/%s", dir, card, counter);
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%" SCNu64, &x) != 1)
        x = 0;
    if (f)
        fclose(f);
    return x;
}

static struct meter_cards read_cards(const char *dir)
{
    struct meter_cards c = {0};
    DIR *d = opendir(dir);

    for (struct dirent *e; d && c.n < METER_CARDS && (e = readdir(d));) {
        if (e->d_name[0] == '.' || strcmp(e->d_name, "lo") == 0 ||
            strlen(e->d_name) >= METER_NAME)
            continue;
        struct meter_card *card = &c.card[c.n++];
        snprintf(card->name, sizeof card->name, "%.15s", e->d_name);
        card->sent_bytes = read_number(dir, e->d_name, "tx_bytes");
        card->received_bytes = read_number(dir, e->d_name, "rx_bytes");
        card->n_errors = read_number(dir, e->d_name, "rx_errors") +
                         read_number(dir, e->d_name, "tx_errors");
    }
    if (d)
        closedir(d);
    return c;
}

static double cpu_seconds(void)
{
    struct timespec t = {0};

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double resident_mib(void)
{
    unsigned long total, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    if (f && fscanf(f, "%lu %lu", &total, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1048576;
}

void meter_start(struct meter *m, const char *net_dir, struct device *device)
{
    *m = (struct meter){.net_dir = net_dir,
                        .device = device,
                        .t_last = clock_now(),
                        .cpu_last = cpu_seconds(),
                        .cards = read_cards(net_dir)};
}

static uint64_t since(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static const struct meter_card *find(const struct meter_cards *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->card[i].name, name) == 0)
            return &c->card[i];
    return NULL;
}

static void look(struct meter *m, double now)
{
    struct device_usage u;

    m->t_gpu = now;
    if (!m->device || !device_read_usage(m->device, &u))
        return;
    m->n_gpu++;
    m->gpu.busy += u.busy;
    m->gpu.power_w += u.power_w;
    m->gpu.clock_mhz += u.clock_mhz;
    m->gpu.memory_mib = fmax(u.memory_mib, m->gpu.memory_mib);
    m->gpu.power_limit_w = u.power_limit_w;
    m->gpu.memory_all_mib = u.memory_all_mib;
    m->gpu.clock_max_mhz = u.clock_max_mhz;
}

void meter_look(struct meter *m)
{
    const double now = clock_now();

    if (m->device && now - m->t_gpu >= 1)
        look(m, now);
}

/* What was seen since the last lap, at least once. */
static struct device_usage gpu_lap(struct meter *m, double now)
{
    const double none = (double)NAN;
    const struct device_usage unknown = {none, none, none, none, none, none, none};

    if (!m->n_gpu)
        look(m, now);
    const double n = (double)m->n_gpu;
    struct device_usage u = m->gpu;
    m->gpu = (struct device_usage){0};
    m->n_gpu = 0;
    if (!(n > 0))
        return unknown;
    u.busy /= n;
    u.power_w /= n;
    u.clock_mhz /= n;
    if (!(u.memory_all_mib > 0))
        u.memory_mib = none;
    return u;
}

struct meter_lap meter_next(struct meter *m)
{
    const double now = clock_now(), cpu = cpu_seconds();
    struct meter_lap lap = {.seconds = now - m->t_last,
                            .memory_mib = resident_mib(),
                            .gpu = gpu_lap(m, now),
                            .cards = read_cards(m->net_dir)};
    const struct meter_cards cards = lap.cards;

    lap.cores = lap.seconds > 0 ? (cpu - m->cpu_last) / lap.seconds : 0;
    for (size_t i = 0; i < lap.cards.n; i++) {
        struct meter_card *c = &lap.cards.card[i];
        const struct meter_card *old = find(&m->cards, c->name);
        c->sent_bytes = old ? since(c->sent_bytes, old->sent_bytes) : 0;
        c->received_bytes = old ? since(c->received_bytes, old->received_bytes) : 0;
        c->n_errors = old ? since(c->n_errors, old->n_errors) : 0;
    }
    m->t_last = now;
    m->cpu_last = cpu;
    m->cards = cards;
    return lap;
}

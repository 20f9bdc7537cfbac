#include "serve/metrics.h"

#include <stdio.h>
#include <unistd.h>

static const unsigned statuses[METRICS_STATUSES] = {0,   200, 204, 400, 401, 403, 404,
                                                    405, 413, 415, 429, 500, 503};

static const double limits[METRICS_BUCKETS] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                               1,     2.5,  5,     10,   20,  40,   80};

void metrics_request(struct metrics *m, size_t route, unsigned code)
{
    size_t at = METRICS_STATUSES - 2; /* what is not in the list is a fault of ours */

    for (size_t i = 0; i < METRICS_STATUSES; i++)
        if (statuses[i] == code)
            at = i;
    m->requests[route < METRICS_ROUTES ? route : METRICS_ROUTES - 1][at]++;
}

void metrics_took(struct metrics *m, double seconds)
{
    size_t i = 0;

    while (i < METRICS_BUCKETS && seconds > limits[i])
        i++;
    m->bucket[i]++;
    m->n_timed++;
    m->microseconds += (uint64_t)(seconds * 1e6);
}

double metrics_memory(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    unsigned long all = 0, resident = 0;

    if (!f)
        return 0;
    const int n = fscanf(f, "%lu %lu", &all, &resident);
    fclose(f);
    return n == 2 ? (double)resident * (double)sysconf(_SC_PAGESIZE) : 0;
}

static void head(struct str *out, const char *name, const char *type, const char *help)
{
    str_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void show_requests(struct metrics *m, const char *(*route_name)(size_t route),
                          struct str *out)
{
    head(out, "ferry_requests_total", "counter",
         "Requests by path and status; status 0: the client left.");
    for (size_t r = 0; r < METRICS_ROUTES; r++)
        for (size_t i = 0; i < METRICS_STATUSES; i++)
            if (m->requests[r][i])
                str_printf(out, "ferry_requests_total{path=\"%s\",status=\"%u\"} %llu\n",
                           route_name(r), statuses[i],
                           (unsigned long long)m->requests[r][i]);
}

static void show_times(struct metrics *m, struct str *out)
{
    static const char name[] = "ferry_translation_seconds";
    unsigned long long n = 0;

    head(out, name, "histogram", "Time of a translation, waiting included.");
    for (size_t i = 0; i < METRICS_BUCKETS; i++) {
        n += m->bucket[i];
        str_printf(out, "%s_bucket{le=\"%g\"} %llu\n", name, limits[i], n);
    }
    n += m->bucket[METRICS_BUCKETS];
    str_printf(out, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.6f\n%s_count %llu\n", name, n,
               name, (double)m->microseconds / 1e6, name, n);
}

void metrics_show(struct metrics *m, const char *(*route_name)(size_t route),
                  const struct metrics_gauge *gauge, size_t n_gauges, struct str *out)
{
    show_requests(m, route_name, out);
    show_times(m, out);
    for (size_t i = 0; i < n_gauges; i++) {
        head(out, gauge[i].name, gauge[i].is_counter ? "counter" : "gauge",
             gauge[i].help);
        str_printf(out, "%s %.15g\n", gauge[i].name, gauge[i].value);
    }
}
